"""RemoteCall: functions on a device that an operand names."""

from __future__ import annotations

import compare
import numpy as np
import pytest
import tensorflow as tf

X = np.random.RandomState(0).randn(3, 4).astype(np.float32)
TYPES = [np.float32, np.int32, np.int64, np.bool_]


@pytest.mark.parametrize("target", ["/device:XPU:0", "/device:CPU:0"])
@pytest.mark.parametrize("source", ["/XPU:0", "/CPU:0"])
@pytest.mark.parametrize("dtype", TYPES)
def test_from_here_and_from_there(source: str, target: str, dtype) -> None:
    @tf.function(input_signature=[tf.TensorSpec([3, 4], dtype), tf.TensorSpec([], tf.int32)])
    def remote(x: tf.Tensor, n: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.reverse(x, [n]), n + 7

    def call() -> list[tf.Tensor]:
        operands = [tf.constant((X * 9).astype(dtype)), tf.constant(1)]
        function = remote.get_concrete_function()
        return tf.raw_ops.RemoteCall(
            target=target, args=operands, Tout=[dtype, tf.int32], f=function
        )

    for mode in ("eager", "graph"):
        x, n = compare.on(source, call, mode)
        np.testing.assert_array_equal(x, (X * 9).astype(dtype)[:, ::-1])
        np.testing.assert_array_equal(n, 8)


def test_a_target_that_is_none() -> None:
    function = tf.function(
        lambda x: x, input_signature=[tf.TensorSpec([], tf.int32)]
    ).get_concrete_function()
    with tf.device("/XPU:0"), pytest.raises(tf.errors.InternalError, match="XPU:7"):
        tf.raw_ops.RemoteCall(
            target="/device:XPU:7", args=[tf.constant(1)], Tout=[tf.int32], f=function
        )
