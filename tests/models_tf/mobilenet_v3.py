"""MobileNetV3 (Howard et al. 2019, arXiv:1905.02244), from keras.applications: depthwise
convolutions, squeeze and excitation.
"""

from __future__ import annotations

import keras

from tests.models_tf import image_classifier
from tests.models_tf.training import Size, Training


def build(size: Size) -> Training:
    """Makes the small variant with RMSprop, as it was published; a third as wide where `size` is
    small.
    """
    model = keras.applications.MobileNetV3Small(
        weights=None,
        input_shape=(image_classifier.IMAGE, image_classifier.IMAGE, 3),
        alpha=1.0 if size is Size.FULL else 0.35,
        classes=image_classifier.CLASSES,
        classifier_activation=None,
    )
    optimizer = keras.optimizers.RMSprop(1e-5, momentum=0.9, epsilon=1e-3)
    return image_classifier.training(model, optimizer)
