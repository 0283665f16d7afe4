"""Slice, StridedSlice and its gradient: one kernel for all places and sizes, against the CPU's."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import onexpu
from tests.exhaustive import covering

TYPES = [
    "float32", "float16", "bfloat16", "float64", "int64", "int32", "int8", "uint16", "bool",
    "complex64", "complex128", "float8_e5m2",
]  # fmt: skip
NEW = tf.newaxis
# Of an array of 6 x 5 x 8.
SLICES = {
    "an element": (2, -1, 3),
    "a row": (slice(None), 4),
    "a range": (slice(1, 4),),
    "columns": (..., slice(2, 7)),
    "a box": (slice(1, 5), slice(2, 3), slice(3, -1)),
    "every second": (slice(None, None, 2), slice(None), slice(1, None, 2)),
    "backwards": (slice(None, None, -1), slice(4, 0, -2), slice(None, None, -3)),
    "everything": (slice(None),),
    "nothing": (slice(3, 3),),
    "beyond the end": (slice(4, 100), slice(-100, 2)),
    "new axes": (NEW, 1, NEW, ..., slice(None, None, 4), NEW),
}


def _array(dtype: str) -> tf.Tensor:
    values = np.random.default_rng(0).integers(-50, 50, (6, 5, 8))
    return tf.cast(values, "float32" if dtype.startswith("float8") else "int64")


def _on(device: str, dtype: str) -> tf.Tensor:
    with tf.device("/CPU:0"):
        x = tf.cast(_array(dtype), dtype)
    with tf.device(device):
        return tf.identity(x)


def _bits(tensor: tf.Tensor) -> np.ndarray:
    return tensor.numpy().reshape(-1).view(np.uint8)


@covering(name=SLICES, dtype=TYPES)
def test_slices(name, dtype) -> None:
    with tf.device("/CPU:0"):
        expected = _on("/CPU:0", dtype)[SLICES[name]]
    with tf.device("/XPU:0"):
        actual = _on("/XPU:0", dtype)[SLICES[name]]
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(_bits(actual), _bits(expected))


@covering(name=SLICES, dtype=["float32", "bfloat16", "float64", "complex64"])
def test_gradients_of_slices(name, dtype) -> None:
    gradients = []
    for device in ("/CPU:0", "/XPU:0"):
        with tf.device(device):
            x = _on(device, dtype)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x[SLICES[name]] * 3
            gradients.append(tape.gradient(y, x))
    np.testing.assert_array_equal(_bits(gradients[1]), _bits(gradients[0]))


def test_boxes_at_every_place() -> None:
    random = np.random.default_rng(0)
    with tf.device("/XPU:0"):
        for rank in (1, 2, 4, 7):
            shape = random.integers(1, 5, rank)
            values = random.standard_normal(shape).astype("f4")
            x = tf.identity(values)
            for _ in range(20):
                begin = random.integers(0, shape + 1)
                size = random.integers(-1, shape - begin + 1)
                box = tuple(
                    slice(b, None if s < 0 else b + s) for b, s in zip(begin, size, strict=True)
                )
                for dtype in ("int32", "int64"):
                    actual = tf.slice(x, begin.astype(dtype), size.astype(dtype))
                    np.testing.assert_array_equal(actual, values[box])


def test_slices_of_variables_and_in_functions() -> None:
    with tf.device("/XPU:0"):
        variable = tf.Variable(tf.reshape(tf.range(40.0), (8, 5)))

        @tf.function(input_signature=[tf.TensorSpec((), tf.int32)])
        def window(i):
            return variable[i : i + 3, ::-1], tf.slice(variable, [i, 0], [2, 5])

        for i in range(5):
            part, box = window(i)
            np.testing.assert_array_equal(part, variable.numpy()[i : i + 3, ::-1])
            np.testing.assert_array_equal(box, variable.numpy()[i : i + 2])


def test_a_large_slice() -> None:
    values = np.random.default_rng(0).integers(0, 255, (1025, 1031)).astype("u1")
    with tf.device("/XPU:0"):
        x = tf.identity(values)
        for part in ((slice(1, None), slice(3, None)), (slice(None, None, 3), slice(5, 900, 7))):
            np.testing.assert_array_equal(x[part], values[part])


def test_no_slice_is_compiled() -> None:
    def slices(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x[2:5] * tf.slice(x, [1, 0], [3, 8])
        return tape.gradient(y, x)

    with tf.device("/XPU:0"):
        report = onexpu.placement_report(slices, tf.ones((6, 8)))
    assert report.counts["sycl_kernel"] == {"Slice": 1, "StridedSlice": 1, "StridedSliceGrad": 1}


def test_slices_of_int32_stay_on_the_device() -> None:
    with tf.device("/XPU:0"):
        x = tf.reshape(tf.range(12), (4, 3)) * 2
        report = onexpu.placement_report(lambda x: x[1:3, ::2], x)
    assert not report.counts["host"]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tf.slice(x, [0], [1, 1]),
        lambda x: tf.slice(x, [0, 9], [1, 1]),
        lambda x: tf.slice(x, [0, 0], [1, 99]),
        lambda x: tf.slice(x, [-1, 0], [1, 1]),
        lambda x: x[7],
        lambda x: tf.strided_slice(x, [0], [1], [0]),
        lambda x: tf.raw_ops.StridedSliceGrad(
            shape=[4, 4], begin=[0, 0], end=[2, 2], strides=[1, 1], dy=x
        ),
    ],
)
def test_the_errors_are_those_of_the_cpu(call) -> None:
    messages = []
    for device in ("/CPU:0", "/XPU:0"):
        with tf.device(device), pytest.raises(tf.errors.InvalidArgumentError) as raised:
            call(tf.identity(tf.ones((3, 5))))
        messages.append(str(raised.value).split("}} ")[-1])
    assert messages[0] == messages[1]
