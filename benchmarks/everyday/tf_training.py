"""Training and inference of small Keras models, with tf.data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from everyday.program import Kind, Mode, integers, normal, uniform

KIND = Kind("small models", Mode.TF_EAGER)
program = KIND.program

# Weights after some steps: rounding errors of each step stay in them.
_TRAINED = 2e-3


def _dense(jit: bool) -> Callable[[], keras.Model]:
    def state() -> keras.Model:
        keras.utils.set_random_seed(0)
        model = keras.Sequential(
            [
                keras.Input((20,)),
                keras.layers.Dense(64, activation="relu"),
                keras.layers.Dense(64, activation="relu"),
                keras.layers.Dense(3),
            ]
        )
        model.compile(
            keras.optimizers.SGD(0.01, momentum=0.9),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            jit_compile=jit,
        )
        return model

    return state


def _table():
    return [normal(512, 20), integers(3, 512)]


def _fit(model, x, y) -> tf.Tensor:
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
    return tf.constant(model.fit(data, shuffle=False, verbose=0).history["loss"][0])


@program(_table, state=_dense(jit=False), tolerance=_TRAINED)
def fit_table(model, x, y):
    """Fit of a dense network for 16 batches of 32."""
    return _fit(model, x, y)


@program(_table, state=_dense(jit=True), tolerance=_TRAINED)
def fit_table_jit(model, x, y):
    """Fit with jit_compile of a dense network for 16 batches of 32."""
    return _fit(model, x, y)


@program(_table, state=_dense(jit=False))
def predict_table(model, x, _):
    """Predict of a dense network, 512 rows."""
    return tf.constant(model.predict(x, verbose=0))


@program(_table, state=_dense(jit=False), tolerance=_TRAINED)
def train_on_batch(model, x, y):
    """train_on_batch of a dense network, batch 32."""
    return tf.constant(model.train_on_batch(x[:32], y[:32]))


def _pictures() -> keras.Model:
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            keras.layers.Conv2D(8, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(16, 3, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(10),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.01), loss, jit_compile=False)
    return model


@program(lambda: [uniform(256, 28, 28, 1), integers(10, 256)], state=_pictures, tolerance=_TRAINED)
def fit_digits(model, x, y):
    """Fit of a convolutional network for 8 batches of 32 digits."""
    return _fit(model, x, y)


@program(lambda: [uniform(16, 28, 28, 1)], state=_pictures)
def call_model(model, x):
    """An eager call of a convolutional network, 16 digits."""
    return model(x)


def _custom(**options: Any) -> Callable[[], Any]:
    """Returns a state: a training step with Adam of a small network in plain TensorFlow."""

    def state() -> Any:
        variables = [
            tf.Variable(normal(*shape, seed=i) * 0.1)
            for i, shape in enumerate([(20, 64), (64,), (64, 1)])
        ]
        moments = [
            (tf.Variable(tf.zeros_like(v)), tf.Variable(tf.zeros_like(v))) for v in variables
        ]

        def step(x, y):
            a, b, c = variables
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((tf.nn.relu(x @ a + b) @ c - y) ** 2)
            gradients = tape.gradient(loss, variables)
            for v, g, (m, s) in zip(variables, gradients, moments, strict=True):
                m.assign(0.9 * m + 0.1 * g)
                s.assign(0.999 * s + 0.001 * g**2)
                v.assign_sub(1e-3 * m / (tf.sqrt(s) + 1e-4))
            return loss

        return tf.function(step, **options)

    return state


@program(lambda: [normal(32, 20), normal(32, 1)], state=_custom(), tolerance=_TRAINED)
def adam_by_hand(step, x, y):
    """A training step with Adam written by hand, in a graph."""
    return step(x, y)


@program(
    lambda: [normal(32, 20), normal(32, 1)], state=_custom(jit_compile=True), tolerance=_TRAINED
)
def adam_by_hand_jit(step, x, y):
    """A training step with Adam written by hand, jit_compile."""
    return step(x, y)


@program(lambda: [normal(256, 20), normal(256, 1)], state=_custom(), tolerance=_TRAINED)
def loop_over_data(step, x, y):
    """A loop over a tf.data pipeline of 16 batches with a training step."""
    data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(256, seed=0).batch(16)
    for batch in data:
        loss = step(*batch)
    return loss


def _attention() -> keras.Layer:
    keras.utils.set_random_seed(0)
    layer = keras.layers.MultiHeadAttention(4, 16)
    layer.build((8, 32, 64), (8, 32, 64))
    return layer


@program(lambda: [normal(8, 32, 64)], state=_attention, modes=[Mode.TF_GRAPH, Mode.TF_JIT])
def attention(layer, x):
    """MultiHeadAttention and its gradient, 8 x 32 x 64."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(layer(x, x) ** 2)
    return tape.gradient(loss, x)
