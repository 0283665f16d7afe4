"""`onexpu.sycl_kernel`: a kernel from SYCL source, callable in JAX and TensorFlow."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from onexpu._definition import Definition, Range
from onexpu._shapes import Array, Like, Operand

# (inputs, outputs, output cotangents, **attributes) -> input cotangents
Gradient = Callable[..., Sequence[Any]]


class SyclKernel:
    """A SYCL kernel, called with arrays of JAX or tensors of TensorFlow. Made by `sycl_kernel`.

    The same object works eagerly, under ``jax.jit``, ``grad`` and ``vmap``, in ``tf.function`` with
    and without
    ``jit_compile=True``, and in Keras layers. It may be called from any thread.
    """

    # TensorFlow's AutoGraph leaves what carries this name as it is.
    autograph_info__: Mapping[str, Any] = types.MappingProxyType({})

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._gradient: Gradient | None = None
        self._jax: Any = None
        self._tensorflow: Any = None

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
            One for each input: JAX arrays and traced values, or TensorFlow tensors. numpy arrays go
            to JAX unless
            another input is a tensor.
        **attributes : number
            One for each attribute, known when the call is made.

        Returns
        -------
        array or tuple of arrays
            One for each output; a single one is not in a tuple. Of the inputs' framework.

        Raises
        ------
        TypeError
            A wrong element type, number of inputs, or attribute.
        ValueError
            Shapes or a range that do not fit.
        SyclCompileError
            The source does not compile; at the first call with new element types.
        """
        self._definition.check_arity(len(inputs))
        self._definition.check_values(attributes)
        tensorflow = sys.modules.get("tensorflow")
        if tensorflow is not None and any(
            isinstance(x, tensorflow.Tensor | tensorflow.Variable) for x in inputs
        ):
            outputs = self._tensorflow_calls()(inputs, attributes)
        else:
            outputs = self._jax_calls()(inputs, attributes)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def defgradient(self, gradient: Gradient) -> Gradient:
        """Defines the gradient, for JAX and TensorFlow at once. Usable as a decorator.

        Parameters
        ----------
        gradient : callable
            ``gradient(inputs, outputs, cotangents, **attributes)`` gets three lists and the
            attributes of the
            call. It returns one cotangent for each input, or None for one that has no derivative.
            It works in
            terms of other kernels and of whatever both frameworks' arrays can do.

        Returns
        -------
        callable
            `gradient`.
        """
        self._gradient = gradient
        self._jax = self._tensorflow = None
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

    @property
    def has_gradient(self) -> bool:
        """Whether `defgradient` was called."""
        return self._gradient is not None

    def spirv(self, *dtypes: Any) -> bytes:
        """Returns the SPIR-V module for the types of the template parameters, in their order.

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

        return self._definition.compile(tuple(dtype_name(d) for d in dtypes)).spirv

    def _jax_calls(self) -> Any:
        if self._jax is None:
            from onexpu._jax import JaxCalls

            self._jax = JaxCalls(self, self._definition)
        return self._jax

    def _tensorflow_calls(self) -> Any:
        if self._tensorflow is None:
            from onexpu._tensorflow import TensorFlowCalls

            self._tensorflow = TensorFlowCalls(self, self._definition)
        return self._tensorflow


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
) -> SyclKernel:
    """Makes a kernel from SYCL C++ source. It needs no compiler: the SYCL runtime brings one.

    Parameters
    ----------
    source : str
        SYCL 2020 with a free-function kernel, ``ONEXPU_KERNEL void name(parameters) { ... }``,
        which may be a
        template over element types. Its parameters are pointers to the inputs, to the outputs, to
        scratch memory, then scalars. ``sycl/sycl.hpp`` is included; ``onexpu::global_id()`` is the number of the
        work-item,
        ``onexpu::item<dimensions>()`` its ``sycl::nd_item``. ``onexpu::bfloat16`` and
        ``sycl::half`` are there.
        A last parameter ``size_t`` that is no attribute gets the number of work-items.
    inputs : sequence of str
        Names of the inputs.
    outputs : mapping
        From the name of each output to its shape and type: `like` or `array`. One with the name of
        an input is that input, changed in place: the kernel has one pointer for both. Callers see
        values all the same, so what somebody else still holds is copied before; ``jax.jit`` with
        ``donate_argnums`` copies nothing.
    attributes : mapping, optional
        From the name of each scalar parameter to its type: ``float``, ``int``, ``bool`` or a dtype.
        The type in the source decides how it is passed. A callable instead of a type gets the
        inputs as `Operand` and returns an integer, as for `range`; callers do not give that
        attribute then.
    dtypes : mapping, optional
        From template parameters to the element types that they may stand for; any when it is
        missing.
    range : int, sequence of up to 3 int, or callable, optional
        Work-items, slowest dimension first. A callable gets the inputs as `Operand`. By default one
        for each
        element of the first output.
    scratch : mapping, optional
        From names to shapes and types, as `outputs`: device memory for the time of the launch, with
        pointers after those of the outputs. What it holds in the beginning is not defined.
    name : str, optional
        Which kernel of the source, with its namespace. By default the only one.
    local_size : int, sequence or callable, optional
        Work-items of a work-group. By default the device chooses.
    options : sequence of str, optional
        For the compiler: ``-D``, ``-I``, ``-O``, …

    Returns
    -------
    SyclKernel

    Raises
    ------
    ValueError, TypeError
        The parameters of the kernel do not fit the other arguments. The source is compiled later,
        by the
        first call.

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
    definition = Definition(
        source=source,
        inputs=inputs,
        outputs=outputs,
        scratch=scratch or {},
        attributes=attributes or {},
        dtypes=dtypes or {},
        range=range,
        local_size=local_size,
        name=name,
        options=options,
    )
    return SyclKernel(definition)


__all__ = ["Operand", "SyclKernel", "sycl_kernel"]
