"""Tridiagonal systems, with pivoting and without, against dense solutions in double precision."""

from __future__ import annotations

from typing import Any

import both
import numpy as np
import pytest
import tensorflow as tf

R = tf.raw_ops
TYPES = [np.float32, np.float64, np.complex64, np.complex128]


def dense(diagonals: np.ndarray) -> np.ndarray:
    rows = diagonals.shape[-1]
    matrix = np.zeros((*diagonals.shape[:-2], rows, rows), diagonals.dtype)
    for i in range(rows):
        matrix[..., i, i] = diagonals[..., 1, i]
        if i > 0:
            matrix[..., i, i - 1] = diagonals[..., 2, i]
            matrix[..., i - 1, i] = diagonals[..., 0, i - 1]
    return matrix


def random(dtype: Any, *shape: int) -> np.ndarray:
    values = np.random.RandomState(len(shape) + shape[-1])
    numbers = values.uniform(-1, 1, shape)
    if np.issubdtype(dtype, np.complexfloating):
        numbers = numbers + 1j * values.uniform(-1, 1, shape)
    return numbers.astype(dtype)


def solve(
    diagonals: np.ndarray, right: np.ndarray, mode: str = "eager", **options: Any
) -> np.ndarray:
    def function(diagonals: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
        return R.TridiagonalSolve(diagonals=diagonals, rhs=right, **options)

    if mode != "eager":
        function = tf.function(function, jit_compile=mode == "jit")
    with tf.device("/XPU:0"):
        return function(tf.constant(diagonals), tf.constant(right)).numpy()


def check(diagonals: np.ndarray, right: np.ndarray, **options: Any) -> None:
    """The residual, against the size of what it is the difference of, is some units of the type's
    last place: that is what elimination with pivoting gives (Higham, Accuracy and Stability of
    Numerical Algorithms, section 9.6).
    """
    x = solve(diagonals, right, **options)
    assert x.dtype == right.dtype
    wide = np.complex128 if np.iscomplexobj(x) else np.float64
    matrix, x, right = dense(diagonals.astype(wide)), x.astype(wide), right.astype(wide)
    scale = np.abs(matrix) @ np.abs(x) + np.abs(right)
    assert (
        np.abs(matrix @ x - right)
        <= 40 * np.finfo(diagonals.dtype).eps * scale.max(-2, keepdims=True)
    ).all()


@pytest.mark.parametrize("mode", ["eager", "graph", "jit"])
@pytest.mark.parametrize("dtype", TYPES)
def test_types_and_modes(dtype: Any, mode: str) -> None:
    check(random(dtype, 4, 3, 17), random(dtype, 4, 17, 5), mode=mode)


@pytest.mark.parametrize("rows", [1, 2, 3, 8, 1000])
@pytest.mark.parametrize("columns", [1, 3, 64])
def test_sizes(rows: int, columns: int) -> None:
    check(random(np.float32, 3, rows), random(np.float32, rows, columns))
    check(random(np.float32, 2, 5, 3, rows), random(np.float32, 2, 5, rows, columns))


@pytest.mark.parametrize("dtype", TYPES)
def test_without_pivoting(dtype: Any) -> None:
    diagonals = random(dtype, 6, 3, 20)
    diagonals[..., 1, :] += 3  # the main diagonal dominates: none is needed
    check(diagonals, random(dtype, 6, 20, 3), partial_pivoting=False)


def test_zeros_on_the_main_diagonal_want_pivots() -> None:
    diagonals = np.array([[1, 2, 3, 0], [0, 0, 0, 1], [0, 4, 5, 6]], np.float32)
    check(diagonals, random(np.float32, 4, 2))


def test_unused_elements_count_for_nothing() -> None:
    diagonals, right = random(np.float64, 3, 9), random(np.float64, 9, 2)
    expected = solve(diagonals, right)
    diagonals[0, -1] = diagonals[2, 0] = np.nan
    np.testing.assert_array_equal(solve(diagonals, right), expected)


def test_a_singular_matrix_gives_nothing_finite() -> None:
    x = solve(np.array([[1, 0], [1, 1], [0, 1]], np.float32), np.array([[1], [2]], np.float32))
    assert not np.isfinite(x).all()


@pytest.mark.parametrize("shapes", [((3, 0), (0, 4)), ((3, 5), (5, 0)), ((0, 3, 5), (0, 5, 2))])
def test_nothing(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    assert (
        solve(np.zeros(shapes[0], np.float32), np.zeros(shapes[1], np.float32)).shape == shapes[1]
    )


def test_gradients() -> None:
    diagonals, right = random(np.float64, 2, 3, 6), random(np.float64, 2, 6, 3)

    def gradients() -> Any:
        d, r = tf.constant(diagonals), tf.constant(right)
        with tf.GradientTape() as tape:
            tape.watch([d, r])
            loss = tf.reduce_sum(tf.linalg.tridiagonal_solve(d, r, diagonals_format="compact") ** 2)
        return tape.gradient(loss, [d, r])

    with tf.device("/CPU:0"):
        expected = gradients()
    with tf.device("/XPU:0"):
        actual = gradients()
    for a, b in zip(actual, expected, strict=True):
        # Two solutions and a product of them, whose conditions multiply.
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * np.abs(b).max())


def test_refused() -> None:
    one = np.ones
    for diagonals, right in [
        (one((2, 5)), one((5, 2))),
        (one((3, 5)), one((4, 2))),
        (one((3, 5)), one((1, 5, 2))),
        (one((2, 3, 5)), one((3, 5, 2))),
        (one(3), one(3)),
    ]:
        both.check_refused(lambda d=diagonals, r=right: R.TridiagonalSolve(diagonals=d, rhs=r))
    with tf.device("/XPU:0"), pytest.raises(tf.errors.UnimplementedError, match="perturb_singular"):
        R.TridiagonalSolve(diagonals=one((3, 5)), rhs=one((5, 2)), perturb_singular=True)
