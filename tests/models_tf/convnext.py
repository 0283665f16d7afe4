"""ConvNeXt (Liu et al. 2022, arXiv:2201.03545), from keras.applications: layer normalisation, GELU, layer scale."""

from __future__ import annotations

import keras
from keras.src.applications import convnext

from tests.models_tf import image_classifier
from tests.models_tf.training import Size, Training


def build(size: Size) -> Training:
    """Makes the network with AdamW, as it was published."""
    arguments = {
        "weights": None,
        "input_shape": (image_classifier.IMAGE, image_classifier.IMAGE, 3),
        "classes": image_classifier.CLASSES,
        "classifier_activation": None,
    }
    if size is Size.FULL:
        model = keras.applications.ConvNeXtTiny(**arguments)
    else:
        # The published layer scale of 1e-6 would all but remove the blocks from what is compared.
        model = convnext.ConvNeXt(
            depths=[1, 1, 2, 1],
            projection_dims=[16, 24, 32, 40],
            # Keras' stochastic depth draws float32 numbers, and multiplies nothing else with them.
            drop_path_rate=0.2 if keras.config.dtype_policy().compute_dtype == "float32" else 0.0,
            layer_scale_init_value=0.1,
            **arguments,
        )
    optimizer = keras.optimizers.AdamW(1e-3, weight_decay=0.05, epsilon=1e-3)
    return image_classifier.training(model, optimizer)
