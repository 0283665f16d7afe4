"""Training in Keras, compared with TensorFlow's CPU device (``--report --full``)."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from onexpu._report import host
from onexpu._report.checks import Check, Value
from onexpu._report.tensorflow_checks import prepare

__all__ = ["CHECKS", "prepare"]


def _train(policy: str, tolerance: float) -> Iterator[Value]:
    import numpy as np
    import tensorflow as tf

    # Keras keeps parts of its state on the host.
    tf.config.set_soft_device_placement(True)
    x = host.random(256, 12, 12, 4)
    y = np.random.default_rng(1).integers(0, 5, 256)
    losses = []
    for device in ("/XPU:0", "/CPU:0"):
        with tf.device(device):
            tf.keras.utils.set_random_seed(0)
            tf.keras.config.set_dtype_policy(policy)
            model = tf.keras.Sequential(
                [
                    tf.keras.Input((12, 12, 4)),
                    tf.keras.layers.Conv2D(8, 3, activation="relu"),
                    tf.keras.layers.BatchNormalization(),
                    tf.keras.layers.Flatten(),
                    tf.keras.layers.Dense(5, dtype="float32"),
                ]
            )
            model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
            history = model.fit(x, y, batch_size=32, epochs=3, shuffle=False, verbose=0)
            losses.append(history.history["loss"])
    tf.keras.config.set_dtype_policy("float32")
    yield Value(
        "losses of 3 epochs",
        losses[0],
        losses[1],
        tolerance,
        "24 steps amplify rounding differences",
    )


CHECKS = (
    Check("Keras fit", functools.partial(_train, "float32", 1e-3), 300),
    Check("Keras fit, mixed_bfloat16", functools.partial(_train, "mixed_bfloat16", 5e-2), 300),
)
