"""Unique and its kind: distinct elements in the order in which they come, where each is, how
often.
"""

from __future__ import annotations

from typing import Any

import both
import compare
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

R = tf.raw_ops
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATING = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


def check(values: Any, out: tf.DType = tf.int32) -> None:
    both.check(lambda: R.UniqueWithCounts(x=values, out_idx=out), ulps=0, modes=("eager",))


@pytest.mark.parametrize("out", [tf.int32, tf.int64])
@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATING, np.bool_])
def test_types(dtype: Any, out: tf.DType) -> None:
    values = np.random.RandomState(0).randint(-20, 20, 300)
    check(values.astype(np.int64).astype(dtype), out)


@pytest.mark.parametrize("op", ["Unique", "UniqueWithCounts"])
def test_forms(op: str) -> None:
    values = np.array([9, 2, 9, 9, -1, 2, 7], np.int32)
    both.check(lambda: getattr(R, op)(x=values), modes=("eager",))


@pytest.mark.parametrize("axis", [[], [0], [1]])
def test_slices_are_told_apart_on_the_host(axis: list[int]) -> None:
    values = (
        np.array([[1, 0, 0], [1, 0, 0], [2, 0, 0]], np.int32)
        if axis
        else np.array([3, 1, 3], np.int32)
    )

    def draw():
        return R.UniqueV2(x=values, axis=np.array(axis, np.int64))

    compare.assert_same(compare.on("/XPU:0", draw), compare.on("/CPU:0", draw), ulps=0)


@pytest.mark.parametrize("size", [1, 2, 8191, 8192, 8193, 100_000])
@pytest.mark.parametrize("kinds", [1, 100, 1 << 40])
def test_sizes(size: int, kinds: int) -> None:
    check(np.random.RandomState(size).randint(-kinds, kinds, size))


@pytest.mark.parametrize("dtype", FLOATING)
def test_zeros_are_equal_and_nans_are_not(dtype: Any) -> None:
    values = np.array([-0.0, 1, 0.0, np.nan, np.inf, np.nan, -np.inf, np.inf, 1], dtype)
    with tf.device("/XPU:0"):
        y, indices, counts = R.UniqueWithCounts(x=values)
    first = np.array([-0.0, 1, np.nan, np.inf, np.nan, -np.inf], np.float64)
    np.testing.assert_array_equal(y.numpy().astype(np.float64), first)
    assert np.signbit(y.numpy().astype(np.float64)[0])
    np.testing.assert_array_equal(indices, [0, 1, 0, 2, 3, 4, 5, 3, 1])
    np.testing.assert_array_equal(counts, [2, 2, 1, 2, 1, 1])


def test_smallest_and_largest() -> None:
    limits = np.iinfo(np.int64)
    check(np.array([limits.max, limits.min, 0, -1, limits.max], np.int64))


def test_nothing() -> None:
    check(np.zeros([0], np.float32))


def test_in_a_graph() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64)])
    def kinds(values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        y, indices = tf.unique(values)
        return tf.reduce_sum(y), tf.gather(y, indices)

    with tf.device("/XPU:0"):
        for size in (3, 50, 1):
            values = np.arange(size, dtype=np.int64) % 7
            total, same = kinds(tf.constant(values))
            assert total == np.unique(values).sum()
            np.testing.assert_array_equal(same, values)


def test_refused() -> None:
    both.check_refused(lambda: R.Unique(x=tf.zeros([2, 2])))
