"""EfficientNetV2 (Tan and Le 2021, arXiv:2104.00298), from keras.applications: swish, stochastic
depth.
"""

from __future__ import annotations

import keras
from keras.src.applications import efficientnet_v2

from tests.models_tf import image_classifier
from tests.models_tf.training import Size, Training

# The keys are those of Keras' own tables. Conversion type 1 is the fused block.
_BLOCKS = [
    {
        "kernel_size": 3,
        "num_repeat": 2,
        "input_filters": 16,
        "output_filters": filters,
        "expand_ratio": 2,
        "se_ratio": ratio,
        "strides": 2,
        "conv_type": conv_type,
    }
    for filters, ratio, conv_type in ((16, 0, 1), (24, 0.25, 0))
]


def build(size: Size) -> Training:
    """Makes the network with Adam and an average of its weights."""
    arguments = {
        "weights": None,
        "input_shape": (image_classifier.IMAGE, image_classifier.IMAGE, 3),
        "classes": image_classifier.CLASSES,
        "classifier_activation": None,
    }
    if size is Size.FULL:
        model = keras.applications.EfficientNetV2B0(**arguments)
    else:
        model = efficientnet_v2.EfficientNetV2(
            width_coefficient=1.0,
            depth_coefficient=1.0,
            default_size=image_classifier.IMAGE,
            blocks_args=_BLOCKS,
            name="efficientnetv2-b0",
            **arguments,
        )
    optimizer = keras.optimizers.Adam(1e-3, epsilon=1e-3, use_ema=True, ema_momentum=0.9)
    return image_classifier.training(model, optimizer)
