"""Kernels in JAX: FFI calls, jitted once per signature."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import core
from jax._src.interpreters.partial_eval import DynamicJaxprTrace
from jax._src.lib import guard_lib
from jax_plugins.onexpu import _compat

from onexpu._bounded_cache import BoundedCache
from onexpu._launch.launch import Launch
from onexpu._launch.protocols import KernelDefinition, KernelRules, KnownCall
from onexpu._launch.scalars import ScalarOperands, ScalarPacker, identity, is_number, words
from onexpu._launch.shapes import Operand
from onexpu._types import numpy_dtype

_Call = Callable[..., list[Any]]

# Of one kernel: programs of which numbers are constants, and numbers that devices have.
KEPT_PROGRAMS = 64
_KEPT_NUMBERS = 64
# So many new values one after the other: it is a value that changes with each call.
_CHANGING = 8


def describe(name: str, operand: Any) -> Operand:
    """Describes an array, a traced value or a `jax.ShapeDtypeStruct`."""
    return Operand(name, tuple(operand.shape), operand.dtype.name)


_is_array_type: Callable[[type], bool] = functools.cache(lambda type_: issubclass(type_, jax.Array))


def _as_array(x: Any) -> jax.Array:
    # Traced values say that they are arrays when they are asked themselves, which takes longer.
    known = _is_array_type(type(x)) or isinstance(x, jax.Array)
    return x if known else jnp.asarray(x)


def _ffi_call(launch: Launch) -> _Call:
    """Returns the function of the operands that a launch is."""
    if not launch.is_known:
        raise NotImplementedError(
            f"onexpu: kernel '{launch.name}' is called with shapes that have symbols "
            f"({', '.join(str(shape) for shape, _ in launch.results)}): its range has to be known. "
            "Export the function for the shapes that it is called with, or with TensorFlow"
        )

    def call(*operands: jax.Array) -> list[Any]:
        results = jax.ffi.ffi_call(
            launch.target,
            [_result_type(shape, numpy_dtype(dtype), operands) for shape, dtype in launch.results],
            vmap_method="sequential",
            input_output_aliases={x: i for i, x in enumerate(launch.in_place) if x >= 0},
        )(*operands, **launch.attributes)
        return list(results if launch.rows else results[: launch.num_outputs])

    return call


def _varying_alike(operands: Sequence[jax.Array]) -> tuple[jax.Array, ...]:
    """In a `jax.shard_map`: the operands, varying over the axes that any of them varies over."""
    varying = [_compat.varying_axes(jax.typeof(x)) for x in operands]
    axes = frozenset().union(*varying)
    if all(of_operand == axes for of_operand in varying):
        return tuple(operands)
    return tuple(
        jax.lax.pcast(x, tuple(sorted(axes - of_operand)), to="varying")
        for x, of_operand in zip(operands, varying, strict=True)
    )


def _result_type(
    shape: tuple[int, ...], dtype: np.dtype[Any], operands: Sequence[jax.Array]
) -> jax.ShapeDtypeStruct:
    """A result varies as operands do."""
    operand = jax.typeof(operands[0]) if operands else None
    if operand is None or not _compat.varying_axes(operand):
        return jax.ShapeDtypeStruct(shape, dtype)
    result: jax.ShapeDtypeStruct = _compat.varying_type(shape, dtype, operand)
    return result


def _is_staged() -> bool:
    """Whether calls become part of a program, also under `grad` and `vmap` inside of it."""
    trace: Any = core.trace_ctx.trace
    while trace is not None:
        if isinstance(trace, DynamicJaxprTrace):
            return True
        trace = getattr(trace, "parent_trace", None)
    return False


def _as_type(scalar: jax.Array, dtype: str) -> jax.Array:
    type_ = numpy_dtype(dtype)
    if scalar.dtype == type_:
        return scalar
    # The kernel reads 64 bits, whether or not JAX's own arrays may have them.
    config: Any = jax.config  # JAX adds an attribute for each option at run time
    with jax.enable_x64(type_.itemsize >= 8 or bool(config.jax_enable_x64)):
        return jax.lax.convert_element_type(scalar, type_)


@functools.cache
def _without_derivative(kernel: str, name: str) -> Callable[[jax.Array], jax.Array]:
    """Returns the identity; its derivative is an error that names the kernel's attribute."""

    @jax.custom_jvp
    def attribute(x: jax.Array) -> jax.Array:
        return x

    @attribute.defjvp
    def raise_error(primals: Any, tangents: Any) -> Any:
        raise NotImplementedError(
            f"onexpu: kernel '{kernel}' has no derivative by its attribute '{name}': make it an "
            "input of shape (), or give jax.lax.stop_gradient of the value"
        )

    return attribute


