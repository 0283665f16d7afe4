"""Factorisations in oneMKL whose scratch memory held NaN before."""

from __future__ import annotations

import pytest

from tests.exhaustive import every
from tests.jax import process

_PROGRAM = """
import jax, jax.numpy as jnp, numpy as np

random = np.random.default_rng(0)
xpu = jax.devices()[0]

def fill_memory_with_nan():
    # The pool hands these blocks out again, for the scratch memory, too.
    arrays = [jnp.full(1 << n, jnp.nan, jnp.float32) for n in range(12, 25) for _ in range(2)]
    jax.block_until_ready(arrays)

def check(name, got, want, matrix):
    # A stable algorithm: a small multiple of n rounding errors of the norm.
    error = np.abs(np.asarray(got) - want).max()
    limit = 40 * matrix.shape[-1] * np.finfo(matrix.dtype).eps * max(1, np.abs(want).max())
    assert error <= limit, (name, matrix.shape, matrix.dtype, error, limit)

adjoint = lambda x: np.swapaxes(np.conj(x), -1, -2)
for shape in ((70, 70), (5, 33, 33), (3, 1, 1), (2, 130, 130)):
    for dtype in (np.float32, np.float64, np.complex64, np.complex128):
        a = random.normal(size=shape).astype(dtype)
        if np.issubdtype(dtype, np.complexfloating):
            a = a + (1j * random.normal(size=shape)).astype(dtype)
        definite = (a @ adjoint(a) / shape[-1] + np.eye(shape[-1])).astype(dtype)
        hermitian = ((a + adjoint(a)) / 2).astype(dtype)
        for name, matrix, function in (
            ("cholesky", definite, lambda m: (lambda l: l @ adjoint(l))(
                np.asarray(jnp.linalg.cholesky(m)))),
            ("qr", a, lambda m: np.matmul(*map(np.asarray, jnp.linalg.qr(m)))),
            ("eigh", hermitian,
             lambda m: (lambda w, v: (np.asarray(v) * np.asarray(w)[..., None, :])
                        @ adjoint(np.asarray(v)))(*jnp.linalg.eigh(m))),
            ("svd", a, lambda m: (lambda u, s, v: (np.asarray(u) * np.asarray(s)[..., None, :])
                                  @ np.asarray(v))(*jnp.linalg.svd(m))),
            ("solve", definite, lambda m: np.asarray(jnp.linalg.solve(m, m)) @ m),
            ("inv", definite, lambda m: np.asarray(jnp.linalg.inv(m)) @ m @ m),
        ):
            fill_memory_with_nan()
            check(name, function(jax.device_put(matrix, xpu)), matrix, matrix)
print("ok")
"""


@pytest.mark.parametrize("schedules", every(2, ("gpu", "cpu")))
def test_results_do_not_depend_on_scratch_memory(schedules: str) -> None:
    done = process.run(
        _PROGRAM, JAX_ENABLE_X64="1", ONEXPU_DEVICE="cpu", ONEXPU_SCHEDULES=schedules, timeout=300
    )
    assert done.output.endswith("ok\n")
