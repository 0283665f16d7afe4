"""Training step and data that the networks of keras.applications share."""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from tests.models_tf.training import Training, minimise, scaled, split

CLASSES = 10
IMAGE = 32  # the smallest that all of them take


def images(count: int, size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Gratings whose direction is the class, under noise: float32 [count, size, size, 3] in 0..255
    and int64 labels.
    """
    random = np.random.RandomState(seed)
    labels = random.randint(0, CLASSES, count)
    y, x = np.mgrid[:size, :size] / size
    angle, phase = np.pi * labels / CLASSES, random.uniform(0, 2 * np.pi, (count, 3))
    along = np.cos(angle)[:, None, None] * x + np.sin(angle)[:, None, None] * y
    waves = np.sin(8 * np.pi * along[..., None] + phase[:, None, None, :])
    noisy = 127.5 + 80 * waves + 20 * random.standard_normal(waves.shape)
    return np.clip(noisy, 0, 255).astype(np.float32), labels.astype(np.int64)


def training(
    model: keras.Model,
    optimizer: keras.optimizers.Optimizer,
    batch: int = 8,
    preprocess: Callable[[np.ndarray], np.ndarray] = lambda pictures: pictures,
) -> Training:
    """Trains a network that gives logits.

    `preprocess` is what the network's module in keras.applications does to pictures. Where that
    centres them, it is needed: otherwise the first layer's gradient is a small difference of large
    sums, in proportion to the pictures' mean.

    The learning rates of those with ReLU and batch normalisation are small: at 1e-2 three steps
    make a percent of a rounding error of float32, at 1e-3 tens of percents of one of bfloat16, on
    the CPU alone.
    """
    # In single precision also where the others are not, as Keras advises.
    logits = keras.layers.Dense(CLASSES, dtype=keras.config.floatx())(model.layers[-1].input)
    model = keras.Model(model.input, logits)
    optimizer = scaled(optimizer)
    optimizer.build(model.trainable_variables)
    losses_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")

    def step(pictures: tf.Tensor, labels: tf.Tensor) -> dict[str, tf.Tensor]:
        def compute_loss() -> tuple[tf.Tensor, tf.Tensor]:
            losses = losses_of(labels, model(pictures, training=True))
            return tf.reduce_mean(losses), losses

        # Of each picture, and not their mean alone: errors of one number are chance.
        return {"losses": minimise(optimizer, model.trainable_variables, compute_loss)[1]}

    pictures, labels = images(4 * batch, IMAGE, seed=11)
    pictures = preprocess(pictures)
    return Training(
        step=step,
        infer=lambda pictures: model(pictures, training=False),
        variables=model.variables,
        optimizers=[optimizer],
        batches=split((pictures, labels), batch),
        inputs=(pictures[3 * batch :],),
    )
