"""Sparse matrices in compressed rows (DT_VARIANT tensors) against TensorFlow's CPU kernels, or
numpy where it has none.
"""

from __future__ import annotations

import itertools
from typing import Any

import both
import compare
import numpy as np
import pytest
import tensorflow as tf
from csr_matrices import (
    RANDOM,
    TYPES,
    coordinates,
    dense,
    gradients,
    matrix,
    numbers,
    on_xpu,
    parts,
    same,
    sparse,
)
from tensorflow.python.ops.linalg.sparse import sparse_csr_matrix_ops as csr

from tests.exhaustive import covering

REAL_TYPES = [np.float32, np.float64]
SHAPES = [
    (1, 1),
    (5, 7),
    (7, 5),
    (1, 400),
    (400, 1),
    (300, 200),
    (3, 5, 7),
    (1, 4, 6),
    (40, 30, 20),
]

# ---- Conversions ----


@covering(dtype=TYPES, shape=SHAPES)
def test_coordinates_there_and_back(shape: tuple[int, ...], dtype: Any) -> None:
    given = sparse(shape, dtype)
    same(lambda: parts(matrix(given), dtype))
    on_xpu(
        lambda: parts(matrix(given), dtype)[:3],
        (given["indices"], given["values"], given["dense_shape"]),
        0,
    )


@covering(dtype=TYPES, shape=SHAPES)
def test_dense_there_and_back(shape: tuple[int, ...], dtype: Any) -> None:
    full, indices = numbers(shape, dtype), coordinates(shape)
    same(
        lambda: csr.csr_sparse_matrix_to_dense(
            csr.dense_to_csr_sparse_matrix(full, indices), type=dtype
        )
    )


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (5, 6), (3, 5, 6), (3, 0, 6), (3, 5, 0)])
def test_without_elements(shape: tuple[int, ...]) -> None:
    given = sparse(shape, share=0)
    same(
        lambda: (
            *parts(matrix(given), np.float32),
            csr.csr_sparse_matrix_to_dense(matrix(given), type=np.float32),
        )
    )
    full = numbers(shape, np.float32)
    same(lambda: parts(csr.dense_to_csr_sparse_matrix(full, given["indices"]), np.float32))


def test_no_batches() -> None:
    given = sparse((0, 5, 6))
    for mode in ("eager", "graph"):
        # TensorFlow's CPU kernels divide by the number of batches.
        count = compare.on("/XPU:0", lambda: csr.sparse_matrix_nnz(matrix(given)), mode)
        result = compare.on(
            "/XPU:0", lambda: csr.csr_sparse_matrix_to_dense(matrix(given), type=np.float32), mode
        )
        assert (count.shape, result.shape) == ((0,), (0, 5, 6))


def test_empty_batches_between_others() -> None:
    given = sparse((9, 4, 5))
    kept = np.isin(given["indices"][:, 0], [1, 2, 6])
    given |= {"indices": given["indices"][kept], "values": given["values"][kept]}
    same(
        lambda: (
            *parts(matrix(given), np.float32),
            csr.csr_sparse_matrix_to_dense(matrix(given), type=np.float32),
        )
    )


@pytest.mark.parametrize("shape", [(4000, 3000), (100_000, 2), (2, 100_000), (1000, 20, 30)])
def test_large(shape: tuple[int, ...]) -> None:
    given = sparse(shape, share=0.02)
    same(
        lambda: (
            *parts(matrix(given), np.float32),
            csr.csr_sparse_matrix_to_dense(matrix(given), type=np.float32),
        )
    )


def test_not_a_number_and_infinity_are_elements() -> None:
    given = sparse((2, 5, 6))
    given["values"][:5] = [np.nan, np.inf, -np.inf, 0.0, -0.0]
    same(
        lambda: (
            *parts(matrix(given), np.float32),
            csr.csr_sparse_matrix_to_dense(matrix(given), type=np.float32),
        )
    )


def test_the_last_of_equal_coordinates_is_in_the_dense_matrix() -> None:
    given = {
        "indices": np.int64([[0, 1], [0, 1], [0, 1], [2, 0], [2, 0]]),
        "values": np.float32([1, 2, 3, 4, 5]),
        "dense_shape": np.int64([3, 2]),
    }
    same(lambda: csr.csr_sparse_matrix_to_dense(matrix(given), type=np.float32))


