"""`onexpu.sycl_kernel`: a kernel from SYCL source, callable in JAX and TensorFlow."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from onexpu._kernel.definition import Definition
from onexpu._launch.protocols import FrameworkCalls, KernelDefinition, KnownCall, VmapRule
from onexpu._launch.scalars import is_number
from onexpu._launch.shapes import Array, Like, Operand
from onexpu._launch.sizes import Range
from onexpu._source.constants import Constants, Given
from onexpu._source.source import Source, SourceKernel

# (inputs, outputs, output cotangents, **attributes) -> input cotangents
Gradient = Callable[..., Sequence[Any]]


@functools.cache
def _is_tensor_type(type_: type) -> bool:
    tensorflow = sys.modules["tensorflow"]
    return issubclass(type_, tensorflow.Tensor | tensorflow.Variable)


def _any_tensor(inputs: Sequence[Any]) -> bool:
    """Whether an input is TensorFlow's, who need not be there."""
    return "tensorflow" in sys.modules and any(map(_is_tensor_type, map(type, inputs)))


def _any_usm_array(inputs: Sequence[Any]) -> bool:
    from onexpu._interop.dpctl import has_usm_arrays

    return has_usm_arrays(inputs)


# Of one kernel, by the types of operands and attributes.
_KNOWN_CALLS = 256


