"""Ops that only move elements, on arrays of many sizes: kernels whose sizes are arguments, and
compiled programs for large shapes that come back.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable
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
# More than a kernel of any size moves at the third time.
LARGE = (3, 70, 501)


def values(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> tf.Tensor:
    """Returns numbers that differ from their neighbours."""
    x = np.random.default_rng(seed).integers(0, 100, size=shape)
    with tf.device("/CPU:0"):
        return tf.identity(x.astype(dtype))


def check(call: Callable[[], Any]) -> None:
    """Compares four runs, of which the last two may be a compiled program's."""
    for _ in range(2):
        both.check(call, modes=MODES)


@pytest.mark.parametrize(
    ("shape", "permutation"),
    [
        ((), []),
        ((5,), [0]),
        ((3, 4), [1, 0]),
        ((3, 4), [0, 1]),
        ((1, 7), [1, 0]),
        ((2, 3, 4), [2, 0, 1]),
        ((2, 3, 4), [0, 2, 1]),
        ((2, 3, 4, 5), [0, 2, 1, 3]),
        ((2, 1, 3, 1, 2, 1, 2, 3, 1, 2), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]),
        ((0, 4), [1, 0]),
        (LARGE, [2, 1, 0]),
        (LARGE, [0, 2, 1]),
    ],
)
def test_transpose(shape, permutation) -> None:
    check(lambda: R.Transpose(x=values(shape), perm=permutation))


@pytest.mark.parametrize(
    ("shape", "result"),
    [
        ((), ()),
        ((), (4,)),
        ((1,), (4, 3)),
        ((3,), (4, 3)),
        ((4, 1), (4, 3)),
        ((2, 1, 4), (5, 2, 3, 4)),
        ((1, 3, 1), (2, 3, 4)),
        ((3,), (0, 3)),
        ((1,), (0,)),
        ((70, 1), LARGE),
    ],
)
def test_broadcast_to(shape, result) -> None:
    check(lambda: R.BroadcastTo(input=values(shape), shape=np.array(result, np.int32)))


@pytest.mark.parametrize(
    ("shape", "multiples"),
    [
        ((), []),
        ((3,), [1]),
        ((3,), [4]),
        ((2, 3), [3, 2]),
        ((2, 3), [1, 5]),
        ((2, 3), [0, 5]),
        ((2, 1, 3, 2, 2), [2, 3, 1, 2, 3]),
        ((0, 3), [2, 2]),
        ((2, 3, 500), [2, 10, 2]),
    ],
)
def test_tile(shape, multiples) -> None:
    check(lambda: R.Tile(input=values(shape), multiples=np.array(multiples, np.int32)))


@pytest.mark.parametrize("shape", [(), (1,), (7,), (2, 0), (3, 4, 5), (1,) * 9 + (3,), LARGE])
def test_fill(shape) -> None:
    check(lambda: R.Fill(dims=np.array(shape, np.int64), value=values(())))


@pytest.mark.parametrize(
    ("shape", "axes"),
    [((5,), [0]), ((3, 4), [0]), ((3, 4), [-1]), ((3, 4), [1, 0]), ((3, 4), []), (LARGE, [1])],
)
def test_reverse(shape, axes) -> None:
    check(lambda: R.ReverseV2(tensor=values(shape), axis=np.array(axes, np.int32)))


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((1,), 0), ((3, 4), 0), ((3, 4), -1), ((2, 3, 4), 1), ((3, 0), 0), (LARGE, 1)],
)
def test_unpack(shape, axis) -> None:
    check(lambda: R.Unpack(value=values(shape), num=shape[axis], axis=axis))


@pytest.mark.parametrize(
    ("shape", "axis", "count"),
    [
        ((6,), 0, 3),
        ((6, 4), -1, 2),
        ((6, 4), 0, 1),
        ((2, 6, 3), 1, 6),
        ((0, 4), 0, 2),
        (LARGE, 2, 3),
    ],
)
def test_split(shape, axis, count) -> None:
    check(lambda: R.Split(axis=axis, value=values(shape), num_split=count))


@pytest.mark.parametrize(
    ("shape", "sizes", "axis"),
    [
        ((6,), [1, 2, 3], 0),
        ((6, 4), [3, -1], 1),
        ((6, 4), [4, 0], -1),
        ((6, 4), [6], 0),
        (LARGE, [1, 69], 1),
    ],
)
def test_split_of_sizes(shape, sizes, axis) -> None:
    check(lambda: R.SplitV(value=values(shape), size_splits=sizes, axis=axis, num_split=len(sizes)))


