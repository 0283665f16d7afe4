"""A small convolution network that trains in each way, as the tests of memory train it."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

import onexpu

WAYS: dict[str, Callable[[Callable], Callable]] = {
    "compiled": lambda step: tf.function(step, autograph=False, jit_compile=True),
    # One trace for each batch size, as a user without an input signature has them.
    "graph": lambda step: tf.function(step, autograph=False, reduce_retracing=False),
    "eager": lambda step: step,
}


def live_bytes() -> int:
    """What the pool has given out, when no work is in flight and no garbage is held."""
    gc.collect()
    tf.test.experimental.sync_devices()
    return onexpu.memory_info()["bytes_in_use"]


def batch_sizes(distinct: tuple[int, ...], steps: int) -> list[int]:
    """Each once, then any: the same sequence in every run."""
    draw = random.Random(1)
    first = draw.sample(distinct, len(distinct))
    return first + [draw.choice(distinct) for _ in range(steps - len(first))]


class Training:
    """The network with its optimiser on a device. Values and batches are the same on every
    device.
    """

    def __init__(self, device: str, way: str, filters: tuple[int, ...] = (8,)) -> None:
        self._device = device
        self.steps = 0
        with tf.device(device):
            self.model = keras.Sequential(
                [
                    keras.Input((16, 16, 3)),
                    *(
                        keras.layers.Conv2D(n, 3, padding="same", activation="relu")
                        for n in filters
                    ),
                    keras.layers.Flatten(),
                    keras.layers.Dense(10),
                ]
            )
            self.optimizer = keras.optimizers.Adam(1e-3)
            self.optimizer.build(self.model.trainable_variables)
            draw = np.random.default_rng(0)
            for variable in self.model.trainable_variables:
                variable.assign(draw.normal(0, 0.1, variable.shape).astype(np.float32))
        self._step = WAYS[way](self._descend)

    @property
    def variables(self) -> list[keras.Variable]:
        return [*self.model.trainable_variables, *self.optimizer.variables]

    def values(self) -> list[np.ndarray]:
        return [variable.numpy() for variable in self.variables]

    def _descend(self, images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        variables = self.model.trainable_variables
        with tf.GradientTape() as tape:
            logits = self.model(images, training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, [v.value for v in variables])
        self.optimizer.apply(gradients, variables)
        return loss

    def step(self, batch_size: int) -> tf.Tensor:
        """Returns the loss, which is not waited for."""
        self.steps += 1
        draw = np.random.default_rng([batch_size, self.steps])
        images = draw.normal(size=(batch_size, 16, 16, 3)).astype(np.float32)
        labels = draw.integers(0, 10, batch_size)
        with tf.device(self._device):
            return self._step(tf.constant(images), tf.constant(labels))
