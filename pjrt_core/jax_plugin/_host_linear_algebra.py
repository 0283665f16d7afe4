"""Non-symmetric eigenproblems: ``eig`` and ``schur`` on the host, through LAPACK, as JAX does on
other accelerators.

Both are sequential at heart (shifted QR iteration on a Hessenberg matrix), and no device library
has them. What LAPACK does not solve (it did not converge, or the matrix holds NaN or infinity) is
NaN in the result.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax._src import dtypes
from jax._src.interpreters import mlir
from jax._src.lax import linalg
from jax_plugins.onexpu import _compat, _rules
from jax_plugins.onexpu._library import PLATFORM


def register_lowerings() -> None:
    """Registers the rules. Harmless when repeated."""
    eig = functools.partial(_eig, **_compat.ABSENT_PARAMETERS["eig"])
    for primitive, rule in ((linalg.eig_p, eig), (linalg.schur_p, _schur)):
        mlir.register_lowering(
            primitive, _rules.from_function(rule), platform=PLATFORM, cacheable=False
        )


def _on_host(
    decompose: Callable[[np.ndarray], Sequence[np.ndarray]],
    matrix: jax.Array,
    results: Sequence[tuple[tuple[int, ...], np.dtype]],
) -> list[jax.Array]:
    """Calls ``decompose`` with each matrix of a batch.

    Parameters
    ----------
    decompose
        Takes one finite matrix; returns one array per result. May raise numpy.linalg.LinAlgError.
    matrix
        Shape (..., n, n).
    results
        Shape without the batch dimensions, and type, of each result.
    """
    batch = matrix.shape[:-2]
    shapes = [jax.ShapeDtypeStruct(batch + shape, dtype) for shape, dtype in results]

    def call(values: np.ndarray) -> list[np.ndarray]:
        values = np.asarray(values)
        out = [np.full(shape.shape, np.nan, shape.dtype) for shape in shapes]
        for place in np.ndindex(batch):
            if not np.isfinite(values[place]).all():
                continue
            try:
                solved = decompose(values[place])
            except np.linalg.LinAlgError:
                continue
            for result, value in zip(out, solved, strict=True):
                result[place] = value
        return out

    return jax.pure_callback(call, shapes, matrix, vmap_method="legacy_vectorized")


def _eig(
    matrix: jax.Array,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    implementation: linalg.EigImplementation | None,
) -> list[jax.Array]:
    del enable_eigvec_derivs  # of the derivative rule
    if implementation not in (None, linalg.EigImplementation.LAPACK):
        raise NotImplementedError(
            f"onexpu: eig with {implementation} on {matrix.dtype}{list(matrix.shape)}; xpu has "
            "EigImplementation.LAPACK"
        )
    n = matrix.shape[-1]
    dtype = dtypes.to_complex_dtype(matrix.dtype)
    vectors = compute_left_eigenvectors + compute_right_eigenvectors

    def decompose(a: np.ndarray) -> Sequence[np.ndarray]:
        import scipy.linalg

        solved = scipy.linalg.eig(
            a, left=compute_left_eigenvectors, right=compute_right_eigenvectors, check_finite=False
        )
        return solved if vectors else [solved]

    return _on_host(decompose, matrix, [((n,), dtype)] + [((n, n), dtype)] * vectors)


def _schur(
    matrix: jax.Array, *, compute_schur_vectors: bool, sort_eig_vals: bool, select_callable: Any
) -> list[jax.Array]:
    del select_callable
    if sort_eig_vals:
        raise NotImplementedError(
            f"onexpu: schur with sorted eigenvalues on {matrix.dtype}{list(matrix.shape)}: JAX "
            "has it on no platform"
        )
    n = matrix.shape[-1]
    output = "complex" if np.issubdtype(matrix.dtype, np.complexfloating) else "real"

    def decompose(a: np.ndarray) -> Sequence[np.ndarray]:
        import scipy.linalg

        return scipy.linalg.schur(a, output=output, check_finite=False)[: 1 + compute_schur_vectors]

    return _on_host(
        decompose, matrix, [((n, n), np.dtype(matrix.dtype))] * (1 + compute_schur_vectors)
    )
