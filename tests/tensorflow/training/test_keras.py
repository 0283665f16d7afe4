"""Keras on XPU: training compiled and not compiled gives what TensorFlow's CPU gives."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import sklearn.datasets
import tensorflow as tf

from tests.exhaustive import covering, every

_RANDOM = np.random.RandomState(0)
X = _RANDOM.rand(96, 8).astype(np.float32)
Y = X.sum(1, keepdims=True) ** 2 / 16.0


def _mlp() -> keras.Model:
    return keras.Sequential(
        [keras.Input((8,)), keras.layers.Dense(16, activation="tanh"), keras.layers.Dense(1)]
    )


def _weights(model: keras.Model) -> list[np.ndarray]:
    random = np.random.RandomState(1)
    return [random.normal(0, 0.3, w.shape).astype(np.float32) for w in model.get_weights()]


def _fit(device: str, optimizer, jit_compile: bool) -> tuple[list[float], list[np.ndarray]]:
    with tf.device(device):
        model = _mlp()
        model.set_weights(_weights(model))
        model.compile(optimizer(), "mse", jit_compile=jit_compile)
        history = model.fit(X, Y, epochs=3, batch_size=32, shuffle=False, verbose=0)
    return history.history["loss"], model.get_weights()


OPTIMIZERS = [
    lambda: keras.optimizers.SGD(0.02, momentum=0.9, nesterov=True),
    lambda: keras.optimizers.Adam(0.01),
    lambda: keras.optimizers.RMSprop(0.01),
    lambda: keras.optimizers.Adagrad(0.05),
    lambda: keras.optimizers.AdamW(0.01, weight_decay=0.01),
    lambda: keras.optimizers.Lion(0.01),
]


@covering(jit_compile=[True, False], optimizer=every(2, OPTIMIZERS))
def test_fit_is_the_cpus(optimizer, jit_compile: bool) -> None:
    loss, weights = _fit("/XPU:0", optimizer, jit_compile)
    expected_loss, expected_weights = _fit("/CPU:0", optimizer, False)
    # Nine steps in single precision; gradients differ by some rounding errors, and optimisers that
    # divide by a gradient's size make those errors relative to the step, not to the gradient.
    np.testing.assert_allclose(loss, expected_loss, rtol=1e-4)
    for w, e in zip(weights, expected_weights, strict=True):
        np.testing.assert_allclose(w, e, rtol=0, atol=1e-4)


def test_fit_under_autoclustering(autoclustering) -> None:
    loss, _ = _fit("/XPU:0", OPTIMIZERS[1], False)
    np.testing.assert_allclose(loss, _fit("/CPU:0", OPTIMIZERS[1], False)[0], rtol=1e-4)


def test_variables_are_on_the_device() -> None:
    with tf.device("/XPU:0"):
        model = _mlp()
        model.compile("adam", "mse", jit_compile=True)
        model.fit(X, Y, epochs=1, verbose=0)
    for variable in [*model.trainable_variables, *model.optimizer.variables]:
        assert "XPU" in variable.value.device, variable.path


@covering(jit_compile=[True, False], layer=[keras.layers.LSTM, keras.layers.GRU])
def test_recurrent_layers(layer, jit_compile: bool) -> None:
    x = _RANDOM.rand(4, 6, 3).astype(np.float32)

    def gradients(device: str) -> list[np.ndarray]:
        with tf.device(device):
            recurrent = layer(5)
            recurrent.build((None, 6, 3))
            recurrent.set_weights(_weights(recurrent))

            @tf.function(jit_compile=jit_compile and "XPU" in device)
            def step(inputs: tf.Tensor):
                with tf.GradientTape() as tape:
                    y = recurrent(inputs)
                    loss = tf.reduce_sum(y * y)
                return [y, *tape.gradient(loss, recurrent.trainable_variables)]

            return [t.numpy() for t in step(tf.constant(x))]

    for xpu, cpu in zip(gradients("/XPU:0"), gradients("/CPU:0"), strict=True):
        # Six steps of saturating functions and their gradients: some dozen rounding errors of the
        # largest element.
        np.testing.assert_allclose(xpu, cpu, rtol=0, atol=2e-5 * max(1.0, np.abs(cpu).max()))


def _cnn() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Conv2D(16, 3, activation="relu", padding="same"),
            keras.layers.BatchNormalization(),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(10),
        ]
    )


def _cnn_weights(model: keras.Model) -> list[np.ndarray]:
    random = np.random.RandomState(1)
    values = []
    for weight in model.weights:
        if "gamma" in weight.path or "variance" in weight.path:
            values.append(np.ones(weight.shape, np.float32))
        elif len(weight.shape) == 1:
            values.append(np.zeros(weight.shape, np.float32))
        else:
            deviation = (2.0 / np.prod(weight.shape[:-1])) ** 0.5
            values.append(random.normal(0, deviation, weight.shape).astype(np.float32))
    return values


def _train_on_digits(device: str, jit_compile: bool) -> tuple[list[float], float, np.ndarray]:
    digits = sklearn.datasets.load_digits()
    images = (digits.images[..., None] / 16.0).astype(np.float32)
    labels = digits.target.astype(np.int64)
    with tf.device(device):
        model = _cnn()
        model.set_weights(_cnn_weights(model))
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(
            keras.optimizers.Adam(3e-3), loss, metrics=["accuracy"], jit_compile=jit_compile
        )
        history = model.fit(
            images[:1437], labels[:1437], epochs=5, batch_size=64, shuffle=False, verbose=0
        )
        _, accuracy = model.evaluate(images[1437:], labels[1437:], batch_size=60, verbose=0)
        predicted = model.predict(images[1437:], batch_size=100, verbose=0)
    assert abs(np.mean(predicted.argmax(1) == labels[1437:]) - accuracy) < 1e-6
    return history.history["loss"], accuracy, predicted


@pytest.mark.parametrize("jit_compile", every(2, [True, False]))
def test_cnn_on_digits_is_the_cpus(jit_compile: bool) -> None:
    """Convolutions, batch normalisation, pooling and their gradients; the last batch is a smaller
    one.
    """
    loss, accuracy, _ = _train_on_digits("/XPU:0", jit_compile)
    expected_loss, expected_accuracy, _ = _train_on_digits("/CPU:0", False)
    # 115 steps of Adam in single precision, whose updates do not shrink with the gradient, so that
    # rounding errors of gradients near zero become steps: losses agreed to 5e-6 absolute when this
    # was written. One of 360 images is 0.0028.
    np.testing.assert_allclose(loss, expected_loss, rtol=0, atol=1e-3)
    assert abs(accuracy - expected_accuracy) <= 0.005
    assert loss[-1] < 0.1 * loss[0]


def test_dropout_differs_from_step_to_step() -> None:
    with tf.device("/XPU:0"):
        layer = keras.layers.Dropout(0.5, seed=3)
        x = tf.ones([64, 64])
        first, second = layer(x, training=True).numpy(), layer(x, training=True).numpy()
    assert not np.array_equal(first, second)
    # Of 4,096 elements half are dropped, with a deviation of 0.0078: five of them.
    for dropped in (first, second):
        assert abs(np.mean(dropped == 0.0) - 0.5) < 0.04
        assert set(np.unique(dropped)) == {0.0, 2.0}


def test_mixed_precision() -> None:
    with tf.device("/XPU:0"):
        model = keras.Sequential(
            [
                keras.Input((8,)),
                keras.layers.Dense(16, activation="relu", dtype="mixed_bfloat16"),
                keras.layers.Dense(1, dtype="float32"),
            ]
        )
        model.compile(keras.optimizers.Adam(0.02), "mse", jit_compile=True)
        losses = model.fit(X, Y, epochs=8, batch_size=32, verbose=0).history["loss"]
    assert losses[-1] < 0.5 * losses[0]
