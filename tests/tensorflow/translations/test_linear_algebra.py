"""LU factorisations, determinants, systems of equations, Euclidean norms."""

from __future__ import annotations

from typing import Any

import both
import compare
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering

R = tf.raw_ops
TYPES = [np.float32, np.float64, np.complex64, np.complex128]


def matrices(dtype: Any, *shape: int) -> np.ndarray:
    random = np.random.RandomState(0)
    return (random.randn(*shape) + 1j * random.randn(*shape)).astype(dtype)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@covering(shape=[(3, 5, 5), (1, 1), (2, 3, 4, 4), (40, 40), (2, 0, 0), (0, 3, 3)], dtype=TYPES)
def test_factors_and_determinants(dtype: Any, shape: tuple[int, ...]) -> None:
    x = matrices(dtype, *shape)
    # Elimination of 40 rows: some hundred rounding errors of the greatest element.
    for index_type in (tf.int32, tf.int64):
        with tf.device("/XPU:0"):
            lu, p = R.Lu(input=x, output_idx_type=index_type)
        assert p.dtype == index_type
        product = (np.tril(lu, -1) + np.eye(shape[-1], dtype=dtype)) @ np.triu(lu)
        compare.assert_same(product, np.take_along_axis(x, p.numpy()[..., None], axis=-2), ulps=512)
    if not np.iscomplexobj(
        x
    ):  # of complex numbers, LAPACK's pivots are not Eigen's: another measure
        both.check(lambda: R.Lu(input=x), ulps=512)
    both.check(lambda: R.MatrixDeterminant(input=x), ulps=512)
    both.check(lambda: R.LogMatrixDeterminant(input=x), ulps=512)


@pytest.mark.parametrize("dtype", TYPES)
def test_singular_matrices(dtype: Any) -> None:
    x = np.ones((2, 3, 3), dtype)
    with tf.device("/XPU:0"):
        np.testing.assert_array_equal(R.MatrixDeterminant(input=x), 0)
        sign, logarithm = R.LogMatrixDeterminant(input=x)
    np.testing.assert_array_equal(sign, 0)
    np.testing.assert_array_equal(np.real(logarithm), -np.inf)


@pytest.mark.parametrize("rows", [3, 31])
def test_half_precision_is_computed_in_single(rows: int) -> None:
    random = np.random.RandomState(0)
    x = (random.randn(2, rows, rows) + 2 * np.sqrt(rows) * np.eye(rows)).astype(np.float16)
    y = random.randn(2, rows, 4).astype(np.float16)
    wide, lower, sides = x.astype(np.float64), np.tril(x).astype(np.float64), y.astype(np.float64)
    symmetric = x + np.swapaxes(x, 1, 2)
    with tf.device("/XPU:0"):
        results = (
            (R.MatrixTriangularSolve(matrix=x, rhs=y), np.linalg.solve(lower, sides), 0.5),
            (R.Cholesky(input=symmetric), np.linalg.cholesky(symmetric.astype(np.float64)), 0.5),
            (R.MatrixInverse(input=x), np.linalg.inv(wide), 0.5),
            (R.MatrixSolve(matrix=x, rhs=y), np.linalg.solve(wide, sides), 0.5),
        )
    for actual, expected, units in results:
        assert actual.dtype == tf.float16
        greatest = np.max(np.abs(expected), axis=(-2, -1), keepdims=True)
        unit = np.spacing((np.abs(expected) if units < 1 else greatest).astype(np.float16)).astype(
            np.float64
        )
        error = np.abs(actual.numpy().astype(np.float64) - expected)
        # What single precision makes of well-conditioned systems comes on top.
        assert np.all(error <= units * unit + 4e-6 * greatest)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@covering(
    adjoint=[False, True],
    shape=[(3, 5, 5), (1, 1), (2, 3, 4, 4), (40, 40), (257, 257), (2, 0, 0), (0, 3, 3)],
    dtype=TYPES,
)
def test_solutions_and_inverses(dtype: Any, shape: tuple[int, ...], adjoint: bool) -> None:
    x = matrices(dtype, *shape) + np.eye(shape[-1], dtype=dtype)  # most of the rows change places
    y = matrices(dtype, *shape[:-1], 3)
    wide = x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)
    if adjoint:
        wide = np.conj(np.swapaxes(wide, -1, -2))
    with tf.device("/XPU:0"):
        results = (
            R.MatrixSolve(matrix=x, rhs=y, adjoint=adjoint),
            R.MatrixInverse(input=x, adjoint=adjoint),
        )
    # Elimination is backward stable: the error is some roundings per row, times the condition
    # number.
    condition = np.linalg.cond(wide)[..., None, None] if x.size else 1
    bound = 4 * max(shape[-1], 1) * np.finfo(dtype).eps * condition
    for actual, expected in zip(
        results, (np.linalg.solve(wide, y), np.linalg.inv(wide)), strict=True
    ):
        assert actual.dtype == dtype and actual.shape == expected.shape
        greatest = np.max(np.abs(expected), axis=(-2, -1), keepdims=True, initial=0)
        assert np.all(np.abs(actual - expected) <= bound * greatest)


