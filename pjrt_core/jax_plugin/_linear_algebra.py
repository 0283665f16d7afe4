"""Lowering rules of linear algebra where JAX has none for a platform that it does not know.

``cholesky``, ``triangular_solve``, ``lu``, ``qr``, ``householder_product`` and ``svd`` have default
rules, in terms of StableHLO, of custom calls that XLA expands (``Qr``), and of each other. ``eigh``
has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jax._src import core
from jax._src.interpreters import mlir
from jax._src.lax import linalg
from jax._src.lib.mlir.dialects import hlo
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
    if not all(core.is_constant_dim(size) for size in aval.shape):
        raise NotImplementedError(f"onexpu: eigh with symbolic dimensions, {aval}")
    n = aval.shape[-1]
    if subset_by_index not in (None, (0, n)):
        raise NotImplementedError(f"onexpu: eigh with subset_by_index={subset_by_index} on {aval}")
    if n == 0:
        values = aval.update(shape=aval.shape[:-1])
        return [operand, hlo.real(mlir.reshape(ctx, operand, values))]
    # Relative to the largest off-diagonal element: a few rounding errors of the type.
    tolerance = 10 * float(np.finfo(aval.dtype).eps)
    return mlir.custom_call(
        "Eigh",
        result_types=[mlir.aval_to_ir_type(ctx.module_context, out) for out in ctx.avals_out],
        operands=[operand],
        backend_config=f"{int(lower)},{int(sort_eigenvalues)},{_MAX_SWEEPS},{tolerance:g}",
        api_version=1,
    ).results
