"""Variational autoencoder (Kingma and Welling 2013, arXiv:1312.6114) of scikit-learn's digits."""

from __future__ import annotations

import keras
import sklearn.datasets
import tensorflow as tf

from tests.models_tf.training import Size, Training, minimise, scaled, split

_LATENT = 4


class VariationalAutoencoder(keras.Model):
    """Draws the latent variable with numbers of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = keras.random.SeedGenerator(3)
        self.encoder = keras.Sequential(
            [
                keras.Input((8, 8, 1)),
                keras.layers.Conv2D(8, 3, strides=2, padding="same", activation="elu"),
                keras.layers.Conv2D(16, 3, strides=2, padding="same", activation="elu"),
                keras.layers.Flatten(),
                keras.layers.Dense(2 * _LATENT, dtype=keras.config.floatx()),
            ]
        )
        self.decoder = keras.Sequential(
            [
                keras.Input((_LATENT,)),
                keras.layers.Dense(2 * 2 * 16, activation="elu"),
                keras.layers.Reshape((2, 2, 16)),
                keras.layers.Conv2DTranspose(8, 3, strides=2, padding="same", activation="elu"),
                keras.layers.Conv2DTranspose(
                    1, 3, strides=2, padding="same", dtype=keras.config.floatx()
                ),
            ]
        )

    def call(self, pictures, training=False):
        mean, log_variance = tf.split(self.encoder(pictures, training=training), 2, axis=-1)
        noise = keras.random.normal(tf.shape(mean), dtype=mean.dtype, seed=self.numbers)
        latent = mean + tf.exp(0.5 * log_variance) * noise
        return self.decoder(latent, training=training), mean, log_variance


def build(size: Size) -> Training:
    """Makes the model with Adam."""
    del size  # there is one
    model = VariationalAutoencoder()
    model.build((None, 8, 8, 1))
    optimizer = scaled(keras.optimizers.Adam(3e-3, epsilon=1e-3, amsgrad=True))
    optimizer.build(model.trainable_variables)

    def step(pictures: tf.Tensor) -> dict[str, tf.Tensor]:
        def compute_loss() -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
            logits, mean, log_variance = model(pictures, training=True)
            errors = tf.nn.sigmoid_cross_entropy_with_logits(
                tf.cast(pictures, logits.dtype), logits
            )
            error = tf.reduce_mean(tf.reduce_sum(errors, axis=[1, 2, 3]))
            divergence = tf.square(mean) + tf.exp(log_variance) - 1.0 - log_variance
            divergence = 0.5 * tf.reduce_mean(tf.reduce_sum(divergence, axis=1))
            return error + divergence, {"error": error, "divergence": divergence}

        loss, parts = minimise(optimizer, model.trainable_variables, compute_loss)
        return {"loss": loss, **parts}

    def infer(pictures: tf.Tensor) -> dict[str, tf.Tensor]:
        logits, mean, _ = model(pictures, training=False)
        return {"mean": mean, "reconstruction": tf.sigmoid(logits)}

    pictures = (sklearn.datasets.load_digits().images[:64, ..., None] / 16.0).astype("float32")
    return Training(
        step=step,
        infer=infer,
        variables=model.variables,
        optimizers=[optimizer],
        batches=split((pictures,), 16),
        inputs=(pictures[48:],),
    )
