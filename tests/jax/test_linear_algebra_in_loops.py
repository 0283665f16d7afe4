"""Factorisations and triangular solves in loops of small kernels: the loop is one kernel."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
import pytest
from jax import lax

import onexpu
from tests.exhaustive import covering, every
from tests.jax.compare import normal

FLOATS = ["float32", "float64"]
# Around a vector of rows, and two.
SIZES = every(3, [1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 24, 33])
# Steps of the loop, then of one step: a matrix, or a batch of them.
STEPS = 20
BATCHES = every(2, [(STEPS,), (STEPS, 3), (STEPS, 40), (STEPS, 2, 9)])


def _run(device, function, *arguments):
    """Returns the results as f64, and how many kernels and library calls one run takes."""
    arguments = jax.device_put(arguments, device)
    compiled = jax.jit(function).lower(*arguments).compile()
    jax.block_until_ready(compiled(*arguments))
    before = onexpu.transfer_statistics()
    results = jax.block_until_ready(compiled(*arguments))
    used = onexpu.transfer_statistics() - before
    wide = jax.tree.map(lambda x: np.asarray(x).astype(np.float64), results)
    return wide, used.kernels_launched, used.library_calls


def _positive_definite(shape, dtype):
    a = normal(shape, "float64")
    return (a @ np.swapaxes(a, -1, -2) + shape[-1] * np.eye(shape[-1])).astype(dtype)


def _tolerance(a, factor=8.0):
    # Backward error of a stable algorithm: some rounding errors for each of n terms.
    return factor * a.shape[-1] * np.finfo(a.dtype).eps


@covering(dtype=FLOATS, n=SIZES, batch=BATCHES)
def test_cholesky(xpu, dtype, n, batch) -> None:
    a = _positive_definite((*batch, n, n), dtype)
    factor, kernels, calls = _run(
        xpu,
        lambda a: lax.map(lambda x: lax.linalg.cholesky(x, symmetrize_input=False), a),
        a + 0.5 * np.triu(a, 1),  # the upper triangle is not read
    )
    np.testing.assert_array_equal(factor, np.tril(factor))
    expected = np.linalg.cholesky(a.astype(np.float64))
    np.testing.assert_allclose(
        factor, expected, rtol=0, atol=_tolerance(a) * np.abs(expected).max()
    )
    if n * np.prod(batch[1:], initial=1) <= 24:
        assert calls == 0
        assert kernels < STEPS


@covering(
    dtype=FLOATS,
    system=every(
        2,
        [  # equations, right-hand sides, batch
            (1, 1, (STEPS,)),
            (2, 7, (STEPS, 3)),
            (3, 1, (STEPS, 2, 9)),
            (8, 16, (STEPS,)),
            (9, 2, (STEPS, 40)),
            (16, 33, (STEPS,)),
            (17, 3, (STEPS, 3)),
            (33, 1, (STEPS,)),
            (40, 2, (STEPS,)),
        ],
    ),
    left_side=[True, False],
    lower=[True, False],
    transpose_a=[True, False],
    unit_diagonal=[True, False],
)
def test_triangular_solve(xpu, dtype, system, left_side, lower, transpose_a, unit_diagonal) -> None:
    n, columns, batch = system
    options = {
        "left_side": left_side,
        "lower": lower,
        "transpose_a": transpose_a,
        "unit_diagonal": unit_diagonal,
    }
    a = (normal((*batch, n, n), dtype) / n + 2 * np.eye(n)).astype(dtype)
    b = normal((*batch, n, columns) if left_side else (*batch, columns, n), dtype)
    x, kernels, calls = _run(
        xpu,
        lambda a, b: lax.map(lambda t: lax.linalg.triangular_solve(*t, **options), (a, b)),
        a,
        b,
    )
    read = (np.tril if lower else np.triu)(a.astype(np.float64))
    if unit_diagonal:
        read = read - np.eye(n) * read + np.eye(n)
    if transpose_a:
        read = np.swapaxes(read, -1, -2)
    if left_side:
        expected = np.linalg.solve(read, b.astype(np.float64))
    else:
        turned = np.linalg.solve(np.swapaxes(read, -1, -2), np.swapaxes(b, -1, -2).astype(float))
        expected = np.swapaxes(turned, -1, -2)
    np.testing.assert_allclose(x, expected, rtol=0, atol=_tolerance(a) * np.abs(expected).max())
    if n * columns * np.prod(batch[1:], initial=1) <= 64:
        assert calls == 0
        assert kernels < STEPS


@covering(
    dtype=FLOATS,
    shape=every(3, [(1, 1), (2, 2), (3, 3), (5, 3), (3, 5), (8, 8), (9, 17), (17, 9), (33, 33)]),
    batch=BATCHES,
)
def test_lu(xpu, dtype, shape, batch) -> None:
    a = normal((*batch, *shape), dtype)
    (lu, exchanges, order), kernels, calls = _run(
        xpu, lambda a: lax.map(lambda x: tuple(lax.linalg.lu(x)), a), a
    )
    rank = min(shape)
    lower = np.tril(lu, -1)[..., :rank] + np.eye(shape[0], rank)
    assert (np.abs(lower) <= 1).all()  # by the choice of pivots
    upper = np.triu(lu)[..., :rank, :]
    permuted = np.take_along_axis(a.astype(np.float64), order.astype(int)[..., None], axis=-2)
    np.testing.assert_allclose(
        lower @ upper, permuted, rtol=0, atol=_tolerance(a) * np.abs(a).max()
    )
    flat = exchanges.reshape(-1, rank).astype(int)
    for row, wanted in zip(flat, order.reshape(-1, shape[0]), strict=True):
        made = np.arange(shape[0])
        for i, j in enumerate(row):
            made[[i, j]] = made[[j, i]]
        np.testing.assert_array_equal(made, wanted)
    if max(shape) * np.prod(batch[1:], initial=1) <= 24:
        assert calls == 0
        assert kernels < STEPS


@pytest.mark.parametrize("dtype", FLOATS)
def test_failures_stay_in_their_matrix(xpu, dtype) -> None:
    good = _positive_definite((5, 5), dtype)
    last = good.copy()
    last[4, 4] = -1  # fails in the last column
    zero = np.zeros((5, 5), dtype)
    nan = good.copy()
    nan[3, 1] = np.nan
    infinite = good.copy()
    infinite[0, 0] = np.inf
    a = np.stack([good, last, zero, nan, -good, infinite, good])
    factors, _, calls = _run(
        xpu, lambda a: lax.map(lambda x: lax.linalg.cholesky(x, symmetrize_input=False), a), a
    )
    assert calls == 0
    expected = np.linalg.cholesky(good.astype(np.float64))
    for i in (0, 6):
        np.testing.assert_allclose(factors[i], expected, rtol=0, atol=_tolerance(good) * 10)
    for i in (1, 2, 3, 4):
        assert np.isnan(np.tril(factors[i])[np.tril_indices(5)]).all()
    # L = [inf; row / inf], and the factor of the rest.
    assert factors[5, 0, 0] == np.inf
    np.testing.assert_array_equal(factors[5, 1:, 0], 0)


def test_lu_of_singular_matrices_and_nan(xpu) -> None:
    singular = np.array([[0, 0, 1], [0, 0, 2], [0, 3, 4]], np.float32)
    nan = np.array([[1, 2, 3], [np.nan, 5, 6], [7, 8, 10]], np.float32)
    (lu, exchanges, _), _, calls = _run(
        xpu,
        lambda a: lax.map(lambda x: tuple(lax.linalg.lu(x)), a),
        np.stack([singular, nan, np.zeros((3, 3), np.float32)]),
    )
    assert calls == 0
    np.testing.assert_array_equal(lu[0], [[0, 0, 1], [0, 3, 4], [0, 0, 2]])
    np.testing.assert_array_equal(exchanges[0], [0, 2, 2])
    np.testing.assert_array_equal(lu[2], 0)
    assert ((exchanges >= 0) & (exchanges < 3)).all()
    assert np.isnan(lu[1]).any()


def _kalman_filter(a, h, q, r, ys):
    def step(carry, y):
        x, p = carry
        x, p = a @ x, a @ p @ a.T + q
        s = h @ p @ h.T + r
        gain = jnp.linalg.solve(s, h @ p).T
        x, p = x + gain @ (y - h @ x), p - gain @ s @ gain.T
        return (x, p), x

    return lax.scan(step, (jnp.zeros(a.shape[0], a.dtype), jnp.eye(a.shape[0], dtype=a.dtype)), ys)


def test_a_kalman_filter_is_one_kernel(xpu) -> None:
    n, m, steps = 16, 8, 60
    a = (np.eye(n) * 0.9 + 0.02 * normal((n, n))).astype(np.float32)
    h, ys = normal((m, n)), normal((steps, m))
    q, r = 0.1 * np.eye(n, dtype=np.float32), 0.5 * np.eye(m, dtype=np.float32)
    ((x, p), xs), kernels, calls = _run(xpu, _kalman_filter, a, h, q, r, ys)
    assert calls == 0
    assert kernels < steps

    wide_x, wide_p, expected = np.zeros(n), np.eye(n), []
    a, h, q, r = (v.astype(np.float64) for v in (a, h, q, r))
    for y in ys.astype(np.float64):
        wide_x, wide_p = a @ wide_x, a @ wide_p @ a.T + q
        s = h @ wide_p @ h.T + r
        gain = np.linalg.solve(s, h @ wide_p).T
        wide_x, wide_p = wide_x + gain @ (y - h @ wide_x), wide_p - gain @ s @ gain.T
        expected.append(wide_x)
    # 60 steps that forget: the rounding errors of a few.
    np.testing.assert_allclose(xs, np.stack(expected), rtol=0, atol=2e-5 * np.abs(expected).max())
    np.testing.assert_allclose(x, wide_x, rtol=0, atol=2e-5 * np.abs(expected).max())
    np.testing.assert_allclose(p, wide_p, rtol=0, atol=2e-5 * np.abs(wide_p).max())


def test_carried_matrices_are_donated(xpu) -> None:
    a, x = _positive_definite((9, 9), "float32"), normal((9, 4))

    def refine(x, a):
        def step(_, x):
            return jsl.cho_solve(jsl.cho_factor(a + jnp.diag(x[:, 0] ** 2), lower=True), x) + 1

        return lax.fori_loop(0, 5, step, x)

    expected = x.astype(np.float64)
    for _ in range(5):
        wide = a.astype(np.float64) + np.diag(expected[:, 0] ** 2)
        expected = np.linalg.solve(wide, expected) + 1
    carried = jax.device_put(x, xpu)
    result = jax.jit(refine, donate_argnums=0)(carried, jax.device_put(a, xpu))
    assert carried.is_deleted()
    np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-5)


def test_loops_of_unknown_length_and_branches(xpu) -> None:
    a = _positive_definite((7, 7), "float32")

    def inverse_iteration(a, x):
        def step(state):
            x, _, i = state
            y = lax.cond(
                i % 2 == 0,
                lambda: jnp.linalg.solve(a, x),
                lambda: jsl.cho_solve(jsl.cho_factor(a, lower=True), x),
            )
            y = y / jnp.linalg.norm(y)
            return y, jnp.abs(y - x).max(), i + 1

        def goes_on(state):
            return (state[1] > 1e-5) & (state[2] < 500)

        return lax.while_loop(goes_on, step, (x, jnp.float32(1), 0))

    (x, _, _), _, calls = _run(xpu, inverse_iteration, a, np.full(7, 7**-0.5, np.float32))
    assert calls == 0
    values, vectors = np.linalg.eigh(a.astype(np.float64))
    # It ends within 1e-5 of the step before, and converges with the quotient of two eigenvalues.
    error = 1e-5 / (1 - values[0] / values[1]) + 1e-5
    np.testing.assert_allclose(np.abs(x @ vectors[:, 0]), 1, atol=error)
