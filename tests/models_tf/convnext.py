"""ConvNeXt (Liu et al. 2022, arXiv:2201.03545), from keras.applications: layer normalisation, GELU,
layer scale.
"""

from __future__ import annotations

from unittest import mock

import keras
import tensorflow as tf
from keras.src.applications import convnext

from tests.models_tf import image_classifier
from tests.models_tf.training import Size, Training


class _StochasticDepth(convnext.StochasticDepth):
    """Takes half precision, too: Keras' own multiplies with numbers of float32 alone."""

    def call(self, x: tf.Tensor, training: bool | None = None) -> tf.Tensor:
        kept = super().call(tf.cast(x, keras.config.floatx()), training=training)
        return tf.cast(kept, x.dtype)


def build(size: Size) -> Training:
    """Makes the network with AdamW, as it was published."""
    published = convnext.MODEL_CONFIGS["tiny"]
    # The published layer scale of 1e-6 would all but remove the blocks from what is compared.
    with mock.patch.object(convnext, "StochasticDepth", _StochasticDepth):
        model = convnext.ConvNeXt(
            depths=published["depths"] if size is Size.FULL else [1, 1, 2, 1],
            projection_dims=published["projection_dims"] if size is Size.FULL else [16, 24, 32, 40],
            drop_path_rate=0.0 if size is Size.FULL else 0.2,
            layer_scale_init_value=0.1,
            weights=None,
            input_shape=(image_classifier.IMAGE, image_classifier.IMAGE, 3),
            classes=image_classifier.CLASSES,
            classifier_activation=None,
        )
    optimizer = keras.optimizers.AdamW(1e-3, weight_decay=0.05, epsilon=1e-3)
    return image_classifier.training(model, optimizer)
