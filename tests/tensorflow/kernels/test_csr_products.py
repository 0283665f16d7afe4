"""Products of sparse matrices in compressed rows against TensorFlow's CPU kernels."""

from __future__ import annotations

import itertools
from typing import Any

import both
import compare
import numpy as np
import pytest
import tensorflow as tf
from csr_matrices import TYPES, gradients, matrix, numbers, on_xpu, parts, same, sparse
from tensorflow.python.ops.linalg.sparse import sparse_csr_matrix_ops as csr

from tests.exhaustive import covering

TURNS = list(itertools.product(["", "transpose_a", "adjoint_a"], ["", "transpose_b", "adjoint_b"]))

# ---- Products with dense matrices ----


def check_matmul(
    a_shape: Any, b_shape: Any, dtype: Any, share: float = 0.3, **options: bool
) -> None:
    given, b = sparse(a_shape, dtype, share), numbers(b_shape, dtype)
    same(lambda: csr.sparse_matrix_mat_mul(matrix(given), b, **options), compare.ULPS)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("a", "b"), TURNS)
def test_matmul_turned(a: str, b: str, dtype: Any) -> None:
    options = {name: True for name in (a, b) if name}
    for batches, transpose, conjugate in itertools.product(
        [(), (3,)], [False, True], [False, True]
    ):
        check_matmul(
            (*batches, 9, 5) if a else (*batches, 5, 9),
            (*batches, 4, 9) if b else (*batches, 9, 4),
            dtype,
            transpose_output=transpose,
            conjugate_output=conjugate,
            **options,
        )


