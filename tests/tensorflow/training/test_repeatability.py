"""The same steps give the same bits, however busy the machine is.

What runs before its operands are there shows up so: on the CPU device two host tasks of a library
once overtook the kernels between them, in one of some two thousand steps of this model.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import every

ROUNDS, STEPS = 12, 40
LENGTH, VOCABULARY, WIDTH = 128, 1000, 64


@contextlib.contextmanager
def _busy_machine() -> Iterator[None]:
    """Other processes take the processors, a few milliseconds at a time."""
    work = (
        "import time\nwhile True:\n    end = time.time() + 0.003\n"
        "    while time.time() < end: pass\n    time.sleep(0.001)"
    )
    others = [subprocess.Popen([sys.executable, "-c", work]) for _ in range(3)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def _encoder() -> keras.Model:
    tokens = keras.Input((LENGTH,), dtype="int64")
    x = keras.layers.Embedding(VOCABULARY, WIDTH)(tokens)
    attended = keras.layers.LayerNormalization()(x)
    x += keras.layers.MultiHeadAttention(4, WIDTH // 4)(attended, attended)
    x = keras.layers.Conv1D(WIDTH, 3, padding="same", activation="gelu")(x)
    return keras.Model(tokens, keras.layers.Dense(VOCABULARY)(keras.layers.LayerNormalization()(x)))


@pytest.mark.parametrize("policy", every(2, ["float32", "mixed_bfloat16"]))
def test_training_steps_on_a_busy_machine(policy):
    with tf.device("/XPU:0"):
        keras.utils.set_random_seed(0)
        default = keras.config.dtype_policy()
        keras.config.set_dtype_policy(policy)
        try:
            model = _encoder()
        finally:
            keras.config.set_dtype_policy(default)
        optimizer = keras.optimizers.Adam(1e-3)
        optimizer.build(model.trainable_variables)
        x, y = (
            tf.constant(ids)
            for ids in np.random.default_rng(0).integers(0, VOCABULARY, (2, 4, LENGTH))
        )
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function(jit_compile=True)
    def step():
        with tf.GradientTape() as tape:
            loss = cross_entropy(y, model(x, training=True))
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return loss

    variables = [*model.variables, *optimizer.variables]
    first = [variable.numpy() for variable in variables]

    def train() -> list[np.ndarray]:
        for variable, value in zip(variables, first, strict=True):
            variable.assign(value)
        losses = [step().numpy() for _ in range(STEPS)]
        return [np.array(losses), *(variable.numpy() for variable in variables)]

    expected = train()
    assert expected[0][-1] < expected[0][0]
    with _busy_machine():
        for _ in range(ROUNDS):
            for value, want in zip(train(), expected, strict=True):
                np.testing.assert_array_equal(value, want)
