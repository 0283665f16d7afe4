"""Functions of complex numbers with several branches, which rewrites for real numbers would mix up.

XLA's AlgebraicSimplifier makes |z| of sqrt(z * z) and z of log(exp(z)), on XLA:CPU as well, so the
reference is numpy.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

_FUNCTIONS = {
    "sqrt of a square": (lambda z: lax.sqrt(z * z), lambda z: np.sqrt(z * z)),
    "jnp.sqrt of a square": (lambda z: jnp.sqrt(jnp.square(z)), lambda z: np.sqrt(z * z)),
    "rsqrt of a square": (lambda z: lax.rsqrt(z * z), lambda z: 1 / np.sqrt(z * z)),
    "log of exp": (lambda z: jnp.log(jnp.exp(3 * z)), lambda z: np.log(np.exp(3 * z))),
    "log of a power": (lambda z: jnp.log(z**3), lambda z: np.log(z**3)),
    "a product of roots": (
        lambda z: jnp.sqrt(z) * jnp.sqrt(-z),
        lambda z: np.sqrt(z) * np.sqrt(-z),
    ),
    "quotient and root": (lambda z: z / jnp.sqrt(z), lambda z: z / np.sqrt(z)),
}


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", _FUNCTIONS)
def test_branches(xpu, name: str, dtype: str) -> None:
    function, reference = _FUNCTIONS[name]
    random = np.random.default_rng(0)
    z = random.normal(size=(7, 33)) + 1j * random.normal(size=(7, 33))
    z[0, :4] = [2 + 4j, -1 + 1j, -3 - 2j, 0.5 - 3j]
    got = jax.jit(function)(jax.device_put(z.astype(dtype), xpu))
    want = reference(z.astype(dtype).astype(np.complex128))
    # A few roundings, of numbers up to the exponential of 9.
    np.testing.assert_allclose(
        got, want, rtol=0, atol=200 * np.finfo(dtype).eps * np.abs(want).max()
    )


def test_exact_squares(xpu) -> None:
    z = np.array([0, -0.0, 1, -1, 1j, -1j, -4, 3 + 4j, -3 - 4j], np.complex64)
    root = np.asarray(jax.jit(lambda z: lax.sqrt(z * z))(jax.device_put(z, xpu)))
    # Either root of a negative number: the sign of a zero imaginary part decides.
    np.testing.assert_allclose(root * root, z * z, atol=1e-5)
    assert (root.real >= 0).all()
    logarithm = jax.jit(lambda z: jnp.log(jnp.exp(z)))(jax.device_put(z[:7], xpu))
    np.testing.assert_allclose(logarithm, z[:7], atol=1e-6)
