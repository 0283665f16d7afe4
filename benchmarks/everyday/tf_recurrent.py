"""Recurrent layers of Keras, with and without masks."""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from everyday.program import Kind, Mode, integers, normal

KIND = Kind("recurrent layers", Mode.TF_GRAPH, Mode.TF_JIT)
program = KIND.program

# A tenth to all of the steps of each sequence are valid.
_MASK = np.arange(40) < np.linspace(4, 40, 16).astype(int)[:, None]


def _layer(make: Callable[[], keras.Layer], width: int = 32) -> Callable[[], keras.Layer]:
    """Returns a function that makes a layer, with the same weights each time."""

    def state() -> keras.Layer:
        keras.utils.set_random_seed(0)
        layer = make()
        layer.build((None, 40, width))
        return layer

    return state


@program(lambda: [normal(16, 40, 32)], state=_layer(lambda: keras.layers.LSTM(64)))
def lstm(layer, x):
    """LSTM, 16 sequences of 40, width 64."""
    return layer(x)


@program(lambda: [normal(16, 40, 32), _MASK], state=_layer(lambda: keras.layers.LSTM(64)))
def lstm_with_mask(layer, x, mask):
    """LSTM with a mask, 16 sequences of 40, width 64."""
    return layer(x, mask=mask)


@program(
    lambda: [normal(16, 40, 32), _MASK],
    state=_layer(lambda: keras.layers.GRU(64, return_sequences=True)),
)
def gru_with_mask(layer, x, mask):
    """GRU with a mask, all states, 16 sequences of 40."""
    return layer(x, mask=mask)


@program(lambda: [normal(16, 40, 32)], state=_layer(lambda: keras.layers.SimpleRNN(64)))
def simple_rnn(layer, x):
    """SimpleRNN, 16 sequences of 40, width 64."""
    return layer(x)


# The order of the sums over steps and examples.
@program(lambda: [normal(16, 40, 32)], state=_layer(lambda: keras.layers.LSTM(64)), tolerance=2e-4)
def lstm_gradient(layer, x):
    """The gradient of an LSTM, 16 sequences of 40."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(layer(x) ** 2)
    return tape.gradient(loss, layer.trainable_variables)


@program(
    lambda: [normal(16, 40, 32)],
    state=_layer(lambda: keras.layers.Bidirectional(keras.layers.GRU(32))),
)
def bidirectional(layer, x):
    """A bidirectional GRU, 16 sequences of 40."""
    return layer(x)


def _classifier() -> keras.Model:
    keras.utils.set_random_seed(0)
    return keras.Sequential(
        [
            keras.Input((40,), dtype="int32"),
            keras.layers.Embedding(200, 32, mask_zero=True),
            keras.layers.LSTM(32),
            keras.layers.Dense(2),
        ]
    )


@program(lambda: [integers(200, 16, 40) * _MASK], state=_classifier, modes=[Mode.TF_GRAPH])
def text_classifier(model, tokens):
    """Embedding with mask_zero, LSTM and Dense, 16 texts of 40."""
    return model(tokens)