@pytest.mark.parametrize("shape", [(6, 8), (4, 6, 8)])
@pytest.mark.parametrize("dtype", TYPES)
def test_components(shape: tuple[int, ...], dtype: Any) -> None:
    given = sparse(shape, dtype)
    given |= {"values": given["values"][5:], "indices": given["indices"][5:]}
    for batch in range(shape[0] if len(shape) == 3 else 1):
        same(
            lambda batch=batch: csr.csr_sparse_matrix_components(
                matrix(given), index=batch, type=dtype
            )
        )


@covering(shape=[(3, 4), (0, 4), (2, 3, 4)], dtype=TYPES)
def test_zeros(shape: tuple[int, ...], dtype: Any) -> None:
    def zeros() -> Any:
        made = csr.sparse_matrix_zeros(np.int64(shape), type=dtype)
        return (*parts(made, dtype), csr.csr_sparse_matrix_to_dense(made, type=dtype))

    counts = np.zeros(shape[:-2], np.int32)
    on_xpu(
        zeros,
        (
            np.zeros([0, len(shape)], np.int64),
            np.zeros([0], dtype),
            np.int64(shape),
            counts,
            np.zeros(shape, dtype),
        ),
        0,
    )


@pytest.mark.parametrize(
    "change",
    [
        {"dense_shape": np.int64([5])},
        {"dense_shape": np.int64([[5, 6]])},
        {"dense_shape": np.int64([5, 6, 7])},
        {"dense_shape": np.int64([5, -6])},
        {"dense_shape": np.int64([2**31, 6])},
        {"values": np.ones([3], np.float32)},
        {"values": np.ones([4, 1], np.float32)},
        {"indices": np.zeros([4], np.int64)},
        {"indices": np.int64([[0, 0], [0, 1], [2, 3], [5, 0]])},
        {"indices": np.int64([[0, 0], [0, 1], [2, 6], [4, 0]])},
        {"indices": np.int64([[-1, 0], [0, 1], [2, 3], [4, 0]])},
    ],
)
def test_coordinates_refused(change: dict[str, Any]) -> None:
    given = {
        "indices": np.int64([[0, 0], [0, 1], [2, 3], [4, 0]]),
        "values": np.ones([4], np.float32),
        "dense_shape": np.int64([5, 6]),
    }
    both.check_refused(lambda: matrix(given | change))


@pytest.mark.parametrize("indices", [[[0, 1], [0, 0]], [[1, 0], [0, 5]]])
def test_coordinates_out_of_order_are_refused(indices: list[list[int]]) -> None:
    # The CPU takes them and makes a matrix of other elements, or of columns that do not ascend.
    given = {
        "indices": np.int64(indices),
        "values": np.ones([2], np.float32),
        "dense_shape": np.int64([5, 6]),
    }
    with pytest.raises(tf.errors.InvalidArgumentError, match="row-major"), tf.device("/XPU:0"):
        matrix(given)


@pytest.mark.parametrize(
    "wrong",
    [(3, 100), (3, 5000), (3, -1), (2, 200), (9, 200)],
    ids=["late", "outside", "negative", "row before", "no row"],
)
def test_one_wrong_element_in_a_long_row(wrong: tuple[int, int]) -> None:
    indices = np.stack([np.full(1000, 3), np.arange(1000) * 2], 1)
    given = {
        "indices": np.int64(indices),
        "values": np.ones([1000], np.float32),
        "dense_shape": np.int64([5, 2000]),
    }
    with tf.device("/XPU:0"):
        np.testing.assert_array_equal(
            csr.csr_sparse_matrix_components(matrix(given), index=0, type=np.float32).col_inds,
            indices[:, 1],
        )
        given["indices"][500] = wrong
        with pytest.raises(tf.errors.InvalidArgumentError):
            matrix(given)


def test_conversions_refused() -> None:
    given, full = sparse((5, 6)), numbers((5, 6), np.float32)
    both.check_refused(lambda: csr.dense_to_csr_sparse_matrix(full[0], np.int64([[1]])))
    both.check_refused(lambda: csr.dense_to_csr_sparse_matrix(full, np.int64([[1, 2, 3]])))
    both.check_refused(lambda: csr.dense_to_csr_sparse_matrix(full, np.int64([1, 2])))
    both.check_refused(lambda: csr.dense_to_csr_sparse_matrix(full, np.int64([[1, 6]])))
    both.check_refused(lambda: csr.csr_sparse_matrix_to_dense(matrix(given), type=np.float64))
    both.check_refused(
        lambda: csr.csr_sparse_matrix_to_sparse_tensor(matrix(given), type=np.float64)
    )
    both.check_refused(
        lambda: csr.csr_sparse_matrix_components(matrix(given), index=1, type=np.float32)
    )
    both.check_refused(
        lambda: csr.csr_sparse_matrix_components(matrix(given), index=-1, type=np.float32)
    )
    for shape in ([3], [1, 2, 3, 4], [3, -1]):
        with pytest.raises(tf.errors.InvalidArgumentError), tf.device("/XPU:0"):
            csr.sparse_matrix_zeros(np.int64(shape), type=np.float32)