def test_solutions_have_gradients_in_programs() -> None:
    x, y = matrices(np.complex64, 4, 4), matrices(np.complex64, 4, 2)

    def gradients(x: tf.Tensor, y: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = tf.linalg.solve(x, y) * tf.linalg.inv(x)[:, :2]
            total = tf.reduce_sum(tf.abs(z) ** 2)
        return tape.gradient(total, [x, y])

    with tf.device("/CPU:0"):  # where XLA has none of complex numbers
        expected = gradients(tf.constant(x), tf.constant(y))
    with tf.device("/XPU:0"):
        results = tf.function(gradients, jit_compile=True)(tf.constant(x), tf.constant(y))
    for actual, reference in zip(results, expected, strict=True):
        greatest = np.max(np.abs(reference))
        np.testing.assert_allclose(
            actual, reference, atol=512 * np.finfo(np.float32).eps * greatest
        )


@pytest.mark.parametrize("operands", [([2, 3], [2, 1]), ([2, 2], [3, 1]), ([3, 3], [3])])
def test_systems_that_do_not_fit(operands: tuple[list[int], list[int]]) -> None:
    both.check_refused(lambda: R.MatrixSolve(matrix=tf.ones(operands[0]), rhs=tf.ones(operands[1])))


def test_matrices_that_are_no_squares() -> None:
    for op in (R.Lu, R.MatrixDeterminant, R.LogMatrixDeterminant, R.MatrixInverse):
        both.check_refused(lambda op=op: op(input=tf.ones([2, 3])))
        both.check_refused(lambda op=op: op(input=tf.ones([3])))


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@covering(axis=[[0], [0, -1], [], [0, 1, 2]], keep_dims=[False, True], dtype=[*TYPES, np.float16])
def test_euclidean_norms(dtype: Any, keep_dims: bool, axis: list[int]) -> None:
    x = matrices(dtype, 3, 4, 5)
    both.check(
        lambda: R.EuclideanNorm(input=x, axis=tf.constant(axis, tf.int32), keep_dims=keep_dims)
    )


def test_euclidean_norms_of_nothing_and_of_wrong_axes() -> None:
    both.check(lambda: R.EuclideanNorm(input=tf.ones([0, 3]), axis=[0]))
    both.check_refused(lambda: R.EuclideanNorm(input=tf.ones([2, 3]), axis=[2]))
    both.check_refused(lambda: R.EuclideanNorm(input=tf.ones([2, 3]), axis=[1, -1]))


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("dtype", TYPES)
def test_gradient_of_the_reciprocal(dtype: Any) -> None:
    y = matrices(dtype, 3, 4)
    both.check(lambda: R.InvGrad(y=y, dy=y + 1))


def test_triangular_solves_of_several_threads_come_after_their_operands() -> None:
    """Two solves and their operands, submitted by two threads of TensorFlow's executor: a few of
    ten thousand once ran before the copy of their right-hand sides.
    """
    matrix = np.triu(np.random.RandomState(0).uniform(-1, 1, (2, 10, 10))) + 3 * np.eye(10)
    with tf.Graph().as_default(), tf.device("/XPU:0"):
        right = tf.compat.v1.placeholder(tf.float64, (2, 10, 10))
        first = tf.linalg.triangular_solve(matrix, right, lower=False)
        second = tf.linalg.triangular_solve(matrix, right * 2, lower=False)
        with tf.compat.v1.Session() as session:
            for i in range(1500):
                value = np.zeros((2, 10, 10))
                value[:, 9, i % 10] = i + 1
                a, b = session.run([first, second], {right: value})
                np.testing.assert_allclose(np.triu(matrix) @ a, value, atol=1e-9 * (i + 1))
                np.testing.assert_allclose(b, 2 * a, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@covering(shape=[(2, 4, 3), (1, 1), (40, 5), (3, 2, 0)], dtype=TYPES)
def test_products_with_tridiagonal_matrices(dtype: Any, shape: tuple[int, ...]) -> None:
    diagonals = [x[..., None, :] for x in matrices(dtype, 3, *shape[:-1])]
    for mode in compare.MODES:
        compare.check(lambda: R.TridiagonalMatMul(
            superdiag=diagonals[0], maindiag=diagonals[1], subdiag=diagonals[2],
            rhs=matrices(dtype, *shape)
        ), mode)  # fmt: skip


@covering(
    shape=[(2, 4, 3), (3, 4), (1, 1), (2, 1, 33, 40), (0, 3), (2, 3, 0), (0, 0), (0, 2, 2)],
    is_full=[False, True],
    dtype=[np.float16, *TYPES],
)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_singular_values_and_vectors(dtype: Any, is_full: bool, shape: tuple[int, ...]) -> None:
    x = matrices(dtype, *shape)
    rows, columns = shape[-2:]
    count = min(rows, columns)
    wide = np.complex128 if np.iscomplexobj(x) else np.float64
    # LAPACK's error bound: a few dozen rounding errors of the matrix's norm. Half precision is
    # computed in float32 and rounded once.
    tolerance = 64 * np.finfo(dtype).eps * (np.linalg.norm(x.astype(wide)) + 1)
    for mode in compare.MODES:
        values, left, right = compare.on(
            "/XPU:0", lambda: R.Svd(input=x, full_matrices=is_full), mode
        )
        alone = compare.on("/XPU:0", lambda: R.Svd(input=x, compute_uv=False), mode)[0]
        expected = np.linalg.svd(x.astype(wide), compute_uv=False)
        np.testing.assert_allclose(values.numpy().astype(wide), expected, rtol=0, atol=tolerance)
        np.testing.assert_allclose(alone.numpy().astype(wide), expected, rtol=0, atol=tolerance)
        left, right = left.numpy().astype(wide), right.numpy().astype(wide)
        assert left.shape == (*shape[:-2], rows, rows if is_full else count)
        assert right.shape == (*shape[:-2], columns, columns if is_full else count)
        product = (left[..., :count] * values.numpy()[..., None, :]) @ np.conj(
            np.swapaxes(right[..., :count], -1, -2)
        )
        np.testing.assert_allclose(product, x.astype(wide), rtol=0, atol=tolerance)
        for vectors in (left, right):
            identity = np.broadcast_to(
                np.eye(vectors.shape[-1]), (*shape[:-2], *2 * vectors.shape[-1:])
            )
            found = np.conj(np.swapaxes(vectors, -1, -2)) @ vectors
            np.testing.assert_allclose(found, identity, rtol=0, atol=64 * np.finfo(dtype).eps)


def test_singular_values_of_what_is_no_number() -> None:
    x = np.stack([np.eye(3), np.full((3, 3), np.nan)])
    with tf.device("/XPU:0"):
        values = tf.linalg.svd(x, compute_uv=False)
    np.testing.assert_allclose(values[0], 1)
    np.testing.assert_array_equal(values[1], np.nan)
