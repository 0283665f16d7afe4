"""Scans over arrays of several types, such as a running maximum with its index.

The lengths are beyond the block length of the scan rewriter. The reference is numpy: XLA:CPU's
rewriter fails for several types or aborts.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

_DTYPES = ["int8", "uint16", "int32", "float16", "bfloat16", "float32", "float64"]


def _scan(operands, initial, reducer, *, reverse: bool):
    n = operands[0].shape[0]
    padding = (0, n - 1) if reverse else (n - 1, 0)
    rank = operands[0].ndim
    return lax.reduce_window(
        operands,
        initial,
        reducer,
        (n,) + (1,) * (rank - 1),
        (1,) * rank,
        (padding,) + ((0, 0),) * (rank - 1),
    )


def _later_maximum(a, b):
    """Prefers the later of equal elements: not symmetric."""
    later = b[0] >= a[0]
    return jnp.where(later, b[0], a[0]), jnp.where(later, b[1], a[1])


@pytest.mark.parametrize("shape", [(33,), (100, 3), (1000,), (5000, 2)])
@pytest.mark.parametrize("dtype", _DTYPES)
def test_running_maximum_and_its_row(xpu, dtype: str, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(shape).integers(0, 100, shape)
    rows = np.broadcast_to(np.arange(shape[0]).reshape(-1, *[1] * (len(shape) - 1)), shape)

    def scan(x, rows):
        return _scan(
            (x, rows), (jnp.zeros((), x.dtype), np.int32(-1)), _later_maximum, reverse=False
        )

    operands = jax.device_put((jnp.asarray(x).astype(dtype), rows.astype(np.int32)), xpu)
    maxima, where = jax.jit(scan)(*operands)
    expected = np.maximum.accumulate(x, 0)
    np.testing.assert_array_equal(np.asarray(maxima).astype(np.int64), expected)
    last = np.maximum.accumulate(np.where(x == expected, rows, -1), 0)
    np.testing.assert_array_equal(where, last)


@pytest.mark.parametrize("reverse", [False, True])
def test_three_types_at_once(xpu, reverse: bool) -> None:
    random = np.random.default_rng(7)
    x = random.integers(-5, 5, 77).astype(np.float16)
    y = random.integers(-5, 5, 77)
    z = random.random(77) > 0.5

    def scan(*operands):
        return _scan(
            operands,
            (np.float16(0), np.int64(0), np.False_),
            lambda a, b: (a[0] + b[0], jnp.maximum(a[1], b[1]), a[2] ^ b[2]),
            reverse=reverse,
        )

    sums, maxima, parities = jax.jit(scan)(*jax.device_put((x, y, z), xpu))
    turn = slice(None, None, -1 if reverse else 1)
    np.testing.assert_array_equal(sums, np.cumsum(x[turn])[turn])
    np.testing.assert_array_equal(maxima, np.maximum.accumulate(np.maximum(y, 0)[turn])[turn])
    np.testing.assert_array_equal(parities, np.logical_xor.accumulate(z[turn])[turn])


def test_complex_among_them_is_rejected_by_name(xpu) -> None:
    def scan(x, y):
        return _scan(
            (x, y),
            (np.complex64(0), np.int32(0)),
            lambda a, b: (a[0] + b[0], a[1] + b[1]),
            reverse=False,
        )

    operands = jax.device_put((np.ones(70, np.complex64), np.ones(70, np.int32)), xpu)
    with pytest.raises(jax.errors.JaxRuntimeError, match="UNIMPLEMENTED.*several types.*complex"):
        jax.jit(scan)(*operands)
