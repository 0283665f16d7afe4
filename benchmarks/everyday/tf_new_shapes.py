"""TensorFlow programs whose every call has another shape, or another place in an array.

The two devices go through the same sequence of shapes, which comes round again only after
thousands of calls.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from everyday.program import Kind, Mode, integers, normal, uniform

KIND = Kind("new shapes and places", Mode.TF_EAGER)
program = KIND.program

_ROWS = normal(8, 4096)
_TOKENS = integers(100, 8, 4096)


def _lengths() -> Iterator[int]:
    """Lengths from 40 on, in steps that make neighbours differ, each once in 4,000 calls."""
    return (40 + i * 7 % 4001 for i in itertools.count())


def _function(function: Callable[..., Any], **options: Any) -> Callable[[], Any]:
    """Returns a state: lengths, and a graph for any length."""

    def state() -> tuple[Iterator[int], Any]:
        signature = [tf.TensorSpec([8, None])]
        return _lengths(), tf.function(function, input_signature=signature, **options)

    return state


@program(state=_lengths)
def new_length_pointwise(lengths):
    """Two eager pointwise ops of a new length."""
    x = tf.constant(_ROWS[:, : next(lengths)])
    return tf.nn.relu(x + 1.0)


@program(state=_lengths)
def new_length_sum(lengths):
    """An eager reduce_sum of a new length."""
    return tf.reduce_sum(tf.constant(_ROWS[:, : next(lengths)]), 1)


@program(state=_lengths)
def new_length_softmax(lengths):
    """An eager softmax of a new length."""
    return tf.nn.softmax(tf.constant(_ROWS[:, : next(lengths)]))


@program(state=_lengths)
def new_length_matmul(lengths):
    """An eager matmul of a new length."""
    x = tf.constant(_ROWS[:, : next(lengths)])
    return tf.matmul(x, x, transpose_b=True)


@program(state=_lengths)
def new_length_concat(lengths):
    """An eager concat and transpose of a new length."""
    x = tf.constant(_ROWS[:, : next(lengths)])
    return tf.transpose(tf.concat([x, x], 0))


def _four_ops(x):
    return tf.reduce_mean(tf.nn.relu(x * 2 + 1))


@program(state=_function(_four_ops))
def new_length_graph(state):
    """A graph of four ops, a new length."""
    lengths, function = state
    return function(tf.constant(_ROWS[:, : next(lengths)]))


@program(state=_function(_four_ops, jit_compile=True))
def new_length_jit(state):
    """The same four ops with jit_compile, a new length."""
    lengths, function = state
    return function(tf.constant(_ROWS[:, : next(lengths)]))


def _text_model() -> keras.Model:
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(100, 32),
            keras.layers.Conv1D(32, 3, padding="same", activation="relu"),
            keras.layers.GlobalMaxPooling1D(),
            keras.layers.Dense(2),
        ]
    )
    return model


def _text_training() -> tuple[Iterator[int], Any]:
    model, optimizer = _text_model(), keras.optimizers.SGD(0.01)
    optimizer.build(model.trainable_variables)
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function(input_signature=[tf.TensorSpec([8, None], tf.int32)])
    def step(tokens):
        with tf.GradientTape() as tape:
            loss = cross_entropy(tf.range(8) % 2, model(tokens, training=True))
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return loss

    return _lengths(), step


@program(state=_text_training, tolerance=1e-3)  # after several steps of training
def new_length_training(state):
    """A training step of a text model, a new length."""
    lengths, step = state
    return step(tf.constant(_TOKENS[:, : next(lengths) % 200 + 10]))


def _text_inference() -> tuple[Iterator[int], Any]:
    model = _text_model()
    signature = [tf.TensorSpec([8, None], tf.int32)]
    return _lengths(), tf.function(lambda tokens: model(tokens), input_signature=signature)


@program(state=_text_inference)
def new_length_inference(state):
    """The forward pass of a text model, a new length."""
    lengths, function = state
    return function(tf.constant(_TOKENS[:, : next(lengths)]))


@program(lambda: [normal(5000, 32)], state=itertools.count)
def slice_at_new_place(places, x):
    """An eager slice of 32 rows at a new place."""
    start = next(places) * 3 % 4900
    return x[start : start + 32]


@program(lambda: [normal(5000, 32)], state=itertools.count)
def row_at_new_place(places, x):
    """One row, x[i], at a new i."""
    return x[next(places) % 5000]


@program(lambda: [normal(500, 32)], state=itertools.count)
def split_at_new_place(places, x):
    """Two parts of an array, x[:i] and x[i:], swapped."""
    i = next(places) % 498 + 1
    return tf.concat([x[i:], x[:i]], 0)


@program(lambda: [uniform(80, 80, 3)], state=itertools.count)
def crop_at_new_place(places, x):
    """A crop of 48 x 48 at a new place, and its mean."""
    i = next(places)
    return tf.reduce_mean(tf.slice(x, [i % 31, i * 7 % 29, 0], [48, 48, 3]))


@program(lambda: [normal(64, 32)], state=itertools.count)
def new_padding(places, x):
    """Pad by a new number of rows."""
    return tf.pad(x, [[0, next(places) % 1000], [0, 0]])


@program(
    lambda: [normal(16, 32)], state=lambda: (itertools.count(), tf.Variable(tf.zeros([4000, 32])))
)
def assign_at_new_place(state, x):
    """16 rows of a variable assigned at a new place."""
    places, v = state
    start = next(places) * 16 % 3984
    v[start : start + 16].assign(x)
    return v[start]


@program(lambda: [normal(1000, 16)], state=itertools.count)
def new_number_of_selected(places, x):
    """boolean_mask with a new number of rows."""
    mask = np.arange(1000) < next(places) % 998 + 1
    return tf.reduce_sum(tf.boolean_mask(x, tf.constant(mask)), 0)


@program(state=itertools.count)
def new_range(places):
    """Range and one_hot of a new size."""
    n = next(places) % 2000 + 5
    return tf.reduce_sum(tf.one_hot(tf.range(n) % 10, 10), 0)
