"""Lowering rules of linear algebra where JAX has none for a platform that it does not know.

``cholesky``, ``triangular_solve``, ``lu``, ``qr``, ``householder_product`` and ``svd`` have default
rules, in terms of StableHLO, of custom calls that XLA expands (``Qr``), and of each other. ``eigh``
has none.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import core, dtypes
from jax._src.interpreters import mlir
from jax._src.lax import linalg
from jax._src.lib.mlir.dialects import hlo
from jax_plugins.onexpu import _rules
from jax_plugins.onexpu._library import PLATFORM

_MAX_SWEEPS = 100


def register_lowerings() -> None:
    """Registers the rules. Harmless when repeated."""
    mlir.register_lowering(linalg.eigh_p, _eigh, platform=PLATFORM)


def _eigh(
    ctx: mlir.LoweringRuleContext,
    operand: Any,
    *,
    lower: bool,
    sort_eigenvalues: bool,
    subset_by_index: tuple[int, int] | None,
    algorithm: linalg.EighImplementation | None,
) -> Sequence[Any]:
    """XLA's Jacobi iteration, which its EighExpander writes for the custom call ``Eigh``."""
    (aval,) = ctx.avals_in
    if algorithm not in (None, linalg.EighImplementation.JACOBI):
        raise NotImplementedError(
            f"onexpu: eigh with {algorithm} on {aval}; xpu has EighImplementation.JACOBI"
        )
    n = aval.shape[-1]
    if not core.is_constant_dim(n):
        raise NotImplementedError(
            f"onexpu: eigh of a matrix of symbolic size, {aval}: the iteration is written for one "
            "size; only batch dimensions may be symbolic"
        )
    if subset_by_index not in (None, (0, n)):
        raise NotImplementedError(
            f"onexpu: eigh with subset_by_index={subset_by_index} on {aval}: the iteration finds all "
            "eigenvalues; slice its results"
        )
    if n == 0:
        values = aval.update(shape=aval.shape[:-1])
        return [operand, hlo.real(mlir.reshape(ctx, operand, values))]
    # Relative to the largest off-diagonal element: a few rounding errors of the type.
    tolerance = 10 * float(np.finfo(aval.dtype).eps)
    results = mlir.custom_call(
        "Eigh",
        result_types=[mlir.aval_to_ir_type(ctx.module_context, out) for out in ctx.avals_out],
        operands=[operand],
        backend_config=f"{int(lower)},{int(sort_eigenvalues)},{_MAX_SWEEPS},{tolerance:g}",
        result_shapes=None
        if core.is_constant_shape(aval.shape)
        else [mlir.eval_dynamic_shape_as_tensor(ctx, out.shape) for out in ctx.avals_out],
        api_version=1,
    ).results
    if dtypes.finfo(aval.dtype).bits < 64:
        return results
    refine = _rules.from_function(functools.partial(_refine, lower=lower))
    refine_ctx = ctx.replace(primitive=None, avals_in=[aval, *ctx.avals_out])
    return refine(refine_ctx, operand, *results)


def _refine(
    matrix: jax.Array, vectors: jax.Array, values: jax.Array, *, lower: bool
) -> tuple[jax.Array, jax.Array]:
    """Brings eigenvectors with half of the digits to all of them.

    XLA's iteration skips rotations below 1e-6 whatever the type, which leaves eight digits. One step of Ogita and
    Aishima, "Iterative refinement for symmetric eigenvalue decomposition" (2018), algorithm 1, doubles them.

    Parameters
    ----------
    matrix
        Shape (..., n, n), of which one triangle counts.
    vectors, values
        Shapes (..., n, n) and (..., n).
    lower
        Which triangle.
    """
    adjoint = lambda x: jnp.swapaxes(x.conj(), -1, -2)  # noqa: E731
    triangle = jnp.tril(matrix, -1) if lower else jnp.triu(matrix, 1)
    diagonal = jnp.diagonal(matrix, axis1=-2, axis2=-1).real[..., None]
    eye = jnp.eye(matrix.shape[-1], dtype=matrix.dtype)
    full = triangle + adjoint(triangle) + diagonal * eye
    with jax.default_matmul_precision("highest"):
        defect = eye - adjoint(vectors) @ vectors
        projected = adjoint(vectors) @ (full @ vectors)
        scale = 1 - jnp.diagonal(defect, axis1=-2, axis2=-1).real
        refined = jnp.diagonal(projected, axis1=-2, axis2=-1).real / scale
        norm = lambda x: jnp.sqrt(jnp.sum(jnp.abs(x) ** 2, axis=(-2, -1), keepdims=True))  # noqa: E731
        # Eigenvalues closer than this belong to one invariant subspace: only made orthogonal.
        close = 2 * (norm(projected - refined[..., None] * eye) + norm(full) * norm(defect))
        gap = refined[..., None, :] - refined[..., :, None]
        is_apart = jnp.abs(gap) > close
        moved = (projected + refined[..., None, :] * defect) / jnp.where(is_apart, gap, 1)
        return vectors + vectors @ jnp.where(is_apart, moved, defect / 2), refined
