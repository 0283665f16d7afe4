"""U-Net (Ronneberger et al. 2015, arXiv:1505.04597) that finds discs: transposed convolutions,
resizing, skip connections.
"""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

from tests.models_tf.training import Size, Training, minimise, scaled, split

_SIZE = 32


def _discs(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Noisy pictures of a disc each, and where it is: float32 [count, size, size, 1] each."""
    random = np.random.RandomState(7)
    y, x = np.mgrid[:_SIZE, :_SIZE]
    centre = random.uniform(8, _SIZE - 8, (2, count, 1, 1))
    radius = random.uniform(3, 8, (count, 1, 1))
    inside = np.hypot(y - centre[0], x - centre[1]) < radius
    picture = inside + 0.3 * random.standard_normal(inside.shape)
    return picture[..., None].astype(np.float32), inside[..., None].astype(np.float32)


def _block(x, filters: int):
    for _ in range(2):
        x = keras.layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = keras.layers.BatchNormalization()(x)
        x = keras.layers.Activation("swish")(x)
    return x


def _model() -> keras.Model:
    pictures = keras.Input((_SIZE, _SIZE, 1))
    fine = _block(pictures, 8)
    middle = _block(keras.layers.MaxPooling2D()(fine), 16)
    coarse = keras.layers.SpatialDropout2D(0.1)(_block(keras.layers.MaxPooling2D()(middle), 24))
    # One step up of each kind that is in use.
    up = keras.layers.Conv2DTranspose(16, 2, strides=2)(coarse)
    x = _block(keras.layers.Concatenate()([up, middle]), 16)
    # In single precision: TensorFlow's translation of the gradient to XLA gives float32 for
    # bfloat16.
    up = keras.layers.UpSampling2D(interpolation="bilinear", dtype=keras.config.floatx())(x)
    x = _block(keras.layers.Concatenate()([up, fine]), 8)
    return keras.Model(pictures, keras.layers.Conv2D(1, 1, dtype=keras.config.floatx())(x))


def _dice(masks: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """Twice the overlap over the sum of both areas, of each picture."""
    probability = tf.sigmoid(logits)
    overlap = tf.reduce_sum(masks * probability, axis=[1, 2, 3])
    area = tf.reduce_sum(masks, axis=[1, 2, 3]) + tf.reduce_sum(probability, axis=[1, 2, 3])
    return (2.0 * overlap + 1.0) / (area + 1.0)


def build(size: Size) -> Training:
    """Makes the model with SGD and a loss of cross entropy and overlap."""
    del size  # there is one
    model = _model()
    optimizer = scaled(keras.optimizers.SGD(0.05, momentum=0.9, clipvalue=1.0))
    optimizer.build(model.trainable_variables)
    cross_entropy = keras.losses.BinaryCrossentropy(from_logits=True)

    def step(pictures: tf.Tensor, masks: tf.Tensor) -> dict[str, tf.Tensor]:
        def compute_loss() -> tuple[tf.Tensor, tf.Tensor]:
            logits = model(pictures, training=True)
            dice = tf.reduce_mean(_dice(tf.cast(masks, logits.dtype), logits))
            return cross_entropy(masks, logits) + 1.0 - dice, dice

        loss, dice = minimise(optimizer, model.trainable_variables, compute_loss)
        return {"loss": loss, "dice": dice}

    pictures, masks = _discs(32)
    return Training(
        step=step,
        infer=lambda pictures: tf.sigmoid(model(pictures, training=False)),
        variables=model.variables,
        optimizers=[optimizer],
        batches=split((pictures, masks), 8),
        inputs=(pictures[24:],),
    )
