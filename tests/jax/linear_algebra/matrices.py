"""Matrices of the tests of decompositions, and what may be off."""

from __future__ import annotations

import numpy as np

from tests.exhaustive import every

TYPES = every(3, ["float32", "float64", "complex64", "complex128"])
SIZES = [1, 2, 7, 17, 50]


def matrix(shape, dtype) -> np.ndarray:
    random = np.random.default_rng(shape[-1])
    values = random.standard_normal(shape)
    if np.issubdtype(np.dtype(dtype), np.complexfloating):
        values = values + 1j * random.standard_normal(shape)
    return values.astype(dtype)


def tolerance(matrix: np.ndarray) -> float:
    # Backward error of a stable algorithm: a small multiple of n rounding errors of the norm.
    n = matrix.shape[-1]
    return (
        20
        * n
        * float(np.finfo(matrix.dtype).eps)
        * max(1.0, float(np.linalg.norm(matrix[..., :, :], ord=None)))
    )


def adjoint(x: np.ndarray) -> np.ndarray:
    return np.swapaxes(x.conj(), -1, -2)