# ---- Transposition ----


@covering(conjugate=[False, True], dtype=TYPES, shape=[*SHAPES, (4000, 3000)])
def test_transpose(shape: tuple[int, ...], dtype: Any, conjugate: bool) -> None:
    given = sparse(shape, dtype, share=0.02 if shape[0] > 400 else 0.3)
    same(
        lambda: parts(
            csr.sparse_matrix_transpose(matrix(given), type=dtype, conjugate=conjugate), dtype
        )
    )


@pytest.mark.parametrize("shape", [(5, 0), (0, 5), (5, 6), (2, 5, 6)])
def test_transpose_of_nothing(shape: tuple[int, ...]) -> None:
    given = sparse(shape, share=0)
    same(lambda: parts(csr.sparse_matrix_transpose(matrix(given), type=np.float32), np.float32))


@pytest.mark.parametrize("dtype", TYPES)
def test_conjugate(dtype: Any) -> None:
    given = sparse((3, 5, 7), dtype)
    same(lambda: parts(tf.math.conj(matrix(given)), dtype))


# ---- Sums, products with scalars ----


def check_add(a: dict[str, Any], b: dict[str, Any], alpha: Any, beta: Any, ulps: float = 4) -> None:
    dtype = a["values"].dtype
    kept = np.zeros(a["dense_shape"], bool)
    for given in (a, b):
        kept[tuple(given["indices"].T)] = True
    with np.errstate(invalid="ignore"):
        expected = dense(a) * dtype.type(alpha) + dense(b) * dtype.type(beta)
    counts = kept.sum(axis=(-1, -2)).astype(np.int32)
    on_xpu(
        lambda: parts(
            csr.sparse_matrix_add(matrix(a), matrix(b), dtype.type(alpha), dtype.type(beta)), dtype
        ),
        (np.argwhere(kept).astype(np.int64), expected[kept], a["dense_shape"], counts),
        ulps,
    )


@covering(dtype=TYPES, shape=[*SHAPES, (3000, 4000)])
def test_add(shape: tuple[int, ...], dtype: Any) -> None:
    share = 0.01 if shape[0] > 400 else 0.3
    scales = (2, -0.5) if np.dtype(dtype).kind == "f" else (2 - 1j, 0.5j)
    check_add(sparse(shape, dtype, share), sparse(shape, dtype, share), *scales)


def test_add_nothing() -> None:
    some, none = sparse((2, 5, 6)), sparse((2, 5, 6), share=0)
    for a, b in ((some, none), (none, some), (none, none)):
        check_add(a, b, 1, 2)


def test_add_keeps_what_sums_to_zero() -> None:
    given = sparse((5, 6))
    check_add(given, given, 1, -1)


def test_add_refused() -> None:
    a, b, c = sparse((5, 6)), sparse((6, 5)), sparse((5, 6), np.float64)
    one = np.float32(1)
    cases = [
        (a, b, one, one),
        (a, sparse((1, 5, 6)), one, one),
        (a, c, one, one),
        (a, a, np.ones([1], np.float32), one),
    ]
    for left, right, alpha, beta in cases:
        with pytest.raises(tf.errors.InvalidArgumentError), tf.device("/XPU:0"):
            csr.sparse_matrix_add(matrix(left), matrix(right), alpha, beta)


@covering(dtype=TYPES, shape=SHAPES)
def test_mul(shape: tuple[int, ...], dtype: Any) -> None:
    given = sparse(shape, dtype)
    shapes = [(), (shape[0], 1, 1)] if len(shape) == 3 else [()]
    for of_factor in shapes:
        factor = numbers(of_factor, dtype)
        expected = (dense(given) * factor)[tuple(given["indices"].T)]
        on_xpu(
            lambda factor=factor: parts(csr.sparse_matrix_mul(matrix(given), factor), dtype)[:2],
            (given["indices"], expected),
            4,
        )


