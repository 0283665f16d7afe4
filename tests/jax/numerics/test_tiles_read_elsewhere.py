"""Transposed operands that a kernel also reads at other indices than that of its result.

A tile of a transposed operand has the elements at the index of the result. Reversals, rolls,
gathers, slices and pads of the same operand read others.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.exhaustive import covering

_PROGRAMS = {
    "reverse": lambda np, x: x.T + x.T[::-1],
    "reverse the written dimension": lambda np, x: x.T - x.T[:, ::-1],
    "reverse before": lambda np, x: (x + x[::-1]).T,
    "reverse both": lambda np, x: (x - x[::-1, ::-1]).T * x.T,
    "roll": lambda np, x: np.roll(x.T, 1, 0) * x.T + 1,
    "gather": lambda np, x: x.T + np.take(x.T, np.array([3] * x.shape[1]), axis=0),
    "pad": lambda np, x: x.T + np.pad(x.T[1:], ((0, 1), (0, 0))),
    "concatenate": lambda np, x: x.T * np.concatenate([x.T[1:], x.T[:1]]),
    "broadcast a row": lambda np, x: x.T * x.T[0] - x.T[:, :1],
    "two tiles, one read elsewhere": lambda np, x: (x * 2).T + (x + 1).T + (x + 1).T[::-1],
}
_SHAPES = [(8, 9), (16, 96), (64, 48), (127, 96), (33, 65)]


@covering(name=_PROGRAMS, shape=_SHAPES, dtype=["float32", "int32", "float64", "int8"])
def test_values_at_other_indices(xpu, name: str, shape: tuple[int, int], dtype: str) -> None:
    x = np.random.default_rng(0).integers(-4, 5, shape).astype(dtype)
    with jax.enable_x64(True):
        got = jax.jit(lambda x: _PROGRAMS[name](jnp, x))(jax.device_put(x, xpu))
    want = _PROGRAMS[name](np, x.astype("float64" if "float" in dtype else "int64"))
    # Sums and products of small integers are exact.
    np.testing.assert_array_equal(got, want.astype(dtype))


@pytest.mark.parametrize("shape", _SHAPES, ids=str)
def test_functions_of_values_at_other_indices(xpu, shape: tuple[int, int]) -> None:
    x = np.random.default_rng(0).integers(-4, 5, shape).astype(np.float32)

    def program(np, x):
        return np.exp(x.T / 8) * np.abs(x.T)[::-1] + x.T

    got = jax.jit(lambda x: program(jnp, x))(jax.device_put(x, xpu))
    # The exponential is within two units in the last place, and the sum has no cancellation below
    # the size of its terms, which are at most 8.
    np.testing.assert_allclose(got, program(np, x.astype(np.float64)), rtol=0, atol=8 * 2.0**-21)


def test_transposes_of_four_dimensions(xpu) -> None:
    """Found by the value fuzzer."""
    x = np.random.default_rng(0).integers(-4, 5, (127, 1, 1, 96)).astype(np.float32)

    def program(x):
        y = jnp.fmod(x, jnp.abs(x[::-1, 0, None, :, -96:]) + 0.75)
        return lax.transpose(lax.transpose(y, (1, 2, 0, 3)), (3, 2, 1, 0))

    want = np.fmod(x, np.abs(x[::-1]) + np.float32(0.75)).transpose(3, 0, 2, 1)
    np.testing.assert_array_equal(jax.jit(program)(jax.device_put(x, xpu)), want)


def test_gradient_of_products_with_a_reversal(xpu) -> None:
    x = np.random.default_rng(1).integers(-4, 5, (40, 24)).astype(np.float32)
    got = jax.jit(jax.grad(lambda x: jnp.sum(x.T * x.T[::-1] * x.T)))(jax.device_put(x, xpu))
    a, b = x.T, x.T[::-1]
    np.testing.assert_array_equal(got, (2 * a * b + (a * a)[::-1]).T)
