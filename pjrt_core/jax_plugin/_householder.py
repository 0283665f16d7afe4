"""Reductions by Householder reflections that JAX has for LAPACK alone: ``hessenberg``, ``geqp3``,
``tridiagonal``.

As loops of ordinary operations, so they run on the device. Results are laid out as LAPACK's
``gehrd``, ``geqp3``, ``sytrd`` and ``hetrd`` do (LAPACK Users' Guide, 3rd edition, section 5.4): a
reflection is ``I - tau v v^H``, its ``v`` starts with a 1 that is not stored.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax._src.interpreters import mlir
from jax._src.lax import linalg
from jax_plugins.onexpu import _rules
from jax_plugins.onexpu._library import PLATFORM


def register_lowerings() -> None:
    """Registers the rules. Harmless when repeated."""
    for primitive, rule in (
        (linalg.hessenberg_p, _hessenberg),
        (linalg.geqp3_p, _geqp3),
        (linalg.tridiagonal_p, _tridiagonal),
    ):
        mlir.register_lowering(primitive, _rules.from_function(rule), platform=PLATFORM)


def _batched(function: Callable[..., Any], batch_rank: int) -> Callable[..., Any]:
    for _ in range(batch_rank):
        function = jax.vmap(function)
    return function


def _loop(
    count: int, step: Callable[..., Any], start: tuple[jax.Array, ...]
) -> tuple[jax.Array, ...]:
    """``fori_loop`` in full precision; a body that is never run need not be traceable."""
    with jax.default_matmul_precision("highest"):
        return lax.fori_loop(0, count, step, start) if count > 0 else start


def _reflection(x: jax.Array, k: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Makes the reflection whose adjoint maps ``x[k:]`` to ``(beta, 0, ...)``.

    Returns
    -------
    v : jax.Array
        Shape of ``x``; 0 before ``k``, 1 there.
    tau, beta : jax.Array
        ``beta`` is real; ``tau`` is 0 when ``x`` is of this form already.
    """
    places = jnp.arange(x.shape[0])
    alpha = x[k]
    tail = jnp.where(places > k, x, 0)
    scale = jnp.max(jnp.abs(jnp.where(places >= k, x, 0)))
    scale = jnp.where(scale > 0, scale, 1)
    norm = scale * jnp.sqrt(jnp.sum(jnp.abs(jnp.where(places >= k, x, 0) / scale) ** 2))
    is_done = jnp.all(tail == 0) & (alpha.imag == 0)
    beta = jnp.where(is_done, alpha.real, jnp.where(alpha.real >= 0, -norm, norm))
    divisor = jnp.where(is_done, 1, alpha - beta)
    tau = jnp.where(is_done, 0, (beta - alpha) / jnp.where(is_done, 1, beta)).astype(x.dtype)
    return jnp.where(places == k, 1, tail / divisor).astype(x.dtype), tau, beta


def _from_left(a: jax.Array, v: jax.Array, tau: jax.Array) -> jax.Array:
    return a - tau.conj() * jnp.outer(v, v.conj() @ a)


def _from_right(a: jax.Array, v: jax.Array, tau: jax.Array) -> jax.Array:
    return a - tau * jnp.outer(a @ v, v.conj())


def _packed(column: jax.Array, v: jax.Array, k: jax.Array, beta: jax.Array) -> jax.Array:
    """The column with ``beta`` at ``k`` and the reflection below."""
    places = jnp.arange(column.shape[0])
    return jnp.where(places < k, column, jnp.where(places == k, beta.astype(column.dtype), v))


