"""Means and Euclidean norms of integers: the CPU's kernels sum wider than the operand, or round a
root.
"""

from __future__ import annotations

from typing import Any

import both
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering

INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
MODES = ("eager", "graph", "jit")


def integers(dtype: Any, shape: tuple[int, ...], values: str) -> tf.Tensor:
    limits = np.iinfo(dtype)
    if values == "random":
        random = np.random.default_rng(0)
        x = random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    else:
        x = np.full(shape, getattr(limits, values), dtype)
    # An argument, not a constant: TensorFlow would compute that on the CPU when it builds a graph.
    with tf.device("/CPU:0"):
        return tf.identity(x)


@covering(values=["random", "max", "min"], dtype=INTEGERS)
def test_means_do_not_overflow(dtype: Any, values: str) -> None:
    if np.iinfo(dtype).bits == 64:
        values = (
            "random"  # The CPU sums in 64 bits, too: other sums overflow there in the same way.
        )
    x = integers(dtype, (5, 3, 7), values)
    for axis in (None, 0, -1, [0, 2], [1, 0, 2], []):
        for keepdims in (False, True):
            both.check(
                lambda axis=axis, keepdims=keepdims: tf.reduce_mean(x, axis, keepdims), modes=MODES
            )


@pytest.mark.parametrize("dtype", [*INTEGERS, np.float16, np.float32, np.complex64])
def test_means_of_nothing(dtype: Any) -> None:
    for shape, axis in (((3, 0), 1), ((0, 3), 0), ((0, 0), None), ((0, 3), 1)):
        x = tf.zeros(shape, dtype)
        both.check(lambda x=x, axis=axis: tf.reduce_mean(x, axis), modes=MODES)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64])
def test_means_of_other_types(dtype: Any) -> None:
    x = np.random.RandomState(0).randn(33, 17).astype(dtype)
    for axis in (None, 0, 1):
        both.check(lambda axis=axis: tf.reduce_mean(x, axis), modes=MODES)


def test_means_refuse_wrong_axes() -> None:
    for axis in (2, -3, [0, 0], [1, -1]):
        both.check_refused(
            lambda axis=axis: tf.raw_ops.Mean(input=tf.ones([2, 3], tf.int32), axis=axis)
        )


def test_what_is_made_of_means() -> None:
    x = integers(np.int32, (6, 5), "max")
    both.check(lambda: tf.nn.moments(x, [0]))
    both.check(lambda: tf.math.reduce_mean(tf.stack([x, x])[:, ::2], [0, 2]))


@covering(bound=[4, 100, None], dtype=INTEGERS)
def test_euclidean_norms_of_integers(dtype: Any, bound: int | None) -> None:
    random = np.random.default_rng(1)
    limits = np.iinfo(dtype)
    # Of negative sums, which overflow makes, and of more than float64's digits there is no root to
    # compare.
    top = min(bound or limits.max, limits.max) if limits.bits < 64 else bound or 1 << 20
    low = 0 if limits.min == 0 else -top
    x = random.integers(low, top, (9, 12), dtype, endpoint=True)
    for axis in (None, 0, [1]):
        both.check(lambda axis=axis: tf.math.reduce_euclidean_norm(x, axis), modes=MODES)
