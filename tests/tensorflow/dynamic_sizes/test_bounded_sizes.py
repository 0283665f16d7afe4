"""Sizes that compiled programs compute, where operands have the same size and different bounds.

The check before a translation must not take a bound for a size.
"""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering, every

WORDS = 7
TOKENS = np.random.RandomState(0).randint(0, WORDS, (16, 5)).astype(np.int32)
OPTIMIZERS: dict[str, Callable[[], keras.optimizers.Optimizer]] = {
    "rmsprop": lambda: keras.optimizers.RMSprop(1e-2),
    "adagrad": lambda: keras.optimizers.Adagrad(0.1),
    "adadelta": lambda: keras.optimizers.Adadelta(1.0),
    "adafactor": lambda: keras.optimizers.Adafactor(1e-2),
}


def _train(device: str, optimizer: str, jit_compile: bool) -> list[np.ndarray]:
    with tf.device(device):
        keras.utils.set_random_seed(0)
        layers = [
            keras.Input((TOKENS.shape[1],), dtype="int32"),
            keras.layers.Embedding(WORDS, 8),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(1),
        ]
        model = keras.Sequential(layers)
        model.compile(OPTIMIZERS[optimizer](), "mse", jit_compile=jit_compile)
        for _ in range(3):
            model.train_on_batch(TOKENS, TOKENS.sum(1) % 2)
        return model.get_weights()


@pytest.mark.parametrize("optimizer", every(2, OPTIMIZERS))
def test_fewer_words_than_tokens(optimizer: str) -> None:
    expected = _train("/CPU:0", optimizer, jit_compile=False)
    for weights, wanted in zip(
        _train("/XPU:0", optimizer, jit_compile=True), expected, strict=True
    ):
        np.testing.assert_allclose(weights, wanted, rtol=1e-4, atol=1e-6)


X = np.array([3, 1, 3, 2, 1, 3, 2, 9, 9, 4], np.float32)
TABLE = np.array([0, 5, 6, 0, 7, 0, 8, 9], np.float32)  # five that are not zero


def _long(x: tf.Tensor) -> tf.Tensor:
    """Five elements, of up to ten."""
    return tf.unique(x)[0]


def _short(table: tf.Tensor) -> tf.Tensor:
    """Five elements, of up to eight."""
    return tf.boolean_mask(table, table > 0)


ELEMENTWISE: dict[str, Callable[[tf.Tensor, tf.Tensor], tf.Tensor]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: b - a,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: tf.pow(a, b / 9),
    "maximum": lambda a, b: tf.maximum(a, b),
    "squared_difference": lambda a, b: tf.math.squared_difference(a, b),
    "less": lambda a, b: tf.cast(a < b, tf.float32),
    "column": lambda a, b: a[:, None] * 2 + b[:, None],
    "outer": lambda a, b: a[:, None] * b[None, :],
}


@covering(order=["long first", "short first"], name=ELEMENTWISE)
def test_elementwise(name: str, order: str) -> None:
    def function(x: tf.Tensor, table: tf.Tensor) -> tf.Tensor:
        pair = [_long(x), _short(table)]
        return tf.reduce_sum(ELEMENTWISE[name](*(pair if order == "long first" else pair[::-1])))

    with tf.device("/CPU:0"):
        expected = function(tf.constant(X), tf.constant(TABLE))
    with tf.device("/XPU:0"):
        compiled = tf.function(function, jit_compile=True)(tf.constant(X), tf.constant(TABLE))
    # 84 rounding errors of float32: elementary functions, and sums of at most five values.
    np.testing.assert_allclose(compiled, expected, rtol=1e-5)


R = tf.raw_ops
GRADIENTS: dict[str, Callable[[tf.Tensor, tf.Tensor], tf.Tensor]] = {
    "ReluGrad": lambda dy, x: R.ReluGrad(gradients=dy, features=x - 6),
    "Relu6Grad": lambda dy, x: R.Relu6Grad(gradients=dy, features=x - 2),
    "EluGrad": lambda dy, y: R.EluGrad(gradients=dy, outputs=y - 6),
    "SeluGrad": lambda dy, y: R.SeluGrad(gradients=dy, outputs=y - 6),
    "LeakyReluGrad": lambda dy, x: R.LeakyReluGrad(gradients=dy, features=x - 6, alpha=0.3),
    "SqrtGrad": lambda dy, y: R.SqrtGrad(y=y, dy=dy),
    "RsqrtGrad": lambda dy, y: R.RsqrtGrad(y=y, dy=dy),
    "ReciprocalGrad": lambda dy, y: R.ReciprocalGrad(y=y, dy=dy),
    "ApproximateEqual": lambda x, y: tf.cast(R.ApproximateEqual(x=x, y=y, tolerance=4), x.dtype),
}


@covering(order=["long first", "short first"], name=GRADIENTS)
def test_gradients(name: str, order: str) -> None:
    def function(x: tf.Tensor, table: tf.Tensor) -> tf.Tensor:
        pair = [_long(x), _short(table)]
        return GRADIENTS[name](*(pair if order == "long first" else pair[::-1]))

    with tf.device("/CPU:0"):
        expected = function(tf.constant(X), tf.constant(TABLE))
    with tf.device("/XPU:0"):
        compiled = tf.function(function, jit_compile=True)(tf.constant(X), tf.constant(TABLE))
    # 84 rounding errors of float32: elementary functions, and sums of at most five values.
    np.testing.assert_allclose(compiled, expected, rtol=1e-5)
