"""TensorArrayV3 and its kin: arrays of TensorFlow 1's loops, with elements on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import compare
import numpy as np
import pytest
import tensorflow as tf

import onexpu

R = tf.raw_ops
VALUES = np.random.RandomState(3).rand(7, 2, 3).astype(np.float32)
TYPES = [np.float32, np.float64, np.float16, np.int32, np.int64, np.int8, np.bool_, np.complex64]


def check(function: Callable[[], Any], ulps: float = 0) -> None:
    """In a graph: there the ops of one array share a step."""
    onexpu.reset_statistics()
    compare.check(function, "graph", ulps)
    assert not {
        op for op in onexpu.placement_report().counts["host"] if op.startswith("TensorArray")
    }


def make(size: int, dtype: Any = np.float32, **attributes: Any) -> Any:
    return R.TensorArrayV3(size=size, dtype=dtype, **attributes)


@pytest.mark.parametrize("dtype", TYPES)
def test_write_and_read(dtype: Any) -> None:
    values = (VALUES * 4).astype(dtype)

    def function() -> list[tf.Tensor]:
        handle, flow = make(3, dtype)
        flow = R.TensorArrayWriteV3(handle=handle, index=1, value=values[0], flow_in=flow)
        flow = R.TensorArrayWriteV3(handle=handle, index=2, value=values[1], flow_in=flow)
        read = [
            R.TensorArrayReadV3(handle=handle, index=i, flow_in=flow, dtype=dtype) for i in (2, 1)
        ]
        return [*read, R.TensorArraySizeV3(handle=handle, flow_in=flow)]

    check(function)


@pytest.mark.parametrize("dtype", TYPES)
def test_scatter_and_gather(dtype: Any) -> None:
    values = (VALUES * 4).astype(dtype)

    def function() -> tf.Tensor:
        handle, flow = make(7, dtype, clear_after_read=False)
        flow = R.TensorArrayScatterV3(
            handle=handle, indices=[4, 0, 2, 1, 3, 6, 5], value=values, flow_in=flow
        )
        return [
            R.TensorArrayGatherV3(
                handle=handle, indices=indices, flow_in=flow, dtype=dtype, element_shape=[2, 3]
            )
            for indices in ([0, 1, 2, 3, 4, 5, 6], [6, 6, 0], [])
        ]

    check(function)


def test_split_and_concat() -> None:
    def function() -> list[tf.Tensor]:
        handle, flow = make(4, clear_after_read=False)
        lengths = np.array([2, 0, 4, 1], np.int64)
        flow = R.TensorArraySplitV3(handle=handle, value=VALUES, lengths=lengths, flow_in=flow)
        read = [
            R.TensorArrayReadV3(handle=handle, index=i, flow_in=flow, dtype=tf.float32)
            for i in (1, 3)
        ]
        with tf.control_dependencies(read):
            return [*read, *R.TensorArrayConcatV3(handle=handle, flow_in=flow, dtype=tf.float32)]

    check(function)


def test_empty_arrays() -> None:
    def function() -> list[tf.Tensor]:
        handle, flow = make(0)
        return [
            *R.TensorArrayConcatV3(
                handle=handle, flow_in=flow, dtype=tf.float32, element_shape_except0=[3]
            ),
            R.TensorArrayGatherV3(
                handle=handle, indices=[], flow_in=flow, dtype=tf.float32, element_shape=[2]
            ),
        ]

    check(function)


def test_elements_that_nobody_wrote_are_zeros() -> None:
    def function() -> list[tf.Tensor]:
        handle, flow = make(3, element_shape=[2, 3])
        flow = R.TensorArrayWriteV3(handle=handle, index=0, value=VALUES[0], flow_in=flow)
        return [
            R.TensorArrayGatherV3(handle=handle, indices=[1, 0, 2], flow_in=flow, dtype=tf.float32)
        ]

    check(function)


def test_elements_without_elements() -> None:
    def function() -> list[tf.Tensor]:
        handle, flow = make(2, clear_after_read=False)
        empty = np.zeros((0, 3), np.float32)
        for i in range(2):
            flow = R.TensorArrayWriteV3(handle=handle, index=i, value=empty, flow_in=flow)
        read = R.TensorArrayReadV3(handle=handle, index=0, flow_in=flow, dtype=tf.float32)
        return [
            read + 1.0,
            R.TensorArrayGatherV3(handle=handle, indices=[0, 1], flow_in=flow, dtype=tf.float32),
        ]

    check(function)


def test_arrays_grow() -> None:
    def function() -> list[tf.Tensor]:
        handle, flow = make(0, dynamic_size=True)
        for i in (0, 3):
            flow = R.TensorArrayWriteV3(handle=handle, index=i, value=VALUES[i], flow_in=flow)
        size = R.TensorArraySizeV3(handle=handle, flow_in=flow)
        return [size, R.TensorArrayReadV3(handle=handle, index=3, flow_in=flow, dtype=tf.float32)]

    check(function)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32, np.complex64])
def test_gradients_grow_by_every_write(dtype: Any) -> None:
    values = (VALUES * 4).astype(dtype)

    def function() -> list[tf.Tensor]:
        handle, flow = make(3, dtype)
        flow = R.TensorArrayWriteV3(handle=handle, index=0, value=values[0], flow_in=flow)
        flow = R.TensorArrayWriteV3(handle=handle, index=1, value=values[1], flow_in=flow)
        gradient, flow = R.TensorArrayGradV3(handle=handle, flow_in=flow, source="gradients")
        for i in range(3):
            flow = R.TensorArrayWriteV3(handle=gradient, index=1, value=values[2 + i], flow_in=flow)
        # What was written forward but got no gradient is zeros.
        return [
            R.TensorArrayReadV3(handle=gradient, index=i, flow_in=flow, dtype=dtype) for i in (0, 1)
        ]

    check(function, ulps=4)


def test_gradients_with_more_dimensions() -> None:
    def function() -> list[tf.Tensor]:
        handle, flow = make(2, element_shape=[3])
        flow = R.TensorArrayWriteV3(handle=handle, index=0, value=VALUES[0, 0], flow_in=flow)
        flow = R.TensorArrayWriteV3(handle=handle, index=1, value=VALUES[0, 1], flow_in=flow)
        gradient, flow = R.TensorArrayGradWithShape(
            handle=handle, flow_in=flow, shape_to_prepend=[2], source="g"
        )
        flow = R.TensorArrayWriteV3(handle=gradient, index=0, value=VALUES[1], flow_in=flow)
        return [
            R.TensorArrayReadV3(handle=gradient, index=i, flow_in=flow, dtype=tf.float32)
            for i in (0, 1)
        ]

    check(function)


def test_a_loop_of_tensorflow_1_with_its_gradient() -> None:
    """compat.v1's while_loop with control flow of version 1 makes TensorArrays, and Enter, Merge
    and Switch around them.
    """
    v1 = tf.compat.v1

    def run(device: str) -> list[np.ndarray]:
        graph = tf.Graph()
        v1.disable_control_flow_v2()
        try:
            with graph.as_default(), tf.device(device):
                x = v1.placeholder(tf.float32, [7, 2, 3])
                w = tf.constant(VALUES[0, :, :2] + 0.5)
                inputs = v1.TensorArray(tf.float32, 7).unstack(x)
                outputs = v1.TensorArray(tf.float32, 7)

                def step(i: tf.Tensor, state: tf.Tensor, outputs: Any) -> tuple[Any, ...]:
                    state = tf.tanh(tf.matmul(w, state) + inputs.read(i))
                    return i + 1, state, outputs.write(i, state)

                _, _, outputs = v1.while_loop(
                    lambda i, *_: i < 7, step, [0, tf.zeros([2, 3]), outputs]
                )
                stacked = outputs.stack()
                gradient = v1.gradients(tf.reduce_sum(stacked**2), [x, w])
        finally:
            v1.enable_control_flow_v2()
        with v1.Session(graph=graph) as session:
            return session.run([stacked, *gradient], {x: VALUES})

    for actual, expected in zip(run("/XPU:0"), run("/CPU:0"), strict=True):
        # Chains of seven products and hyperbolic tangents.
        np.testing.assert_allclose(
            actual, expected, rtol=0, atol=64 * np.finfo(np.float32).eps * np.abs(expected).max()
        )


def _written_twice(handle: tf.Tensor, flow: tf.Tensor) -> tf.Tensor:
    for _ in range(2):
        flow = R.TensorArrayWriteV3(handle=handle, index=0, value=VALUES[0], flow_in=flow)
    return flow


def _read_twice(handle: tf.Tensor, flow: tf.Tensor) -> tf.Tensor:
    flow = R.TensorArrayWriteV3(handle=handle, index=0, value=VALUES[0], flow_in=flow)
    first = R.TensorArrayReadV3(handle=handle, index=0, flow_in=flow, dtype=tf.float32)
    with tf.control_dependencies([first]):
        return R.TensorArrayReadV3(handle=handle, index=0, flow_in=flow, dtype=tf.float32)


def _closed(handle: tf.Tensor, flow: tf.Tensor) -> tf.Tensor:
    with tf.control_dependencies([R.TensorArrayCloseV3(handle=handle)]):
        return R.TensorArrayWriteV3(handle=handle, index=0, value=VALUES[0], flow_in=flow)


REFUSED = {
    "already been written": _written_twice,
    "cleared after": _read_twice,
    "already been closed": _closed,
    "not resizeable": lambda h, f: R.TensorArrayWriteV3(
        handle=h, index=9, value=VALUES[0], flow_in=f
    ),
    "array size is": lambda h, f: R.TensorArrayReadV3(
        handle=h, index=9, flow_in=f, dtype=tf.float32
    ),
    "not fully defined": lambda h, f: R.TensorArrayReadV3(
        handle=h, index=0, flow_in=f, dtype=tf.float32
    ),
    "dtype is float": lambda h, f: R.TensorArrayWriteV3(
        handle=h, index=0, value=np.zeros(3), flow_in=f
    ),
    "must be scalar|must be rank 0": lambda h, f: R.TensorArrayWriteV3(
        handle=h, index=[0], value=VALUES[0], flow_in=f
    ),
    "scatter index must be <": lambda h, f: R.TensorArrayScatterV3(
        handle=h, indices=[0, 5], value=VALUES[:2], flow_in=f
    ),
    "len.indices. ==|must be equal": lambda h, f: R.TensorArrayScatterV3(
        handle=h, indices=[0], value=VALUES[:2], flow_in=f
    ),
    "sum of lengths": lambda h, f: R.TensorArraySplitV3(
        handle=h, value=VALUES, lengths=np.array([1, 1], np.int64), flow_in=f
    ),
    "size of lengths": lambda h, f: R.TensorArraySplitV3(
        handle=h, value=VALUES, lengths=np.array([7], np.int64), flow_in=f
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message: str) -> None:
    def function() -> tf.Tensor:
        return REFUSED[message](*make(2))

    for device in ("/CPU:0", "/XPU:0"):
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match=message):
            compare.on(device, function, "graph")
