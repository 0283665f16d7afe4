"""``jax.experimental.sparse.linalg.spsolve`` on the device, by LU with partial pivoting.

The matrix is made dense: a system of n unknowns takes n * n elements of memory and n ** 3 steps,
however few of its elements are stored, and gives what a sparse factorisation gives. No oneAPI
library factorises sparse matrices on a device. What is too large for that has the iterative
solvers, ``jax.scipy.sparse.linalg.cg`` and its like.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax._src.interpreters import mlir
from jax_plugins.onexpu import _after_import, _rules
from jax_plugins.onexpu._library import PLATFORM


def register_lowerings() -> None:
    """Registers the rule. Harmless when repeated."""
    _after_import.call("jax.experimental.sparse.linalg", _register)


def _register(sparse_linalg: ModuleType) -> None:
    rule = _rules.from_function(_spsolve, multiple_results=False)
    mlir.register_lowering(sparse_linalg.spsolve_p, rule, platform=PLATFORM)


def _dense(data: jax.Array, indices: jax.Array, indptr: jax.Array) -> jax.Array:
    """Returns the square matrix of a CSR representation; elements that occur twice add up."""
    n = indptr.size - 1
    # Padding behind the last row gets the row n, which there is not.
    rows = jnp.searchsorted(indptr, jnp.arange(data.size, dtype=indptr.dtype), side="right") - 1
    return jnp.zeros((n, n), data.dtype).at[rows, indices].add(data, mode="drop")


def _spsolve(
    data: jax.Array, indices: jax.Array, indptr: jax.Array, b: jax.Array, **_: Any
) -> jax.Array:
    """Solves ``A x = b``; b has shape (n,).

    ``tol`` and ``reorder`` are about sparse factorisations: when to call a pivot zero, and how to
    keep fill-in small.
    """
    if b.size == 0:
        return b
    lu, _, permutation = lax.linalg.lu(_dense(data, indices, indptr))
    with jax.default_matmul_precision("highest"):
        solve = lax.linalg.triangular_solve
        half = solve(lu, b[permutation][:, None], left_side=True, lower=True, unit_diagonal=True)
        return solve(lu, half, left_side=True, lower=False)[:, 0]