class SyclKernel:
    """A SYCL kernel, called with arrays of JAX or tensors of TensorFlow. Made by `sycl_kernel`.

    The same object works eagerly, under ``jax.jit``, ``grad`` and ``vmap``, in ``tf.function`` with
    and without ``jit_compile=True``, and in Keras layers. Any thread may call it.
    """

    # TensorFlow's AutoGraph leaves what carries this name as it is.
    autograph_info__: Mapping[str, Any] = types.MappingProxyType({})

    def __init__(self, definition: KernelDefinition) -> None:
        self._definition = definition
        self._gradient: Gradient | None = None
        self._vmap_rule: VmapRule | None = None
        # Calls that were checked, by the types of inputs and attributes.
        self._known_calls: dict[tuple[Any, ...], KnownCall] = {}

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self._definition.name

    def __repr__(self) -> str:
        definition = self._definition
        inputs, outputs = ", ".join(definition.inputs), ", ".join(definition.outputs)
        return f"<onexpu.SyclKernel {self.name}({inputs}) -> {outputs}>"

    def __call__(self, *inputs: Any, **attributes: Any) -> Any:
        """Calls the kernel.

        Parameters
        ----------
        *inputs : array-like
            One for each input: JAX arrays and traced values, TensorFlow tensors, or arrays of dpnp
            and dpctl. numpy arrays are passed to JAX, unless another input is a tensor.
        **attributes : number, or array or tensor without dimensions
            One for each attribute. A value is converted to the type that the kernel declares, or
            the call raises. Eager calls compile nothing for a new value. In a compiled program a
            number is a constant, and the kernel reads an array or a traced value when it runs.

        Returns
        -------
        array or tuple of arrays
            One for each output, in the inputs' framework. A single output is not in a tuple.

        Raises
        ------
        TypeError
            If an element type, the number of inputs or an attribute is wrong.
        ValueError
            If a shape, a range or a number does not fit.
        SyclCompileError
            If the source does not compile, at the first call with new element types.
        """
        key = (*map(type, inputs), *attributes, *map(type, attributes.values()))
        call = self._known_calls.get(key)
        if call is None:
            outputs = self._first_call(key, inputs, attributes)
        else:
            outputs = call(inputs, attributes)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _first_call(
        self, key: tuple[Any, ...], inputs: Sequence[Any], attributes: Mapping[str, Any]
    ) -> Sequence[Any]:
        definition = self._definition
        definition.check_arity(len(inputs))
        definition.check_values(attributes)
        operands = (*inputs, *attributes.values())
        if _any_tensor(operands):
            calls: FrameworkCalls = self._tensorflow_calls
        elif "dpctl" in sys.modules and _any_usm_array(operands):
            return self._dpctl_calls(inputs, attributes)
        else:
            calls = self._jax_calls
        # Types tell whether numbers are taken, not whether arrays are.
        values = attributes.values()
        if any(isinstance(value, np.ndarray) or not is_number(value) for value in values):
            return calls(inputs, attributes)
        call = calls.known_call(inputs, attributes)
        if len(self._known_calls) >= _KNOWN_CALLS:
            self._known_calls.clear()
        self._known_calls[key] = call
        return call(inputs, attributes)

    def _forget_calls(self) -> None:
        self._known_calls.clear()
        for name in ("_jax_calls", "_tensorflow_calls"):
            self.__dict__.pop(name, None)

    def defgradient(self, gradient: Gradient) -> Gradient:
        """Defines the gradient for JAX and TensorFlow. Usable as a decorator.

        Parameters
        ----------
        gradient : callable
            ``gradient(inputs, outputs, cotangents, **attributes)`` receives three lists and the
            attributes of the call. It returns one cotangent for each input, or None for an input
            without a derivative. It uses other kernels, and arithmetic that the arrays of both
            frameworks support.

        Returns
        -------
        callable
            `gradient`.
        """
        self._gradient = gradient
        self._forget_calls()
        return gradient

    def gradient(
        self,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        cotangents: Sequence[Any],
        attributes: Mapping[str, Any],
    ) -> list[Any]:
        """Calls what `defgradient` got, and checks that it gives one cotangent for each input."""
        assert self._gradient is not None
        result = self._gradient(list(inputs), list(outputs), list(cotangents), **attributes)
        result = list(result) if isinstance(result, list | tuple) else [result]
        if len(result) != len(inputs):
            raise ValueError(
                f"onexpu: the gradient of kernel '{self.name}' gave {len(result)} cotangents for "
                f"{len(inputs)} inputs"
            )
        return result

    def defvmap(self, rule: VmapRule) -> VmapRule:
        """Defines the kernel's rule for ``jax.vmap``. Usable as a decorator.

        Parameters
        ----------
        rule : callable
            ``rule(axis_size, in_batched, *inputs, **attributes)``. `in_batched` has a bool for each
            input: whether it is batched, with the batch as its first dimension. The rule returns
            the outputs, and whether each is batched, as rules of
            ``jax.custom_batching.custom_vmap`` do.

        Returns
        -------
        callable
            `rule`.
        """
        self._vmap_rule = rule
        self._forget_calls()
        return rule

    @property
    def vmap_rule(self) -> VmapRule | None:
        """What `defvmap` got."""
        return self._vmap_rule

    @property
    def definition(self) -> KernelDefinition:
        """What the kernel was made of."""
        return self._definition

    @property
    def has_gradient(self) -> bool:
        """Whether `defgradient` was called."""
        return self._gradient is not None

    def spirv(self, *dtypes: Any, **constants: int) -> bytes:
        """Returns the SPIR-V module for the types of the template parameters, in their order.

        Constants that follow from the inputs (``constants={"N": lambda x: ...}``) are passed by
        name. Afterwards this process can load programs that another process exported with the
        kernel (``jax.export``).

        Raises
        ------
        TypeError
            If the number of types is wrong, if a parameter does not accept a type, if a constant is
            missing or unknown, or if the kernel is a handler of a C++ library.
        SyclCompileError
            If the source does not compile.

        Examples
        --------
        >>> import onexpu
        >>> negate = onexpu.sycl_kernel(
        ...     source="ONEXPU_KERNEL void negate(const float* x, float* y) { y[0] = -x[0]; }",
        ...     inputs=["x"], outputs={"y": onexpu.like("x")})
        >>> negate.spirv()[:4].hex()
        '03022307'
        """
        from onexpu._types import dtype_name

        types = tuple(dtype_name(d) for d in dtypes)
        definition = self._definition
        if not isinstance(definition, Definition):
            raise TypeError(
                f"onexpu: spirv() failed: kernel '{self.name}' is a compiled handler of a C++ "
                "library. Call spirv() of a kernel from SYCL source or SPIR-V."
            )
        return definition.compile(definition.template_arguments(types, constants)).spirv

    @functools.cached_property
    def _jax_calls(self) -> FrameworkCalls:
        from onexpu._frameworks.jax_calls import JaxCalls

        return JaxCalls(self, self._definition)

    @functools.cached_property
    def _dpctl_calls(self) -> KnownCall:
        from onexpu._frameworks.dpctl_calls import DpctlCalls

        return DpctlCalls(self._definition)

    @functools.cached_property
    def _tensorflow_calls(self) -> FrameworkCalls:
        from onexpu._frameworks.tensorflow_calls import TensorFlowCalls

        return TensorFlowCalls(self, self._definition)


