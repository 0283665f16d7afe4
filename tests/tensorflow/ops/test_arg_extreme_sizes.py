"""ArgMax and ArgMin of arrays of many sizes, of which none is compiled for its sizes."""

from __future__ import annotations

import pathlib
from typing import Any

import both
import numpy as np
import process
import pytest
import tensorflow as tf

from tests.exhaustive import every

R = tf.raw_ops
BF16 = tf.bfloat16.as_numpy_dtype
SHAPES = [
    (1,), (2,), (7,), (1000,), (1, 1), (5, 1), (1, 5), (3, 4), (16, 17), (100, 3), (2, 3, 4),
    (3, 1, 5), (2, 1, 1, 7), (6, 5, 4, 3), (3, 20_000), (20_000, 3), (70_000,),
]  # fmt: skip


def held(shape: tuple[int, ...], dtype: Any, values: int) -> tf.Tensor:
    """Returns numbers of which many are equal if there are few `values`."""
    random = np.random.default_rng(0)
    with tf.device("/CPU:0"):
        return tf.identity(random.integers(0, values, shape).astype(dtype))


@pytest.mark.parametrize("op", (R.ArgMax, R.ArgMin))
def test_shapes(op) -> None:
    for shape in SHAPES:
        x = held(shape, np.float32, 50)
        for axis in range(-len(shape), len(shape)):
            both.check(lambda x=x, a=axis: op(input=x, dimension=a), modes=("eager",))


@pytest.mark.parametrize("index_type", (tf.int32, tf.int64))
@pytest.mark.parametrize(
    "dtype", every(2, (np.float16, np.float32, BF16, np.float64, np.bool_, np.int32, np.int64))
)
def test_types(dtype, index_type) -> None:
    x = held((9, 33, 5), dtype, 3)
    for op in (R.ArgMax, R.ArgMin):
        for axis in range(3):
            both.check(
                lambda op=op, a=axis: op(input=x, dimension=a, output_type=index_type),
                modes=("eager", "graph"),
            )


def test_limits_of_integers() -> None:
    for dtype in (np.int32, np.int64):
        limits = np.iinfo(dtype)
        with tf.device("/CPU:0"):
            x = tf.constant(
                [[limits.min, limits.max, 0], [limits.min] * 3, [limits.max] * 3], dtype
            )
        for op in (R.ArgMax, R.ArgMin):
            for axis in (0, 1):
                both.check(lambda op=op, a=axis, x=x: op(input=x, dimension=a), modes=("eager",))


_NEW_SHAPES = """
import tensorflow as tf
with tf.device("/XPU:0"):
    for size in range(2, 40):
        x = tf.fill([3, size], 0.5)
        assert int(tf.reduce_sum(tf.argmax(x, 1))) == 0
        assert int(tf.reduce_sum(tf.argmin(x, 0, tf.int64))) == 0
"""


def test_a_new_shape_is_not_compiled(tmp_path: pathlib.Path) -> None:
    process.output_of(_NEW_SHAPES, XLA_FLAGS=f"--xla_dump_to={tmp_path}", ONEXPU_PROGRAM_CACHE="0")
    assert not list(tmp_path.glob("*before_optimizations.txt"))
