"""Random numbers with state: those of TensorFlow's CPU kernels, for the same seeds and in the same
order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

R = tf.raw_ops
FLOATING = [tf.float16, tf.bfloat16, tf.float32, tf.float64]
SEEDS = {"seed": 3, "seed2": 5}


def on_both(draw: Callable[[], tf.Tensor]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Three draws one after the other on the CPU, and on XPU."""
    drawn: list[list[np.ndarray]] = []
    for device in ("/CPU:0", "/XPU:0"):
        tf.random.set_seed(7)
        with tf.device(device):
            tensors = [draw() for _ in range(3)]
        assert all(tensor.device.endswith(device[1:]) for tensor in tensors)
        drawn.append([tensor.numpy() for tensor in tensors])
    return drawn[0], drawn[1]


@pytest.mark.parametrize("shape", [[1], [7], [1001], [3, 5, 7], [0, 3], []])
@pytest.mark.parametrize("dtype", FLOATING)
def test_uniform_numbers_are_the_same(dtype: tf.DType, shape: list[int]) -> None:
    shape = tf.constant(shape, tf.int32)
    for expected, actual in zip(
        *on_both(lambda: R.RandomUniform(shape=shape, dtype=dtype, **SEEDS)), strict=True
    ):
        np.testing.assert_array_equal(actual.astype(np.float64), expected.astype(np.float64))


@pytest.mark.parametrize("shape", [[1], [7], [1001], [3, 5, 7], [0, 3], []])
@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("op", ["RandomStandardNormal", "TruncatedNormal"])
def test_normal_numbers_differ_in_roundings(op: str, dtype: tf.DType, shape: list[int]) -> None:
    shape = tf.constant(shape, tf.int64)
    # Sines and logarithms of two libraries, times numbers up to six; then the rounding to the type.
    epsilon = 8 * np.finfo(np.float64 if dtype == tf.float64 else np.float32).eps
    own = float(ml_dtypes.finfo(dtype.as_numpy_dtype).eps)
    for expected, actual in zip(
        *on_both(lambda: getattr(R, op)(shape=shape, dtype=dtype, **SEEDS)), strict=True
    ):
        assert actual.dtype == expected.dtype
        np.testing.assert_allclose(
            actual.astype(np.float64), expected.astype(np.float64), rtol=own, atol=epsilon
        )


@pytest.mark.parametrize(
    ("dtype", "bounds"),
    [
        (tf.int32, (0, 10)),
        (tf.int32, (-5, 2**31 - 1)),
        (tf.int32, (-(2**31), 2**31 - 1)),
        (tf.int64, (0, 10)),
        (tf.int64, (-(2**63), 2**63 - 1)),
    ],
)
def test_integers_are_the_same(dtype: tf.DType, bounds: tuple[int, int]) -> None:
    low, high = (tf.constant(bound, dtype) for bound in bounds)

    def draw():
        return R.RandomUniformInt(shape=[1001], minval=low, maxval=high, **SEEDS)

    for expected, actual in zip(*on_both(draw), strict=True):
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(
    "function", [tf.random.uniform, tf.random.normal, tf.random.truncated_normal]
)
def test_functions_of_users(function: Any) -> None:
    @tf.function
    def draw() -> tf.Tensor:
        return function([100])

    expected, actual = on_both(draw)
    np.testing.assert_allclose(actual, expected, atol=1e-6)
    assert not np.array_equal(actual[0], actual[1])


def test_without_seeds_every_op_is_its_own() -> None:
    with tf.device("/XPU:0"):
        first, second = (R.RandomUniform(shape=[64], dtype=tf.float32).numpy() for _ in range(2))
    assert not np.array_equal(first, second)


def test_moments_of_many() -> None:
    with tf.device("/XPU:0"):
        normal = R.RandomStandardNormal(shape=[1_000_000], dtype=tf.float32, **SEEDS).numpy()
        truncated = R.TruncatedNormal(shape=[1_000_000], dtype=tf.float32, **SEEDS).numpy()
    # Five standard errors: 1 / sqrt(n) of the mean, sqrt(2 / n) of the variance.
    assert abs(normal.mean()) < 5e-3 and abs(normal.var() - 1) < 7e-3
    assert np.abs(truncated).max() < 2 and abs(truncated.var() - 0.7737) < 7e-3


def test_bounds_without_integers() -> None:
    for device in ("/CPU:0", "/XPU:0"):
        with pytest.raises(tf.errors.InvalidArgumentError, match="minval"), tf.device(device):
            R.RandomUniformInt(shape=[4], minval=3, maxval=3)
        with pytest.raises(tf.errors.InvalidArgumentError), tf.device(device):
            R.RandomUniform(shape=[-1], dtype=tf.float32)
