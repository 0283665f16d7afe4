"""Kernels in JAX: FFI calls, jitted once per signature."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from onexpu._launch import KernelDefinition, Launch
from onexpu._shapes import Operand
from onexpu._types import numpy_dtype

if TYPE_CHECKING:
    from onexpu._kernel import SyclKernel

_Call = Callable[..., list[Any]]


def describe(name: str, operand: Any) -> Operand:
    """Describes an array, a traced value or a `jax.ShapeDtypeStruct`."""
    return Operand(name, tuple(operand.shape), operand.dtype.name)


@functools.cache
def _is_array_type(type_: type) -> bool:
    return issubclass(type_, jax.Array)


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
    varying = [jax.typeof(x).manual_axis_type.varying for x in operands]
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
    if operand is None or not operand.manual_axis_type.varying:
        return jax.ShapeDtypeStruct(shape, dtype)
    replicated = jax.sharding.PartitionSpec(*(None for _ in shape))
    return jax.ShapeDtypeStruct(
        shape,
        dtype,
        sharding=jax.sharding.NamedSharding(operand.sharding.mesh, replicated),
        manual_axis_type=operand.manual_axis_type,
    )


class JaxCalls:
    """Calls of one kernel with JAX arrays and traced values."""

    def __init__(self, kernel: SyclKernel, definition: KernelDefinition) -> None:
        self._kernel = kernel
        self._definition = definition
        self._calls: dict[Any, _Call] = {}  # by attributes; JAX finds the signature

    def __call__(self, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Sequence[Any]:
        """Calls the kernel; see `SyclKernel.__call__`."""
        return self.of(attributes)(*map(_as_array, inputs))

    def of(self, attributes: Mapping[str, Any]) -> _Call:
        """Returns the function of arrays and traced values that the kernel is with these attributes."""
        key = tuple(attributes.items())
        call = self._calls.get(key)
        if call is None:
            make = self._counting if self._definition.counts_rows else self._jitted
            call = self._calls[key] = make(attributes)
        return call

    @staticmethod
    def takes_as_they_are(inputs: Sequence[Any]) -> bool:
        """Whether all inputs have types of arrays, so that nothing has to be converted."""
        return all(_is_array_type(type(x)) for x in inputs)

    def _jitted(self, attributes: Mapping[str, Any]) -> _Call:
        call = self._batchable(attributes)
        if self._kernel.has_gradient:
            call = self._differentiable(call, attributes)

        def run(*operands: jax.Array) -> list[Any]:
            # Here, so that JAX sums up the gradient of an operand that does not vary by itself.
            return call(*_varying_alike(operands))

        run.__name__ = run.__qualname__ = self._definition.name
        return jax.jit(run, inline=True)

    def _counting(self, attributes: Mapping[str, Any]) -> _Call:
        """Returns the function of arrays, not of traced values, that waits for the rows to be counted."""
        launches: list[Launch] = []  # what is the same in all

        @jax.jit
        def run(*operands: jax.Array) -> list[Any]:
            described = [describe(*x) for x in zip(self._definition.inputs, operands, strict=True)]
            launches[:] = [self._definition.launch(described, attributes)]
            return _ffi_call(launches[0])(*operands)

        def call(*operands: jax.Array) -> list[Any]:
            if any(isinstance(x, jax.core.Tracer) for x in operands):
                raise NotImplementedError(
                    f"onexpu: kernel '{self._definition.name}' finds out the size of its outputs when "
                    "it runs, so it cannot be part of a JAX program: call it outside of jax.jit, grad "
                    "and vmap, or declare outputs of a size that is known, and the count as an output"
                )
            results = run(*operands)
            outputs = results[: launches[0].num_outputs]
            for i, count in enumerate(launches[0].rows):
                if count < 0:
                    continue
                rows = int(results[count].reshape(()))
                if not 0 <= rows <= outputs[i].shape[0]:
                    raise ValueError(
                        f"onexpu: kernel '{self._definition.name}' counted {rows} rows of an output "
                        f"of shape {outputs[i].shape}"
                    )
                outputs[i] = outputs[i][:rows]
            return outputs

        return call

    def _launch(self, operands: Sequence[jax.Array], attributes: Mapping[str, Any]) -> list[Any]:
        described = [describe(*pair) for pair in zip(self._definition.inputs, operands, strict=True)]
        return _ffi_call(self._definition.launch(described, attributes))(*operands)

    # -- Batches ---------------------------------------------------------------------------------

    def _batchable(self, attributes: Mapping[str, Any]) -> _Call:
        def call(*operands: jax.Array) -> list[Any]:
            return self._launch(operands, attributes)

        rule = self._kernel.vmap_rule
        if rule is None:
            if not any(map(self._definition.takes_leading, range(len(self._definition.inputs)))):
                return call
            rule = self._launch_batch
        batchable = jax.custom_batching.custom_vmap(call)

        @batchable.def_vmap
        def batch(axis_size: int, in_batched: list[bool], *operands: jax.Array) -> tuple[Any, Any]:
            outputs, batched = rule(axis_size, in_batched, *operands, **attributes)
            several = isinstance(outputs, list | tuple)
            outputs = list(outputs) if several else [outputs]
            batched = list(batched) if isinstance(batched, list | tuple) else [batched] * len(outputs)
            if len(outputs) != len(self._definition.outputs) or len(batched) != len(outputs):
                raise ValueError(
                    f"onexpu: the vmap rule of kernel '{self._definition.name}' gave {len(outputs)} "
                    f"outputs and {len(batched)} flags for {len(self._definition.outputs)} outputs"
                )
            return outputs, batched

        return batchable

    def _launch_batch(
        self, axis_size: int, in_batched: Sequence[bool], *operands: jax.Array, **attributes: Any
    ) -> tuple[list[Any], list[bool]]:
        """One launch, with the batch dimension in front of all that takes more dimensions; a loop
        where another operand has it."""
        leading = list(map(self._definition.takes_leading, range(len(operands))))
        if any(batched and not takes for batched, takes in zip(in_batched, leading, strict=True)):
            return self._loop(in_batched, operands, attributes)
        wide = [
            jnp.broadcast_to(x, (axis_size, *x.shape)) if takes and not batched else x
            for x, takes, batched in zip(operands, leading, in_batched, strict=True)
        ]
        outputs = self._batchable(attributes)(*wide)
        for name, output in zip(self._definition.outputs, outputs, strict=True):
            if output.shape[:1] != (axis_size,):
                raise ValueError(
                    f"onexpu: kernel '{self._definition.name}' says vmap='leading', but output "
                    f"'{name}' has the shape {output.shape} for a batch of {axis_size}"
                )
        return outputs, [True] * len(outputs)

    def _loop(
        self, in_batched: Sequence[bool], operands: Sequence[jax.Array], attributes: Mapping[str, Any]
    ) -> tuple[list[Any], list[bool]]:
        def step(batched: Sequence[jax.Array]) -> list[Any]:
            rest = iter(batched)
            given = [next(rest) if b else x for x, b in zip(operands, in_batched, strict=True)]
            return self._launch(given, attributes)

        outputs = jax.lax.map(step, [x for x, b in zip(operands, in_batched, strict=True) if b])
        return outputs, [True] * len(outputs)

    # -- Gradients -------------------------------------------------------------------------------

    def _differentiable(self, run: _Call, attributes: Mapping[str, Any]) -> _Call:
        @jax.custom_vjp
        def call(*operands: jax.Array) -> list[jax.Array]:
            return run(*operands)

        def forward(*operands: jax.Array) -> tuple[Any, Any]:
            outputs = run(*operands)
            return outputs, (operands, outputs)

        def backward(residuals: Any, cotangents: Sequence[jax.Array]) -> tuple[Any, ...]:
            operands, outputs = residuals
            gradient = self._kernel.gradient(operands, outputs, cotangents, attributes)
            return tuple(_cotangent(x, value) for x, value in zip(operands, gradient, strict=True))

        call.defvjp(forward, backward)
        return call


def _cotangent(operand: jax.Array, value: Any) -> Any:
    """Fills in what custom_vjp wants for operands without a derivative."""
    if not jnp.issubdtype(operand.dtype, jnp.inexact):
        return np.zeros(operand.shape, jax.dtypes.float0)
    return jnp.zeros_like(operand) if value is None else value
