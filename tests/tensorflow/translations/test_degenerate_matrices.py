"""Decompositions of rank-deficient matrices, and of ones whose squares under- or overflow."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import every

TYPES = every(3, [np.float32, np.float64, np.complex128, np.complex64])


def degenerate(shape: tuple[int, int], dtype: type) -> dict[str, np.ndarray]:
    random = np.random.default_rng(shape[-1])
    a = random.standard_normal(shape) + 1j * random.standard_normal(shape)
    a = (a if np.issubdtype(dtype, np.complexfloating) else a.real).astype(dtype)
    by_name = {name: a.copy() for name in ("zero column", "zero row", "equal columns")}
    by_name["zero column"][:, shape[1] // 2] = 0
    by_name["zero row"][0] = 0
    by_name["equal columns"][:, -1] = a[:, 0]
    return by_name | {
        "zero": a * 0,
        "large": (a * 1e25).astype(dtype),
        "small": (a * 1e-25).astype(dtype),
    }


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", every(2, [(6, 3), (3, 6), (4, 4), (13, 13)]))
def test_factors(shape: tuple[int, int], dtype: type) -> None:
    rows, columns = shape
    least = min(shape)
    # Backward error of a stable algorithm: a small multiple of n rounding errors of the norm.
    tolerance = 50 * max(shape) * float(np.finfo(dtype).eps)
    for name, a in degenerate(shape, dtype).items():
        scale = float(np.abs(a).max()) or 1.0
        with tf.device("/XPU:0"):
            x = tf.constant(a)
            factors = [tf.linalg.svd(x, full_matrices=full) for full in (True, False)]
            q, r = (t.numpy() for t in tf.linalg.qr(x, full_matrices=True))
        for s, u, v in ((t.numpy() for t in each) for each in factors):
            assert (s >= 0).all() and (np.diff(s) <= 0).all(), name
            rebuilt = (u[:, :least] * (s / scale)) @ v[:, :least].conj().T
            np.testing.assert_allclose(rebuilt, a / scale, atol=tolerance, err_msg=name)
            for vectors in (u, v):
                np.testing.assert_allclose(
                    vectors.conj().T @ vectors,
                    np.eye(vectors.shape[1]),
                    atol=tolerance,
                    err_msg=name,
                )
        np.testing.assert_allclose(q @ (r / scale), a / scale, atol=tolerance, err_msg=name)
        np.testing.assert_allclose(q.conj().T @ q, np.eye(rows), atol=tolerance, err_msg=name)
        if rows != columns:
            continue
        half = (a / 2 + a.conj().T / 2).astype(dtype)
        with tf.device("/XPU:0"):
            values, vectors = (t.numpy() for t in tf.linalg.eigh(tf.constant(half)))
        np.testing.assert_allclose(
            (vectors * (values / scale)) @ vectors.conj().T,
            half / scale,
            atol=tolerance,
            err_msg=name,
        )
        np.testing.assert_allclose(
            vectors.conj().T @ vectors, np.eye(rows), atol=tolerance, err_msg=name
        )


@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (4, 4)])
def test_rank_inverse_and_least_squares(shape: tuple[int, int]) -> None:
    for name, a in degenerate(shape, np.float32).items():
        if name in ("large", "small"):
            continue  # squares of norms are in the definitions themselves
        with tf.device("/XPU:0"):
            x = tf.constant(a)
            rank, inverse = tf.linalg.matrix_rank(x).numpy(), tf.linalg.pinv(x).numpy()
        assert rank == np.linalg.matrix_rank(a), name
        expected = np.linalg.pinv(
            a.astype(np.float64), rcond=10 * max(shape) * np.finfo(np.float32).eps
        )
        # The error of an inverse: the square of the condition.
        tolerance = 1e-5 * max(1.0, float(np.linalg.norm(expected))) ** 2
        np.testing.assert_allclose(inverse, expected, atol=tolerance, err_msg=name)
