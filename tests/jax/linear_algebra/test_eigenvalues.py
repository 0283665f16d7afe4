"""Eigenvalues and Schur forms, and the reductions that they begin with."""

from __future__ import annotations

import jax
import jax.export
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
import pytest

from tests.exhaustive import covering, every
from tests.jax.linear_algebra.matrices import SIZES, TYPES
from tests.jax.linear_algebra.matrices import adjoint as _adjoint
from tests.jax.linear_algebra.matrices import matrix as _matrix
from tests.jax.linear_algebra.matrices import tolerance as _tolerance


@covering(dtype=TYPES, n=SIZES, lower=[True, False])
def test_eigh(xpu, dtype, n, lower) -> None:
    general = _matrix((2, n, n), dtype)
    triangle = np.tril(general, -1) if lower else np.triu(general, 1)
    diagonal = np.eye(n) * general.real
    full = (triangle + _adjoint(triangle) + diagonal).astype(dtype)
    decompose = jax.jit(lambda x: jax.lax.linalg.eigh(x, lower=lower, symmetrize_input=False))
    v, w = jax.tree.map(np.asarray, decompose(jax.device_put(general, xpu)))
    tolerance = _tolerance(full)
    assert (np.diff(w) >= -tolerance).all()
    np.testing.assert_allclose(v * w[:, None, :], full @ v, atol=tolerance)
    np.testing.assert_allclose(_adjoint(v) @ v, np.broadcast_to(np.eye(n), v.shape), atol=tolerance)


def test_eigh_of_equal_eigenvalues(xpu) -> None:
    a = np.diag([1.0, 1, 1, 2, 2, 1 + 1e-15])
    w, v = jax.tree.map(np.asarray, jax.jit(jnp.linalg.eigh)(jax.device_put(a, xpu)))
    np.testing.assert_allclose(w, np.sort(np.diagonal(a)), rtol=1e-14)
    np.testing.assert_allclose(v.T @ v, np.eye(6), atol=1e-14)
    assert np.isnan(jnp.linalg.eigvalsh(jax.device_put(np.full((3, 3), np.nan), xpu))).all()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", SIZES)
def test_eig_of_general_matrices(xpu, dtype, n) -> None:
    a = _matrix((3, n, n), dtype)
    w, v = jax.tree.map(np.asarray, jax.jit(jnp.linalg.eig)(jax.device_put(a, xpu)))
    np.testing.assert_allclose(a @ v, v * w[:, None, :], atol=_tolerance(a))
    values = np.asarray(jax.jit(jax.vmap(jnp.linalg.eigvals))(jax.device_put(a, xpu)))
    np.testing.assert_allclose(values.sum(-1), np.trace(a, axis1=-2, axis2=-1), atol=_tolerance(a))


@pytest.mark.parametrize("dtype", TYPES)
def test_schur(xpu, dtype) -> None:
    a = _matrix((9, 9), dtype)
    t, z = jax.tree.map(np.asarray, jax.jit(jax.scipy.linalg.schur)(jax.device_put(a, xpu)))
    np.testing.assert_allclose(z @ t @ _adjoint(z), a, atol=_tolerance(a))
    np.testing.assert_allclose(np.tril(t, -2), 0, atol=0)


def test_what_has_no_eigenvalues_is_nan_in_its_batch_alone(xpu) -> None:
    a = _matrix((3, 4, 4), "float32")
    a[1, 2, 2] = np.inf
    values = np.asarray(jnp.linalg.eigvals(jax.device_put(a, xpu)))
    assert np.isnan(values[1]).all()
    assert np.isfinite(values[[0, 2]]).all()


def test_schur_sorted_is_not_implemented(xpu) -> None:
    with pytest.raises(
        NotImplementedError, match=r"schur with sorted eigenvalues on float32\[3, 3\].*no platform"
    ):
        jax.jit(lambda x: jax.lax.linalg.schur(x, sort_eig_vals=True))(
            jax.device_put(np.eye(3, dtype=np.float32), xpu)
        )


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", every(2, [12, 1, 3, 2]))
def test_householder_reductions_are_lapacks(xpu, cpu, dtype, n) -> None:
    a = _matrix((2, n, n), dtype)
    for reduce in (
        *([jax.lax.linalg.hessenberg] if n > 1 else []),
        lambda x: jax.lax.linalg.tridiagonal(x, lower=True),
        lambda x: jax.lax.linalg.tridiagonal(x, lower=False),
    ):
        actual = jax.jit(reduce)(jax.device_put(a, xpu))
        for x, y in zip(actual, jax.jit(reduce)(jax.device_put(a, cpu)), strict=True):
            np.testing.assert_allclose(np.asarray(x), np.asarray(y), atol=_tolerance(a))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_eigh_is_exported_with_a_symbolic_batch(xpu, dtype) -> None:
    shape = jax.ShapeDtypeStruct(jax.export.symbolic_shape("b, 4, 4"), dtype)
    exported = jax.export.export(jax.jit(jnp.linalg.eigvalsh), platforms=["xpu"])(shape)
    a = _matrix((5, 4, 4), dtype)
    a = a + a.swapaxes(-1, -2)
    values = jax.export.deserialize(exported.serialize()).call(jax.device_put(a, xpu))
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a), atol=_tolerance(a))
