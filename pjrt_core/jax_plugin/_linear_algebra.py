"""Lowering rules of linear algebra where JAX has none for a platform that it does not know.

``cholesky``, ``triangular_solve``, ``qr`` and ``householder_product`` have default rules, in terms
of StableHLO and of custom calls that the compiler knows (``Qr``). ``eigh`` has none; those of
``lu`` and ``svd`` are loops over other primitives.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax._src import core
from jax._src.interpreters import mlir
from jax._src.lax import linalg
from jax._src.lib.mlir.dialects import hlo
from jax._src.tpu.linalg import svd as polar
from jax_plugins.onexpu import _compat, _rules
from jax_plugins.onexpu._library import PLATFORM

_MAX_SWEEPS = 100
# Relative to the largest off-diagonal element: a few rounding errors of 32 bits.
_TOLERANCE = 1e-6


def register_lowerings() -> None:
    """Registers the rules. Harmless when repeated."""
    for primitive, rule in (
        (linalg.eigh_p, _eigh),
        (linalg.lu_p, _lu),
        (
            linalg.lu_pivots_to_permutation_p,
            _rules.from_function(_pivots_to_permutation, multiple_results=False),
        ),
        (linalg.svd_p, _svd),
    ):
        mlir.register_lowering(primitive, rule, platform=PLATFORM)


def _eigh(
    ctx: mlir.LoweringRuleContext,
    operand: Any,
    *,
    lower: bool,
    sort_eigenvalues: bool,
    subset_by_index: tuple[int, int] | None,
    algorithm: linalg.EighImplementation | None,
) -> Sequence[Any]:
    """The custom call ``Eigh``: LAPACK's routine or, for small matrices, XLA's Jacobi iteration."""
    (aval,) = ctx.avals_in
    if algorithm == linalg.EighImplementation.QDWH:
        raise NotImplementedError(
            f"onexpu: eigh with {algorithm} on {aval}: oneMKL has no such routine for SYCL; xpu "
            "has EighImplementation.QR"
        )
    n = aval.shape[-1]
    if not core.is_constant_dim(n):
        raise NotImplementedError(
            f"onexpu: eigh of a matrix of symbolic size, {aval}: only batch dimensions may be "
            "symbolic"
        )
    if subset_by_index not in (None, (0, n)):
        raise NotImplementedError(
            f"onexpu: eigh with subset_by_index={subset_by_index} on {aval}: the routine finds all "
            "eigenvalues; slice its results"
        )
    if n == 0:
        values = aval.update(shape=aval.shape[:-1])
        return [operand, hlo.real(mlir.reshape(ctx, operand, values))]
    return mlir.custom_call(
        "Eigh",
        result_types=[_compat.aval_to_ir_type(ctx, out) for out in ctx.avals_out],
        operands=[operand],
        # XLA's form: which triangle, whether to sort, and what its own iteration needs for small
        # matrices.
        backend_config=f"{int(lower)},{int(sort_eigenvalues)},{_MAX_SWEEPS},{_TOLERANCE:g}",
        result_shapes=_result_shapes(ctx),
        api_version=1,
    ).results


def _svd(
    ctx: mlir.LoweringRuleContext,
    operand: Any,
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: tuple[int, int] | None,
    algorithm: linalg.SvdAlgorithm | None = None,
) -> Sequence[Any]:
    """LAPACK's QR iteration, as the compiler's custom call ``onexpu.svd``. On the CPU device, it is
    divide and conquer for larger matrices, and QR iteration where that fails.
    """
    (aval,) = ctx.avals_in
    rows, columns = aval.shape[-2:]
    is_whole = subset_by_index in (None, (0, core.min_dim(rows, columns)))
    if algorithm == linalg.SvdAlgorithm.POLAR or not is_whole:
        # In terms of polar decompositions and eigh, some of whose steps a subset saves.
        return polar._svd_tpu_lowering_rule(
            ctx,
            operand,
            full_matrices=full_matrices,
            compute_uv=compute_uv,
            subset_by_index=subset_by_index,
        )
    if algorithm not in (None, linalg.SvdAlgorithm.DEFAULT, linalg.SvdAlgorithm.QR):
        raise NotImplementedError(
            f"onexpu: svd with {algorithm} on {aval}: oneMKL has no such routine for SYCL; xpu has "
            "SvdAlgorithm.QR and .POLAR"
        )
    if rows == 0 or columns == 0:
        empty = functools.partial(
            linalg._empty_svd, full_matrices=full_matrices, compute_uv=compute_uv
        )
        return mlir.lower_fun(empty, multiple_results=True)(ctx, operand)
    return mlir.custom_call(
        "onexpu.svd",
        result_types=[_compat.aval_to_ir_type(ctx, out) for out in ctx.avals_out],
        operands=[operand],
        result_shapes=_result_shapes(ctx),
        api_version=4,
        backend_config={},
    ).results


def _lu(ctx: mlir.LoweringRuleContext, operand: Any) -> Sequence[Any]:
    """The custom call ``LuDecomposition``, which gives the permutation as well."""
    (aval,) = ctx.avals_in
    if 0 in aval.shape[-2:]:
        return mlir.lower_fun(linalg._lu_python, multiple_results=True)(ctx, operand)
    return mlir.custom_call(
        "LuDecomposition",
        result_types=[_compat.aval_to_ir_type(ctx, out) for out in ctx.avals_out],
        operands=[operand],
        result_shapes=_result_shapes(ctx),
        api_version=1,
    ).results


def _pivots_to_permutation(pivots: jax.Array, *, permutation_size: int) -> jax.Array:
    """The row exchanges of an LU factorisation, done one after the other.

    JAX's own rule scatters, which makes every step a launch or two. Selects let the loop become one
    kernel.

    Parameters
    ----------
    pivots
        Shape (..., exchanges), counted from 0.
    permutation_size
        Rows of the matrix.
    """
    last = pivots.ndim - 1
    places = lax.broadcasted_iota(pivots.dtype, (*pivots.shape[:-1], permutation_size), last)

    if pivots.shape[-1] == 0:
        return places

    def exchange(i: jax.Array, permutation: jax.Array) -> jax.Array:
        there = lax.dynamic_slice_in_dim(pivots, i, 1, axis=last)
        here_value = lax.dynamic_slice_in_dim(permutation, i, 1, axis=last)
        there_value = jnp.sum(
            jnp.where(places == there, permutation, 0), axis=-1, keepdims=True, dtype=pivots.dtype
        )
        here = i.astype(pivots.dtype)
        return jnp.where(
            places == here, there_value, jnp.where(places == there, here_value, permutation)
        )

    return lax.fori_loop(0, pivots.shape[-1], exchange, places)


def _result_shapes(ctx: mlir.LoweringRuleContext) -> list[Any] | None:
    """Returns the results' shapes as values where a batch dimension is symbolic."""
    if all(core.is_constant_shape(out.shape) for out in ctx.avals_out):
        return None
    return [mlir.eval_dynamic_shape_as_tensor(ctx, out.shape) for out in ctx.avals_out]
