"""Kernels from source in TensorFlow."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

pytestmark = pytest.mark.usefixtures("on_xpu")


def reference(x, beta: float):
    return x * tf.sigmoid(beta * x)


@pytest.fixture
def x(on_xpu) -> tf.Tensor:
    return tf.constant(np.linspace(-4, 4, 1001, dtype=np.float32))


# See test_kernel_in_jax.py.
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float32", 1e-6), ("float16", 4e-3), ("bfloat16", 3e-2)]
)
def test_eager_call(swish, x, dtype: str, tolerance: float) -> None:
    operand = tf.cast(x, dtype)
    y = swish(operand, beta=1.5)
    assert y.dtype == operand.dtype and "XPU" in y.device
    exact = tf.cast(operand, tf.float32).numpy()
    np.testing.assert_allclose(
        tf.cast(y, tf.float32).numpy(),
        exact / (1 + np.exp(-1.5 * exact)),
        rtol=tolerance,
        atol=tolerance,
    )


@pytest.mark.parametrize("jit_compile", [None, True])
def test_inside_of_a_function(swish, x, jit_compile) -> None:
    @tf.function(jit_compile=jit_compile)
    def f(x):
        return swish(2.0 * x, beta=0.5) + 1.0

    np.testing.assert_allclose(f(x), reference(2 * x, 0.5) + 1, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("jit_compile", [None, True])
def test_shapes_that_are_not_known_beforehand(swish, x, jit_compile) -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)], jit_compile=jit_compile)
    def f(x):
        y = swish(x, beta=1.0)
        assert y.shape.as_list() == [None, None]
        return y

    for shape in ((7, 143), (1001, 1)):
        tensor = tf.reshape(x, shape)
        np.testing.assert_allclose(f(tensor), reference(tensor, 1.0), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("way", ["eager", "function", "jit_compile", "unknown shape"])
def test_empty_tensors(swish, way: str) -> None:
    def call(x):
        return swish(x, beta=1.0)

    if way != "eager":
        shape = [None, 3] if way == "unknown shape" else [0, 3]
        call = tf.function(
            call,
            input_signature=[tf.TensorSpec(shape, tf.float32)],
            jit_compile=way == "jit_compile",
        )
    y = call(tf.zeros([0, 3]))
    assert y.shape == (0, 3) and y.dtype == tf.float32


@pytest.mark.parametrize("jit_compile", [None, True, "eager"])
def test_gradient(swish, x, jit_compile) -> None:
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = swish(x, beta=1.5)
        return tape.gradient(y, x)

    if jit_compile != "eager":
        gradient = tf.function(gradient, jit_compile=jit_compile)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = reference(x, 1.5)
    np.testing.assert_allclose(gradient(x), tape.gradient(y, x), rtol=1e-5, atol=1e-6)


def test_variables(swish, x) -> None:
    variable = tf.Variable(x)
    np.testing.assert_array_equal(swish(variable, beta=1.0), swish(x, beta=1.0))


@pytest.mark.parametrize("jit_compile", [False, True])
def test_keras_layer_trains(swish, jit_compile: bool) -> None:
    class Swish(keras.layers.Layer):
        def call(self, x):
            return swish(x, beta=1.0)

    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Dense(16), Swish(), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.Adam(1e-2), loss="mse", jit_compile=jit_compile)
    inputs = np.random.default_rng(0).normal(size=(256, 4)).astype(np.float32)
    targets = np.square(inputs).sum(1, keepdims=True)
    history = model.fit(inputs, targets, epochs=20, batch_size=64, verbose=0).history["loss"]
    # Far beyond what a layer that is linear, or whose gradient is wrong, would reach.
    assert history[-1] < 0.2 * history[0]


def test_the_same_results_as_in_jax(swish, x) -> None:
    import jax

    in_jax = swish(jax.device_put(x.numpy(), jax.devices("xpu")[0]), beta=1.5)
    np.testing.assert_array_equal(swish(x, beta=1.5), in_jax)
