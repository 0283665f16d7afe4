"""Kernels in JAX: an FFI call to ``onexpu.kernel``, jitted once per signature."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from onexpu._definition import Definition, Launch
from onexpu._shapes import Operand
from onexpu._types import numpy_dtype

if TYPE_CHECKING:
    from onexpu._kernel import SyclKernel

_TARGET = "onexpu.kernel"
_Call = Callable[..., Sequence[Any]]


def _compiled_call(name: str, launch: Launch) -> _Call:
    """Returns the function of the operands that one launch is."""
    call = jax.ffi.ffi_call(
        _TARGET,
        [jax.ShapeDtypeStruct(shape, numpy_dtype(dtype)) for shape, dtype in launch.results],
        vmap_method="sequential",
        input_output_aliases={x: i for i, x in enumerate(launch.in_place) if x >= 0},
    )
    sizes: dict[str, Any] = {"global_size": np.array(launch.global_size, np.int64)}
    if launch.local_size:
        sizes["local_size"] = np.array(launch.local_size, np.int64)
    if launch.in_place:
        sizes["in_place"] = np.array(launch.in_place, np.int64)
    if launch.scalars:
        sizes["scalars"] = np.frombuffer(launch.scalars, np.uint8)

    def run(*operands: jax.Array) -> Sequence[jax.Array]:
        return call(*operands, kernel=launch.kernel.key, **sizes)[: launch.num_outputs]

    run.__name__ = run.__qualname__ = name
    return jax.jit(run, inline=True)


class JaxCalls:
    """Calls of one kernel with JAX arrays and traced values."""

    def __init__(self, kernel: SyclKernel, definition: Definition) -> None:
        self._kernel = kernel
        self._definition = definition
        self._calls: dict[Any, _Call] = {}
        self._differentiable = functools.cache(self._make_differentiable)

    def __call__(self, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Sequence[Any]:
        """Calls the kernel; see `SyclKernel.__call__`."""
        operands = [x if isinstance(x, jax.Array) else jnp.asarray(x) for x in inputs]
        if self._kernel.has_gradient:
            return self._differentiable(tuple(attributes.items()))(*operands)
        return self._call(operands, attributes)

    def _call(self, operands: Sequence[jax.Array], attributes: Mapping[str, Any]) -> Sequence[Any]:
        key = (tuple((x.shape, x.dtype) for x in operands), tuple(attributes.items()))
        call = self._calls.get(key)
        if call is None:
            described = [
                Operand(name, tuple(x.shape), x.dtype.name)
                for name, x in zip(self._definition.inputs, operands, strict=True)
            ]
            call = self._calls[key] = _compiled_call(
                self._definition.name, self._definition.launch(described, attributes)
            )
        return call(*operands)

    def _make_differentiable(self, items: tuple[tuple[str, Any], ...]) -> _Call:
        attributes = dict(items)

        @jax.custom_vjp
        def call(*operands: jax.Array) -> list[jax.Array]:
            return list(self._call(operands, attributes))

        def forward(*operands: jax.Array) -> tuple[Any, Any]:
            outputs = list(self._call(operands, attributes))
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
