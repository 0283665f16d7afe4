"""Decompositions by what defines them: residuals, orthogonality, failure values."""

from __future__ import annotations

import concurrent.futures
import functools
import itertools

import jax
import jax.export
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
import pytest

from tests.exhaustive import covering
from tests.jax.linear_algebra.matrices import TYPES
from tests.jax.linear_algebra.matrices import adjoint as _adjoint
from tests.jax.linear_algebra.matrices import matrix as _matrix
from tests.jax.linear_algebra.matrices import tolerance as _tolerance


@covering(dtype=TYPES, shape=[(5, 5), (17, 6), (6, 17), (2, 30, 30)])
def test_svd_and_qr(xpu, dtype, shape) -> None:
    a = _matrix(shape, dtype)
    u, s, v = jax.tree.map(
        np.asarray,
        jax.jit(lambda x: jnp.linalg.svd(x, full_matrices=False))(jax.device_put(a, xpu)),
    )
    tolerance = 10 * _tolerance(a)  # through the polar decomposition and eigh: two iterations more
    np.testing.assert_allclose((u * s[..., None, :]) @ v, a, atol=tolerance)
    np.testing.assert_allclose(s, np.linalg.svd(a, compute_uv=False), atol=tolerance)
    q, r = jax.tree.map(np.asarray, jax.jit(jnp.linalg.qr)(jax.device_put(a, xpu)))
    np.testing.assert_allclose(q @ r, a, atol=_tolerance(a))
    np.testing.assert_allclose(
        _adjoint(q) @ q,
        np.broadcast_to(np.eye(q.shape[-1]), q.shape[:-2] + (q.shape[-1],) * 2),
        atol=_tolerance(a),
    )


@covering(dtype=TYPES, shape=[(1, 1), (4, 9), (9, 4), (30, 30)])
def test_qr_with_pivoting(xpu, cpu, dtype, shape) -> None:
    a = _matrix(shape, dtype)
    q, r, p = jax.tree.map(
        np.asarray, jax.scipy.linalg.qr(jax.device_put(a, xpu), mode="economic", pivoting=True)
    )
    np.testing.assert_allclose(q @ r, a[:, p], atol=_tolerance(a))
    assert (np.diff(np.abs(np.diagonal(r))) <= _tolerance(a)).all()
    np.testing.assert_array_equal(
        p, jax.scipy.linalg.qr(jax.device_put(a, cpu), mode="economic", pivoting=True)[2]
    )


@covering(dtype=TYPES, n=[1, 2, 3, 40])
def test_tridiagonal_solve_pivots(xpu, dtype, n) -> None:
    lower, diagonal, upper = (_matrix((2, n), dtype) for _ in range(3))
    diagonal[:, ::3] = 0 if n > 2 else 1
    upper = upper + 2
    b = _matrix((2, n, 3), dtype)
    solve = jax.jit(jax.lax.linalg.tridiagonal_solve)
    x = np.asarray(solve(*(jax.device_put(v, xpu) for v in (lower, diagonal, upper, b))))
    for i in range(2):
        full = np.diag(diagonal[i]) + np.diag(lower[i, 1:], -1) + np.diag(upper[i, :-1], 1)
        # Backward stable: a few rounding errors of the right-hand side, times the inverse's norm.
        bound = np.abs(np.linalg.inv(full)).sum() * 50 * np.finfo(dtype).eps * np.abs(b).max()
        np.testing.assert_allclose(x[i], np.linalg.solve(full, b[i]), rtol=0, atol=bound)


@pytest.mark.skipif(
    jax.__version_info__ < (0, 10), reason="JAX has perturb_singular from 0.10.0 on"
)
def test_tridiagonal_solve_of_singular_matrices(xpu) -> None:
    zeros = jax.device_put(np.zeros(5, np.float32), xpu)
    b = jax.device_put(np.ones((5, 1), np.float32), xpu)
    assert not np.isfinite(jax.lax.linalg.tridiagonal_solve(zeros, zeros, zeros, b)).any()
    assert np.isfinite(
        jax.lax.linalg.tridiagonal_solve(zeros, zeros, zeros, b, perturb_singular=True)
    ).all()


