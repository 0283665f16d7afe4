"""What the threads of the soak repeat. A round leaves nothing behind: shapes, functions and models
come from fixed sets, because TensorFlow keeps what it compiled for as long as the process lives."""

from __future__ import annotations

import random
from collections.abc import Callable

import jax
import jax.numpy as jnp
import keras
import numpy as np
import tensorflow as tf

from tests.scaled_kernel import scaled

Round = Callable[[], None]
# JAX's caches are emptied so often: more shapes occur than they should hold.
_ROUNDS_OF_CACHES = 100
# Not through MultiDeviceIterator, which ends processes with every device: its destructor does not
# wait for a thread that has been created and has not begun to run (TensorFlow 2.21,
# tensorflow/core/kernels/data/multi_device_iterator_ops.cc, ~MultiDeviceBuffer).
_INPUT = tf.distribute.InputOptions(experimental_fetch_to_device=False)
_BATCHES = (1, 2, 3, 5, 8, 13, 16, 21, 32)


def jax_training() -> Round:
    """Trains with donated weights, batches of new sizes, and a kernel whose attribute changes."""
    draw = random.Random(0)
    device = jax.devices("xpu")[0]
    weights = jax.device_put(
        [np.full((24, 16), 0.01, np.float32), np.zeros(16, np.float32)], device
    )
    rounds = 0

    def loss(weights: list[jax.Array], x: jax.Array) -> jax.Array:
        return jnp.mean(jnp.square(jnp.tanh(x @ weights[0] + weights[1]) - 0.5))

    @jax.jit
    def gradients(weights: list[jax.Array], x: jax.Array) -> list[jax.Array]:
        return jax.grad(loss)(weights, x)

    update = jax.jit(
        lambda weights, steps: jax.tree.map(jnp.subtract, weights, steps), donate_argnums=0
    )

    def one() -> None:
        nonlocal weights, rounds
        x = jax.device_put(np.ones((draw.randint(1, 200), 24), np.float32), device)
        slopes = gradients(weights, x)
        rate = draw.random() * 0.1
        weights = update(weights, [scaled(slope, rate=rate) for slope in slopes])
        rounds += 1
        if rounds % _ROUNDS_OF_CACHES == 0:
            jax.block_until_ready(weights)
            jax.clear_caches()

    return one


def _model() -> keras.Model:
    layers = [
        keras.Input((12,)),
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dropout(0.2),
        keras.layers.Dense(3),
    ]
    model = keras.Sequential(layers)
    model.compile(
        keras.optimizers.Adam(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    return model


def tensorflow_training() -> Round:
    """Keras under a strategy, and a compiled step of one's own, with batches of several sizes."""
    draw = random.Random(1)
    strategies = [
        tf.distribute.OneDeviceStrategy("/XPU:0"),
        tf.distribute.MirroredStrategy(["/XPU:0"]),
    ]
    models = []
    for strategy in strategies:
        with strategy.scope():
            models.append(_model())
    with tf.device("/XPU:0"):
        weights = tf.Variable(tf.random.normal([12, 3]))

    @tf.function(jit_compile=True, reduce_retracing=False)
    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.boolean_mask(x, x[:, 0] > 0) @ weights))
        weights.assign_sub(0.01 * tape.gradient(loss, weights))
        return loss

    def one() -> None:
        batch = draw.choice(_BATCHES)
        x = np.random.default_rng(batch).standard_normal((4 * batch, 12)).astype(np.float32)
        dataset = tf.data.Dataset.from_tensor_slices((x, np.arange(4 * batch) % 3)).batch(batch)
        which = draw.randrange(len(models))
        models[which].fit(
            strategies[which].experimental_distribute_dataset(dataset, _INPUT), verbose=0
        )
        with tf.device("/XPU:0"):
            step(tf.constant(x))

    return one


def dropped_iterators() -> Round:
    """Drops iterators before their end, and runs eager ops on many shapes."""
    draw = random.Random(2)
    values = np.zeros((64, 256), np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((values, np.arange(64)))
    dataset = dataset.map(lambda a, b: (a + 1, b)).batch(4)
    prefetched = [
        dataset.apply(tf.data.experimental.prefetch_to_device("/XPU:0", size)) for size in (1, 2, 4)
    ]

    def one() -> None:
        last = draw.randint(0, 15)
        for i, (images, _) in enumerate(draw.choice(prefetched)):
            with tf.device("/XPU:0"):
                tf.reduce_sum(images[:, : draw.choice(_BATCHES)])
            if i == last:
                break

    return one


WORK: dict[str, Callable[[], Round]] = {
    "JAX training": jax_training,
    "TensorFlow training": tensorflow_training,
    "dropped iterators": dropped_iterators,
}
