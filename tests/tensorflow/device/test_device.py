"""What TensorFlow asks of a device as a whole: to wait, and how much memory is in use."""

from __future__ import annotations

import tensorflow as tf

import onexpu


def test_sync_devices_waits_for_the_device() -> None:
    with tf.device("/XPU:0"):
        x = tf.random.normal([2048, 2048])
        onexpu.to_jax(tf.matmul(x, x) * 1e-3)  # Compiles, and imports JAX.
        tf.test.experimental.sync_devices()
        for _ in range(16):
            x = tf.matmul(x, x) * 1e-3
    pending = onexpu.to_jax(x)
    # Half a second of work, whose result was not waited for.
    assert not pending.is_ready()
    tf.test.experimental.sync_devices()
    assert pending.is_ready()


def test_memory_in_use() -> None:
    size = 64 << 20
    # What waits for its last use is still in use.
    tf.test.experimental.sync_devices()
    before = tf.config.experimental.get_memory_info("XPU:0")["current"]
    with tf.device("/XPU:0"):
        x = tf.zeros([size // 4]) + 1.0
    tf.test.experimental.sync_devices()
    during = tf.config.experimental.get_memory_info("XPU:0")
    assert during["current"] - before >= size and during["peak"] >= during["current"]
    assert during["current"] == onexpu.memory_info()["bytes_in_use"]
    del x
    tf.test.experimental.sync_devices()
    assert tf.config.experimental.get_memory_info("XPU:0")["current"] - before < size