def test_mul_refused() -> None:
    given, batched = sparse((2, 6)), sparse((2, 5, 6))
    with tf.device("/XPU:0"):
        for of, shape in ((given, (2, 1, 1)), (batched, (3, 1, 1)), (batched, (2, 2, 1))):
            with pytest.raises(tf.errors.InvalidArgumentError):
                csr.sparse_matrix_mul(matrix(of), np.ones(shape, np.float32))
        with pytest.raises(tf.errors.UnimplementedError):
            csr.sparse_matrix_mul(matrix(given), np.ones([2, 6], np.float32))
        with pytest.raises(tf.errors.InvalidArgumentError):
            csr.sparse_matrix_mul(matrix(given), np.float64(2))


# ---- Softmax ----


def softmax(given: dict[str, Any]) -> np.ndarray:
    """Of what is there, in a dense matrix."""
    logits = np.full(given["dense_shape"], -np.inf)
    logits[tuple(given["indices"].T)] = given["values"]
    with np.errstate(invalid="ignore"):
        powers = np.exp(logits - logits.max(-1, keepdims=True))
        return powers / powers.sum(-1, keepdims=True)


@covering(dtype=REAL_TYPES, shape=SHAPES)
def test_softmax_and_its_gradient(shape: tuple[int, ...], dtype: Any) -> None:
    given, gradient = sparse(shape, dtype), sparse(shape, dtype, 0.6)
    at = tuple(given["indices"].T)
    result = softmax(given)
    expected = result[at].astype(dtype)
    on_xpu(
        lambda: parts(csr.sparse_matrix_softmax(matrix(given), type=dtype), dtype)[:2],
        (given["indices"], expected),
    )

    cleaned = np.nan_to_num(result)  # Rows without elements are NaN.
    slopes = cleaned * (dense(gradient) - (cleaned * dense(gradient)).sum(-1, keepdims=True))

    def backwards() -> Any:
        made = csr.sparse_matrix_softmax(matrix(given), type=dtype)
        return parts(csr.sparse_matrix_softmax_grad(made, matrix(gradient), type=dtype), dtype)[:2]

    on_xpu(backwards, (given["indices"], slopes[at].astype(dtype)))


def test_softmax_of_extremes() -> None:
    given = {
        "indices": np.int64([[0, 0], [0, 1], [1, 0], [1, 2], [2, 0], [2, 1], [4, 3]]),
        "values": np.float32([1000, 999, -np.inf, 3, np.nan, 1, -1e30]),
        "dense_shape": np.int64([5, 4]),
    }
    expected = np.float32([0.73105858, 0.26894142, 0, 1, np.nan, np.nan, 1])
    on_xpu(
        lambda: parts(csr.sparse_matrix_softmax(matrix(given), type=np.float32), np.float32)[1],
        expected,
    )


def test_softmax_without_elements() -> None:
    some, none = sparse((4, 5)), sparse((4, 5), share=0)
    on_xpu(
        lambda: parts(csr.sparse_matrix_softmax(matrix(none), type=np.float32), np.float32)[1],
        np.zeros([0], np.float32),
    )
    on_xpu(
        lambda: parts(
            csr.sparse_matrix_softmax_grad(matrix(some), matrix(none), type=np.float32), np.float32
        )[1],
        np.zeros(len(some["values"]), np.float32),
    )


def test_softmax_refused() -> None:
    given = sparse((5, 6))
    with tf.device("/XPU:0"):
        for other in (sparse((6, 5)), sparse((1, 5, 6)), sparse((5, 6), np.float64)):
            with pytest.raises(tf.errors.InvalidArgumentError):
                csr.sparse_matrix_softmax_grad(matrix(given), matrix(other), type=np.float32)
        with pytest.raises(tf.errors.InvalidArgumentError):
            csr.sparse_matrix_softmax(matrix(given), type=np.float64)


# ---- Between devices ----


@pytest.mark.parametrize("shape", [(30, 40), (3, 4, 5), (3, 0, 5)])
@pytest.mark.parametrize("share", [0, 0.4])
@pytest.mark.parametrize(
    ("source", "target"), list(itertools.product(["/CPU:0", "/XPU:0"], repeat=2))
)
def test_a_matrix_goes_to_another_device(
    source: str, target: str, share: float, shape: tuple[int, ...]
) -> None:
    given = sparse(shape, np.complex64, share)

    def travel() -> Any:
        with tf.device(source):
            made = matrix(given)
        with tf.device(target):
            return (
                *parts(tf.identity(made), np.complex64),
                csr.csr_sparse_matrix_to_dense(made, type=np.complex64),
            )

    counts = np.array(
        [np.sum(given["indices"][:, 0] == batch) for batch in range(shape[0])]
    ).astype(np.int32)
    expected = (
        given["indices"],
        given["values"],
        given["dense_shape"],
        counts if len(shape) == 3 else np.int32(len(given["values"])),
        dense(given),
    )
    for run in (travel, tf.function(travel)):
        compare.assert_same(run(), expected, 0)


