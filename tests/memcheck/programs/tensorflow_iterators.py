"""Iterators of tf.data that put batches on the device, and are dropped before their end."""

from __future__ import annotations

import gc
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import numpy as np
import tensorflow as tf


def _dataset() -> tf.data.Dataset:
    values = np.arange(64 * 9, dtype=np.float32).reshape(64, 9)
    dataset = tf.data.Dataset.from_tensor_slices((values, np.arange(64)))
    return dataset.map(lambda a, b: (a + 1, b)).batch(4)


def dropped(size: int, last: int) -> None:
    """Drops an iterator that has `size` batches ready, after batch `last`."""
    dataset = _dataset().apply(tf.data.experimental.prefetch_to_device("/XPU:0", size))
    for i, (images, _) in enumerate(dataset):
        with tf.device("/XPU:0"):
            total = tf.reduce_sum(images)
        assert float(total) == sum(range(36 * i, 36 * (i + 1))) + 36
        if i == last:
            break


def unread() -> None:
    """Drops an iterator that was never read."""
    iter(_dataset().apply(tf.data.experimental.prefetch_to_device("/XPU:0", 2)))
    gc.collect()


def copied() -> None:
    """Drops an iterator over `copy_to_device`, and one inside of a function."""
    dataset = _dataset().apply(tf.data.experimental.copy_to_device("/XPU:0")).prefetch(2)
    for _ in dataset.take(2):
        pass

    @tf.function
    def first_two(iterator: tf.data.Iterator) -> tf.Tensor:
        return tf.reduce_sum(next(iterator)[0]) + tf.reduce_sum(next(iterator)[0])

    with tf.device("/XPU:0"):
        assert float(first_two(iter(_dataset()))) == sum(range(72)) + 72
    gc.collect()


def failing() -> None:
    """An iterator whose map raises while batches are being prefetched."""
    dataset = tf.data.Dataset.range(8).map(
        lambda i: tf.debugging.check_numerics(1.0 / tf.cast(3 - i, tf.float32), "on purpose")
    )
    try:
        for _ in dataset.apply(tf.data.experimental.prefetch_to_device("/XPU:0", 2)):
            pass
    except tf.errors.InvalidArgumentError:
        pass
    else:
        raise AssertionError("the error of an iterator was lost")


def main(rounds: int) -> None:
    """Drops iterators `rounds` times each."""
    for _ in range(rounds):
        for size in (1, 2, 4):
            for last in (0, 3):
                dropped(size, last)
        unread()
        copied()
        failing()
        print("round", flush=True)
    gc.collect()
    tf.test.experimental.sync_devices()


if __name__ == "__main__":
    main(int(sys.argv[1]))
