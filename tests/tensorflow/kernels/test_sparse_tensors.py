"""SparseReorder, SparseReshape and SparseTensorDenseMatMul against TensorFlow's CPU kernels."""

from __future__ import annotations

from typing import Any

import both
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering, exhaustive

R = tf.raw_ops
FLOATING = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
COMPLEX = [np.complex64, np.complex128]
RANDOM = np.random.RandomState(0)


def exactly(function: Any) -> None:
    both.check(function, ulps=0, modes=("eager",))


def coordinates(count: int, shape: tuple[int, ...]) -> np.ndarray:
    """Some that are different, in any order."""
    places = RANDOM.permutation(int(np.prod(shape)))[:count]
    return np.stack(np.unravel_index(places, shape), 1).astype(np.int64)


# ---- SparseReorder ----


@pytest.mark.parametrize(
    "dtype", [*FLOATING, *COMPLEX, np.bool_, np.int8, np.uint16, np.int32, np.int64]
)
def test_reorder_types(dtype: Any) -> None:
    indices = coordinates(20, (4, 5, 6))
    exactly(
        lambda: R.SparseReorder(
            input_indices=indices, input_values=np.arange(20).astype(dtype), input_shape=[4, 5, 6]
        )
    )


@pytest.mark.parametrize("shape", [(7,), (300, 400), (2, 3, 4, 5), (1 << 31, 1 << 31)])
@pytest.mark.parametrize("count", [1, 7])
def test_reorder_shapes(shape: tuple[int, ...], count: int) -> None:
    indices = np.stack([RANDOM.randint(0, size, count) for size in shape], 1)
    exactly(
        lambda: R.SparseReorder(
            input_indices=indices,
            input_values=np.arange(count),
            input_shape=np.array(shape, np.int64),
        )
    )


def test_reorder_many() -> None:
    indices = coordinates(100_000, (1000, 1000))
    exactly(
        lambda: R.SparseReorder(
            input_indices=indices, input_values=np.arange(100_000), input_shape=[1000, 1000]
        )
    )


def test_equal_coordinates_stay_in_their_order() -> None:
    indices = np.int64([[1, 1], [0, 2], [1, 1], [0, 2], [1, 1]])
    with tf.device("/XPU:0"):
        _, values = R.SparseReorder(
            input_indices=indices, input_values=[1, 2, 3, 4, 5], input_shape=[2, 3]
        )
    np.testing.assert_array_equal(values, [2, 4, 1, 3, 5])


def test_reorder_nothing() -> None:
    exactly(
        lambda: R.SparseReorder(
            input_indices=tf.zeros([0, 2], tf.int64), input_values=tf.zeros([0]), input_shape=[2, 3]
        )
    )


def test_reorder_refused() -> None:
    given = {
        "input_indices": np.zeros([2, 2], np.int64),
        "input_values": [1.0, 2.0],
        "input_shape": [2, 3],
    }
    for changed in (
        {"input_indices": np.zeros([2], np.int64)},
        {"input_values": [[1.0, 2.0]]},
        {"input_shape": [[2, 3]]},
    ):
        both.check_call_refused(R.SparseReorder, **(given | changed))
    with (
        tf.device("/XPU:0"),
        pytest.raises(tf.errors.InvalidArgumentError, match="Number of elements .* do not match"),
    ):
        R.SparseReorder(**(given | {"input_values": [1.0, 2.0, 3.0]}))


@pytest.mark.parametrize(
    "shape", [(1 << 40, 1 << 40), (4096,) * 6, (2, (1 << 63) - 1, 3), (1 << 62, 5, 1 << 62, 7)]
)
def test_reorder_shapes_of_more_places_than_numbers(shape: tuple[int, ...]) -> None:
    # Few different ones, so that every dimension decides somewhere. TensorFlow's CPU kernel refuses
    # some such shapes.
    indices = np.stack([RANDOM.choice([0, 1, size - 1], 500) for size in shape], 1)
    with tf.device("/XPU:0"):
        ordered, values = R.SparseReorder(
            input_indices=indices,
            input_values=np.arange(500),
            input_shape=np.array(shape, np.int64),
        )
    order = np.lexsort(indices.T[::-1])  # stable
    np.testing.assert_array_equal(ordered, indices[order])
    np.testing.assert_array_equal(values, order)


# ---- SparseReshape ----


@pytest.mark.parametrize(
    "to", [[60], [5, 12], [3, 4, 5], [-1, 6], [2, -1, 2, 3], [1, 60, 1], [3, 20]]
)
def test_reshape(to: list[int]) -> None:
    indices = coordinates(17, (3, 20))
    exactly(
        lambda: R.SparseReshape(
            input_indices=indices, input_shape=[3, 20], new_shape=np.array(to, np.int64)
        )
    )


def test_reshape_nothing() -> None:
    none = tf.zeros([0, 2], tf.int64)
    exactly(lambda: R.SparseReshape(input_indices=none, input_shape=[3, 20], new_shape=[-1]))
    exactly(lambda: R.SparseReshape(input_indices=none, input_shape=[0, 20], new_shape=[5, 0]))


@pytest.mark.parametrize("to", [[61], [-1, -1], [-1, 7], [-2, -30], [1 << 40, 1 << 40]])
def test_reshape_refused(to: list[int]) -> None:
    both.check_refused(
        lambda: R.SparseReshape(
            input_indices=coordinates(3, (3, 20)),
            input_shape=[3, 20],
            new_shape=np.array(to, np.int64),
        )
    )


