"""Decompositions of rank-deficient matrices, and of ones whose squares under- or overflow."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.exhaustive import every

TYPES = every(3, ["float32", "float64", "complex128", "complex64"])


def _matrix(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    random = np.random.default_rng(shape[-1])
    values = random.standard_normal(shape)
    if np.issubdtype(np.dtype(dtype), np.complexfloating):
        values = values + 1j * random.standard_normal(shape)
    return values.astype(dtype)


def _tolerance(matrix: np.ndarray) -> float:
    # Backward error of a stable algorithm: a small multiple of n rounding errors of the norm.
    return (
        20
        * matrix.shape[-1]
        * float(np.finfo(matrix.dtype).eps)
        * max(1.0, float(np.linalg.norm(matrix)))
    )


def _adjoint(x: np.ndarray) -> np.ndarray:
    return np.swapaxes(x.conj(), -1, -2)


def _degenerate(shape: tuple[int, ...], dtype: str) -> dict[str, np.ndarray]:
    """Returns rank-deficient matrices, and ones whose squares underflow or overflow."""
    a = _matrix(shape, dtype)
    rows, columns = shape
    by_name = {
        name: a.copy()
        for name in (
            "zero column",
            "zero columns",
            "zero row",
            "zero rows and columns",
            "equal columns",
        )
    }
    by_name["zero column"][:, columns // 2] = 0
    by_name["zero columns"][:, ::2] = 0
    by_name["zero row"][rows // 2] = 0
    by_name["zero rows and columns"][[0, -1]] = 0
    by_name["zero rows and columns"][:, 0] = 0
    by_name["equal columns"][:, -1] = a[:, 0]
    corner = np.zeros(shape, dtype)
    corner[-1, -1] = 2
    exponent = np.finfo(dtype).maxexp * 3 // 4
    return by_name | {
        "zero": np.zeros(shape, dtype),
        "rank one": np.outer(a[:, 0], a[0]).astype(dtype),
        "ones": np.ones(shape, dtype),
        "one element": corner,
        "identity": np.eye(rows, columns, dtype=dtype),
        "large": a * np.finfo(dtype).dtype.type(2.0**exponent),
        "small": a * np.finfo(dtype).dtype.type(2.0**-exponent),
    }


def _relative_tolerance(a: np.ndarray) -> tuple[float, float]:
    """Returns a power of two near the elements, and the tolerance of the matrix over it."""
    norm = float(np.abs(a).max())
    scale = 2.0 ** np.floor(np.log2(norm)) if norm > 0 else 1.0
    return scale, _tolerance((a / scale).astype(a.dtype))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "shape", every(2, [(6, 3), (3, 6), (4, 4), (1, 3), (3, 1), (20, 20), (40, 13)])
)
def test_svd(xpu, dtype, shape) -> None:
    for full_matrices in (True, False):
        decompose = jax.jit(lambda x, full=full_matrices: jnp.linalg.svd(x, full_matrices=full))
        for name, a in _degenerate(shape, dtype).items():
            u, s, vh = jax.tree.map(np.asarray, decompose(jax.device_put(a, xpu)))
            scale, tolerance = _relative_tolerance(a)
            least = min(shape)
            assert (s >= 0).all() and (np.diff(s) <= 0).all(), name
            np.testing.assert_allclose(
                (u[:, :least] * (s / scale)) @ vh[:least], a / scale, atol=tolerance, err_msg=name
            )
            for x in (u, _adjoint(vh)):
                np.testing.assert_allclose(
                    _adjoint(x) @ x, np.eye(x.shape[1]), atol=tolerance, err_msg=name
                )
    values = jax.jit(lambda x: jnp.linalg.svd(x, compute_uv=False))
    for name, a in _degenerate(shape, dtype).items():
        scale, tolerance = _relative_tolerance(a)
        expected = np.linalg.svd(a / scale, compute_uv=False)
        np.testing.assert_allclose(
            np.asarray(values(jax.device_put(a, xpu))) / scale,
            expected,
            atol=tolerance,
            err_msg=name,
        )


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", every(2, [(3, 3), (4, 2), (2, 4), (1, 1), (8, 20), (20, 12)]))
@pytest.mark.parametrize("mode", every(2, ["reduced", "complete"]))
def test_qr(xpu, dtype, shape, mode) -> None:
    decompose = jax.jit(lambda x: jnp.linalg.qr(x, mode=mode))
    for name, a in _degenerate(shape, dtype).items():
        q, r = jax.tree.map(np.asarray, decompose(jax.device_put(a, xpu)))
        scale, tolerance = _relative_tolerance(a)
        np.testing.assert_allclose(q @ (r / scale), a / scale, atol=tolerance, err_msg=name)
        np.testing.assert_allclose(
            _adjoint(q) @ q, np.eye(q.shape[1]), atol=tolerance, err_msg=name
        )


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", every(2, [1, 2, 4, 13, 5]))
def test_eigh(xpu, dtype, n) -> None:
    for lower in (True, False):
        decompose = jax.jit(
            lambda x, lower=lower: jax.lax.linalg.eigh(x, lower=lower, symmetrize_input=False)
        )
        for name, a in _degenerate((n, n), dtype).items():
            full = (a / 2 + _adjoint(a) / 2).astype(dtype)
            # What is not read may be anything.
            read = np.where(
                np.tri(n, dtype=bool) if lower else np.tri(n, dtype=bool).T, full, 3e30
            ).astype(dtype)
            v, w = jax.tree.map(np.asarray, decompose(jax.device_put(read, xpu)))
            scale, tolerance = _relative_tolerance(full)
            assert (np.diff(w) >= 0).all(), name
            np.testing.assert_allclose(
                (v * (w / scale)) @ _adjoint(v), full / scale, atol=tolerance, err_msg=name
            )
            np.testing.assert_allclose(_adjoint(v) @ v, np.eye(n), atol=tolerance, err_msg=name)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_rank_inverse_and_least_squares(xpu, dtype) -> None:
    for shape in ((6, 3), (3, 6), (5, 5)):
        rank, inverse = jax.jit(jnp.linalg.matrix_rank), jax.jit(jnp.linalg.pinv)
        solve = jax.jit(lambda a, b: jnp.linalg.lstsq(a, b)[0])
        for name, a in _degenerate(shape, dtype).items():
            if name in ("large", "small"):
                continue  # squares of norms are in the definitions themselves
            x = jax.device_put(a, xpu)
            assert int(rank(x)) == np.linalg.matrix_rank(a), name
            expected = np.linalg.pinv(
                a.astype(np.complex128), rcond=10 * max(shape) * np.finfo(dtype).eps
            )
            tolerance = (
                100 * _tolerance(a) * max(1.0, float(np.linalg.norm(expected)) ** 2)
            )  # the condition's square
            np.testing.assert_allclose(
                np.asarray(inverse(x)), expected, atol=tolerance, err_msg=name
            )
            b = _matrix((shape[0], 2), dtype)
            np.testing.assert_allclose(
                np.asarray(solve(x, jax.device_put(b, xpu))),
                expected @ b,
                atol=10 * tolerance,
                err_msg=name,
            )


@pytest.mark.parametrize("dtype", every(2, ["float32", "float64", "complex64"]))
@pytest.mark.parametrize("n", [8, 40])
def test_eigh_of_blocks_that_are_weakly_coupled(xpu, dtype, n) -> None:
    """The squares of the couplings underflow; the other block is zero."""
    random, decompose = np.random.default_rng(0), jax.jit(jnp.linalg.eigh)
    for exponent in range(-26, -16):
        block, coupling = random.standard_normal((2, n, n))
        a = np.zeros((n, n), dtype)
        size = n // 3
        a[:size, :size] = (block @ block.T)[:size, :size]
        a[size:, :size] = coupling[size:, :size] * 10.0**exponent
        a[:size, size:] = a[size:, :size].T
        w, v = jax.tree.map(np.asarray, decompose(jax.device_put(a, xpu)))
        np.testing.assert_allclose(
            w, np.linalg.eigvalsh(a), atol=_tolerance(a), err_msg=str(exponent)
        )
        np.testing.assert_allclose(
            (v * w) @ _adjoint(v), a, atol=_tolerance(a), err_msg=str(exponent)
        )
        np.testing.assert_allclose(
            _adjoint(v) @ v, np.eye(n), atol=_tolerance(a), err_msg=str(exponent)
        )


@pytest.mark.parametrize("dtype", TYPES)
def test_qr_of_columns_of_different_sizes(xpu, dtype) -> None:
    a = _matrix((6, 6), dtype) * np.array([1, 1e-22, 1e22, 0, 1e-30, 1e-19], np.finfo(dtype).dtype)
    q, r = jax.tree.map(np.asarray, jax.jit(jnp.linalg.qr)(jax.device_put(a, xpu)))
    np.testing.assert_allclose(_adjoint(q) @ q, np.eye(6), atol=_tolerance(q))
    norms = np.linalg.norm(a.astype(np.complex128), axis=0)
    norms[norms == 0] = 1
    np.testing.assert_allclose((q @ r) / norms, a / norms, atol=_tolerance(q))


@pytest.mark.parametrize(("n", "rank"), [(8, 3), (8, 7), (10, 9)])
def test_svd_by_polar_decomposition_with_zero_columns(xpu, n, rank) -> None:
    a = np.random.RandomState(1235).randn(n, n).astype(np.float32)
    a[:, rank:] = 0
    algorithm = jax.lax.linalg.SvdAlgorithm.POLAR
    u, s, vh = jax.tree.map(
        np.asarray, jax.lax.linalg.svd(jax.device_put(a, xpu), algorithm=algorithm)
    )
    np.testing.assert_allclose(s, np.linalg.svd(a, compute_uv=False), atol=_tolerance(a))
    np.testing.assert_allclose((u * s) @ vh, a, atol=_tolerance(a))
    for x in (u, vh):
        np.testing.assert_allclose(_adjoint(x) @ x, np.eye(n), atol=_tolerance(x))
