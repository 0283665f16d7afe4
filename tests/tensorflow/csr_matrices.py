"""Sparse matrices in compressed rows for tests: random ones, what they hold, functions of them on
both devices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import both
import compare
import numpy as np
import tensorflow as tf
from tensorflow.python.ops.linalg.sparse import sparse_csr_matrix_grad  # noqa: F401  (registers)
from tensorflow.python.ops.linalg.sparse import sparse_csr_matrix_ops as csr

TYPES = [np.float32, np.float64, np.complex64, np.complex128]
RANDOM = np.random.RandomState(0)


def numbers(shape: Any, dtype: Any) -> np.ndarray:
    result = RANDOM.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        result = result + 1j * RANDOM.standard_normal(shape)
    return np.asarray(result).astype(dtype)


def coordinates(shape: tuple[int, ...], share: float = 0.3) -> np.ndarray:
    """Some places of a matrix, in row-major order."""
    return np.argwhere(RANDOM.uniform(size=shape) < share).astype(np.int64).reshape(-1, len(shape))


def sparse(
    shape: tuple[int, ...],
    dtype: Any = np.float32,
    share: float = 0.3,
    indices: np.ndarray | None = None,
) -> dict[str, Any]:
    indices = coordinates(shape, share) if indices is None else indices
    return {
        "indices": indices,
        "values": numbers(len(indices), dtype),
        "dense_shape": np.array(shape, np.int64),
    }


def dense(given: dict[str, Any]) -> np.ndarray:
    result = np.zeros(given["dense_shape"], given["values"].dtype)
    result[tuple(given["indices"].T)] = given["values"]
    return result


def matrix(given: dict[str, Any]) -> tf.Tensor:
    return csr.sparse_tensor_to_csr_sparse_matrix(**given)


def parts(of: tf.Tensor, dtype: Any) -> tuple[tf.Tensor, ...]:
    """Indices, values and shape, and how many there are."""
    return (*csr.csr_sparse_matrix_to_sparse_tensor(of, type=dtype), csr.sparse_matrix_nnz(of))


def same(function: Callable[[], Any], ulps: float = 0) -> None:
    both.check(function, ulps, modes=("eager", "graph"))


def on_xpu(function: Callable[[], Any], expected: Any, ulps: float = compare.ULPS) -> None:
    """For what TensorFlow has no CPU kernel."""
    for mode in ("eager", "graph"):
        compare.assert_same(compare.on("/XPU:0", function, mode), expected, ulps)


def gradients(function: Callable[..., tf.Tensor], *values: np.ndarray) -> Any:
    """Of the sum of squares."""
    inputs = [tf.constant(value) for value in values]
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        result = function(*inputs)
        loss = tf.reduce_sum(tf.math.real(result * tf.math.conj(result)))
    return tape.gradient(loss, inputs)
