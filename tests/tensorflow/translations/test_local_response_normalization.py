"""LRN and its gradient in every type, against float32 or float64 where TensorFlow's CPU has no
kernel.
"""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering

# Shapes, and radius, bias, alpha and beta.
CASES = [
    ((1, 2, 2, 4), (5, 1.0, 1.0, 0.5)),
    ((2, 3, 1, 7), (2, 1.0, 0.3, 0.6)),
    ((1, 2, 3, 1), (0, 2.0, 0.1, 1.0)),
    ((1, 1, 1, 33), (4, 0.5, 0.2, 0.75)),
    ((2, 1, 2, 9), (100, 0.5, 0.2, 0.75)),
    ((0, 2, 2, 3), (2, 1.0, 0.3, 0.6)),
]


def values_and_gradients(
    device: str, x: np.ndarray, dtype: tf.DType, options: tuple[float, ...], jit: bool
) -> list[np.ndarray]:
    radius, bias, alpha, beta = options

    def run(x: tf.Tensor, weights: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.lrn(x, int(radius), bias, alpha, beta)
        return [y, tape.gradient(y, x, weights)]

    with tf.device(device):
        weights = tf.constant(np.cos(np.arange(x.size)).reshape(x.shape), dtype)
        results = (
            tf.function(run, jit_compile=True)(tf.constant(x, dtype), weights)
            if jit
            else run(tf.constant(x, dtype), weights)
        )
    assert all(one.dtype == dtype and device[1:] in one.device for one in results)
    return [tf.cast(one, tf.float64).numpy() for one in results]


@covering(case=CASES, dtype=[tf.float16, tf.bfloat16, tf.float32], jit=[False, True])
def test_every_type(
    dtype: tf.DType, case: tuple[tuple[int, ...], tuple[float, ...]], jit: bool
) -> None:
    shape, options = case
    x = np.random.RandomState(0).randn(*shape)
    x = tf.cast(tf.constant(x, dtype), tf.float32).numpy()  # exact in each type
    expected = values_and_gradients("/CPU:0", x, tf.float32, options, jit=False)
    tolerance = {tf.float16: 2e-3, tf.bfloat16: 2e-2, tf.float32: 2e-5}[dtype]
    for a, e in zip(values_and_gradients("/XPU:0", x, dtype, options, jit), expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32])
def test_bad_input_is_refused(dtype: tf.DType) -> None:
    for device in ("/CPU:0", "/XPU:0"):
        with tf.device(device):
            with pytest.raises(tf.errors.InvalidArgumentError):
                tf.nn.lrn(tf.ones([2, 3, 4], dtype))
            with pytest.raises(tf.errors.InvalidArgumentError):
                tf.nn.lrn(tf.ones([1, 2, 3, 4], dtype), depth_radius=-1)
            with pytest.raises(tf.errors.InvalidArgumentError):
                tf.raw_ops.LRNGrad(
                    input_grads=tf.ones([1, 2, 3, 4], dtype),
                    input_image=tf.ones([1, 2, 3, 5], dtype),
                    output_image=tf.ones([1, 2, 3, 4], dtype),
                )
