"""8-bit floats on XPU: as constants, moved, joined and converted."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

TYPES = ["float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2fnuz"]
VALUES = np.float32([[0.0, 1.0, -1.5], [0.25, 8.0, -2.0]])


def _type(name: str) -> tf.DType:
    from tensorflow.python.framework import dtypes

    return getattr(dtypes, name)


@pytest.mark.parametrize("name", TYPES)
def test_on_the_device(name: str) -> None:
    dtype = _type(name)
    values = VALUES.astype(dtype.as_numpy_dtype)
    with tf.device("/XPU:0"):
        x = tf.constant(values)
        results = [
            x,
            tf.identity(x),
            tf.reshape(x, [3, 2]),
            tf.expand_dims(x, 1),
            tf.concat([x, x], 0),
        ]
    assert all("XPU" in result.device for result in results)
    np.testing.assert_array_equal(results[1].numpy(), values)
    np.testing.assert_array_equal(results[2].numpy(), values.reshape(3, 2))
    np.testing.assert_array_equal(results[3].numpy(), values[:, None])
    np.testing.assert_array_equal(results[4].numpy(), np.concatenate([values, values]))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", TYPES)
def test_conversions(name: str, compiled: bool) -> None:
    dtype = _type(name)

    @tf.function(jit_compile=compiled or None)
    def there_and_back(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        narrow = tf.cast(x, dtype)
        return narrow, tf.cast(narrow, tf.float32) * 2.0

    with tf.device("/XPU:0"):
        narrow, doubled = there_and_back(tf.constant(VALUES))
    assert narrow.dtype == dtype
    np.testing.assert_array_equal(narrow.numpy(), VALUES.astype(dtype.as_numpy_dtype))
    np.testing.assert_array_equal(doubled, VALUES * 2)


def test_every_value_of_each_type() -> None:
    for name in TYPES:
        dtype = _type(name)
        values = np.arange(256, dtype=np.uint8).view(dtype.as_numpy_dtype)
        with tf.device("/XPU:0"):
            wide = tf.cast(tf.constant(values), tf.float32)
        np.testing.assert_array_equal(wide, values.astype(np.float32))
