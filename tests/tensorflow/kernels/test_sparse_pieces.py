"""SparseSlice, its gradient, SparseSplit and SparseConcat against TensorFlow's CPU kernels."""

from __future__ import annotations

from typing import Any

import both
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

R = tf.raw_ops
TYPES = [
    np.bool_,
    np.int8,
    np.uint16,
    np.int32,
    np.int64,
    np.float16,
    ml_dtypes.bfloat16,
    np.float32,
    np.complex128,
]
RANDOM = np.random.RandomState(0)


def exactly(function: Any) -> None:
    both.check(function, ulps=0, modes=("eager",))


def sparse(count: int, shape: tuple[int, ...], dtype: Any = np.float32) -> dict[str, Any]:
    """Different coordinates in row-major order."""
    places = np.sort(RANDOM.permutation(int(np.prod(shape)))[:count])
    return {
        "indices": np.stack(np.unravel_index(places, shape), 1).astype(np.int64),
        "values": RANDOM.randint(0, 100, count).astype(dtype),
        "shape": np.array(shape, np.int64),
    }


# ---- SparseSlice ----


@pytest.mark.parametrize("dtype", TYPES)
def test_slice_types(dtype: Any) -> None:
    given = sparse(40, (10, 12), dtype)
    exactly(lambda: R.SparseSlice(**given, start=[2, 3], size=[5, 6]))


@pytest.mark.parametrize(
    ("start", "size"),
    [
        ([0, 0], [50, 60]),
        ([40, 0], [50, 60]),
        ([50, 1], [1, 1]),
        ([70, 0], [5, 5]),
        ([3, 3], [0, 9]),
    ],
)
def test_slices_at_the_edge(start: list[int], size: list[int]) -> None:
    given = sparse(700, (50, 60))
    exactly(lambda: R.SparseSlice(**given, start=start, size=size))


@pytest.mark.parametrize("count", [4095, 4096, 4097, 100_000])
def test_slices_of_many(count: int) -> None:
    given = sparse(count, (50, 60, 70))
    exactly(lambda: R.SparseSlice(**given, start=[5, 0, 10], size=[30, 70, 20]))


def test_slice_of_nothing() -> None:
    given = sparse(0, (5, 6))
    exactly(lambda: R.SparseSlice(**given, start=[1, 1], size=[2, 2]))


def test_slice_refused() -> None:
    given = sparse(4, (5, 6))
    for start, size in (([0, 0], [-1, 2]), ([0], [2, 2]), ([0, 0], [2]), ([[0, 0]], [2, 2])):
        both.check_call_refused(R.SparseSlice, **given, start=np.int64(start), size=np.int64(size))


# ---- SparseSliceGrad ----


def sliced(given: dict[str, Any], start: list[int], size: list[int]) -> dict[str, Any]:
    """The operands of the gradient of a slice."""
    places = given["indices"] - start
    output = places[((places >= 0) & (places < size)).all(1)]
    gradient = RANDOM.randint(1, 100, len(output)).astype(given["values"].dtype)
    return {
        "backprop_val_grad": gradient,
        "input_indices": given["indices"],
        "input_start": np.int64(start),
        "output_indices": output,
    }


@pytest.mark.parametrize("dtype", [dtype for dtype in TYPES if dtype != np.bool_])
def test_slice_gradient_types(dtype: Any) -> None:
    operands = sliced(sparse(40, (10, 12), dtype), [2, 3], [5, 6])
    exactly(lambda: R.SparseSliceGrad(**operands))


@pytest.mark.parametrize(
    ("start", "size"),
    [([0, 0], [50, 60]), ([40, 0], [50, 60]), ([70, 0], [5, 5]), ([3, 3], [9, 0])],
)
def test_slice_gradients_at_the_edge(start: list[int], size: list[int]) -> None:
    operands = sliced(sparse(700, (50, 60)), start, size)
    exactly(lambda: R.SparseSliceGrad(**operands))


@pytest.mark.parametrize("count", [1, 4095, 4096, 4097, 100_000])
def test_slice_gradients_of_many(count: int) -> None:
    operands = sliced(sparse(count, (50, 60, 70)), [5, 0, 10], [30, 70, 20])
    exactly(lambda: R.SparseSliceGrad(**operands))


def test_slice_gradient_in_another_order() -> None:
    given = sparse(3000, (50, 60))
    given["indices"] = RANDOM.permutation(given["indices"])
    operands = sliced(given, [5, 10], [30, 20])
    exactly(lambda: R.SparseSliceGrad(**operands))


def test_slice_gradient_of_repeated_coordinates() -> None:
    given = sparse(500, (20, 60))
    given["indices"] = np.repeat(given["indices"], 3, 0)
    operands = sliced(given, [5, 10], [10, 20])
    exactly(lambda: R.SparseSliceGrad(**operands))