def test_strict_promotion_reaches_no_rule_of_ours(xpu) -> None:
    with jax.numpy_dtype_promotion("strict"):
        for dtype in ("complex64", "complex128"):
            a = jax.device_put(_matrix((4, 4), dtype), xpu)
            for function in (
                jax.lax.linalg.eigh,
                jax.lax.linalg.hessenberg,
                jax.lax.linalg.tridiagonal,
                lambda a: jax.scipy.linalg.qr(a, pivoting=True),
                jax.lax.linalg.eig,
            ):
                jax.jit(function).lower(a)  # promotion happens in the lowering rules


def _positive(shape, dtype) -> np.ndarray:
    a = _matrix(shape, dtype)
    n = shape[-1]
    return (a @ _adjoint(a) + n * np.eye(n)).astype(dtype)


@covering(
    dtype=TYPES,
    shape=[
        (1, 1),
        (7, 7),
        (33, 33),
        (130, 130),
        (3, 40, 40),
        (2, 0, 3, 3),
        (2, 3, 17, 17),
        (0, 0),
        (500, 4, 4),
    ],
)
def test_cholesky(xpu, dtype, shape) -> None:
    a = _positive(shape, dtype)
    factor = np.asarray(jax.jit(jax.lax.linalg.cholesky)(jax.device_put(a, xpu)))
    np.testing.assert_allclose(factor @ _adjoint(factor), a, atol=_tolerance(a))
    np.testing.assert_array_equal(np.triu(factor, 1), 0)
    upper = np.asarray(
        jax.jit(lambda x: jax.scipy.linalg.cholesky(x.swapaxes(-1, -2).conj()))(
            jax.device_put(a, xpu)
        )
    )
    np.testing.assert_allclose(_adjoint(upper) @ upper, a, atol=_tolerance(a))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [2, 30])
def test_cholesky_of_what_is_not_positive_definite_is_nan(xpu, cpu, dtype, n) -> None:
    a = _positive((5, n, n), dtype)
    a[1, n - 1, n - 1] = -1
    a[2] = 1  # singular
    a[3, n - 1, 0] = np.nan
    factor = jax.jit(jax.lax.linalg.cholesky)
    actual = np.asarray(factor(jax.device_put(a, xpu)))
    lower = np.tril(np.ones((n, n), bool))
    assert np.isnan(actual[1:4][:, lower]).all()
    assert np.isfinite(actual[[0, 4]]).all()
    # JAX's CPU backend lets NaN in the operand spread as it will; the rest agrees.
    told = [0, 1, 2, 4]
    np.testing.assert_array_equal(
        np.isnan(actual)[told], np.isnan(factor(jax.device_put(a, cpu)))[told]
    )


@covering(
    dtype=TYPES,
    # The side, whether the triangle is the lower one, and what is solved with.
    form=list(itertools.product([True, False], [True, False], ["none", "transpose", "adjoint"])),
    size=[((), 5, 3), ((), 65, 1), ((2, 2), 20, 7)],
)
def test_triangular_solve(xpu, dtype, form, size) -> None:
    left_side, lower, transpose = form
    batch, n, k = size
    a = _matrix((*batch, n, n), dtype) / n + 2 * np.eye(n, dtype=dtype)
    b = _matrix((*batch, n, k) if left_side else (*batch, k, n), dtype)
    op = {"none": lambda x: x, "transpose": lambda x: np.swapaxes(x, -1, -2), "adjoint": _adjoint}[
        transpose
    ]
    for unit_diagonal in (False, True):
        solve = jax.jit(
            functools.partial(
                jax.lax.linalg.triangular_solve,
                left_side=left_side,
                lower=lower,
                transpose_a=transpose != "none",
                conjugate_a=transpose == "adjoint",
                unit_diagonal=unit_diagonal,
            )
        )
        x = np.asarray(solve(jax.device_put(a, xpu), jax.device_put(b, xpu)))
        triangle = np.tril(a) if lower else np.triu(a)
        if unit_diagonal:
            triangle = triangle - triangle * np.eye(n, dtype=dtype) + np.eye(n, dtype=dtype)
        product = op(triangle) @ x if left_side else x @ op(triangle)
        # Backward stable, with well-conditioned matrices.
        np.testing.assert_allclose(product, b, atol=_tolerance(a) + _tolerance(b))


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_triangular_solves_of_transposed_arrays(xpu, dtype) -> None:
    a = _matrix((40, 40), dtype) / 40 + 2 * np.eye(40, dtype=dtype)
    b = _matrix((40, 24), dtype)
    solve = jax.scipy.linalg.solve_triangular
    for trans in (0, 1, 2):
        for of_a in (lambda x: x, lambda x: x.T):

            def transposed(a, b, of_a=of_a, trans=trans):
                return solve(of_a(a), b.T.T, trans=trans, lower=True).T

            got = jax.jit(transposed)(jax.device_put(a, xpu), jax.device_put(b, xpu))
            lower = np.tril(of_a(a))
            op = {0: lower, 1: lower.T, 2: lower.conj().T}[trans]
            np.testing.assert_allclose(
                op @ np.asarray(got).T, b, atol=_tolerance(a) + _tolerance(b)
            )


