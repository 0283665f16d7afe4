"""``lax.linalg.tridiagonal_solve`` by Gaussian elimination with partial pivoting, on the device.

The algorithm of LAPACK's ``gtsv``; with ``perturb_singular``, tiny pivots are replaced as in
``lagts`` (LAPACK Users' Guide, 3rd edition, section 5.4). JAX's rule for platforms that it does not
know does not pivot.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax._src.interpreters import mlir
from jax._src.lax import linalg
from jax_plugins.onexpu import _compat, _rules
from jax_plugins.onexpu._library import PLATFORM


def register_lowerings() -> None:
    """Registers the rule. Harmless when repeated."""
    solve = functools.partial(_tridiagonal_solve, **_compat.ABSENT_PARAMETERS["tridiagonal_solve"])
    rule = _rules.from_function(solve, multiple_results=False)
    mlir.register_lowering(linalg.tridiagonal_solve_p, rule, platform=PLATFORM)


def _solve(
    lower: jax.Array, diagonal: jax.Array, upper: jax.Array, b: jax.Array, perturb: bool
) -> jax.Array:
    """Solves one system; the diagonals have shape (m,), ``b`` has (m, k)."""
    zero = jnp.zeros((), b.dtype)

    def eliminate(row: tuple[jax.Array, ...], following: tuple[jax.Array, ...]):
        d, u, rhs = row
        next_l, next_d, next_u, next_rhs = following
        is_swapped = jnp.abs(d) < jnp.abs(next_l)
        pivot = jnp.where(is_swapped, next_l, d)
        factor = jnp.where(is_swapped, d, next_l) / pivot
        if perturb:  # a pivot of 0 is replaced below; there is nothing to eliminate
            factor = jnp.where(pivot == 0, zero, factor)
        above = (
            pivot,
            jnp.where(is_swapped, next_d, u),
            jnp.where(is_swapped, next_u, zero),
            jnp.where(is_swapped, next_rhs, rhs),
        )
        rest = (
            jnp.where(is_swapped, u - factor * next_d, next_d - factor * u),
            jnp.where(is_swapped, -factor * next_u, next_u),
            jnp.where(is_swapped, rhs - factor * next_rhs, next_rhs - factor * rhs),
        )
        return rest, above

    # The last element of the upper diagonal is outside of the matrix.
    upper = upper.at[-1].set(zero)
    last, rows = lax.scan(
        eliminate, (diagonal[0], upper[0], b[0]), (lower[1:], diagonal[1:], upper[1:], b[1:])
    )
    d, u, u2, rhs = (
        jnp.concatenate([above, end[None]])
        for above, end in zip(rows, (last[0], last[1], zero, last[2]), strict=True)
    )
    if perturb:
        eps = jnp.finfo(b.dtype).eps
        largest = jnp.max(jnp.abs(jnp.stack([d, u, u2])))
        smallest = jnp.where(largest == 0, eps, eps * largest)
        d = jnp.where(
            jnp.abs(d) < smallest, jnp.where(d.real < 0, -smallest, smallest).astype(d.dtype), d
        )

    def substitute(after: tuple[jax.Array, jax.Array], row: tuple[jax.Array, ...]):
        d, u, u2, rhs = row
        x = (rhs - u * after[0] - u2 * after[1]) / d
        return (x, after[0]), x

    nothing = jnp.zeros_like(b[0])
    return lax.scan(substitute, (nothing, nothing), (d, u, u2, rhs), reverse=True)[1]


def _tridiagonal_solve(
    lower: jax.Array, diagonal: jax.Array, upper: jax.Array, b: jax.Array, *, perturb_singular: bool
) -> jax.Array:
    def solve(lower: jax.Array, diagonal: jax.Array, upper: jax.Array, b: jax.Array) -> jax.Array:
        return _solve(lower, diagonal, upper, b, perturb_singular)

    if b.shape[-2] == 0:
        return b
    for _ in range(b.ndim - 2):
        solve = jax.vmap(solve)
    return solve(lower, diagonal, upper, b)
