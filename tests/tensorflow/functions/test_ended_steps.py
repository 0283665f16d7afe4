"""Steps that end while a kernel's callback still runs on another thread.

`RemoteCall` completes on a thread of the target device. The step that called it may be destroyed
as soon as the callback reports completion: nothing may touch it afterwards. Each program runs in
its own process, because a failure is a crash.
"""

from __future__ import annotations

import process
import pytest

from tests.exhaustive import covering, every

DATASET = """
    import numpy as np
    import tensorflow as tf

    values = np.zeros((64, 256), np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((values, np.arange(64)))
    dataset = dataset.map(lambda a, b: (a + 1, b)).batch(4)
"""

THREADS = """
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("done")
"""


@pytest.mark.parametrize("count", every(2, [100, 400]))
def test_dropped_iterators(count: int) -> None:
    program = (
        DATASET
        + f"""
    for _ in range({count}):
        prefetched = dataset.apply(tf.data.experimental.prefetch_to_device("/XPU:0", 4))
        for i, _batch in enumerate(prefetched):
            if i == 3:
                break
    print("done")
    """
    )
    assert process.output_of(program).endswith("done\n")


@pytest.mark.parametrize("count", every(2, [32, 100]))
def test_iterators_in_several_threads(count: int) -> None:
    program = (
        DATASET
        + f"""
    import threading

    def work() -> None:
        for k in range({count}):
            prefetched = dataset.apply(tf.data.experimental.prefetch_to_device("/XPU:0", 1 + k % 3))
            for i, _batch in enumerate(prefetched):
                if i == k % 16:
                    break
    """
        + THREADS
    )
    assert process.output_of(program).endswith("done\n")


@covering(target=["/device:CPU:0", "/device:XPU:0"], fails=[False, True])
def test_remote_calls_in_several_threads(fails: bool, target: str) -> None:
    program = (
        f"""
    import threading

    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec([3], tf.float32), tf.TensorSpec([], tf.int32)])
    def remote(x: tf.Tensor, n: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        if {fails}:
            tf.raw_ops.Assert(condition=n < 0, data=["remote", x])
        return x * 2 + 1, n + 1

    function = remote.get_concrete_function()

    def work() -> None:
        with tf.device("/XPU:0"):
            args = [tf.ones([3]), tf.constant(1)]
            for _ in range(2000):
                try:
                    types = [tf.float32, tf.int32]
                    tf.raw_ops.RemoteCall(target="{target}", args=args, Tout=types, f=function)
                    assert not {fails}
                except tf.errors.InvalidArgumentError:
                    assert {fails}
    """
        + THREADS
    )
    assert process.output_of(program).endswith("done\n")