@pytest.mark.parametrize(
    ("shape", "paddings"),
    [
        ((), np.zeros((0, 2), np.int32)),
        ((3,), [[1, 2]]),
        ((3,), [[0, 0]]),
        ((3, 4), [[1, 0], [0, 2]]),
        ((2, 3, 4), [[0, 0], [2, 1], [3, 0]]),
        ((0, 4), [[1, 1], [0, 0]]),
        (LARGE, [[1, 0], [0, 2], [3, 0]]),
    ],
)
def test_pad(shape, paddings) -> None:
    check(lambda: R.Pad(input=values(shape), paddings=paddings))


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize(
    ("rows", "columns", "block"), [(2, 2, 2), (4, 6, 2), (6, 3, 3), (64, 64, 2)]
)
def test_blocks(rows, columns, block, layout) -> None:
    channels = 2 * block * block
    shape = (2, rows, columns, channels) if layout == "NHWC" else (2, channels, rows, columns)
    if layout == "NHWC":  # TensorFlow's CPU device has no other.
        for op in (R.SpaceToDepth, R.DepthToSpace):
            check(lambda op=op: op(input=values(shape), block_size=block, data_format=layout))
        return
    for op in (R.SpaceToDepth, R.DepthToSpace):
        with tf.device("/XPU:0"):
            actual = op(input=values(shape), block_size=block, data_format=layout)
        rotated = tf.transpose(values(shape), [0, 2, 3, 1])
        with tf.device("/CPU:0"):
            expected = tf.transpose(op(input=rotated, block_size=block), [0, 3, 1, 2])
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(
    ("shapes", "axis"),
    [
        ([(3,), (2,)], 0),
        ([(3, 4), (1, 4), (2, 4)], 0),
        ([(3, 4), (3, 1)], -1),
        ([(2, 3, 4), (2, 5, 4), (2, 0, 4)], 1),
        ([(0, 3), (2, 3)], 0),
        ([(2, 0), (2, 0)], 1),
        ([(4, 8), (4, 16), (4, 8)], 1),
        ([(i + 1, 2) for i in range(40)], 0),
        ([LARGE, LARGE], 1),
        ([LARGE, LARGE], 0),
    ],
)
def test_concat(shapes, axis) -> None:
    pieces = [values(shape, seed=i) for i, shape in enumerate(shapes)]
    check(lambda: R.ConcatV2(values=pieces, axis=axis))


@pytest.mark.parametrize(
    ("shape", "count", "axis"),
    [
        ((), 1, 0),
        ((), 3, -1),
        ((4,), 2, 0),
        ((4,), 2, 1),
        ((2, 3), 5, -2),
        ((2, 0), 2, 0),
        (LARGE, 2, 1),
    ],
)
def test_pack(shape, count, axis) -> None:
    pieces = [values(shape, seed=i) for i in range(count)]
    check(lambda: R.Pack(values=pieces, axis=axis))


@pytest.mark.parametrize("dtype", every(2, compare.TYPES))
def test_types(dtype: Any) -> None:
    x, y = values((3, 5, 8), dtype), values((3, 2, 8), dtype, seed=1)
    check(lambda: R.Transpose(x=x, perm=[1, 2, 0]))
    if dtype != np.uint16:  # TensorFlow's CPU device has no Tile of it.
        check(lambda: R.Tile(input=x, multiples=[2, 1, 3]))
    check(lambda: R.ReverseV2(tensor=x, axis=[0, 2]))
    check(lambda: R.Pad(input=x, paddings=[[0, 1], [1, 0], [2, 3]]))
    check(lambda: R.ConcatV2(values=[x, y], axis=1))
    check(lambda: R.Pack(values=[x, x], axis=2))
    check(lambda: R.Unpack(value=x, num=5, axis=1))
    check(lambda: R.Fill(dims=[3, 7], value=x[0, 0, 0]))


@pytest.mark.parametrize(
    "call",
    [
        lambda: R.Transpose(x=values((3, 4)), perm=[0, 0]),
        lambda: R.Transpose(x=values((3, 4)), perm=[0]),
        lambda: R.Transpose(x=values((3, 4)), perm=[[0, 1]]),
        lambda: R.Transpose(x=values((3, 4)), perm=[0, 2]),
        lambda: R.BroadcastTo(input=values((3,)), shape=[4]),
        lambda: R.BroadcastTo(input=values((3, 4)), shape=[4]),
        lambda: R.Tile(input=values((3,)), multiples=[-1]),
        lambda: R.Tile(input=values((3,)), multiples=[1, 2]),
        lambda: R.Fill(dims=[-1], value=values(())),
        lambda: R.Fill(dims=[2], value=values((2,))),
        lambda: R.ReverseV2(tensor=values((3, 4)), axis=[2]),
        lambda: R.ReverseV2(tensor=values((3, 4)), axis=[0, 0]),
        lambda: R.Unpack(value=values((3, 4)), num=4, axis=0),
        lambda: R.Split(axis=0, value=values((5,)), num_split=2),
        lambda: R.SplitV(value=values((5,)), size_splits=[2, 2], axis=0, num_split=2),
        lambda: R.Pad(input=values((3,)), paddings=[[-1, 0]]),
        lambda: R.Pad(input=values((3,)), paddings=[[1, 0], [0, 0]]),
        lambda: R.Pad(input=values((3,)), paddings=[1, 0]),
        lambda: R.Tile(input=values((3,)), multiples=[[2]]),
        lambda: R.ConcatV2(values=[values((2, 3)), values((2, 4))], axis=0),
        lambda: R.ConcatV2(values=[values((2, 3)), values((2, 3))], axis=2),
        lambda: R.Pack(values=[values((2,)), values((3,))]),
    ],
)
def test_shapes_that_do_not_fit_are_refused(call: Callable[[], Any]) -> None:
    both.check_refused(call)


_NEW_SHAPES = """
import numpy as np
import tensorflow as tf
with tf.device("/XPU:0"):
    for size in range(1, 40):
        x = tf.fill([size, 20], 0.5)
        x = tf.transpose(tf.concat([x, tf.zeros([size, 1])], axis=1))
        x = tf.pad(tf.reverse(tf.tile(x, [1, 2]), [0]), [[1, 0], [0, 1]])
        x = tf.stack(tf.split(tf.broadcast_to(x, [2, 22, 2 * size + 1]), 2), axis=1)
        a, b = tf.unstack(tf.squeeze(x, 0), axis=0)
        assert float(a[1, 0]) == 0 and float(b[2, size]) == 0.5, (a, b)
"""


def test_a_new_shape_is_not_compiled(tmp_path: pathlib.Path) -> None:
    process.output_of(_NEW_SHAPES, XLA_FLAGS=f"--xla_dump_to={tmp_path}", ONEXPU_PROGRAM_CACHE="0")
    modules = [path.name for path in tmp_path.glob("*before_optimizations.txt")]
    assert not modules
