"""TensorFlow on the device: ops, variables, functions, compiled functions, kernels, DLPack."""

from __future__ import annotations

import gc
import os
import sys
import threading

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import numpy as np
import tensorflow as tf

import onexpu
from tests.scaled_kernel import scaled


def eager() -> None:
    """Ops one by one: translated ones, kernels of the plug-in, the host's, and errors."""
    x = tf.constant(np.linspace(-1, 1, 63, dtype=np.float32).reshape(9, 7))
    y = tf.nn.relu(tf.matmul(x, x, transpose_b=True) + 1)
    assert np.isfinite(tf.reduce_sum(y).numpy())
    assert tf.where(x > 0).shape[0] == 31
    values, _ = tf.unique(tf.constant([3, 1, 3, 2]))
    assert values.numpy().tolist() == [3, 1, 2]
    assert tf.boolean_mask(x, x[:, 0] > 0).shape[0] == 4
    tf.concat([x, x], 0).numpy()
    tf.strings.as_string(x[0]).numpy()
    tf.random.normal([5]).numpy()
    tf.image.resize(tf.ones([1, 5, 5, 3]), [9, 7]).numpy()
    try:
        tf.reshape(x, [2, 2])
    except tf.errors.InvalidArgumentError:
        pass
    else:
        raise AssertionError("a wrong shape was accepted")


def variables() -> None:
    """Variables that are assigned, scattered into, and dropped while they are read."""
    for _ in range(2):
        v = tf.Variable(tf.zeros([33, 5]))
        v.assign_add(tf.ones([33, 5]))
        v.scatter_nd_update([[0], [32]], tf.ones([2, 5]) * 3)
        read = v.read_value()
        v.assign(tf.zeros([33, 5]))
        del v
        gc.collect()
        assert float(read[32, 4]) == 3
    embedding = tf.Variable(tf.ones([11, 3]))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.gather(embedding, [1, 1, 10]))
    slopes = tape.gradient(loss, embedding)
    assert float(tf.convert_to_tensor(slopes)[1, 0]) == 2


def functions() -> None:
    """Functions with control flow, tensor arrays, ragged tensors, and ops on the host."""

    @tf.function
    def loop(x: tf.Tensor) -> tf.Tensor:
        array = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        i = 0
        while tf.reduce_sum(x) < 100.0:
            x = x * 2
            array = array.write(i, x)
            i += 1
        return array.concat()

    assert loop(tf.ones([7])).shape[0] == 28
    assert loop(tf.ones([9])).shape[0] == 36
    ragged = tf.ragged.constant([[1.0, 2.0], [], [3.0]])
    total = tf.function(
        lambda r: tf.reduce_sum(tf.map_fn(tf.reduce_sum, r, fn_output_signature=tf.float32))
    )
    assert float(total(ragged)) == 6


def compiled() -> None:
    """Functions with jit_compile=True: gradients, sizes known at run time, and new shapes."""
    w = tf.Variable(tf.ones([7, 3]))

    @tf.function(jit_compile=True, reduce_retracing=False)
    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.boolean_mask(x, x[:, 0] > 0) @ w))
        w.assign_sub(0.01 * tape.gradient(loss, w))
        return loss

    for size in (4, 9):
        assert np.isfinite(step(tf.ones([size, 7])).numpy())
    masked = tf.function(lambda x: tf.boolean_mask(x, x > 0), jit_compile=True)
    assert masked(tf.constant([1.0, -1.0, 2.0])).numpy().tolist() == [1, 2]


def kernels() -> None:
    """A kernel from source, eagerly and in functions."""
    x = tf.ones([33])
    assert float(scaled(x, rate=2.0)[32]) == 2
    for jit_compile in (False, True):
        function = tf.function(lambda x: scaled(x, rate=3.0) + 1, jit_compile=jit_compile)
        assert float(function(x)[32]) == 4


def views() -> None:
    """Memory shared through DLPack, released in either order."""
    x = tf.range(33, dtype=tf.float32) + 0
    y = onexpu.from_dlpack(onexpu.to_dlpack(x), "tensorflow")
    capsule = onexpu.to_dlpack(x).__dlpack__(max_version=(1, 0))
    del x
    gc.collect()
    assert float(y[32]) == 32
    del y
    z = onexpu.from_dlpack(capsule, "tensorflow")
    assert float(z[32]) == 32


def threads() -> None:
    """Threads that run ops and a function on shared tensors."""
    failures: list[BaseException] = []
    shared = tf.range(1025, dtype=tf.float32) + 0
    total = tf.function(lambda x, y: tf.reduce_sum(x * y))

    def work(seed: int) -> None:
        try:
            with tf.device("/XPU:0"):
                for _ in range(3):
                    result = total(shared, tf.fill([1025], float(seed)))
                    assert abs(float(result) - seed * 524800) <= 64
        except BaseException as error:  # raised again by the main thread
            failures.append(error)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failures:
        raise failures[0]


def main(rounds: int) -> None:
    """Runs every part `rounds` times."""
    with tf.device("/XPU:0"):
        for _ in range(rounds):
            for part in (eager, variables, functions, compiled, kernels, views, threads):
                part()
                print(part.__name__, flush=True)
    tf.test.experimental.sync_devices()


if __name__ == "__main__":
    main(int(sys.argv[1]))
