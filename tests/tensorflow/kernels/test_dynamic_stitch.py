"""DynamicStitch and ParallelDynamicStitch: rows of several tensors merged by index, alone, in
graphs and in compiled programs, with their gradients.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import both
import compare
import numpy as np
import pytest
import tensorflow as tf

import onexpu
from tests.exhaustive import covering

NARROW_TYPES = [
    tf.dtypes.as_dtype(name)
    for name in ("float8_e5m2", "float8_e4m3fn", "float8_e4m3b11fnuz", "int4", "uint4")
]
OPS = [tf.raw_ops.DynamicStitch, tf.raw_ops.ParallelDynamicStitch]
RANDOM = np.random.RandomState(0)


def merging(
    op: Callable[..., Any], indices: Sequence[Any], data: Sequence[Any]
) -> Callable[[], tf.Tensor]:
    """A function that merges them. The indices are constants in it and the data are not, so that
    TensorFlow does not compute the result when it optimises a graph.
    """
    tensors = [tf.constant(d) for d in data]
    return lambda: op(indices=[tf.constant(i, tf.int32) for i in indices], data=tensors)


def check(op: Callable[..., Any], indices: Sequence[Any], data: Sequence[Any]) -> None:
    """For indices that name every row, because TensorFlow leaves the others uninitialized."""
    both.check(merging(op, indices, data), ulps=0, modes=compare.MODES)


def pieces(rows: int, parts: int, row: tuple[int, ...] = (), dtype: Any = np.float32) -> Any:
    """Indices and data of `parts` inputs, which name each of the rows once."""
    indices = np.array_split(RANDOM.permutation(rows).astype(np.int32), parts)
    return indices, [RANDOM.randint(-50, 50, (len(i), *row)).astype(dtype) for i in indices]


@covering(dtype=compare.TYPES, op=OPS)
def test_types(op: Any, dtype: Any) -> None:
    check(op, *pieces(50, 3, (3,), dtype))


@covering(mode=compare.MODES, dtype=NARROW_TYPES, op=OPS)
def test_narrow_types(op: Any, dtype: tf.DType, mode: str) -> None:
    """Of numbers that each of these types holds; the CPU kernel merges them in float32."""
    indices, data = pieces(20, 2, (3,))
    wide = [tf.constant(np.abs(d) // 7, tf.int8 if dtype.is_integer else tf.float32) for d in data]
    merge = merging(op, indices, wide)

    def merged() -> tf.Tensor:
        narrow = [tf.cast(d, dtype) for d in wide]
        return tf.cast(op(indices=[tf.constant(i) for i in indices], data=narrow), wide[0].dtype)

    compare.assert_same(compare.on("/XPU:0", merged, mode), compare.on("/CPU:0", merge), ulps=0)


@covering(
    row=[(), (1,), (2,), (3,), (5, 7), (64,), (0,)],
    rows=[1, 7, 1000, 30_011],
    parts=[1, 2, 5],
    op=OPS,
)
def test_shapes(op: Any, rows: int, parts: int, row: tuple[int, ...]) -> None:
    check(op, *pieces(rows, parts, row))


@pytest.mark.parametrize("op", OPS)
def test_many_rows(op: Any) -> None:
    check(op, *pieces(30_011, 3, (5,)))


@pytest.mark.parametrize("parts", [15, 16, 17, 33])
@pytest.mark.parametrize("row", [(), (3,)])
def test_many_inputs(parts: int, row: tuple[int, ...]) -> None:
    check(OPS[0], *pieces(100, parts, row))


@pytest.mark.parametrize("op", OPS)
def test_the_last_of_equal_indices_wins(op: Any) -> None:
    indices = [RANDOM.randint(0, 40, 200).astype(np.int32) for _ in range(3)]
    indices.append(np.arange(40, dtype=np.int32)[::2])
    data = [RANDOM.uniform(size=(len(i), 5)).astype(np.float32) for i in indices]
    assert len(np.unique(np.concatenate(indices))) == 40
    check(OPS[0], indices, data)
    # The CPU kernel of ParallelDynamicStitch copies the inputs in any order.
    expected = compare.on("/CPU:0", merging(OPS[0], indices, data))
    for mode in compare.MODES:
        actual = compare.on("/XPU:0", merging(op, indices, data), mode)
        compare.assert_same(actual, expected, ulps=0)


@pytest.mark.parametrize("op", OPS)
def test_ranks_of_inputs_differ(op: Any) -> None:
    indices = [6, [4, 1], [[5, 2], [0, 3]], np.zeros([0, 3], np.int32)]
    shapes = [(), (2,), (2, 2), (0, 3)]
    for row in [(), (2,), (2, 3)]:
        check(op, indices, [RANDOM.uniform(size=s + row).astype(np.float32) for s in shapes])


@pytest.mark.parametrize("op", OPS)
def test_nothing(op: Any) -> None:
    none = np.zeros([0], np.int32)
    check(op, [none], [np.zeros([0, 3], np.float32)])
    check(op, [none, [1, 0]], [np.zeros([0, 3], np.float32), np.ones([2, 3], np.float32)])
    check(op, [[0, 2]], [np.zeros([2, 0], np.float32)])


@covering(mode=compare.MODES, row=[(), (5,)], op=OPS)
def test_rows_that_no_index_names_are_zero(op: Any, row: tuple[int, ...], mode: str) -> None:
    many = [list(range(0, 64, 2)), *([i] for i in range(1, 40, 2))]
    for indices in ([[3]], [[40, 2], [7]], many):
        data = [RANDOM.uniform(1, 2, (len(i), *row)).astype(np.float32) for i in indices]
        expected = np.zeros((max(map(max, indices)) + 1, *row), np.float32)
        for i, d in zip(indices, data, strict=True):
            expected[np.asarray(i)] = d
        actual = compare.on("/XPU:0", merging(op, indices, data), mode)
        np.testing.assert_array_equal(actual, expected)


@covering(mode=compare.MODES, op=OPS)
def test_gradients(op: Any, mode: str) -> None:
    indices, data = pieces(60, 3, (2,))
    indices[0][3] = indices[2][1]
    inputs = [tf.constant(d) for d in data]

    def slopes() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            merged = op(indices=[tf.constant(i) for i in indices], data=inputs)
            weights = tf.cast(tf.range(tf.size(merged)), tf.float32)
            loss = tf.reduce_sum(tf.reshape(merged, [-1]) * weights)
        return tape.gradient(loss, inputs)

    actual = compare.on("/XPU:0", slopes, mode)
    compare.assert_same(actual, compare.on("/CPU:0", slopes), ulps=0)


def test_a_partition_is_undone() -> None:
    data = RANDOM.uniform(size=(500, 3)).astype(np.float32)
    kinds = RANDOM.randint(0, 4, 500).astype(np.int32)
    with tf.device("/XPU:0"):
        parts = tf.dynamic_partition(tf.constant(data), kinds, 4)
        merged = tf.dynamic_stitch(tf.dynamic_partition(tf.range(500), kinds, 4), parts)
    np.testing.assert_array_equal(merged, data)


@pytest.mark.parametrize("mode", compare.MODES)
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(
    ("indices", "shapes", "message"),
    [
        ([[0, -1]], [(2, 3)], "indices[1] is out of range"),
        ([[0, 1], [-3]], [(2, 3), (1, 3)], "indices[0] is out of range"),
        ([[-1]], [(1, 0)], "indices[0] is out of range"),
        ([[2**31 - 1]], [(1, 0)], None),
        ([[0, 1]], [(3, 3)], "data[0].shape = [3,3] does not start with indices[0].shape = [2]"),
        (
            [[0, 1], [2]],
            [(2, 3), (1, 4)],
            "Need data[0].shape[1:] = data[1].shape[1:], got data[0].shape = [2,3], "
            "data[1].shape = [1,4], indices[0].shape = [2], indices[1].shape = [1]",
        ),
        ([[0, 1], [2]], [(2, 3), (1, 3, 1)], "Need data[0].shape[1:] = data[1].shape[1:]"),
    ],
)
def test_refused(op: Any, mode: str, indices: Any, shapes: Any, message: str | None) -> None:
    """With TensorFlow's own messages, unless its shape function refuses when a graph is built."""
    data = [np.zeros(shape, np.float32) for shape in shapes]
    call = merging(op, indices, data)
    both.check_refused(call)
    text = re.escape(message) if message and mode == "eager" else None
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match=text):
        compare.on("/XPU:0", call, mode)


@pytest.mark.parametrize("op", ["DynamicStitch", "ParallelDynamicStitch"])
def test_new_indices_compile_nothing(op: str) -> None:
    """As a program of one op, each set of indices took minutes."""
    merge = getattr(tf.raw_ops, op)
    for _ in range(3):
        with tf.device("/XPU:0"):
            report = onexpu.placement_report(merging(merge, *pieces(3000, 2, (2,))))
        assert report.counts["sycl_kernel"][op] == 1
        assert op not in report.counts["on_demand"] and not report.counts["host"]


@pytest.mark.parametrize("op", OPS)
def test_indices_that_a_graph_computes(op: Any) -> None:
    indices, data = pieces(3000, 2, (3,))
    index_tensors, data_tensors = [tf.constant(i) for i in indices], [tf.constant(d) for d in data]

    def merged() -> tf.Tensor:
        return op(indices=[2999 - i for i in index_tensors], data=data_tensors)

    both.check(merged, ulps=0, modes=("eager", "graph"))
