"""Functions whose tensors are large, so that TensorFlow's graph optimiser finds memory short."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tensorflow as tf


@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_sums_of_large_tensors_keep_their_op(dtype: str) -> None:
    """Grappler adds large tensors with `Assign` and `AssignAdd`, which XPU lacks.

    It counts the tensors as the CPU device's, which has 256 MiB: six of 64 MiB are enough.
    """

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.device("/XPU:0"):
            large = tf.fill([1 << 24], x)
            parts = [tf.sin(large * tf.cast(i, dtype)) for i in range(6)]
            total = tf.add_n(parts)
            for part in parts:
                total += part  # they are needed after the sum
            return total[-3:]

    expected = 2 * sum(math.sin(0.5 * i) for i in range(6))
    # Twelve rounded terms of at most 1.
    np.testing.assert_allclose(
        step(tf.constant(0.5, dtype)), [expected] * 3, rtol=12 * np.finfo(dtype).eps
    )
