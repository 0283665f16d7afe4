"""DenseNet (Huang et al. 2016, arXiv:1608.06993), from keras.applications: concatenations, average
pooling.
"""

from __future__ import annotations

import keras
from keras.src.applications import densenet

from tests.models_tf import image_classifier
from tests.models_tf.training import Size, Training


def build(size: Size) -> Training:
    """Makes the network with Nesterov's momentum, as it was published."""
    arguments = {
        "weights": None,
        "input_shape": (image_classifier.IMAGE, image_classifier.IMAGE, 3),
        "classes": image_classifier.CLASSES,
        "classifier_activation": None,
    }
    if size is Size.FULL:
        model = keras.applications.DenseNet121(**arguments)
    else:
        model = densenet.DenseNet(blocks=[2, 2, 1, 1], **arguments)
    optimizer = keras.optimizers.SGD(3e-5, momentum=0.9, nesterov=True)
    return image_classifier.training(
        model, optimizer, preprocess=keras.applications.densenet.preprocess_input
    )