class SyclModule:
    """A SYCL source with several kernels, compiled together. Made by `sycl_module`."""

    def __init__(self, source: str, *, options: Sequence[str] = ()) -> None:
        self._source = Source(source, options)

    @property
    def names(self) -> tuple[str, ...]:
        """The kernels that the source defines."""
        return tuple(kernel.name for kernel in self._source.kernels)

    def kernel(
        self,
        name: str | None,
        inputs: Sequence[str],
        outputs: Mapping[str, Like | Array],
        attributes: Mapping[str, Any] | None = None,
        dtypes: Mapping[str, Sequence[Any]] | None = None,
        range: Range | None = None,
        *,
        scratch: Mapping[str, Like | Array] | None = None,
        local_size: Range | None = None,
        shapes: Mapping[str, str] | None = None,
        vmap: str = "sequential",
        constants: Mapping[str, Given] | None = None,
    ) -> SyclKernel:
        """Makes one of the kernels. The parameters are those of `sycl_kernel`.

        Raises
        ------
        ValueError, TypeError
            If the source has no such kernel, or if its parameters do not fit the other arguments.
        """
        name, signature = self._source.find(name)
        checked = Constants(name, signature, constants or {})
        definition = Definition(
            code=SourceKernel(self._source, name, dtypes or {}, checked.fixed),
            signature=signature,
            name=name,
            inputs=inputs,
            outputs=outputs,
            scratch=scratch or {},
            attributes=attributes or {},
            dtypes=dtypes or {},
            range=range,
            local_size=local_size,
            shapes=shapes or {},
            vmap=vmap,
            constants=checked,
        )
        return SyclKernel(definition)


def sycl_module(source: str, *, options: Sequence[str] = ()) -> SyclModule:
    """Reads SYCL source with several kernels, which are compiled together.

    The first call of a kernel compiles all kernels whose template parameters have the same names,
    for the types of the call.

    Parameters
    ----------
    source, options
        See `sycl_kernel`.

    Returns
    -------
    SyclModule

    Raises
    ------
    ValueError
        If the source defines no kernel.

    Examples
    --------
    >>> import jax.numpy as jnp, onexpu
    >>> module = onexpu.sycl_module('''
    ... ONEXPU_KERNEL void twice(const float* x, float* y) {
    ...   y[onexpu::global_id()] = 2 * x[onexpu::global_id()];
    ... }
    ... ONEXPU_KERNEL void negate(const float* x, float* y) {
    ...   y[onexpu::global_id()] = -x[onexpu::global_id()];
    ... }
    ... ''')
    >>> twice, negate = (
    ...     module.kernel(name, ["x"], {"y": onexpu.like("x")}) for name in module.names
    ... )
    >>> negate(twice(jnp.arange(3.0)))
    Array([-0., -2., -4.], dtype=float32)
    """
    return SyclModule(source, options=options)


