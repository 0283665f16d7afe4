"""tf.sort, tf.argsort and tf.math.top_k of rows with NaN and zeros of both signs."""

from __future__ import annotations

from typing import Any

import both
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import every

R = tf.raw_ops
MODES = ("eager", "graph", "jit")
FLOATS = (np.float16, tf.bfloat16.as_numpy_dtype, np.float32, np.float64)


def held(values: Any, dtype: Any = None) -> tf.Tensor:
    """Returns an argument: TensorFlow would compute with a constant when it builds a graph."""
    with tf.device("/CPU:0"):
        return tf.identity(np.asarray(values).astype(dtype) if dtype else values)


def rows(columns: int, dtype: Any, share: float = 0.2, count: int = 5, seed: int = 0) -> tf.Tensor:
    """Returns rows with ties, infinities, zeros of both signs and a share of NaN of both signs."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(count, columns)).round(1)
    for value in (0.0, -0.0, np.inf, -np.inf):
        x[random.random(x.shape) < 0.07] = value
    x[random.random(x.shape) < share] = np.nan
    x[1, random.random(columns) < share / 2] = -np.nan
    x[-1] = np.where(np.isnan(x[-1]), 1.0, x[-1])  # a row without NaN
    return held(x, dtype)


# Short rows, those that insertion sorts, and longer ones with partitions.
SIZES = [5, 1, 2, 100, 3, 16, 33, 17, 1000]


@pytest.mark.parametrize("dtype", every(2, FLOATS))
@pytest.mark.parametrize("columns", every(3, SIZES))
def test_sorts(columns: int, dtype: Any) -> None:
    for share in (0.0, 0.1, 0.9):
        x = rows(columns, dtype, share)
        for direction in ("ASCENDING", "DESCENDING"):
            both.check(lambda x=x, d=direction: tf.sort(x, direction=d), 0, MODES)
            both.check(lambda x=x, d=direction: tf.argsort(x, direction=d, stable=True), 0, MODES)


@pytest.mark.parametrize("dtype", every(3, FLOATS))
@pytest.mark.parametrize("columns", every(3, SIZES))
def test_largest(columns: int, dtype: Any) -> None:
    x = rows(columns, dtype)
    # One is a reduction of TensorFlow's, others a heap.
    for k in sorted({1, min(2, columns), (columns + 1) // 2, columns - 1, columns} - {0}):
        both.check(lambda k=k: list(tf.math.top_k(x, k)), 0, MODES)


def test_sorts_along_other_dimensions() -> None:
    x = tf.reshape(rows(24, np.float32), [5, 4, 6])
    for axis in (0, 1):
        both.check(lambda axis=axis: tf.argsort(x, axis=axis), 0, MODES)


def test_a_row_of_nan_and_ties() -> None:
    x = held([[np.nan] * 40, [1.0, 2.0] * 20, [0.0, -0.0] * 20], np.float32)
    for k in (1, 7, 40):
        both.check(lambda k=k: list(tf.math.top_k(x, k)), 0, MODES)


def test_the_sign_of_zero_stays() -> None:
    x = held([[0.0, -0.0, 0.0, -0.0, 1.0, np.nan]], np.float32)
    for columns in (5, 6):
        expected = tf.math.top_k(x[:, :columns], 5).values.numpy()
        with tf.device("/XPU:0"):
            found = tf.math.top_k(x[:, :columns], 5).values.numpy()
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_equal_ranges_that_exhaust_the_partitions() -> None:
    """Rows on which introsort gives up and makes a heap."""
    n = 2048
    adversary = np.arange(n, dtype=np.float32)
    # The median of three is among the largest each time.
    half = n // 2
    adversary[:half], adversary[half:] = np.arange(0, n, 2), np.arange(1, n, 2)
    adversary[::97] = np.nan
    for row in (adversary, adversary[::-1].copy(), np.r_[np.nan, np.sort(adversary[1:]), np.nan]):
        x = held(row[None])
        both.check(lambda x=x: tf.argsort(x), 0)


@pytest.mark.parametrize("index_type", [tf.int16, tf.int32, tf.int64])
def test_positions_of_types(index_type: tf.DType) -> None:
    x = rows(33, np.float32)
    both.check(lambda: list(R.TopKV2(input=x, k=9, index_type=index_type)), 0, MODES)


def test_nothing() -> None:
    both.check(lambda: list(tf.math.top_k(held(np.zeros((3, 0), np.float32)), 0)), 0)
    both.check(lambda: list(tf.math.top_k(held(np.zeros((0, 3), np.float32)), 2)), 0)
    both.check(lambda: list(tf.math.top_k(rows(5, np.float32), 0)), 0)


def test_rows_of_a_size_that_only_the_program_knows() -> None:
    x = held([np.nan, 3.0, -1.0, np.nan, 2.0, -0.0, 0.0, 5.0], np.float32)
    keep = held([True, True, False, True, True, True, True, True])

    def sort_kept() -> list[tf.Tensor]:
        kept = tf.boolean_mask(x, keep)
        return [
            tf.sort(kept),
            tf.cast(tf.argsort(kept, direction="DESCENDING"), tf.int64),
            *tf.math.top_k(kept, 3),
        ]

    both.check(sort_kept, 0, ("jit",))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
def test_integers(dtype: Any) -> None:
    x = held(np.random.default_rng(0).integers(0, 9, (3, 70)), dtype)
    for k in (1, 5, 70):
        both.check(lambda k=k: list(tf.math.top_k(x, k)), 0, MODES)
