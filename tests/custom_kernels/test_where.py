"""Where: coordinates of what is not zero, against numpy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

TYPES = [
    np.bool_,
    np.uint8,
    np.int8,
    np.uint16,
    np.int16,
    np.uint32,
    np.int32,
    np.uint64,
    np.int64,
    np.float16,
    ml_dtypes.bfloat16,
    np.float32,
    np.float64,
    np.complex64,
    np.complex128,
]


def where(values: np.ndarray) -> np.ndarray:
    with tf.device("/XPU:0"):
        return tf.where(tf.constant(values)).numpy()


@pytest.mark.parametrize("dtype", TYPES)
def test_types(dtype) -> None:
    values = (np.random.default_rng(0).integers(0, 3, (50, 70)) % 2).astype(dtype)
    np.testing.assert_array_equal(where(values), np.argwhere(values))


@pytest.mark.parametrize(
    "shape", [(1,), (2047,), (2048,), (2049,), (300, 70), (3, 4, 5, 6), (2,) * 8]
)
@pytest.mark.parametrize("density", [0.0, 0.01, 0.5, 1.0])
def test_shapes_and_densities(shape: tuple[int, ...], density: float) -> None:
    values = np.random.default_rng(1).uniform(size=shape) < density
    np.testing.assert_array_equal(where(values), np.argwhere(values))


def test_many_chunks() -> None:
    values = np.random.default_rng(2).uniform(size=3_000_001) < 0.3
    np.testing.assert_array_equal(where(values), np.argwhere(values))


@pytest.mark.parametrize(
    "dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.complex64]
)
def test_negative_zero_is_zero_and_nan_is_not(dtype) -> None:
    values = np.array([0.0, -0.0, np.nan, -np.nan, 5e-8, -np.inf]).astype(dtype)
    np.testing.assert_array_equal(where(values), [[2], [3], [4], [5]])


def test_empty_and_scalar() -> None:
    assert where(np.zeros((0, 3), np.int32)).shape == (0, 2)
    assert where(np.array(True)).shape == (1, 0)
    assert where(np.array(False)).shape == (0, 0)


def test_boolean_mask() -> None:
    values = np.arange(100, dtype=np.float32)
    with tf.device("/XPU:0"):
        kept = tf.boolean_mask(tf.constant(values), tf.constant(values % 3 == 0))
    np.testing.assert_array_equal(kept, values[values % 3 == 0])
