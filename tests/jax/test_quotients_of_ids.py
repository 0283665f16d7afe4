"""Row numbers as 32-bit integers: the CPU driver takes a shift by 32 for a sign extension.

A quotient of the work-item's number that is converted to int32 and back was the number itself, in
kernels of one work-group (loops, branches) on the CPU device.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.exhaustive import covering

_COLUMNS = (1, 2, 4, 8, 16, 64)


def _in_a_branch(function):
    """Runs it in a branch, which is one kernel of one work-group."""
    return jax.jit(
        lambda p, *arguments: lax.cond(p, function, lambda *a: 0 * function(*a) - 1, *arguments)
    )


@covering(rows=[1, 3, 8, 33], columns=_COLUMNS)
def test_gathers_by_row(xpu, rows: int, columns: int) -> None:
    """As `tf.gather(x, i, batch_dims=1)` is translated."""
    x = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
    index = (np.arange(rows * columns).reshape(rows, columns) * 7 % columns).astype(np.int32)

    def gather(x, index):
        numbers = lax.broadcasted_iota(np.int32, index.shape, 0)
        return x[numbers, index] * 2

    got = _in_a_branch(gather)(*jax.device_put((True, x, index), xpu))
    np.testing.assert_array_equal(got, np.take_along_axis(x, index, 1) * 2)


@covering(dtype=["int32", "int16", "uint32", "int64"], dimension=[0, 1, 2], columns=_COLUMNS)
def test_numbers_of_rows(xpu, dtype: str, dimension: int, columns: int) -> None:
    shape = (3, 5, columns)

    def numbers(x):
        rows = lax.broadcasted_iota(dtype, shape, dimension)
        return x[(rows.astype(np.int32) * 3) % 16], rows.astype(np.float32) + x[0]

    def loop(x):
        def step(_, carry):
            first, second = numbers(carry[2])
            return first, second, carry[2]

        zeros = jnp.zeros(shape, np.float32)
        return lax.fori_loop(0, 3, step, (zeros, zeros, x))[:2]

    x = np.arange(16, dtype=np.float32) + 10
    got = jax.jit(loop)(jax.device_put(x, xpu))
    rows = np.broadcast_to(
        np.arange(shape[dimension]).reshape([-1 if i == dimension else 1 for i in range(3)]), shape
    )
    np.testing.assert_array_equal(got[0], x[rows * 3 % 16])
    np.testing.assert_array_equal(got[1], rows + x[0])


@pytest.mark.parametrize("divisor", [2, 4, 8, 3, 16])
def test_quotients_of_arange(xpu, divisor: int) -> None:
    def quotients(x):
        return x[(jnp.arange(40, dtype=np.int64) // divisor).astype(np.int32)]

    x = np.arange(40, dtype=np.float32)
    got = _in_a_branch(quotients)(*jax.device_put((True, x), xpu))
    np.testing.assert_array_equal(got, x[np.arange(40) // divisor])
