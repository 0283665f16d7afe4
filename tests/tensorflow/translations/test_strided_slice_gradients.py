"""Gradients of slices, of empty ones in particular, and the slices themselves."""

from __future__ import annotations

from collections.abc import Callable

import both
import pytest
import tensorflow as tf

from tests.exhaustive import covering

MODES = ("eager", "graph", "jit")
SLICES: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {
    "[:, :-4:3]": lambda x: x[:, :-4:3],
    "[5:2:2]": lambda x: x[5:2:2],
    "[1:2:-3]": lambda x: x[1:2:-3],
    "[2:2]": lambda x: x[2:2],
    "[9:, ::-2]": lambda x: x[9:, ::-2],
    "[-1:-20:-4, 1:1:5]": lambda x: x[-1:-20:-4, 1:1:5],
    "[..., 3:0:2]": lambda x: x[..., 3:0:2],
    "[4, 3:0:2]": lambda x: x[4, 3:0:2],
    "[newaxis, 7:3:2]": lambda x: x[tf.newaxis, 7:3:2],
    "[7:3:2, newaxis, ..., 1]": lambda x: x[7:3:2, tf.newaxis, ..., 1],
    "[::-3, -1::-2]": lambda x: x[::-3, -1::-2],
    "[::4, 1]": lambda x: x[::4, 1],
    "[8:2:-5, newaxis]": lambda x: x[8:2:-5, tf.newaxis],
    "[..., ::2]": lambda x: x[..., ::2],
    "[100:200:7]": lambda x: x[100:200:7],
    "[-100:3:2]": lambda x: x[-100:3:2],
}


@covering(shape=[(9, 3), (1, 5), (0, 3), (9, 0)], name=SLICES)
def test_gradients(name: str, shape: tuple[int, ...]) -> None:
    if ", 1]" in name and shape[1] < 2 or "[4" in name and shape[0] < 5:
        shape = (9, 3)
    x = tf.reshape(tf.range(float(shape[0] * shape[1])), shape)
    cut = SLICES[name]

    def gradient() -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = cut(x)
            total = tf.reduce_sum(y * y + 1.0)
        return [y, tape.gradient(total, x)]

    both.check(gradient, modes=MODES)


@pytest.mark.parametrize("dtype", [tf.float16, tf.int32, tf.complex64, tf.bool])
def test_gradients_of_an_empty_slice_by_type(dtype: tf.DType) -> None:
    both.check(
        lambda: tf.raw_ops.StridedSliceGrad(
            shape=[9, 3], begin=[5], end=[2], strides=[2], dy=tf.zeros([0, 3], dtype)
        ),
        modes=MODES,
    )


@pytest.mark.parametrize("shape", [(1, 3), (0, 2), (3,), (2, 0)])
def test_other_shapes_of_the_gradient_are_refused(shape: tuple[int, ...]) -> None:
    both.check_refused(
        lambda: tf.raw_ops.StridedSliceGrad(
            shape=[9, 3], begin=[5], end=[2], strides=[2], dy=tf.zeros(shape)
        )
    )


@pytest.mark.parametrize(
    "name", ["[5:2:2]", "[1:2:-3]", "[..., 3:0:2]", "[100:200:7]", "[::-3, -1::-2]"]
)
def test_assignments(name: str) -> None:
    x = tf.reshape(tf.range(27.0), [9, 3])
    begin_end_strides = {
        "[5:2:2]": ([5], [2], [2]),
        "[1:2:-3]": ([1], [2], [-3]),
        "[..., 3:0:2]": ([0, 3], [9, 0], [1, 2]),
        "[100:200:7]": ([100], [200], [7]),
        "[::-3, -1::-2]": ([8, 2], [-10, -4], [-3, -2]),
    }[name]
    begin, end, strides = begin_end_strides
    value = -tf.strided_slice(x, begin, end, strides)
    both.check(
        lambda: tf.raw_ops.TensorStridedSliceUpdate(
            input=x, begin=begin, end=end, strides=strides, value=value
        ),
        modes=MODES,
    )
