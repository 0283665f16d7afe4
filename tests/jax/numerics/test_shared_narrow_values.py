"""bf16 and f16 values with several users: all of them see the same, rounded value.

An intermediate value may stay in f32 in one kernel and be stored in its type by another. A
comparison of the two, or their difference, would then be wrong.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

_DTYPES = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
_SHAPES = [(5, 7), (300, 512), (64, 33)]


def _values(shape: tuple[int, ...], dtype: str, scale: float = 1) -> np.ndarray:
    return (np.random.default_rng(0).standard_normal(shape) * scale).astype(_DTYPES[dtype])


def _masks(x):
    y = x * 1.1
    largest = y.max(-1, keepdims=True)
    return {
        "equal to the maximum": (y == largest).sum(-1) >= 1,
        "not less than the maximum": (y >= largest).any(-1),
        "not greater than the maximum": (y <= largest).all(-1),
        "in the sorted values": (jnp.sort(y, -1)[:, -1:] == y).any(-1),
        "in the largest three": (lax.top_k(y, 3)[0][:, -1:] <= y).sum(-1) >= 3,
        "difference from itself": jnp.abs(y - largest).min(-1) == 0,
        "selected": (y - jnp.where(largest < 1e4, y, 0) == 0).all(-1),
        "running maximum": (lax.cummax(y, 1)[:, -1:] == y).any(-1),
    }


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("shape", _SHAPES, ids=str)
def test_comparisons_with_results_of_the_value(xpu, shape: tuple[int, int], dtype: str) -> None:
    masks = jax.jit(_masks)(jax.device_put(_values(shape, dtype), xpu))
    for name, mask in masks.items():
        assert np.asarray(mask).all(), f"{name}: {np.sum(~np.asarray(mask))} rows of {shape[0]}"


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("shape", _SHAPES, ids=str)
def test_gradients_of_maxima(xpu, shape: tuple[int, int], dtype: str) -> None:
    """Each maximum passes on its whole gradient."""
    x = jax.device_put(_values(shape, dtype), xpu)

    def of_rows(x):
        return (x * 1.1).max(-1).astype(jnp.float32).sum()

    def of_pairs(x):
        y = x * 1.1
        return jnp.maximum(y, y[:, ::-1]).astype(jnp.float32).sum()

    # The errors are the rounding of 1.1 and of each gradient.
    epsilon = float(ml_dtypes.finfo(_DTYPES[dtype]).eps)
    total = np.asarray(jax.jit(jax.grad(of_rows))(x)).astype(np.float64).sum()
    np.testing.assert_allclose(total, 1.1 * shape[0], rtol=2 * epsilon)
    total = np.asarray(jax.jit(jax.grad(of_pairs))(x)).astype(np.float64).sum()
    np.testing.assert_allclose(total, 1.1 * shape[0] * shape[1], rtol=2 * epsilon)


@pytest.mark.parametrize("scale", [1, 300, 3e4])
@pytest.mark.parametrize("shape", _SHAPES, ids=str)
def test_softmax_of_large_values(xpu, shape: tuple[int, int], scale: float) -> None:
    """A unit in the last place of 3e4 is 128: exp(128) is infinite."""
    x = jax.device_put(_values(shape, "bfloat16"), xpu)
    weights = np.asarray(jax.jit(lambda x: jax.nn.softmax(x * scale))(x)).astype(np.float64)
    # A row has up to 512 weights, each rounded to 8 bits.
    np.testing.assert_allclose(weights.sum(-1), 1, atol=0.02)
    largest = np.asarray(jax.jit(lambda x: (x * scale).max(-1))(x)).astype(np.float64)
    total = np.asarray(jax.jit(lambda x: jax.nn.logsumexp(x * scale, axis=-1))(x))
    # The logarithm of a sum of at most 512 terms, and the rounding of the result.
    excess = total.astype(np.float64) - largest
    assert (excess >= -(2.0**-7) * np.abs(largest)).all()
    assert (excess <= np.log(512) + 2.0**-7 * np.abs(largest)).all()


def test_attention_of_large_values(xpu) -> None:
    """Found by the value fuzzer: NaN beyond scores of 3e4."""
    x = _values((2, 4, 31, 12), "bfloat16", scale=2048)

    def attention(x):
        scores = jnp.einsum("bhqd,bhkd->bhqk", x, x) * 12**-0.5
        masked = jnp.where(jnp.tril(jnp.ones((31, 31), bool)), scores, -1e4)
        return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(masked), x)

    got = np.asarray(jax.jit(attention)(jax.device_put(x, xpu))).astype(np.float64)
    assert np.isfinite(got).all()
    # The first row attends to itself alone.
    np.testing.assert_array_equal(got[:, :, 0], x[:, :, 0].astype(np.float64))


@pytest.mark.parametrize("dtype", _DTYPES)
def test_comparisons_of_rounded_values(xpu, dtype: str) -> None:
    """Each is true of the rounded value and false of the wide one."""
    info = ml_dtypes.finfo(_DTYPES[dtype])
    half = float(info.max) ** 0.5

    def masks(large, whole, small):
        return [
            jnp.isinf(large * large),
            ~jnp.isfinite(-(large * large)),
            large * large == jnp.inf,
            jnp.isinf(jnp.where(large > 0, large * large, large)),
            (whole + 1) == whole,
            ~(whole + 1 > whole),
            jnp.exp(small) == 0,
        ]

    large = np.array([half * 1.5] * 3).astype(_DTYPES[dtype])
    whole = np.array([2.0 ** (info.nmant + 1)] * 3).astype(_DTYPES[dtype])
    small = np.array([-120.0] * 3).astype(_DTYPES[dtype])
    results = jax.jit(masks)(*jax.device_put((large, whole, small), xpu))
    assert [bool(one.all()) for one in results] == [True] * 7


@pytest.mark.parametrize("dtype", _DTYPES)
def test_epsilon_by_a_loop(xpu, dtype: str) -> None:
    one = jax.device_put(np.array(1, _DTYPES[dtype]), xpu)
    found = lax.while_loop(lambda e: (1 + e / 2) > 1, lambda e: e / 2, one)
    assert float(found) == float(ml_dtypes.finfo(_DTYPES[dtype]).eps)
