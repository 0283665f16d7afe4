"""Concat of more arrays than one program takes."""

from __future__ import annotations

from typing import Any

import compare
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

R = tf.raw_ops


def arrays(count: int, axis: int, dtype: Any = np.float32) -> list[np.ndarray]:
    """Of several lengths, some of them without an element."""
    shapes = [[3, 2, 2] for _ in range(count)]
    for i, shape in enumerate(shapes):
        shape[axis] = i % 4
    random = np.random.RandomState(0)
    return [random.randint(0, 100, shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("count", [129, 300])
def test_values(count: int, axis: int) -> None:
    values = arrays(count, axis)
    expected = np.concatenate(values, axis)
    with tf.device("/XPU:0"):
        new, old = R.ConcatV2(values=values, axis=axis), R.Concat(concat_dim=axis, values=values)
    assert "XPU" in new.device
    np.testing.assert_array_equal(new, expected)
    np.testing.assert_array_equal(old, expected)


@pytest.mark.parametrize(
    "dtype", [np.bool_, np.int8, np.int64, np.float16, ml_dtypes.bfloat16, np.complex64]
)
def test_types(dtype: Any) -> None:
    values = arrays(150, 1, dtype)
    with tf.device("/XPU:0"):
        np.testing.assert_array_equal(tf.concat(values, 1), np.concatenate(values, 1))


def test_gradient() -> None:
    x = tf.constant(np.arange(200, dtype=np.float32))

    def function() -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(x)
            joined = tf.concat(tf.split(x, 200), 0)
            total = tf.reduce_sum(joined * joined)
        return [joined, tape.gradient(total, x)]

    compare.check(function, "eager")


def test_nothing() -> None:
    with tf.device("/XPU:0"):
        assert R.ConcatV2(values=[np.zeros([2, 0], np.float32)] * 200, axis=1).shape == (2, 0)


@pytest.mark.parametrize(
    ("last", "axis", "words"),
    [
        (np.zeros([2, 3], np.float32), 0, "Dimension 1 in both shapes must be equal"),
        (np.zeros([2], np.float32), 0, "Ranks of all input tensors should match"),
        (np.zeros([2, 2], np.float32), 2, "Expected concatenating dimensions in the range"),
    ],
)
def test_refused(last: np.ndarray, axis: int, words: str) -> None:
    values = [np.zeros([2, 2], np.float32)] * 200 + [last]
    for device in ("/CPU:0", "/XPU:0"):
        with pytest.raises(tf.errors.InvalidArgumentError, match=words), tf.device(device):
            R.ConcatV2(values=values, axis=axis)
