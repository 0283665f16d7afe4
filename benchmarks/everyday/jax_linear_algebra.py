"""Small linear algebra in JAX, single and in batches."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np

from everyday.program import Kind, Mode, normal, positive_definite

KIND = Kind("small linear algebra", Mode.JAX_JIT)
program = KIND.program


@program(lambda: [positive_definite(1000, 8, 8)])
def matrix_square_roots(a):
    """Square roots by eigh of 1,000 matrices of 8 x 8."""
    values, vectors = jnp.linalg.eigh(a)
    return jnp.einsum("bij,bj,bkj->bik", vectors, jnp.sqrt(values), vectors)


@program(lambda: [positive_definite(64, 64)])
def eigenvalues(a):
    """Eigenvalues of a symmetric 64 x 64 matrix."""
    return jnp.linalg.eigvalsh(a)


@program(lambda: [normal(1000, 8, 4)])
def batched_qr(a):
    """QR of 1,000 matrices of 8 x 4."""
    q, r = jnp.linalg.qr(a)
    sign = jnp.sign(jnp.diagonal(r, axis1=-2, axis2=-1))
    return q * sign[:, None, :], r * sign[:, :, None]


@program(lambda: [positive_definite(1000, 6, 6)])
def batched_cholesky(a):
    """Cholesky of 1,000 matrices of 6 x 6."""
    return jnp.linalg.cholesky(a)


@program(lambda: [positive_definite(1000, 6, 6), normal(1000, 6, 1)])
def batched_solve(a, b):
    """1,000 systems of 6 unknowns."""
    return jnp.linalg.solve(a, b)


@program(lambda: [positive_definite(1000, 4, 4)])
def batched_inverse(a):
    """Inverses of 1,000 matrices of 4 x 4."""
    return jnp.linalg.inv(a)


@program(lambda: [normal(1000, 3, 3)])
def batched_determinant(a):
    """Determinants of 1,000 matrices of 3 x 3."""
    return jnp.linalg.det(a)


@program(lambda: [normal(300, 16, 16)])
def singular_values(a):
    """Singular values of 300 matrices of 16 x 16."""
    return jnp.linalg.svd(a, compute_uv=False)


@program(lambda: [positive_definite(30, 30), normal(30)])
def solve_by_cholesky(a, b):
    """cho_factor and cho_solve of one 30 x 30 system."""
    return jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(a), b)


@program(lambda: [normal(30, 30) * 0.1])
def exponential(a):
    """Expm of a 30 x 30 matrix."""
    return jax.scipy.linalg.expm(a)


@program(lambda: [normal(100, 4, 4) * 0.3])
def batched_exponential(a):
    """Expm of 100 matrices of 4 x 4."""
    return jax.vmap(jax.scipy.linalg.expm)(a)


# Through complex Schur vectors, whose rounding errors the square root of the condition multiplies.
@program(lambda: [positive_definite(30, 30)], tolerance=2e-4)
def square_root(a):
    """Sqrtm of a 30 x 30 matrix."""
    return jax.scipy.linalg.sqrtm(a)


@program(lambda: [normal(200, 10), normal(200, seed=1)])
def least_squares(a, b):
    """Lstsq with 200 equations and 10 unknowns."""
    return jnp.linalg.lstsq(a, b)[0]


@program(lambda: [normal(40, 20)])
def pseudo_inverse(a):
    """Pinv of a 40 x 20 matrix."""
    return jnp.linalg.pinv(a)


@program(lambda: [np.tril(normal(64, 64)) + 8 * np.eye(64, dtype=np.float32), normal(64, 16)])
def triangular_solve(a, b):
    """A triangular system of 64 unknowns and 16 right-hand sides."""
    return jax.scipy.linalg.solve_triangular(a, b, lower=True)


@program(lambda: [normal(200, 3), normal(200, seed=1), normal(50, 3, seed=2)])
def gaussian_process(x, y, new):
    """A Gaussian process posterior with 200 points."""

    def kernel(a, b):
        return jnp.exp(-0.5 * ((a[:, None] - b) ** 2).sum(-1))

    factor = jnp.linalg.cholesky(kernel(x, x) + 0.1 * jnp.eye(200))
    weights = jax.scipy.linalg.cho_solve((factor, True), y)
    cross = kernel(new, x)
    half = jax.scipy.linalg.solve_triangular(factor, cross.T, lower=True)
    return cross @ weights, 1 - (half**2).sum(0)


@program(lambda: [normal(100, 50, 3), normal(100, 50, 3, seed=1)])
def rigid_alignment(a, b):
    """Kabsch alignment of 100 pairs of point sets by 3 x 3 SVDs."""

    def align(a, b):
        a, b = a - a.mean(0), b - b.mean(0)
        u, _, vt = jnp.linalg.svd(a.T @ b)
        flip = jnp.sign(jnp.linalg.det(u @ vt))
        return a @ (u * jnp.array([1.0, 1.0, flip])) @ vt

    return jax.vmap(align)(a, b)


@program(lambda: [normal(10_000, 3, 3), normal(10_000, 3, 3, seed=1), normal(10_000, 3)])
def batched_rotations(a, b, v):
    """Products of 10,000 matrices of 3 x 3 with matrices and vectors."""
    return (a @ b @ v[..., None])[..., 0]


@program(lambda: [normal(500, 20)])
def principal_components(x):
    """Projection to two principal components, 500 x 20."""
    centred = x - x.mean(0)
    values, vectors = jnp.linalg.eigh(centred.T @ centred / len(x))
    top = vectors[:, -2:]
    return values, centred @ top @ top.T


@program(lambda: [positive_definite(50, 50), normal(50)])
def conjugate_gradient(a, b):
    """Conjugate gradients for 50 unknowns."""
    return jax.scipy.sparse.linalg.cg(lambda v: a @ v, b, maxiter=50)[0]