def test_what_is_no_sparse_matrix_is_refused() -> None:
    with tf.device("/XPU:0"):
        tensors = tf.raw_ops.TensorListReserve(
            element_shape=-1, num_elements=1, element_dtype=tf.float32
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match="no sparse matrix"):
            csr.sparse_matrix_nnz(tensors)


def test_a_matrix_in_a_loop_and_a_branch() -> None:
    given, start = sparse((8, 8), share=0.2), numbers((8, 2), np.float32)

    @tf.function
    def powers(odd: tf.Tensor) -> tf.Tensor:
        made = matrix(given)
        x = tf.constant(start)
        for _ in tf.range(4):
            x = csr.sparse_matrix_mat_mul(made, x)
        if odd:
            x = csr.sparse_matrix_mat_mul(made, x, transpose_a=True)
        return x

    for odd in (False, True):
        with tf.device("/CPU:0"):
            expected = powers(tf.constant(odd))
        with tf.device("/XPU:0"):
            compare.assert_same(powers(tf.constant(odd)), expected)


# ---- Gradients ----


@pytest.mark.parametrize("dtype", TYPES)
def test_gradients_of_conversions(dtype: Any) -> None:
    full, indices = numbers((5, 6), dtype), coordinates((5, 6))

    def there_and_back(x: tf.Tensor) -> tf.Tensor:
        made = csr.sparse_matrix_transpose(csr.dense_to_csr_sparse_matrix(x, indices), type=dtype)
        return csr.csr_sparse_matrix_to_dense(made, type=dtype)

    same(lambda: gradients(there_and_back, full), compare.ULPS)


def test_gradient_of_softmax() -> None:
    given, weights = sparse((5, 6), np.float64), numbers((5, 6), np.float64)

    def weighted(values: tf.Tensor) -> tf.Tensor:
        made = csr.sparse_tensor_to_csr_sparse_matrix(
            given["indices"], values, given["dense_shape"]
        )
        return (
            csr.csr_sparse_matrix_to_dense(
                csr.sparse_matrix_softmax(made, type=tf.float64), type=tf.float64
            )
            * weights
        )

    def reference(values: tf.Tensor) -> tf.Tensor:
        rows = tf.sparse.softmax(tf.SparseTensor(given["indices"], values, given["dense_shape"]))
        return tf.sparse.to_dense(rows) * weights

    with tf.device("/CPU:0"):
        expected = gradients(reference, given["values"])
    on_xpu(lambda: gradients(weighted, given["values"]), expected)


def test_gradient_of_add() -> None:
    a, b = sparse((5, 6)), sparse((5, 6))

    def added(a_values: tf.Tensor, b_values: tf.Tensor) -> tf.Tensor:
        left = csr.sparse_tensor_to_csr_sparse_matrix(a["indices"], a_values, a["dense_shape"])
        right = csr.sparse_tensor_to_csr_sparse_matrix(b["indices"], b_values, b["dense_shape"])
        return csr.csr_sparse_matrix_to_dense(
            csr.sparse_matrix_add(left, right, 2.0, 3.0), type=tf.float32
        )

    total = 2 * dense(a) + 3 * dense(b)
    expected = [4 * total[tuple(a["indices"].T)], 6 * total[tuple(b["indices"].T)]]
    # TensorFlow has no eager gradient of it.
    compare.assert_same(
        compare.on("/XPU:0", lambda: gradients(added, a["values"], b["values"]), "graph"), expected
    )


def test_the_class_of_tensorflow() -> None:
    full = np.where(RANDOM.uniform(size=(4, 6)) < 0.5, numbers((4, 6), np.float32), 0)

    def use() -> Any:
        made = csr.CSRSparseMatrix(tf.constant(full))
        product = csr.matmul(made, csr.CSRSparseMatrix(tf.constant(full)), transpose_b=True)
        return (
            made.to_dense(),
            made.nnz(),
            made.hermitian_transpose().to_dense(),
            product.to_dense(),
        )

    both.check(use, modes=("eager",))
