"""Training steps and calls of TensorFlow: on xpu and on TensorFlow's CPU device, both compiled by
XLA.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf
from cases import Case, Run

_DEVICES = {"xpu": "/XPU:0", "TF CPU": "/CPU:0"}
_POLICIES = {"f32": "float32", "bf16": "mixed_bfloat16"}


def _resnet50() -> keras.Model:
    return keras.applications.ResNet50(
        weights=None, input_shape=(64, 64, 3), classes=100, classifier_activation=None
    )


def _encoder_layer(x: keras.KerasTensor, width: int, heads: int) -> keras.KerasTensor:
    attended = keras.layers.LayerNormalization()(x)
    x += keras.layers.MultiHeadAttention(heads, width // heads)(attended, attended)
    hidden = keras.layers.Dense(4 * width, activation="gelu")(keras.layers.LayerNormalization()(x))
    return x + keras.layers.Dense(width)(hidden)


def _transformer(
    vocabulary: int = 1000, length: int = 128, width: int = 256, heads: int = 4, layers: int = 4
):
    tokens = keras.Input((length,), dtype="int64")
    x = keras.layers.Embedding(vocabulary, width)(tokens)
    x += keras.layers.Embedding(length, width)(np.arange(length))
    for _ in range(layers):
        x = _encoder_layer(x, width, heads)
    return keras.Model(tokens, keras.layers.Dense(vocabulary)(keras.layers.LayerNormalization()(x)))


def _step(
    build: Callable[[], keras.Model], policy: str, x: np.ndarray, y: np.ndarray, device: str
) -> Run:
    """A training step of Adam that ends when its loss is on the host."""
    with tf.device(device):
        default = keras.config.dtype_policy()
        keras.utils.set_random_seed(0)
        keras.config.set_dtype_policy(policy)
        try:
            model = build()
        finally:
            keras.config.set_dtype_policy(default)
        optimizer = keras.optimizers.Adam(1e-4)
        optimizer.build(model.trainable_variables)
        placed = tf.constant(x), tf.constant(y)
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function(jit_compile=True)
    def step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = cross_entropy(y, model(x, training=True))
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return loss

    def run() -> None:
        with tf.device(device):
            loss = step(*placed).numpy()
        if not np.isfinite(loss):
            raise ArithmeticError(f"{build.__name__} on {device}: loss {loss}")

    return run


def _training(
    name: str, build: Callable[[], keras.Model], x: np.ndarray, y: np.ndarray, dtype: str
) -> Case:
    contenders = {
        who: _step(build, _POLICIES[dtype], x, y, device) for who, device in _DEVICES.items()
    }
    return Case(f"TF {name} training step, {dtype}", contenders, rounds=21, seconds=15.0)


def resnet50(dtype: str, _) -> Case:
    """A training step of ResNet50 on small images, in `dtype`."""
    random = np.random.default_rng(0)
    x, y = random.standard_normal((8, 64, 64, 3), np.float32), random.integers(0, 100, 8)
    return _training("ResNet50", _resnet50, x, y, dtype)


def transformer(dtype: str, _) -> Case:
    """A training step of a transformer encoder, in `dtype`."""
    x, y = np.random.default_rng(0).integers(0, 1000, (2, 4, 128))
    return _training("transformer encoder", _transformer, x, y, dtype)


def call(_) -> Case:
    """The overhead of a call of a compiled function."""

    def contender(device: str) -> Run:
        with tf.device(device):
            x = tf.constant(np.ones(8, np.float32))
        compiled = tf.function(lambda x: x + 1.0, jit_compile=True)

        def run() -> None:
            with tf.device(device):
                for _ in range(100):
                    y = compiled(x)
                y.numpy()

        return run

    contenders = {who: contender(device) for who, device in _DEVICES.items()}
    return Case("100 jitted TF calls, 8 f32", contenders, rounds=101)


def eager(_) -> Case:
    """The overhead of an op that runs eagerly."""

    def contender(device: str) -> Run:
        with tf.device(device):
            a = tf.constant(np.ones((64, 64), np.float32)) * 1.0

        def run() -> None:
            with tf.device(device):
                for _ in range(100):
                    b = a + a
                b.numpy()

        return run

    contenders = {who: contender(device) for who, device in _DEVICES.items()}
    return Case("100 eager TF adds, 64 x 64", contenders, rounds=101)


TENSORFLOW_CASES = {
    "tf_resnet50_f32": functools.partial(resnet50, "f32"),
    "tf_resnet50_bf16": functools.partial(resnet50, "bf16"),
    "tf_transformer_f32": functools.partial(transformer, "f32"),
    "tf_transformer_bf16": functools.partial(transformer, "bf16"),
    "tf_call": call,
    "eager": eager,
}
