"""What follows a product or a convolution in a wider type, and scales of zero."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

_RANDOM = np.random.default_rng(0)
_X = _RANDOM.integers(-4, 5, (2, 256, 256)).astype(np.float32)


@pytest.mark.parametrize("scale", [0.1, 1e300, 1e-300])
def test_scales_of_float64(xpu, scale: float) -> None:
    with jax.enable_x64(True):
        got = jax.jit(lambda x, w: (x @ w).astype(jnp.float64) * scale)(*jax.device_put(_X, xpu))
    # Sums of products of small integers are exact in f32, so one rounding of f64 remains.
    want = (_X[0] @ _X[1]).astype(np.float64) * scale
    np.testing.assert_allclose(got, want, rtol=2.0**-52)


@pytest.mark.parametrize("batched", [False, True])
def test_biases_of_a_wider_type(xpu, batched: bool) -> None:
    bias = _RANDOM.standard_normal(256)
    x, w = (_X[:1], _X[1:]) if batched else _X
    with jax.enable_x64(True):
        got = jax.jit(lambda x, w, b: (x @ w).astype(jnp.float64) + b)(
            *jax.device_put((x, w, bias), xpu)
        )
    np.testing.assert_allclose(got, (x @ w).astype(np.float64) + bias, rtol=2.0**-52, atol=2.0**-50)


def test_biases_of_products_of_bf16(xpu) -> None:
    x, w = (one[:, :8].astype(ml_dtypes.bfloat16) for one in _X)
    bias = _RANDOM.standard_normal(256).astype(np.float32)
    got = jax.jit(lambda x, w, b: (x @ w.T).astype(jnp.float32) + b)(
        *jax.device_put((x, w, bias), xpu)
    )
    # Sums of eight products of small integers are exact in bf16.
    want = x.astype(np.float32) @ w.astype(np.float32).T + bias
    np.testing.assert_allclose(got, want, rtol=2.0**-23)


def test_biases_of_convolutions(xpu) -> None:
    x = _X[0].reshape(1, 16, 64, 64).transpose(0, 2, 3, 1)
    w = _X[1].ravel()[: 3 * 3 * 16 * 16].reshape(3, 3, 16, 16)
    bias = _RANDOM.standard_normal(16)

    def program(x, w, bias):
        y = jax.lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        return y.astype(bias.dtype) + bias

    with jax.enable_x64(True):
        got = jax.jit(program)(*jax.device_put((x, w, bias), xpu))
        exact = jax.jit(program)(*jax.device_put((x, w, np.zeros(16)), xpu))
    np.testing.assert_allclose(got, np.asarray(exact) + bias, rtol=2.0**-52, atol=2.0**-50)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_products_times_zero(xpu, value: float) -> None:
    c = _X[1].copy()
    c[3, 4] = value
    arguments = jax.device_put((_X[0], c), xpu)
    times_zero = jax.jit(lambda a, c: (a @ c) * 0.0)(*arguments)
    subtracted = jax.jit(lambda a, c: c - 0.0 * (a @ c))(*arguments)
    assert np.isnan(times_zero).sum() == 256
    # The element itself is NaN or infinite minus NaN.
    assert np.isnan(subtracted).sum() == 256
