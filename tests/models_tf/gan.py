"""Generative adversarial network of scikit-learn's digits: two models, two optimisers.

The discriminator has spectral normalisation (Miyato et al. 2018, arXiv:1802.05957) and a penalty on
its gradient (Mescheder et al. 2018, arXiv:1801.04406), whose own gradient is one of second order.
"""

from __future__ import annotations

import keras
import sklearn.datasets
import tensorflow as tf

from tests.models_tf.training import Size, Training, minimise, scaled, split

_LATENT = 6


def _generator() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((_LATENT,)),
            keras.layers.Dense(2 * 2 * 16, use_bias=False),
            keras.layers.Reshape((2, 2, 16)),
            keras.layers.BatchNormalization(),
            keras.layers.Activation("swish"),
            keras.layers.Conv2DTranspose(12, 4, strides=2, padding="same", use_bias=False),
            keras.layers.BatchNormalization(),
            keras.layers.Activation("swish"),
            keras.layers.Conv2DTranspose(
                1, 4, strides=2, padding="same", activation="tanh", dtype=keras.config.floatx()
            ),
        ]
    )


def _discriminator() -> keras.Model:
    def convolution(filters: int) -> keras.Layer:
        # It replaces the kernel by a normalised one, which in half precision would be rounded in
        # each step.
        return keras.layers.SpectralNormalization(
            keras.layers.Conv2D(filters, 4, strides=2, padding="same"), dtype=keras.config.floatx()
        )

    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            convolution(8),
            keras.layers.Activation("softplus"),
            convolution(12),
            keras.layers.Activation("softplus"),
            keras.layers.Dropout(0.2),
            keras.layers.Flatten(),
            keras.layers.Dense(1, dtype=keras.config.floatx()),
        ]
    )


def build(size: Size) -> Training:
    """Makes both models with an Adam each."""
    del size  # there is one
    generator, discriminator = _generator(), _discriminator()
    numbers = keras.random.SeedGenerator(4)
    optimizers = {}
    for model in (generator, discriminator):
        optimizers[model] = scaled(keras.optimizers.Adam(1e-3, beta_1=0.5, epsilon=1e-3))
        optimizers[model].build(model.trainable_variables)

    def noise(count: int) -> tf.Tensor:
        return keras.random.normal((count, _LATENT), seed=numbers)

    def penalty(pictures: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(pictures)
            score = discriminator(pictures, training=True)
        gradient = tape.gradient(score, pictures)
        return tf.reduce_mean(tf.reduce_sum(tf.square(gradient), axis=[1, 2, 3]))

    def discriminator_loss(pictures: tf.Tensor) -> tuple[tf.Tensor, None]:
        fakes = generator(noise(pictures.shape[0]), training=True)
        real = discriminator(pictures, training=True)
        fake = discriminator(fakes, training=True)
        loss = tf.reduce_mean(tf.nn.softplus(-real)) + tf.reduce_mean(tf.nn.softplus(fake))
        return loss + 5.0 * penalty(pictures), None

    def generator_loss(count: int) -> tuple[tf.Tensor, None]:
        fakes = generator(noise(count), training=True)
        return tf.reduce_mean(tf.nn.softplus(-discriminator(fakes, training=True))), None

    def step(pictures: tf.Tensor) -> dict[str, tf.Tensor]:
        judged, _ = minimise(
            optimizers[discriminator],
            discriminator.trainable_variables,
            lambda: discriminator_loss(pictures),
        )
        forged, _ = minimise(
            optimizers[generator],
            generator.trainable_variables,
            lambda: generator_loss(pictures.shape[0]),
        )
        return {"discriminator": judged, "generator": forged}

    def infer(latent: tf.Tensor) -> dict[str, tf.Tensor]:
        pictures = generator(latent, training=False)
        return {"pictures": pictures, "real": tf.sigmoid(discriminator(pictures, training=False))}

    pictures = sklearn.datasets.load_digits().images[:48, ..., None] / 8.0 - 1.0
    latent = sklearn.datasets.load_digits().data[:16, :_LATENT] / 8.0 - 1.0
    return Training(
        step=step,
        infer=infer,
        variables=[*generator.variables, *discriminator.variables, numbers.state],
        optimizers=list(optimizers.values()),
        batches=split((pictures.astype("float32"),), 16),
        inputs=(latent.astype("float32"),),
    )
