"""Training in TensorFlow: Keras' fit with and without strategies, and prediction."""

from __future__ import annotations

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import keras
import numpy as np
import tensorflow as tf


def _model(optimizer: str) -> keras.Model:
    layers = [
        keras.Input((7,)),
        keras.layers.Dense(5, activation="relu"),
        keras.layers.Dropout(0.2),
        keras.layers.Dense(1),
    ]
    model = keras.Sequential(layers)
    model.compile(optimizer, "mse", jit_compile=optimizer == "sgd")
    return model


def main(rounds: int) -> None:
    """Trains two steps, `rounds` times, without a strategy and with each of two."""
    x, y = np.ones((8, 7), np.float32), np.ones((8, 1), np.float32)
    with tf.device("/XPU:0"):
        for optimizer in ("sgd", "adam"):
            model = _model(optimizer)
            for _ in range(rounds):
                model.fit(x, y, batch_size=4, verbose=0)
            assert np.isfinite(model.predict(x, verbose=0)).all()
            print("fit with", optimizer, flush=True)
    for strategy in (
        tf.distribute.OneDeviceStrategy("/XPU:0"),
        tf.distribute.MirroredStrategy(["/XPU:0"]),
    ):
        with strategy.scope():
            model = _model("adam")
        # Not MultiDeviceIterator, whose destructor does not wait for a thread that has not begun to
        # run (TensorFlow 2.21, multi_device_iterator_ops.cc, ~MultiDeviceBuffer).
        dataset = strategy.experimental_distribute_dataset(
            tf.data.Dataset.from_tensor_slices((x, y)).batch(4),
            tf.distribute.InputOptions(experimental_fetch_to_device=False),
        )
        for _ in range(rounds):
            model.fit(dataset, verbose=0)
        print("fit under", type(strategy).__name__, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
