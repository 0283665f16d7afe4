"""Roots and logarithms of complex numbers in compiled functions: see `tests/jax`."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

_FUNCTIONS = {
    "sqrt of a square": (lambda z: tf.sqrt(tf.square(z)), lambda z: np.sqrt(z * z)),
    "rsqrt of a square": (lambda z: tf.math.rsqrt(z * z), lambda z: 1 / np.sqrt(z * z)),
    "log of exp": (lambda z: tf.math.log(tf.exp(3 * z)), lambda z: np.log(np.exp(3 * z))),
}


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("name", _FUNCTIONS)
def test_branches(name: str, jit_compile: bool, dtype: str) -> None:
    function, reference = _FUNCTIONS[name]
    random = np.random.default_rng(0)
    z = (random.normal(size=50) + 1j * random.normal(size=50)).astype(dtype)
    with tf.device("/XPU:0"):
        got = tf.function(function, jit_compile=jit_compile)(tf.constant(z))
    want = reference(z.astype(np.complex128))
    # A few roundings, of numbers up to the exponential of 9.
    np.testing.assert_allclose(
        got, want, rtol=0, atol=200 * np.finfo(dtype).eps * np.abs(want).max()
    )