def test_slice_gradient_of_nothing() -> None:
    operands = sliced(sparse(0, (5, 6)), [1, 1], [2, 2])
    exactly(lambda: R.SparseSliceGrad(**operands))


def test_gradient_by_the_tape() -> None:
    given = sparse(700, (50, 60))

    def gradient() -> tf.Tensor:
        values = tf.constant(given["values"])
        with tf.GradientTape() as tape:
            tape.watch(values)
            part = tf.sparse.slice(
                tf.SparseTensor(given["indices"], values, given["shape"]), [10, 5], [30, 20]
            )
            result = tf.reduce_sum(part.values**2)
        return tape.gradient(result, values)

    exactly(gradient)


def test_slice_gradient_refused() -> None:
    operands = sliced(sparse(30, (5, 6)), [1, 1], [3, 3])
    for changed in (
        {"input_start": np.int64([1])},
        {"backprop_val_grad": operands["backprop_val_grad"][1:]},
        {"input_indices": operands["output_indices"][1:]},
        {"output_indices": operands["output_indices"][:, :1]},
    ):
        both.check_call_refused(R.SparseSliceGrad, **(operands | changed))


# ---- SparseSplit ----


@pytest.mark.parametrize("dtype", TYPES)
def test_split_types(dtype: Any) -> None:
    given = sparse(40, (10, 12), dtype)
    exactly(lambda: R.SparseSplit(split_dim=tf.constant(1, tf.int64), **given, num_split=3))


@pytest.mark.parametrize("pieces", [1, 2, 7, 30])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_splits(axis: int, pieces: int) -> None:
    given = sparse(5000, (30, 31, 32))
    exactly(lambda: R.SparseSplit(split_dim=tf.constant(axis, tf.int64), **given, num_split=pieces))


@pytest.mark.parametrize("pieces", [64, 65, 200])
def test_splits_into_many(pieces: int) -> None:
    """As many as a walk counts at once, and more."""
    given = sparse(3000, (20, 250))
    exactly(lambda: R.SparseSplit(split_dim=tf.constant(1, tf.int64), **given, num_split=pieces))


@pytest.mark.parametrize("count", [0, 1])
def test_split_of_few(count: int) -> None:
    given = sparse(count, (5, 6))
    exactly(lambda: R.SparseSplit(split_dim=tf.constant(1, tf.int64), **given, num_split=4))


@pytest.mark.parametrize(("axis", "pieces"), [(2, 2), (-3, 2), (0, 6)])
def test_split_refused(axis: int, pieces: int) -> None:
    given = sparse(4, (5, 6))
    both.check_refused(
        lambda: R.SparseSplit(split_dim=tf.constant(axis, tf.int64), **given, num_split=pieces)
    )


# ---- SparseConcat ----


def concat(tensors: list[dict[str, Any]], axis: int) -> Any:
    return R.SparseConcat(
        indices=[t["indices"] for t in tensors],
        values=[t["values"] for t in tensors],
        shapes=[t["shape"] for t in tensors],
        concat_dim=axis,
    )


@pytest.mark.parametrize("dtype", TYPES)
def test_concat_types(dtype: Any) -> None:
    tensors = [sparse(20, (5, columns), dtype) for columns in (6, 7)]
    exactly(lambda: concat(tensors, 1))


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("counts", [(3000, 1), (100, 0, 4000), (0, 0), (1, 1, 1, 1)])
def test_concats(axis: int, counts: tuple[int, ...]) -> None:
    shape = [20, 21, 22]
    tensors = []
    for i, count in enumerate(counts):
        own = list(shape)
        own[axis] += i
        tensors.append(sparse(count, tuple(own)))
    exactly(lambda: concat(tensors, axis))


def test_concat_refused() -> None:
    a, b = sparse(4, (5, 6)), sparse(4, (5, 7))
    both.check_refused(lambda: concat([a, b], 0))
    both.check_refused(lambda: concat([a, a], 2))
    both.check_refused(lambda: concat([a, sparse(4, (5, 6, 1))], 1))
    both.check_refused(lambda: concat([a, a | {"values": np.ones([3], np.float32)}], 1))


def test_a_slice_of_a_concatenation_and_back() -> None:
    a, b = (
        tf.SparseTensor(t["indices"], t["values"], t["shape"])
        for t in (sparse(9, (4, 5)), sparse(8, (4, 3)))
    )

    def dense() -> tf.Tensor:
        joined = tf.sparse.concat(1, [a, b])
        return tf.sparse.to_dense(tf.sparse.slice(joined, [0, 5], [4, 3]))

    exactly(dense)