def test_triangular_solve_of_a_singular_matrix(xpu, cpu) -> None:
    a = np.tril(_matrix((20, 20), "float32"))
    a[10, 10] = 0
    b = _matrix((20, 2), "float32")
    solve = jax.jit(lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True))
    actual = np.asarray(solve(jax.device_put(a, xpu), jax.device_put(b, xpu)))
    expected = np.asarray(solve(jax.device_put(a, cpu), jax.device_put(b, cpu)))
    np.testing.assert_array_equal(np.isfinite(actual), np.isfinite(expected))
    a[10, 10] = np.nan
    actual = np.asarray(solve(jax.device_put(a, xpu), jax.device_put(b, xpu)))
    np.testing.assert_array_equal(np.isnan(actual).any(-1), np.arange(20) >= 10)


def test_solves_under_transformations(xpu, cpu) -> None:
    a, b = _positive((4, 24, 24), "float64"), _matrix((4, 24), "float64")

    def likelihood(a, b):
        factor = jnp.linalg.cholesky(a)
        return jnp.sum(jax.scipy.linalg.solve_triangular(factor, b, lower=True) ** 2) + jnp.sum(
            jnp.log(jnp.diagonal(factor))
        )

    def repeated(a, b):
        def step(x, _):
            return jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(a, lower=True), x), None

        return jax.lax.scan(step, b, length=4)[0]

    for function in (
        jax.vmap(jax.grad(likelihood, (0, 1))),
        jax.vmap(repeated),
        lambda a, b: jax.hessian(likelihood, 1)(a[0], b[0]),
    ):
        for x, y in zip(
            jax.tree.leaves(jax.jit(function)(jax.device_put(a, xpu), jax.device_put(b, xpu))),
            jax.tree.leaves(jax.jit(function)(jax.device_put(a, cpu), jax.device_put(b, cpu))),
            strict=True,
        ):
            # A few solves with matrices whose condition is below 100.
            np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-10, atol=1e-12)


def test_factorisations_on_several_threads(xpu) -> None:
    factor = jax.jit(lambda a: jnp.linalg.cholesky(a * 2))
    inputs = [_positive((2, 50, 50), "float32") * (i + 1) for i in range(8)]
    inputs[3][1, 0, 0] = -1

    def run(a):
        return np.asarray(factor(jax.device_put(a, xpu)))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for i, (a, lower) in enumerate(zip(inputs, pool.map(run, inputs), strict=True)):
            assert np.isnan(lower[1]).any() == (i == 3)
            np.testing.assert_allclose(lower[0] @ lower[0].T, 2 * a[0], atol=_tolerance(a))


@covering(
    dtype=TYPES,
    shape=[
        (1, 1),
        (6, 6),
        (64, 64),
        (40, 17),
        (17, 40),
        (3, 20, 20),
        (2, 3, 5, 4),
        (0, 4, 4),
        (3, 0),
        (0, 3),
    ],
)
def test_lu(xpu, cpu, dtype, shape) -> None:
    a = _matrix(shape, dtype)
    factor = jax.jit(jax.lax.linalg.lu)
    lu, pivots, permutation = jax.tree.map(np.asarray, factor(jax.device_put(a, xpu)))
    expected = jax.tree.map(np.asarray, factor(jax.device_put(a, cpu)))
    np.testing.assert_array_equal(pivots, expected[1])
    np.testing.assert_array_equal(permutation, expected[2])
    rows, columns = shape[-2:]
    least = min(rows, columns)
    lower = np.tril(lu[..., :, :least], -1) + np.eye(rows, least, dtype=dtype)
    upper = np.triu(lu[..., :least, :])
    np.testing.assert_allclose(
        lower @ upper, np.take_along_axis(a, permutation[..., None], -2), atol=_tolerance(a)
    )