def _to_hessenberg(a: jax.Array) -> tuple[jax.Array, jax.Array]:
    n = a.shape[0]

    def step(i: jax.Array, carry: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        reduced, packed, taus = carry
        v, tau, beta = _reflection(reduced[:, i], i + 1)
        column = _packed(reduced[:, i], v, i + 1, beta)
        reduced = _from_right(_from_left(reduced, v, tau), v, tau)
        return reduced, packed.at[:, i].set(column), taus.at[i].set(tau)

    count = max(n - 1, 0)
    reduced, packed, taus = _loop(count, step, (a, a, jnp.zeros(count, a.dtype)))
    # The last column has no reflection of its own; those before were changed by later ones above
    # the diagonal.
    below = jnp.tril(packed, -1) if n > 1 else jnp.zeros_like(a)
    return jnp.triu(reduced) + below, taus


def _hessenberg(a: jax.Array) -> list[jax.Array]:
    return list(_batched(_to_hessenberg, a.ndim - 2)(a))


def _pivoted_qr(a: jax.Array, pivots: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    m, n = a.shape
    # Columns with a number are factored first, in their order; the others when their norm is the
    # largest.
    order = jnp.argsort(pivots == 0, stable=True)
    fixed = jnp.sum(pivots != 0)
    columns = jnp.arange(n)

    def step(k: jax.Array, carry: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        a, order, taus = carry
        rest = jnp.where(jnp.arange(m)[:, None] >= k, a, 0)
        norms = jnp.sum(jnp.abs(rest) ** 2, axis=0)
        best = jnp.argmax(jnp.where(columns >= k, norms, -1))
        best = jnp.where(k < fixed, k, best)
        swapped = jnp.where(columns == k, best, jnp.where(columns == best, k, columns))
        a, order = a[:, swapped], order[swapped]
        v, tau, beta = _reflection(a[:, k], k)
        reflected = jnp.where(columns > k, _from_left(a, v, tau), a)
        return reflected.at[:, k].set(_packed(a[:, k], v, k, beta)), order, taus.at[k].set(tau)

    count = min(m, n)
    a, order, taus = _loop(count, step, (a[:, order], order, jnp.zeros(count, a.dtype)))
    return a, (order + 1).astype(pivots.dtype), taus


def _geqp3(a: jax.Array, pivots: jax.Array, *, use_magma: bool | None) -> list[jax.Array]:
    del use_magma  # a choice among other platforms' libraries
    return list(_batched(_pivoted_qr, a.ndim - 2)(a, pivots))


def _to_tridiagonal(a: jax.Array, *, lower: bool) -> tuple[jax.Array, ...]:
    if not lower:
        # From the last column upwards, which is the same from the first downwards with both
        # dimensions reversed.
        flipped = _to_tridiagonal(a[::-1, ::-1], lower=True)
        packed, diagonal, off_diagonal, taus = flipped
        return packed[::-1, ::-1], diagonal[::-1], off_diagonal[::-1], taus[::-1]
    n = a.shape[0]
    below = jnp.tril(a, -1)
    full = below + below.conj().T + jnp.diag(jnp.diagonal(a).real).astype(a.dtype)

    def step(i: jax.Array, carry: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        reduced, packed, off_diagonal, taus = carry
        v, tau, beta = _reflection(reduced[:, i], i + 1)
        column = _packed(reduced[:, i], v, i + 1, beta)
        reduced = _from_right(_from_left(reduced, v, tau), v, tau)
        return (
            reduced,
            packed.at[:, i].set(column),
            off_diagonal.at[i].set(beta),
            taus.at[i].set(tau),
        )

    start = (full, full, jnp.zeros(n - 1, a.real.dtype), jnp.zeros(n - 1, a.dtype))
    reduced, packed, off_diagonal, taus = _loop(n - 1, step, start)
    diagonal = jnp.diagonal(reduced).real
    result = jnp.triu(a, 1) + jnp.tril(packed, -1) + jnp.diag(diagonal).astype(a.dtype)
    return result, diagonal, off_diagonal, taus


def _tridiagonal(a: jax.Array, *, lower: bool) -> list[jax.Array]:
    return list(_batched(functools.partial(_to_tridiagonal, lower=lower), a.ndim - 2)(a))