def _host_operand(packed: bytes) -> Any:
    """Returns packed numbers as what a program copies to its devices."""
    levels = (guard_lib.thread_local_state(), guard_lib.global_state())
    if any(level.host_to_device is not None for level in levels):
        return jax.device_put(words(packed))  # `jax.transfer_guard` is about other transfers
    return words(packed)


class _PackedNumbers:
    """Packed numbers as operands. Those that come again are on the device already.

    A value that changes with each call is handed to the program as a numpy array, which takes less
    time than an array of JAX that is used once.
    """

    def __init__(self) -> None:
        self._arrays: BoundedCache[jax.Array] = BoundedCache(_KEPT_NUMBERS)
        self._seen: BoundedCache[bool] = BoundedCache(_KEPT_NUMBERS)
        self._new_values = 0  # since one came again

    def operand(self, packed: bytes, inputs: Sequence[Any]) -> Any:
        """Returns what a program of these inputs reads the numbers from."""
        key = (packed, inputs[0].sharding if inputs else None)
        array = self._arrays.find(key)
        if array is not None:
            self._new_values = 0
            return array
        device = inputs[0].device if inputs else None
        if not isinstance(device, jax.Device):  # several, or unknown
            return _host_operand(packed)
        self._new_values += 1
        if self._new_values > _CHANGING and not self._seen.find(key):
            self._seen.get(key, lambda: True)
            return _host_operand(packed)

        def put() -> jax.Array:
            # Not committed to the device: the other operands decide where the call runs.
            with jax.default_device(device):
                vector: jax.Array = jax.device_put(words(packed))
            return vector

        return self._arrays.get(key, put)


