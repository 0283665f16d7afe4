"""Gathers of slices along a dimension, for arrays and indices of many sizes."""

from __future__ import annotations

import pathlib
from typing import Any

import both
import compare
import numpy as np
import process
import pytest
import tensorflow as tf

from tests.exhaustive import every

R = tf.raw_ops
# Graphs run the same kernels as eager ops.
MODES = ("eager", "graph")
# Array, indices, dimension.
SHAPES = [
    ((1,), (), 0),
    ((1,), (3,), 0),
    ((7,), (3,), 0),
    ((7,), (2, 0), 0),
    ((7,), (2, 3, 4), -1),
    ((5, 3), (4,), 0),
    ((5, 3), (4,), 1),
    ((5, 3), (), 1),
    ((5, 16), (100,), 0),
    ((2, 5, 3), (2, 4), 1),
    ((2, 5, 8), (4,), -1),
    ((3, 1, 4), (6,), 1),
    ((0, 4), (3,), 1),
    ((100, 33), (8, 50), 0),
    ((20_000, 2), (3000,), 0),
    ((2, 3000, 7), (3, 999), 1),
]


def values(shape: tuple[int, ...], dtype: Any = np.float32) -> tf.Tensor:
    """Returns numbers that differ from their neighbours."""
    x = np.random.default_rng(0).integers(0, 100, size=shape)
    with tf.device("/CPU:0"):
        return tf.identity(x.astype(dtype))


def places(shape: tuple[int, ...], count: int, dtype: Any = np.int32) -> tf.Tensor:
    """Returns indices below `count`."""
    with tf.device("/CPU:0"):
        return tf.identity(np.random.default_rng(1).integers(0, count, shape).astype(dtype))


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_gather(index_type) -> None:
    for shape, of_indices, axis in SHAPES:
        x, indices = values(shape), places(of_indices, shape[axis], index_type)
        both.check(
            lambda x=x, i=indices, a=axis: R.GatherV2(params=x, indices=i, axis=a), modes=MODES
        )
        if axis == 0:
            both.check(lambda x=x, i=indices: R.Gather(params=x, indices=i), modes=MODES)


@pytest.mark.parametrize("dtype", every(2, compare.TYPES))
def test_types(dtype: Any) -> None:
    for shape, axis in (((6, 5), 0), ((6, 5), 1), ((3, 4, 8), 1)):
        x, indices = values(shape, dtype), places((7,), shape[axis])
        both.check(
            lambda x=x, i=indices, a=axis: R.GatherV2(params=x, indices=i, axis=a), modes=MODES
        )


def test_variables() -> None:
    for shape, of_indices, _ in SHAPES:
        if shape[0] == 0:
            continue
        with tf.device("/XPU:0"):
            variable = tf.Variable(values(shape))
            indices = tf.identity(places(of_indices, shape[0]))
            for _ in range(3):
                np.testing.assert_array_equal(
                    tf.gather(variable, indices), variable.numpy()[indices.numpy()]
                )
                variable.assign_add(tf.ones(shape))


@pytest.mark.parametrize("index", [-1, 5, 2**31 - 1, -(2**31)])
def test_indices_out_of_range_give_zeros(index) -> None:
    x = values((5, 3)) + 1
    with tf.device("/XPU:0"):
        result = R.GatherV2(params=x, indices=[1, index, 4], axis=0).numpy()
        of_columns = R.GatherV2(params=tf.transpose(x), indices=[1, index, 4], axis=1).numpy()
    expected = x.numpy()[[1, 0, 4]]
    expected[1] = 0
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(of_columns, expected.T)


def test_batches_are_compiled() -> None:
    x, indices = values((4, 5, 3)), places((4, 2), 5)
    both.check(lambda: R.GatherV2(params=x, indices=indices, axis=1, batch_dims=1), modes=MODES)


def test_axes_that_do_not_exist_are_refused() -> None:
    both.check_refused(lambda: R.GatherV2(params=values((3, 4)), indices=[0], axis=2))
    both.check_refused(lambda: R.Gather(params=values(()), indices=[0]))


_NEW_SHAPES = """
import tensorflow as tf
with tf.device("/XPU:0"):
    table = tf.Variable(tf.ones([50, 8]))
    for size in range(2, 40):
        indices = tf.fill([3, size], tf.constant(7, tf.int64))
        assert float(tf.reduce_sum(tf.gather(table, indices))) == 24 * size
        x = tf.fill([size, 20], 0.5)
        assert float(tf.reduce_sum(tf.gather(x, [1, 5], axis=1))) == size
"""


def test_a_new_shape_is_not_compiled(tmp_path: pathlib.Path) -> None:
    process.output_of(_NEW_SHAPES, XLA_FLAGS=f"--xla_dump_to={tmp_path}", ONEXPU_PROGRAM_CACHE="0")
    modules = [path.name for path in tmp_path.glob("*before_optimizations.txt")]
    assert not modules