def sycl_kernel(
    source: str,
    inputs: Sequence[str],
    outputs: Mapping[str, Like | Array],
    attributes: Mapping[str, Any] | None = None,
    dtypes: Mapping[str, Sequence[Any]] | None = None,
    range: Range | None = None,
    *,
    scratch: Mapping[str, Like | Array] | None = None,
    name: str | None = None,
    local_size: Range | None = None,
    options: Sequence[str] = (),
    shapes: Mapping[str, str] | None = None,
    vmap: str = "sequential",
    constants: Mapping[str, Given] | None = None,
) -> SyclKernel:
    """Makes a kernel from SYCL C++ source. The SYCL runtime contains the compiler.

    Parameters
    ----------
    source : str
        SYCL 2020 with a free-function kernel, ``ONEXPU_KERNEL void name(parameters) { ... }``,
        which may be a template over element types and integers. Its parameters are pointers to the
        inputs, to the outputs and to scratch memory, in this order and with these names, then
        scalars. ``ONEXPU_KERNEL_ND(2)`` and ``(3)`` declare kernels of more dimensions.
        ``sycl/sycl.hpp`` is included. ``onexpu::global_id()`` is the work-item id,
        ``onexpu::item<dimensions>()`` the ``sycl::nd_item``; ``onexpu::bfloat16`` and
        ``sycl::half`` are 16-bit floats. A last ``size_t`` parameter that is not an attribute
        receives the number of work-items.
    inputs : sequence of str
        Names of the inputs.
    outputs : mapping
        Maps the name of each output to its shape and type: `like` or `array`. An output with the
        name of an input is that input, changed in place: the kernel has one pointer for both.
        Callers still see values, so an array with other references is copied first; ``jax.jit``
        with ``donate_argnums`` copies nothing.
    attributes : mapping, optional
        Maps the name of each scalar parameter to its type: ``float``, ``int``, ``bool`` or a dtype.
        The source has the exact type. Calls pass numbers, or arrays and tensors without dimensions.
        A callable instead of a type receives the inputs as `Operand` and returns an integer;
        callers then do not pass that attribute.
    dtypes : mapping, optional
        Maps template parameters to the element types that they may stand for. The default is any
        type.
    range : int, sequence of up to 3 int, or callable, optional
        The number of work-items, slowest dimension first, in the dimensions that the source
        declares. A callable receives the inputs as `Operand`. The default is one work-item for each
        element of the first output.
    scratch : mapping, optional
        Maps names to shapes and types, as `outputs` does: device memory that exists during the
        launch. Its pointers follow those of the outputs. Its initial contents are undefined.
    name : str, optional
        Which kernel of the source, with its namespace. The default is the only one.
    local_size : int, sequence or callable, optional
        The work-group size. By default the device chooses.
    options : sequence of str, optional
        Compiler options: ``-D``, ``-I``, ``-O``, …
    shapes : mapping, optional
        Maps inputs to their shapes in the notation of jaxtyping: ``{"x": "*rows columns", "weight":
        "columns"}``. A word is a name (the same size wherever it occurs), ``2*name``, ``name+1``,
        an integer, ``_`` (any size), ``*name`` (any number of dimensions, the same wherever it
        occurs) or ``...`` (any number of any sizes). Calls are checked when they are traced, or
        when they run if a TensorFlow graph does not know its shapes.
    vmap : {"sequential", "leading"}
        How ``jax.vmap`` batches the kernel: a launch for each element, or one launch with the batch
        dimension in front of every input whose declared shape begins with ``*name`` or ``...``, and
        of every output. `SyclKernel.defvmap` accepts another rule.
    constants : mapping, optional
        Maps template parameters that are integers or bool (``template <int N>``) to their values:
        a number, or a callable that receives the inputs as `Operand`. The kernel is compiled for
        each value. The source's defaults apply to parameters that are missing.

    Returns
    -------
    SyclKernel

    Raises
    ------
    ValueError, TypeError
        If the kernel's parameters do not fit the other arguments. The first call compiles the
        source.

    Examples
    --------
    >>> import jax.numpy as jnp, onexpu
    >>> scale = onexpu.sycl_kernel(
    ...     source='''
    ...     template <typename T>
    ...     ONEXPU_KERNEL void scale(const T* x, T* y, float factor) {
    ...       size_t i = onexpu::global_id();
    ...       y[i] = T(factor) * x[i];
    ...     }
    ...     ''',
    ...     inputs=["x"], outputs={"y": onexpu.like("x")}, attributes={"factor": float})
    >>> scale(jnp.arange(3.0), factor=2.0)
    Array([0., 2., 4.], dtype=float32)
    """
    return SyclModule(source, options=options).kernel(
        name,
        inputs,
        outputs,
        attributes,
        dtypes,
        range,
        scratch=scratch,
        local_size=local_size,
        shapes=shapes,
        vmap=vmap,
        constants=constants,
    )


__all__ = ["Operand", "SyclKernel", "SyclModule", "sycl_kernel", "sycl_module"]
