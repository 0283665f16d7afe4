"""max(x, 0) of a product or convolution is +0 for negative x, whatever computes it.

1 / relu(x), rsqrt(relu(x)) and arctan2(relu(x), -1) tell the signs of zeros.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

TYPES = ["float32", "bfloat16", "float16"]


def _check(xpu, function, *operands) -> None:
    """Checks relu's values and signs, with a NaN that stays one; sums of 1 are exact."""
    with jax.default_device(xpu):
        found = np.asarray(jax.jit(function)(*operands), np.float64)
        inverse = np.asarray(jax.jit(lambda *o: 1 / function(*o))(*operands), np.float64)
    products = np.asarray(jax.jit(lambda *o: function(*o, activation=False))(*operands), np.float64)
    expected = np.maximum(products, 0)
    expected[products <= 0] = 0.0
    np.testing.assert_array_equal(found, expected)
    assert not np.signbit(found[~np.isnan(found)]).any()
    assert np.isnan(found).any()
    assert (inverse[products < 0] == np.inf).all()


def _signs(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Returns rows of ones and of minus ones in turn, the third with a NaN."""
    values = np.ones(shape, np.float32)
    values[1::2] = -1
    values[2, ..., 0] = np.nan
    return values.astype(jnp.dtype(dtype))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("m, k, n", [(64, 256, 64), (512, 1024, 512), (5, 7, 3)])
@pytest.mark.parametrize("has_bias", [False, True])
def test_products(xpu, dtype: str, m: int, k: int, n: int, has_bias: bool) -> None:
    def function(x, w, b, activation=True):
        y = x @ w + b if has_bias else x @ w
        return jax.nn.relu(y) if activation else y

    x, w = _signs((m, k), dtype), np.ones((k, n), jnp.dtype(dtype))
    _check(xpu, function, x, w, np.ones(n, jnp.dtype(dtype)))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("has_bias", [False, True])
def test_convolutions(xpu, dtype: str, has_bias: bool) -> None:
    def function(x, w, b, activation=True):
        y = lax.conv(x, w, (1, 1), "SAME")
        y = y + b if has_bias else y
        return jax.nn.relu(y) if activation else y

    x, w = _signs((4, 16, 12, 12), dtype), np.ones((32, 16, 3, 3), jnp.dtype(dtype))
    _check(xpu, function, x, w, np.ones((32, 1, 1), jnp.dtype(dtype)))