@pytest.mark.parametrize("dtype", TYPES)
def test_lu_of_singular_matrices(xpu, cpu, dtype) -> None:
    a = _matrix((4, 12, 12), dtype)
    a[1, :, 5] = a[1, :, 4]
    a[2] = 0
    a[3, 3, 3] = np.nan
    lu, pivots, permutation = jax.tree.map(
        np.asarray, jax.jit(jax.lax.linalg.lu)(jax.device_put(a, xpu))
    )
    np.testing.assert_array_equal(np.sort(permutation), np.broadcast_to(np.arange(12), (4, 12)))
    assert np.isfinite(lu[:3]).all()
    assert np.isnan(lu[3]).any()
    assert ((pivots >= 0) & (pivots < 12)).all()
    assert jnp.linalg.det(jax.device_put(a[2], xpu)) == 0


def test_solve_inverse_and_determinant(xpu, cpu) -> None:
    a, b = _matrix((5, 30, 30), "float64"), _matrix((5, 30, 2), "float64")

    def function(a, b):
        sign, logarithm = jnp.linalg.slogdet(a)
        return jnp.linalg.solve(a, b), jnp.linalg.inv(a), sign, logarithm

    def gradient(a, b):
        return jax.grad(
            lambda a, b: jnp.sum(jnp.linalg.solve(a, b) ** 2) + jnp.sum(jnp.linalg.slogdet(a)[1]),
            (0, 1),
        )(a, b)

    for f in (
        function,
        gradient,
        jax.vmap(function),
        lambda a, b: jax.lax.map(lambda operands: function(*operands), (a, b)),
    ):
        actual = jax.jit(f)(jax.device_put(a, xpu), jax.device_put(b, xpu))
        expected = jax.jit(f)(jax.device_put(a, cpu), jax.device_put(b, cpu))
        for x, y in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
            # Matrices of normal numbers: conditions up to some 10^4, squared by the gradient.
            np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-6, atol=1e-7)


@covering(
    dtype=TYPES,
    shape=[(1, 1), (3, 3), (60, 60), (90, 20), (20, 90), (4, 30, 12), (0, 5, 5), (3, 0)],
    mode=["reduced", "complete"],
)
def test_qr_in_every_mode(xpu, dtype, shape, mode) -> None:
    a = _matrix(shape, dtype)
    q, r = jax.tree.map(
        np.asarray, jax.jit(lambda x: jnp.linalg.qr(x, mode=mode))(jax.device_put(a, xpu))
    )
    assert (q.shape, r.shape) == tuple(
        x.shape for x in jax.eval_shape(lambda x: jnp.linalg.qr(x, mode=mode), a)
    )
    np.testing.assert_allclose(q @ r, a, atol=_tolerance(a))
    np.testing.assert_allclose(
        _adjoint(q) @ q,
        np.broadcast_to(np.eye(q.shape[-1]), q.shape[:-2] + (q.shape[-1],) * 2),
        atol=_tolerance(a),
    )
    np.testing.assert_array_equal(np.tril(r, -1), 0)


@covering(
    dtype=TYPES,
    shape=[(1, 1), (1, 5), (40, 40), (60, 13), (13, 60), (3, 9, 7), (0, 4, 4), (4, 0)],
    full_matrices=[True, False],
)
def test_svd_in_every_form(xpu, dtype, shape, full_matrices) -> None:
    a = _matrix(shape, dtype)
    u, s, vh = jax.tree.map(
        np.asarray,
        jax.jit(lambda x: jnp.linalg.svd(x, full_matrices=full_matrices))(jax.device_put(a, xpu)),
    )
    expected = np.linalg.svd(a, full_matrices=full_matrices)
    assert (u.shape, s.shape, vh.shape) == tuple(x.shape for x in expected)
    least = s.shape[-1]
    np.testing.assert_allclose(
        (u[..., :least] * s[..., None, :]) @ vh[..., :least, :], a, atol=_tolerance(a)
    )
    np.testing.assert_allclose(s, expected[1], atol=_tolerance(a))
    for x in (u, _adjoint(vh)):
        np.testing.assert_allclose(
            _adjoint(x) @ x,
            np.broadcast_to(np.eye(x.shape[-1]), x.shape[:-2] + (x.shape[-1],) * 2),
            atol=_tolerance(a),
        )
    values = np.asarray(
        jax.jit(lambda x: jnp.linalg.svd(x, compute_uv=False))(jax.device_put(a, xpu))
    )
    np.testing.assert_allclose(values, expected[1], atol=_tolerance(a))