# ---- SparseTensorDenseMatMul ----


def product(
    dtype: Any,
    rows: int,
    inner: int,
    columns: int,
    count: int,
    adjoint: tuple[bool, bool] = (False, False),
    wide: bool = True,
    ascending: int = 0,
) -> tf.Tensor:
    """Of the rows, the first `ascending` ascend, which are none before the others."""
    random = np.random.RandomState(count)
    adjoint_a, adjoint_b = adjoint
    a_shape = (inner, rows) if adjoint_a else (rows, inner)
    indices = np.stack([random.randint(0, size, count) for size in a_shape], 1)
    indices[:ascending] = indices[np.lexsort(indices[:ascending].T[::-1])]

    def numbers(*shape: int) -> np.ndarray:
        values = random.uniform(-1, 1, shape)
        if np.dtype(dtype).kind == "c":
            values = values + 1j * random.uniform(-1, 1, shape)
        return values.astype(dtype)

    return R.SparseTensorDenseMatMul(
        a_indices=indices.astype(np.int64 if wide else np.int32),
        a_values=numbers(count),
        a_shape=np.array(a_shape, np.int64),
        b=numbers(columns, inner) if adjoint_b else numbers(inner, columns),
        adjoint_a=adjoint_a,
        adjoint_b=adjoint_b,
    )


def check_product(*arguments: Any, ulps: float = 16, **named: Any) -> None:
    both.check(lambda: product(*arguments, **named), modes=("eager",), ulps=ulps)


# Building a module of a half precision takes the driver 15 seconds: one of them stands for both.
@covering(
    ascending=[0, 40],
    wide=[False, True],
    adjoint=[(a, b) for a in (False, True) for b in (False, True)],
    dtype=[pytest.param(np.float16, marks=exhaustive), *FLOATING[1:], *COMPLEX],
)
def test_products(dtype: Any, adjoint: tuple[bool, bool], wide: bool, ascending: int) -> None:
    check_product(dtype, 13, 11, 7, 40, adjoint, wide, ascending)


@pytest.mark.parametrize("columns", [1, 15, 16, 17, 300])
@pytest.mark.parametrize(
    ("count", "ascending"),
    [(1, 1), (20_000, 0), (20_000, 20_000), (20_000, 19_999), (20_000, 10_000)],
)
def test_sizes_of_products(columns: int, count: int, ascending: int) -> None:
    # Sums of some twenty products.
    check_product(np.float32, 1000, 500, columns, count, ascending=ascending, ulps=64)


@pytest.mark.parametrize("rows", [1, 2])
def test_long_rows(rows: int) -> None:
    check_product(np.float64, rows, 500, 3, 5000, ascending=5000, ulps=64)


@pytest.mark.parametrize("sizes", [(3, 4, 5, 0), (0, 4, 5, 0), (3, 4, 0, 6)])
def test_empty_products(sizes: tuple[int, ...]) -> None:
    check_product(np.float32, *sizes)


@pytest.mark.parametrize(
    "columns", [2, 4096]
)  # of which a CPU's work-item takes many elements, or one
def test_coordinates_outside(columns: int) -> None:
    """As TensorFlow's GPU kernels: no row, no effect; no column, NaN."""
    for indices in (
        [[0, 1], [3, 0], [-1, 0], [1, 2], [1, 0]],
        [[0, 1], [1, 2], [1, 0]], [[-1, 0], [0, 1], [1, 2]], [[0, 1], [1, -1], [3, 0]],
        [[-2, 1], [-1, 0], [0, 1], [1, 2]],
    ):  # fmt: skip
        with tf.device("/XPU:0"):
            result = R.SparseTensorDenseMatMul(
                a_indices=np.int64(indices),
                a_values=tf.ones([len(indices)]),
                a_shape=[3, 2],
                b=tf.ones([2, columns]),
            ).numpy()
        np.testing.assert_array_equal(result, np.repeat([[1], [np.nan], [0]], columns, 1))


def test_a_product_and_its_gradients() -> None:
    indices = coordinates(30, (10, 8))
    values, dense = RANDOM.randn(30).astype(np.float32), RANDOM.randn(8, 5).astype(np.float32)

    def slopes() -> Any:
        v, d = tf.constant(values), tf.constant(dense)
        with tf.GradientTape() as tape:
            tape.watch((v, d))
            loss = tf.reduce_sum(
                tf.sparse.sparse_dense_matmul(tf.SparseTensor(indices, v, [10, 8]), d) ** 2
            )
        return tape.gradient(loss, (v, d))

    both.check(slopes, modes=("eager",), ulps=64)


def test_products_refused() -> None:
    given: dict[str, Any] = {
        "a_indices": np.int64([[0, 1]]),
        "a_values": tf.ones([1]),
        "a_shape": [3, 2],
        "b": tf.ones([2, 4]),
    }
    for changed in (
        {"b": tf.ones([3, 4])},
        {"b": tf.ones([2])},
        {"a_shape": [3, 2, 1]},
        {"a_values": tf.ones([2])},
        {"a_indices": np.int64([[0, 1, 1]])},
        {"a_indices": np.int64([0])},
    ):
        both.check_call_refused(R.SparseTensorDenseMatMul, **(given | changed))
