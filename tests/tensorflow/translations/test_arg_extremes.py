"""ArgMax, ArgMin, InTopKV2 and max pools of NaN and infinities."""

from __future__ import annotations

from typing import Any

import both
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering

R = tf.raw_ops
MODES = ("eager", "graph", "jit")
FLOATS = (np.float16, tf.bfloat16.as_numpy_dtype, np.float32, np.float64)
NAN, INF = np.nan, np.inf
ROWS = [
    [NAN, 1, 2, 3], [1, NAN, 5, NAN], [5, 1, 2, NAN], [NAN, NAN, NAN, NAN], [-INF, NAN, INF, 0],
    [-0.0, 0, -0.0, 0],
    [-INF] * 4, [INF] * 4, [2, 2, 1, 1], [NAN, -INF, NAN, INF], [NAN, INF, -INF, 1],
]  # fmt: skip


def held(values: Any, dtype: Any) -> tf.Tensor:
    """Returns an argument, not a constant: TensorFlow would compute with that on the CPU when it
    builds a graph.
    """
    with tf.device("/CPU:0"):
        return tf.identity(np.asarray(values).astype(dtype))


@covering(dtype=FLOATS, op=[tf.argmax, tf.argmin])
def test_extremes_of_nan_and_infinities(op: Any, dtype: Any) -> None:
    x = held(ROWS, dtype)
    for axis in (0, 1, -1):
        both.check(lambda axis=axis: op(x, axis), modes=MODES)
        both.check(lambda axis=axis: op(tf.reverse(x, [0, 1]), axis, tf.int32), modes=MODES)


@covering(
    dtype=[np.int8, np.uint8, np.int32, np.int64, np.uint16, np.bool_],
    op=[tf.argmax, tf.argmin],
)
def test_extremes_of_other_types(op: Any, dtype: Any) -> None:
    x = held(np.random.default_rng(0).integers(0, 5, (17, 33)), dtype)
    for axis in (0, 1):
        both.check(lambda axis=axis: op(x, axis), modes=MODES)


def test_extremes_as_16_bit_integers() -> None:
    x = held(np.random.default_rng(0).normal(size=(5, 300)), np.float32)
    for dtype in (tf.int16, tf.uint16):
        both.check(
            lambda dtype=dtype: R.ArgMax(input=x, dimension=1, output_type=dtype), modes=MODES
        )


def test_what_has_no_extreme_is_refused() -> None:
    for op in (R.ArgMax, R.ArgMin):
        both.check_refused(lambda op=op: op(input=tf.ones([2, 0]), dimension=1))
        both.check_refused(lambda op=op: op(input=tf.ones([2, 3]), dimension=2))
        both.check_refused(lambda op=op: op(input=tf.ones([2, 3]), dimension=-3))


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_targets_among_the_largest(index_type: Any) -> None:
    predictions = held([*ROWS, [1, 2, 3, 4], [4, 3, 2, 1], [1, 1, 1, 1]], np.float32)
    for first in range(5):
        targets = held((np.arange(len(ROWS) + 3) + first) % 5 - (first == 4), index_type)
        for k in (0, 1, 2, 4, 9):
            both.check(
                lambda k=k, targets=targets: R.InTopKV2(
                    predictions=predictions, targets=targets, k=held(k, index_type)
                )
            )


def images(values: list[float], shape: tuple[int, ...]) -> np.ndarray:
    random = np.random.default_rng(2)
    x = random.normal(size=shape)
    for value in values:
        x[random.random(shape) < 0.2] = value
    x[:, :3, :3] = values[0]
    return x


@covering(dtype=FLOATS, values=[[NAN], [NAN, INF], [NAN, -INF]])
def test_pools_ignore_nan(values: list[float], dtype: Any) -> None:
    x = held(images(values, (2, 7, 6, 3)), dtype)
    for padding in ("SAME", "VALID", [[0, 0], [1, 1], [0, 1], [0, 0]]):
        both.check(lambda padding=padding: tf.nn.max_pool2d(x, 3, 2, padding), modes=MODES)


@pytest.mark.parametrize("values", [[NAN], [-INF, INF], [NAN, -INF]])
def test_gradients_of_pools_with_nan(values: list[float]) -> None:
    x = held(images(values, (2, 7, 6, 3)), np.float32)

    def gradient(padding: str) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.max_pool2d(x, 3, 2, padding)
        return tape.gradient(y, x)

    for padding in ("SAME", "VALID"):
        both.check(lambda padding=padding: gradient(padding), modes=MODES)
