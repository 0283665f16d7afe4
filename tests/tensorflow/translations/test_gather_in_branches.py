"""`tf.gather` with batch dimensions in a branch: row numbers come from the work-item's number."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf


@pytest.mark.parametrize("columns", [1, 4, 5, 8])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_batch_dimensions(dtype: str, columns: int) -> None:
    random = np.random.default_rng(0)
    x = random.integers(-4, 5, (8, 8)).astype(dtype)
    index = random.integers(0, 8, (8, columns)).astype(np.int32)

    @tf.function(jit_compile=True)
    def program(p, x, index):
        return tf.cond(
            p, lambda: tf.zeros(index.shape, x.dtype), lambda: tf.gather(x, index, batch_dims=1)
        )

    with tf.device("/XPU:0"):
        got = program(tf.constant(False), tf.constant(x), tf.constant(index))
    np.testing.assert_array_equal(got, np.take_along_axis(x, index, 1))
