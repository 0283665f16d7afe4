"""``jax.experimental.buffer_callback``: a Python function that fills its results in place.

It runs like the other callbacks, on copies of the operands in host memory: what it is given takes
numpy's and DLPack's protocols, and there is no stream. (`onexpu.sycl_kernel` runs code of one's own
on the device's memory.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax._src import buffer_callback, tree_util
from jax._src.interpreters import mlir
from jax_plugins.onexpu import _callbacks
from jax_plugins.onexpu._library import PLATFORM


def register_lowerings() -> None:
    """Registers the rule. Harmless when repeated."""
    # Not cacheable: each call site has its own callable.
    mlir.register_lowering(
        buffer_callback.buffer_callback_p, _buffer_callback, platform=PLATFORM, cacheable=False
    )


class _Buffer:
    """An array in host memory with the attributes of
    ``jax.experimental.buffer_callback.Buffer``.
    """

    def __init__(self, array: np.ndarray, *, writeable: bool) -> None:
        self._array = array.view()
        self._array.flags.writeable = writeable

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    @property
    def dtype(self) -> np.dtype:
        return self._array.dtype

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def size(self) -> int:
        return self._array.size

    @property
    def writeable(self) -> bool:
        return self._array.flags.writeable

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._array, dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        # numpy exports only writable arrays. Callbacks must still not write into operands.
        array = self._array
        if not array.flags.writeable:
            array = (
                array.base
                if array.base is not None and array.base.flags.writeable
                else array.copy()
            )
        return array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


class _Context:
    """What ``jax.experimental.buffer_callback.ExecutionContext`` tells."""

    stage = buffer_callback.ExecutionStage.EXECUTE

    @property
    def stream(self) -> int:
        raise jax.errors.JaxRuntimeError(
            "UNIMPLEMENTED: onexpu: a buffer callback runs on the host; XLA FFI GPU context is not "
            "available"
        )


def _buffer_callback(
    ctx: mlir.LoweringRuleContext,
    *args: Any,
    callback: Callable[..., None],
    in_tree: Any,
    out_tree: Any,
    has_side_effect: bool,
    input_output_aliases: Sequence[tuple[int, int]],
    command_buffer_compatible: bool,
    **_: Any,
) -> Sequence[Any]:
    del command_buffer_compatible  # there are no command buffers to be recorded into
    avals = ctx.avals_out

    def fill(*operands: np.ndarray) -> list[np.ndarray]:
        operands = [np.asarray(operand) for operand in operands]
        results = [np.zeros(aval.shape, aval.dtype) for aval in avals]
        for operand, result in input_output_aliases:
            results[result] = operands[operand] = np.array(operands[operand])
        given, keywords = tree_util.tree_unflatten(
            in_tree, [_Buffer(a, writeable=False) for a in operands]
        )
        wanted = tree_util.tree_unflatten(out_tree, [_Buffer(a, writeable=True) for a in results])
        if callback(_Context(), wanted, *given, **keywords) is not None:
            raise ValueError("buffer_callback callback must not return any values.")
        return results

    results, _, _ = _callbacks.emit(
        ctx, fill, None, list(args), ctx.avals_in, avals, has_side_effect=has_side_effect
    )
    return results