@pytest.mark.parametrize("columns", [1, 2, 15, 16, 17, 40])
def test_matmul_columns(columns: int) -> None:
    check_matmul((70, 50), (50, columns), np.float32)
    check_matmul((50, 70), (50, columns), np.float32, transpose_a=True)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((4000, 3000), (3000, 20)),
        ((4000, 3000), (3000, 1)),
        ((100_000, 3), (3, 5)),
        ((200, 30, 40), (200, 40, 6)),
    ],
)
def test_matmul_large(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    check_matmul(a, b, np.float32, share=0.02)
    check_matmul((*a[:-2], a[-1], a[-2]), b, np.float32, share=0.02, transpose_a=True)


@pytest.mark.parametrize(
    ("a", "b"), [((0, 3), (3, 4)), ((3, 0), (0, 4)), ((3, 4), (4, 0)), ((2, 3, 4), (2, 4, 0))]
)
def test_matmul_of_nothing(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    given, full = sparse(a), numbers(b, np.float32)
    expected = np.zeros((*a[:-1], b[-1]), np.float32)
    on_xpu(lambda: csr.sparse_matrix_mat_mul(matrix(given), full), expected)


def test_matmul_without_elements() -> None:
    check_matmul((2, 5, 6), (2, 6, 3), np.float32, share=0)


def test_matmul_leaves_out_what_has_no_element() -> None:
    given, b = sparse((20, 30), share=0.05), numbers((30, 4), np.float32)
    b[3], b[4] = np.nan, np.inf
    same(lambda: csr.sparse_matrix_mat_mul(matrix(given), b), compare.ULPS)


def test_matmul_is_the_same_in_every_run() -> None:
    given, b = sparse((3000, 400)), numbers((3000, 3), np.float32)
    with tf.device("/XPU:0"):
        results = [
            csr.sparse_matrix_mat_mul(matrix(given), b, transpose_a=True).numpy() for _ in range(3)
        ]
    assert all(np.array_equal(result, results[0]) for result in results)


def test_matmul_refused() -> None:
    given, batched = sparse((5, 6)), sparse((2, 5, 6))

    def ones(*shape):
        return np.ones(shape, np.float32)

    both.check_refused(lambda: csr.sparse_matrix_mat_mul(matrix(given), ones(5, 6)))
    both.check_refused(lambda: csr.sparse_matrix_mat_mul(matrix(given), ones(1, 6, 2)))
    both.check_refused(lambda: csr.sparse_matrix_mat_mul(matrix(batched), ones(3, 6, 2)))
    both.check_refused(
        lambda: csr.sparse_matrix_mat_mul(
            matrix(given), ones(5, 2), transpose_a=True, adjoint_a=True
        )
    )
    both.check_refused(
        lambda: csr.sparse_matrix_mat_mul(matrix(given), ones(6, 2).astype(np.float64))
    )


# ---- Products of sparse matrices ----


def check_sparse_matmul(
    a_shape: Any, b_shape: Any, dtype: Any, share: float = 0.3, **options: bool
) -> None:
    a, b = sparse(a_shape, dtype, share), sparse(b_shape, dtype, share)
    same(
        lambda: parts(
            csr.sparse_matrix_sparse_mat_mul(matrix(a), matrix(b), type=dtype, **options), dtype
        ),
        compare.ULPS,
    )


@covering(dtype=TYPES, share=[0.15, 0.9])
@pytest.mark.parametrize(("a", "b"), TURNS)
def test_sparse_matmul_turned(a: str, b: str, share: float, dtype: Any) -> None:
    options = {name: True for name in (a, b) if name}
    for batches in ((), (4,)):
        check_sparse_matmul(
            (*batches, 9, 7) if a else (*batches, 7, 9),
            (*batches, 8, 9) if b else (*batches, 9, 8),
            dtype,
            share,
            **options,
        )


@pytest.mark.parametrize(
    ("a", "b", "share"),
    [
        ((2000, 1500), (1500, 3000), 0.005),  # by sorted terms
        ((120, 100), (100, 110), 0.8),  # by dense rows
        ((1, 5000), (5000, 1), 0.2),
        ((5000, 1), (1, 5000), 0.02),
        ((300, 20, 30), (300, 30, 10), 0.1),
        ((100_000, 100_000), (100_000, 100_000), 0),
    ],
)
def test_sparse_matmul_large(a: tuple[int, ...], b: tuple[int, ...], share: float) -> None:
    if share > 0:
        check_sparse_matmul(a, b, np.float32, share)
        return
    # More cells than 32 bits number.
    diagonal = np.stack([np.arange(100_000)] * 2, 1)
    given = {
        "indices": diagonal,
        "values": numbers(100_000, np.float32),
        "dense_shape": np.int64(a),
    }
    same(
        lambda: parts(
            csr.sparse_matrix_sparse_mat_mul(matrix(given), matrix(given), type=np.float32),
            np.float32,
        ),
        1,
    )


@pytest.mark.parametrize("share", [0.15, 0.9])
@pytest.mark.parametrize(("a", "b"), [(1, 6), (6, 1), (1, 1), (6, 6)])
def test_sparse_matmul_of_one_and_many(a: int, b: int, share: float) -> None:
    check_sparse_matmul((a, 30, 20), (b, 20, 10), np.float32, share)
    check_sparse_matmul(
        (a, 20, 30), (b, 10, 20), np.float32, share, transpose_a=True, transpose_b=True
    )


def test_sparse_matmul_of_nothing() -> None:
    empty, full = sparse((5, 5), share=0), sparse((5, 5))
    # Elements that never meet.
    left = {
        "indices": np.int64([[0, 1], [3, 1]]),
        "values": np.ones([2], np.float32),
        "dense_shape": np.int64([5, 5]),
    }
    right = {
        "indices": np.int64([[0, 1], [2, 2]]),
        "values": np.ones([2], np.float32),
        "dense_shape": np.int64([5, 5]),
    }
    for a, b in ((empty, full), (full, empty), (left, right)):
        same(
            lambda a=a, b=b: parts(
                csr.sparse_matrix_sparse_mat_mul(matrix(a), matrix(b), type=np.float32), np.float32
            )
        )


def test_sparse_matmul_keeps_zeros_and_not_a_number() -> None:
    a = {
        "indices": np.int64([[0, 0], [0, 1], [1, 0]]),
        "values": np.float32([1, -1, np.nan]),
        "dense_shape": np.int64([2, 2]),
    }
    b = {
        "indices": np.int64([[0, 0], [0, 1], [1, 0]]),
        "values": np.float32([2, np.inf, 2]),
        "dense_shape": np.int64([2, 2]),
    }
    same(
        lambda: parts(
            csr.sparse_matrix_sparse_mat_mul(matrix(a), matrix(b), type=np.float32), np.float32
        )
    )


def test_sparse_matmul_refused() -> None:
    a, b, batched = sparse((5, 6)), sparse((6, 5), np.float64), sparse((2, 6, 5))
    more = sparse((3, 5, 6))
    multiply = csr.sparse_matrix_sparse_mat_mul
    both.check_refused(lambda: multiply(matrix(a), matrix(a), type=np.float32))
    both.check_refused(lambda: multiply(matrix(a), matrix(b), type=np.float32))
    both.check_refused(lambda: multiply(matrix(a), matrix(batched), type=np.float32))
    both.check_refused(lambda: multiply(matrix(more), matrix(batched), type=np.float32))
    both.check_refused(
        lambda: multiply(matrix(a), matrix(a), type=np.float32, transpose_b=True, adjoint_b=True)
    )


# ---- Gradients ----


@covering(
    dtype=TYPES,
    options=[{}, {"transpose_a": True}, {"adjoint_a": True}, {"transpose_b": True}],
)
def test_gradients_of_matmul(options: dict[str, bool], dtype: Any) -> None:
    given = sparse((5, 5), dtype)
    b = numbers((5, 5), dtype)

    def multiply(values: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
        made = csr.sparse_tensor_to_csr_sparse_matrix(
            given["indices"], values, given["dense_shape"]
        )
        return csr.sparse_matrix_mat_mul(made, b, **options)

    same(lambda: gradients(multiply, given["values"], b), compare.ULPS)


@pytest.mark.parametrize("batches", [(), (3,)])
def test_gradients_of_sparse_matmul(batches: tuple[int, ...]) -> None:
    # TensorFlow's gradient is defined where no row or column is empty.
    shapes = ((*batches, 5, 6), (*batches, 6, 4))
    a, b = (
        sparse(shape, indices=np.argwhere(np.indices(shape).sum(0) % 3 > 0)) for shape in shapes
    )

    def multiply(a_values: tf.Tensor, b_values: tf.Tensor) -> tf.Tensor:
        left = csr.sparse_tensor_to_csr_sparse_matrix(a["indices"], a_values, a["dense_shape"])
        right = csr.sparse_tensor_to_csr_sparse_matrix(b["indices"], b_values, b["dense_shape"])
        product = csr.sparse_matrix_sparse_mat_mul(left, right, type=tf.float32)
        return csr.csr_sparse_matrix_to_dense(product, type=tf.float32)

    # TensorFlow has no eager gradient of it.
    compute = tf.function(lambda: gradients(multiply, a["values"], b["values"]), autograph=False)
    both.check(compute, modes=("eager",))
