from __future__ import annotations

import jax
import numpy as np
import pytest

import onexpu

SWISH = """
template <typename T>
ONEXPU_KERNEL void swish(const T* x, T* y, float beta) {
  const size_t i = onexpu::global_id();
  y[i] = x[i] / (T(1) + T(sycl::exp(float(T(-beta) * x[i]))));
}
"""

SWISH_GRADIENT = """
template <typename T>
ONEXPU_KERNEL void swish_gradient(const T* x, const T* dy, T* dx, float beta) {
  const size_t i = onexpu::global_id();
  const T s = T(1) / (T(1) + T(sycl::exp(float(T(-beta) * x[i]))));
  dx[i] = dy[i] * (s + T(beta) * x[i] * s * (T(1) - s));
}
"""


def make_swish() -> onexpu.SyclKernel:
    swish = onexpu.sycl_kernel(
        source=SWISH,
        inputs=["x"],
        outputs={"y": onexpu.like("x")},
        attributes={"beta": float},
        dtypes={"T": ["float32", "bfloat16", "float16"]},
        range=lambda x: x.size,
    )
    gradient = onexpu.sycl_kernel(
        source=SWISH_GRADIENT,
        inputs=["x", "dy"],
        outputs={"dx": onexpu.like("x")},
        attributes={"beta": float},
        range=lambda x, dy: x.size,
    )
    swish.defgradient(
        lambda inputs, outputs, cotangents, beta: [gradient(inputs[0], cotangents[0], beta=beta)]
    )
    return swish


@pytest.fixture(scope="session")
def swish() -> onexpu.SyclKernel:
    """One kernel with its gradient, for both frameworks."""
    return make_swish()


@pytest.fixture
def new_swish() -> onexpu.SyclKernel:
    """Another one, which has not been called."""
    return make_swish()


@pytest.fixture
def on_xpu():
    """TensorFlow's ops run on the device."""
    import tensorflow as tf  # not before a test asks: some have no TensorFlow in the process

    with tf.device("/XPU:0"):
        yield


@pytest.fixture
def survivors(xpu):
    """Buffers from before the error, which have to be there after it, and be of use."""
    import tensorflow as tf

    values = np.arange(5, dtype=np.float32)
    array = jax.device_put(values, xpu)
    with tf.device("/XPU:0"):
        tensor = tf.constant(values)
    yield
    np.testing.assert_array_equal(jax.jit(lambda x: x * 2)(array), values * 2)
    np.testing.assert_array_equal(tensor + tensor, values * 2)
