"""jax.experimental.sparse.linalg.spsolve: residuals, repeated elements, padding, derivatives."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.test_util
import numpy as np
from jax.experimental import sparse
from jax.experimental.sparse.linalg import spsolve

from tests.exhaustive import covering


def _system(n: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(n)
    a = np.where(random.random((n, n)) < 0.2, random.standard_normal((n, n)), 0) + 2 * np.eye(n)
    b = random.standard_normal(n)
    if np.issubdtype(np.dtype(dtype), np.complexfloating):
        a, b = a * np.exp(1j * random.random((n, n))), b + 1j * random.standard_normal(n)
    return a.astype(dtype), b.astype(dtype)


def _tolerance(a: np.ndarray) -> float:
    # Backward error of elimination with partial pivoting: some n rounding errors of the norm.
    return 20 * len(a) * float(np.finfo(a.dtype).eps) * float(np.linalg.norm(a))


@covering(dtype=["float32", "float64", "complex64", "complex128"], n=[1, 2, 17, 60])
def test_residual(xpu, n, dtype) -> None:
    a, b = _system(n, dtype)
    with jax.default_device(xpu):
        matrix = sparse.BCSR.fromdense(jnp.asarray(a))
        x = jax.jit(spsolve)(matrix.data, matrix.indices, matrix.indptr, jnp.asarray(b))
        assert x.devices() == {xpu}
    scale = max(1.0, float(np.linalg.norm(np.asarray(x))))
    np.testing.assert_allclose(a @ np.asarray(x), b, rtol=0, atol=_tolerance(a) * scale)


def test_repeated_elements_add_up_and_padding_counts_for_nothing(xpu) -> None:
    # [[3, 0], [1, 4]] with 3 = 1 + 2, and two elements behind the last row.
    with jax.default_device(xpu):
        data = jnp.array([1.0, 2, 1, 4, 9, 9])
        indices = jnp.array([0, 0, 0, 1, 0, 1])
        x = spsolve(data, indices, jnp.array([0, 2, 4]), jnp.array([6.0, 10]))
    np.testing.assert_allclose(x, [2, 2], rtol=1e-14)  # a few rounding errors


def test_rows_that_need_pivots(xpu) -> None:
    with jax.default_device(xpu):
        matrix = jnp.array([1.0, 2.0]), jnp.array([1, 0]), jnp.array([0, 1, 2])
        x = spsolve(*matrix, jnp.array([3.0, 4]))
    np.testing.assert_array_equal(x, [2, 3])


def test_derivatives(xpu) -> None:
    a, b = _system(12, "float64")
    with jax.default_device(xpu):
        matrix = sparse.BCSR.fromdense(jnp.asarray(a))
        jax.test_util.check_grads(
            lambda data, right: spsolve(data, matrix.indices, matrix.indptr, right),
            (matrix.data, jnp.asarray(b)),
            order=1,
            rtol=1e-5,  # of a central difference in double precision
        )
