"""Products of matrices that run alone, of many sizes: library calls, without a kernel to build."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import both
import numpy as np
import process
import pytest
import tensorflow as tf

R = tf.raw_ops
BF16 = tf.bfloat16.as_numpy_dtype
# Rows, inner, columns.
SIZES = [(1, 1, 1), (1, 7, 1), (5, 1, 3), (1, 33, 20), (17, 40, 1), (3, 5, 8), (64, 31, 65)]
BATCHES = [(), (1,), (3,), (2, 3), (40,)]
# Half of the distance between neighbours around 1.
UNITS = {np.float32: 2**-24, np.float64: 2**-53, np.float16: 2**-11, BF16: 2**-8}


def matrices(shape: tuple[int, ...], dtype: Any, seed: int) -> tf.Tensor:
    """Returns normal numbers."""
    with tf.device("/CPU:0"):
        return tf.constant(np.random.default_rng(seed).normal(size=shape).astype(dtype))


def operands(
    batch: tuple[int, ...], sizes: tuple[int, int, int], dtype: Any, turned: tuple[bool, bool]
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns two operands; a side that is turned has its last two dimensions exchanged."""
    rows, inner, columns = sizes
    left, right = (rows, inner), (inner, columns)
    return (
        matrices((*batch, *(left[::-1] if turned[0] else left)), dtype, 0),
        matrices((*batch, *(right[::-1] if turned[1] else right)), dtype, 1),
    )


def check(product: Callable[..., tf.Tensor], x: tf.Tensor, y: tf.Tensor, turned: Any) -> None:
    """Compares a product with that in float64.

    A sum of n products, in any order, is off by at most n units of the sum of their magnitudes, and
    its rounding by one more.
    """
    dtype = x.dtype.as_numpy_dtype
    with tf.device("/XPU:0"):
        result = product(x, y)
    assert "XPU" in result.device
    left, right = (
        np.swapaxes(side, -1, -2) if is_turned else side
        for side, is_turned in zip((x.numpy(), y.numpy()), turned, strict=True)
    )
    left, right = left.astype(np.float64), right.astype(np.float64)
    magnitudes = np.abs(left) @ np.abs(right)
    error = np.abs(result.numpy().astype(np.float64) - left @ right)
    assert np.all(error <= (left.shape[-1] + 1) * UNITS[dtype] * magnitudes)


@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False), (True, True)])
def test_matmul(turned) -> None:
    for sizes in SIZES:
        x, y = operands((), sizes, np.float32, turned)
        check(
            lambda x, y: R.MatMul(a=x, b=y, transpose_a=turned[0], transpose_b=turned[1]),
            x,
            y,
            turned,
        )


@pytest.mark.parametrize("batch", BATCHES)
def test_batches(batch) -> None:
    for turned in ((False, False), (True, True)):
        for sizes in SIZES:
            x, y = operands(batch, sizes, np.float32, turned)
            check(
                lambda x, y, t=turned: R.BatchMatMulV2(x=x, y=y, adj_x=t[0], adj_y=t[1]),
                x,
                y,
                turned,
            )


@pytest.mark.parametrize("dtype", UNITS)
def test_types(dtype) -> None:
    for batch in ((), (3,)):
        x, y = operands(batch, (3, 40, 8), dtype, (False, True))
        check(lambda x, y: R.BatchMatMulV2(x=x, y=y, adj_y=True), x, y, (False, True))


def test_infinity_and_nan() -> None:
    with tf.device("/CPU:0"):
        x = tf.constant([[1.0, np.inf], [np.nan, 1.0], [0.0, 2.0]], tf.float32)
        y = tf.constant([[1.0, -1.0], [0.0, np.inf]], tf.float32)
    both.check(lambda: R.MatMul(a=x, b=y), modes=("eager",))


def test_einsum() -> None:
    for batch in (1, 4):
        x, y = operands((batch,), (5, 6, 7), np.float32, (False, False))
        check(
            lambda x, y: tf.transpose(tf.einsum("bij,bjk->bki", x, y), [0, 2, 1]),
            x,
            y,
            (False, False),
        )


_NEW_SHAPES = """
import tensorflow as tf
with tf.device("/XPU:0"):
    for size in range(2, 20):
        x = tf.fill([3, size], 0.5)
        assert float(tf.reduce_sum(tf.matmul(x, x, transpose_b=True))) == 9 * size / 4
        x = tf.fill([2, 3, size], 0.5)
        assert float(tf.reduce_sum(tf.matmul(x, x, transpose_a=True))) == 2 * size * size * 3 / 4
"""


def test_no_kernel_is_built_for_a_new_shape(tmp_path: pathlib.Path) -> None:
    process.output_of(_NEW_SHAPES, XLA_FLAGS=f"--xla_dump_to={tmp_path}", ONEXPU_PROGRAM_CACHE="0")
    assert len(list(tmp_path.glob("*before_optimizations.txt"))) >= 2 * 18
    assert not list(tmp_path.glob("*.spv"))