class JaxCalls:
    """Calls of one kernel with JAX arrays and traced values.

    Eager calls are compiled once for all values of the attributes: numbers that the host knows are
    packed into one operand. In a program that is being traced numbers are constants; those programs
    are kept for the `KEPT_PROGRAMS` sets of numbers that were used last.
    """

    def __init__(self, kernel: KernelRules, definition: KernelDefinition) -> None:
        self._kernel = kernel
        self._definition = definition
        self._names = tuple(definition.scalar_attributes)
        self._programs: BoundedCache[_Call] = BoundedCache(KEPT_PROGRAMS)
        self._eager_calls: dict[ScalarOperands, _Call] = {}
        self._packed = _PackedNumbers()

    def __call__(self, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Sequence[Any]:
        """Calls the kernel; see `SyclKernel.__call__`."""
        arrays = list(map(_as_array, inputs))
        single = tuple(name for name in self._names if not is_number(attributes[name]))
        for name in single:
            if not isinstance(attributes[name], jax.Array):
                raise TypeError(
                    f"onexpu: '{name}' of kernel '{self._definition.name}' is a "
                    f"{type(attributes[name]).__name__}; the inputs are arrays of JAX"
                )
        scalars = [attributes[name] for name in single]
        numbers = {name: value for name, value in attributes.items() if name not in single}
        packed = tuple(name for name in self._names if name in numbers)
        is_traced = any(isinstance(x, jax.core.Tracer) for x in (*arrays, *scalars))
        if not packed or _is_staged() or (is_traced and self._kernel.vmap_rule is not None):
            return self._program(numbers, single)(*arrays, *scalars)
        operands = ScalarOperands(packed, single)
        call = self._eager_call(operands)
        vector = _host_operand(self._packer(packed)(numbers))
        if not (is_traced and self._kernel.has_gradient):
            return call(*arrays, vector, *scalars)

        # JAX calls the gradient with the numbers, not with traced values, if it is not part of what
        # is compiled.
        def run(*arguments: jax.Array) -> list[Any]:
            return call(*arguments[: len(arrays)], vector, *arguments[len(arrays) :])

        arguments = self._without_derivatives((*arrays, *scalars), single)
        return self._differentiable(run, numbers, single)(*_varying_alike(arguments))

    def known_call(self, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> KnownCall:
        """Returns the function for calls with inputs and numbers of these types."""
        if not all(_is_array_type(type(x)) for x in inputs):
            return self
        if not attributes:
            program = self._program({}, ())
            return lambda inputs, attributes: program(*inputs)
        if not self._names:  # of a handler
            return lambda inputs, attributes: self._program(attributes, ())(*inputs)
        call = self._eager_call(ScalarOperands(self._names))
        pack, numbers = self._packer(self._names), self._packed

        def known(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Sequence[Any]:
            if core.trace_ctx.trace is not core.eval_trace:
                return self(inputs, attributes)
            return call(*inputs, numbers.operand(pack(attributes), inputs))

        return known

    # -- Functions of the inputs, then of the scalars that are operands --------------------------

    @functools.cached_property
    def _packer(self) -> Callable[[tuple[str, ...]], ScalarPacker]:
        return functools.cache(self._definition.packer)

    def _program(self, numbers: Mapping[str, Any], single: tuple[str, ...]) -> _Call:
        """Returns the function of which the numbers are constants."""
        return self._programs.get(
            (identity(numbers), single),
            lambda: self._jitted(dict(numbers), ScalarOperands((), single)),
        )

    def _eager_call(self, operands: ScalarOperands) -> _Call:
        """Returns the function of packed numbers, which has no gradient."""
        call = self._eager_calls.get(operands)
        if call is None:
            call = self._eager_calls[operands] = self._jitted({}, operands)
        return call

    def _jitted(self, numbers: Mapping[str, Any], operands: ScalarOperands) -> _Call:
        if self._definition.counts_rows:
            return self._counting(numbers, operands)
        call = self._batchable(numbers, operands)
        if self._kernel.has_gradient and not operands.packed:
            call = self._differentiable(call, numbers, operands.single)

        def run(*arguments: jax.Array) -> list[Any]:
            # Here, so that JAX sums up the gradient of an operand that does not vary by itself.
            return call(*_varying_alike(self._without_derivatives(arguments, operands.single)))

        run.__name__ = run.__qualname__ = self._definition.name
        return jax.jit(run, inline=True)

    def _counting(self, numbers: Mapping[str, Any], operands: ScalarOperands) -> _Call:
        """Returns the function of arrays, not of traced values, that waits for the rows to be
        counted.
        """
        launches: list[Launch] = []  # what is the same in all

        @jax.jit
        def run(*arguments: jax.Array) -> list[Any]:
            launches[:] = [self._launch_of(arguments, numbers, operands)]
            return _ffi_call(launches[0])(*self._converted(arguments, operands))

        def call(*arguments: jax.Array) -> list[Any]:
            if any(isinstance(x, jax.core.Tracer) for x in arguments):
                raise NotImplementedError(
                    f"onexpu: kernel '{self._definition.name}' finds out the size of its outputs "
                    "when it runs, so it cannot be part of a JAX program: call it outside of "
                    "jax.jit, grad and vmap, or declare outputs of a size that is known, and the "
                    "count as an output"
                )
            results = run(*arguments)
            launch = launches[0]
            return launch.counted_outputs(
                results[: launch.num_outputs], lambda i: int(results[i].reshape(()))
            )

        return call

    def _launch_of(
        self, arguments: Sequence[Any], numbers: Mapping[str, Any], operands: ScalarOperands
    ) -> Launch:
        pairs = zip(self._definition.inputs, arguments, strict=False)
        return self._definition.launch([describe(*pair) for pair in pairs], numbers, operands)

    def _converted(self, arguments: Sequence[Any], operands: ScalarOperands) -> list[Any]:
        """The arguments, with scalars of the types that the kernel declares."""
        types = self._definition.scalar_attributes
        count = len(operands.single)
        scalars = arguments[len(arguments) - count :]
        return [
            *arguments[: len(arguments) - count],
            *(_as_type(x, types[name]) for x, name in zip(scalars, operands.single, strict=True)),
        ]

    def _without_derivatives(self, arguments: Sequence[Any], single: tuple[str, ...]) -> list[Any]:
        """The arguments; a derivative by one of the scalars at their end is an error."""
        first = len(arguments) - len(single)
        return [
            *arguments[:first],
            *(
                _without_derivative(self._definition.name, name)(x)
                if jnp.issubdtype(x.dtype, jnp.inexact)
                else x
                for x, name in zip(arguments[first:], single, strict=True)
            ),
        ]

    # -- Batches ---------------------------------------------------------------------------------

    def _batchable(self, numbers: Mapping[str, Any], operands: ScalarOperands) -> _Call:
        inputs = len(self._definition.inputs)

        def call(*arguments: jax.Array) -> list[Any]:
            launch = self._launch_of(arguments, numbers, operands)
            return _ffi_call(launch)(*self._converted(arguments, operands))

        rule = self._kernel.vmap_rule
        leading = list(map(self._definition.takes_leading, range(inputs)))
        if rule is None and not any(leading):
            return call
        batchable = jax.custom_batching.custom_vmap(call)

        def launch_batch(
            axis_size: int, in_batched: Sequence[bool], arguments: Sequence[jax.Array]
        ) -> tuple[Any, Any]:
            """One launch, with the batch dimension in front of all that takes more dimensions."""
            wide = [
                jnp.broadcast_to(x, (axis_size, *x.shape)) if takes and not batched else x
                for x, takes, batched in zip(arguments, leading, in_batched, strict=False)
            ]
            outputs = batchable(*wide, *arguments[inputs:])
            for name, output in zip(self._definition.outputs, outputs, strict=True):
                if output.shape[:1] != (axis_size,):
                    raise ValueError(
                        f"onexpu: kernel '{self._definition.name}' says vmap='leading', but output "
                        f"'{name}' has the shape {output.shape} for a batch of {axis_size}"
                    )
            return outputs, [True] * len(outputs)

        @batchable.def_vmap
        def batch(axis_size: int, in_batched: list[bool], *arguments: jax.Array) -> tuple[Any, Any]:
            if any(in_batched[inputs:]):  # a scalar for each element
                return _loop(call, in_batched, arguments)
            if rule is None:
                if any(b and not takes for b, takes in zip(in_batched, leading, strict=False)):
                    return _loop(call, in_batched, arguments)
                return launch_batch(axis_size, in_batched, arguments)
            scalars = dict(zip(operands.single, arguments[inputs:], strict=True))
            outputs, batched = rule(
                axis_size, in_batched[:inputs], *arguments[:inputs], **numbers, **scalars
            )
            several = isinstance(outputs, list | tuple)
            outputs = list(outputs) if several else [outputs]
            batched = (
                list(batched) if isinstance(batched, list | tuple) else [batched] * len(outputs)
            )
            if len(outputs) != len(self._definition.outputs) or len(batched) != len(outputs):
                raise ValueError(
                    f"onexpu: the vmap rule of kernel '{self._definition.name}' gave "
                    f"{len(outputs)} outputs and {len(batched)} flags for "
                    f"{len(self._definition.outputs)} outputs"
                )
            return outputs, batched

        return batchable

    # -- Gradients -------------------------------------------------------------------------------

    def _differentiable(
        self, run: _Call, numbers: Mapping[str, Any], single: tuple[str, ...]
    ) -> _Call:
        inputs = len(self._definition.inputs)

        @jax.custom_vjp
        def call(*arguments: jax.Array) -> list[jax.Array]:
            return run(*arguments)

        def forward(*arguments: jax.Array) -> tuple[Any, Any]:
            outputs = run(*arguments)
            return outputs, (arguments, outputs)

        def backward(residuals: Any, cotangents: Sequence[jax.Array]) -> tuple[Any, ...]:
            arguments, outputs = residuals
            scalars = dict(zip(single, arguments[inputs:], strict=True))
            gradient = self._kernel.gradient(
                arguments[:inputs], outputs, cotangents, {**numbers, **scalars}
            )
            values = [*gradient, *[None] * len(single)]
            return tuple(_cotangent(x, value) for x, value in zip(arguments, values, strict=True))

        call.defvjp(forward, backward)
        return call


def _loop(
    call: _Call, in_batched: Sequence[bool], arguments: Sequence[jax.Array]
) -> tuple[list[Any], list[bool]]:
    """Calls the kernel for one element of the batch after the other."""

    def step(batched: Sequence[jax.Array]) -> list[Any]:
        rest = iter(batched)
        return call(*(next(rest) if b else x for x, b in zip(arguments, in_batched, strict=True)))

    outputs = jax.lax.map(step, [x for x, b in zip(arguments, in_batched, strict=True) if b])
    return outputs, [True] * len(outputs)


def _cotangent(operand: jax.Array, value: Any) -> Any:
    """Fills in what custom_vjp wants for operands without a derivative."""
    if not jnp.issubdtype(operand.dtype, jnp.inexact):
        return np.zeros(operand.shape, jax.dtypes.float0)
    return jnp.zeros_like(operand) if value is None else value