@covering(bad=[np.nan, np.inf], dtype=TYPES, n=[5, 40])
def test_what_is_not_finite_gives_nan_in_its_batch_alone(xpu, dtype, n, bad) -> None:
    a = _positive((3, n, n), dtype)
    a[1, 2, 2] = bad
    device = jax.device_put(a, xpu)
    for function in (
        jnp.linalg.svd,
        lambda x: jnp.linalg.svd(x, compute_uv=False),
        jnp.linalg.eigh,
        jnp.linalg.qr,
        lambda x: jax.lax.linalg.eigh(x, lower=False, symmetrize_input=False),
    ):
        for result in jax.tree.leaves(jax.jit(function)(device)):
            assert np.isnan(np.asarray(result)[1]).any(), function
            assert np.isfinite(np.asarray(result)[[0, 2]]).all(), function
    assert np.isfinite(jax.jit(jnp.linalg.svd)(device[0])[1]).all()  # the device is as it was


def test_decompositions_of_transposed_arrays_and_in_loops(xpu, cpu) -> None:
    a = _matrix((4, 24, 16), "float64")

    def singular(a):
        return jnp.linalg.svd(a.swapaxes(-1, -2), compute_uv=False), jnp.linalg.svd(
            a.transpose(1, 2, 0), compute_uv=False
        )

    def triangle(a):
        return jnp.abs(jnp.linalg.qr(a.swapaxes(-1, -2))[1])

    def power(a):
        def step(x, _):
            return (jnp.linalg.qr(jnp.einsum("bij,bkj->bik", a, a) @ x)[0], None)

        x = jax.lax.scan(step, a[:, :, :3], length=30)[0]
        return jnp.linalg.eigvalsh(x.swapaxes(-1, -2) @ jnp.einsum("bij,bkj->bik", a, a) @ x)

    for function in (
        singular,
        triangle,
        power,
        jax.grad(lambda a: jnp.sum(jnp.linalg.svd(a, full_matrices=False)[1] ** 3)),
    ):
        actual, expected = (
            jax.jit(function)(jax.device_put(a, xpu)),
            jax.jit(function)(jax.device_put(a, cpu)),
        )
        for x, y in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-8, atol=1e-8)


def test_libraries_take_what_is_large(xpu) -> None:
    a = jax.device_put(_positive((64, 64), "float32"), xpu)

    def everything(a):
        lower = jnp.linalg.cholesky(a)
        x = jax.scipy.linalg.solve_triangular(lower, a, lower=True)
        return x, jax.lax.linalg.lu(a), jnp.linalg.qr(a), jnp.linalg.eigh(a), jnp.linalg.svd(a)

    text = jax.jit(everything).lower(a).compile().as_text()
    for routine in (
        "cholesky",
        "triangular-solve",
        "lu",
        "qr",
        "householder-product",
        "eigh",
        "svd",
    ):
        assert text.count(f'custom_call_target="onemkl-{routine}"') == 1, routine


@pytest.mark.parametrize("function", [jnp.linalg.svd, jnp.linalg.det, jnp.linalg.qr])
def test_decompositions_are_exported_with_a_symbolic_batch(xpu, function) -> None:
    shape = jax.ShapeDtypeStruct(jax.export.symbolic_shape("b, 12, 12"), "float64")
    results = jax.jit(lambda x: jax.tree.leaves(function(x)))
    exported = jax.export.export(results, platforms=["xpu"])(shape)
    a = jax.device_put(_matrix((3, 12, 12), "float64"), xpu)
    actual = jax.export.deserialize(exported.serialize()).call(a)
    for x, y in zip(actual, results(a), strict=True):
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


@pytest.mark.parametrize("shape", [(1,), (64,), (3, 20), (2, 2, 5), (0, 4), (0,)])
def test_permutation_of_pivots(xpu, cpu, shape) -> None:
    rows = shape[-1] + 3
    random = np.random.default_rng(3)
    pivots = np.minimum(np.arange(shape[-1]) + random.integers(0, 4, shape), rows - 1).astype(
        np.int32
    )
    convert = jax.jit(lambda x: jax.lax.linalg.lu_pivots_to_permutation(x, rows))
    np.testing.assert_array_equal(
        convert(jax.device_put(pivots, xpu)), convert(jax.device_put(pivots, cpu))
    )
