"""ResNet-50 (He et al. 2015, arXiv:1512.03385), from keras.applications."""

from __future__ import annotations

import keras
from keras.src.applications import resnet

from tests.models_tf import image_classifier
from tests.models_tf.training import Size, Training


def _shallow(x: keras.KerasTensor) -> keras.KerasTensor:
    """A block that projects and one that does not, at strides 1 and 2."""
    x = resnet.stack_residual_blocks_v1(x, 16, 2, stride1=1, name="conv2")
    return resnet.stack_residual_blocks_v1(x, 32, 2, name="conv3")


def build(size: Size) -> Training:
    """Makes the network with SGD and momentum, as it was published."""
    arguments = {
        "weights": None,
        "input_shape": (image_classifier.IMAGE, image_classifier.IMAGE, 3),
        "classes": image_classifier.CLASSES,
        "classifier_activation": None,
    }
    if size is Size.FULL:
        model = keras.applications.ResNet50(**arguments)
    else:
        model = resnet.ResNet(_shallow, preact=False, use_bias=True, **arguments)
    # At full depth gradients are so large that the CPU's float32 loses all that float64 gives after
    # three steps at 1e-6.
    rate = 1e-7 if size is Size.FULL else 1e-4
    optimizer = keras.optimizers.SGD(rate, momentum=0.9, weight_decay=1e-4)
    return image_classifier.training(
        model, optimizer, preprocess=keras.applications.resnet.preprocess_input
    )
