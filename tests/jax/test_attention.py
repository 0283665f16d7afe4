"""Attention that the compiler finds in a program: one kernel on a CPU, without the matrix of
scores.
"""

from __future__ import annotations

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.exhaustive import every
from tests.jax.compare import check, normal

# A GPU's library has matrix units for the products.
IS_KERNEL = os.environ.get("ONEXPU_SCHEDULES") != "gpu"


def attention(query, key, value, bias=0.0):
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key, preferred_element_type=jnp.float32)
    weights = jax.nn.softmax(scores * query.shape[-1] ** -0.5 + bias).astype(query.dtype)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, value)


def expected(query, key, value, bias=0.0):
    """Returns the attention in float64, and the same sums of absolute values."""
    query, key, value = (x.astype(np.float64) for x in (query, key, value))
    scores = np.einsum("bqhd,bkhd->bhqk", query, key) * query.shape[-1] ** -0.5 + bias
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("bhqk,bkhd->bqhd", weights, value), np.einsum(
        "bhqk,bkhd->bqhd", weights, abs(value)
    )


def assert_attention(actual, arrays, bias=0.0) -> None:
    """Compares attention with float64.

    The error of a score is a relative error of its weight: some rounding errors of the largest
    scores, which are below 16. Weights and results are rounded to their type as well.
    """
    result, terms = expected(*arrays, bias)
    narrow = float(jnp.finfo(arrays[0].dtype).eps)
    bound = (64 * np.finfo(np.float32).eps + (2 * narrow if narrow > 1e-6 else 0)) * terms
    error = np.abs(np.asarray(actual).astype(np.float64) - result)
    assert np.all(error <= bound), np.max(error / bound)


def arrays_of(batch, queries, keys, heads, size, dtype="float32", values=None):
    return (
        normal((batch, queries, heads, size), dtype),
        normal((batch, keys, heads, size), dtype, 1),
        normal((batch, keys, heads, values or size), dtype, 2),
    )


def is_one_kernel(function, *arguments) -> bool:
    text = jax.jit(function).lower(*arguments).compile().as_text()
    return "attention_fusion" in text and "onednn" not in text


# Whole blocks of keys, parts of one, of a vector of queries and of features; one query's worth of
# keys and more.
SHAPES = [
    (2, 256, 192, 4, 16),
    (1, 512, 512, 1, 64),
    (3, 301, 97, 4, 20),
    (1, 2000, 77, 3, 40),
    (1, 17, 9001, 2, 8),
    (2, 1024, 5, 32, 6),
    (1, 600, 600, 1, 1),
]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("shape", every(3, SHAPES))
def test_attention(xpu, shape, dtype) -> None:
    arrays = arrays_of(*shape, dtype)
    on_device = jax.device_put(arrays, xpu)
    if dtype == "float32" and shape[-1] > 1:
        assert is_one_kernel(attention, *on_device) == IS_KERNEL
    assert_attention(jax.jit(attention)(*on_device), arrays)


def test_values_of_another_size(xpu) -> None:
    arrays = arrays_of(2, 300, 310, 3, 24, values=50)
    on_device = jax.device_put(arrays, xpu)
    assert is_one_kernel(attention, *on_device) == IS_KERNEL
    assert_attention(jax.jit(attention)(*on_device), arrays)


@pytest.mark.parametrize("bias_shape", [(2, 1, 1, 310), (300, 310), (2, 3, 300, 310), (3, 1, 1)])
def test_biases(xpu, bias_shape) -> None:
    arrays, bias = arrays_of(2, 300, 310, 3, 24), normal(bias_shape)
    on_device = jax.device_put((*arrays, bias), xpu)
    assert is_one_kernel(attention, *on_device) == IS_KERNEL
    assert_attention(jax.jit(attention)(*on_device), arrays, bias.astype(np.float64))


def test_masks_of_positions(xpu) -> None:
    arrays = arrays_of(2, 330, 330, 3, 24)

    def causal(query, key, value):
        at = jnp.arange(330)
        return attention(query, key, value, jnp.where(at[:, None] >= at, 0.0, -jnp.inf))

    # The last block of the first queries' keys, and all but one of the first query's, weigh
    # nothing.
    mask = np.where(np.arange(330)[:, None] >= np.arange(330), 0.0, -np.inf)
    assert is_one_kernel(causal, *jax.device_put(arrays, xpu)) == IS_KERNEL
    assert_attention(jax.jit(causal)(*jax.device_put(arrays, xpu)), arrays, mask)
    # The other way round: whole blocks before the first key that is seen.
    later = jax.jit(lambda *x: attention(*x[:3], x[3]))(
        *jax.device_put((*arrays, mask.T.astype("f4")), xpu)
    )
    assert_attention(later, arrays, mask.T)


def test_dot_product_attention_of_jax(xpu, cpu) -> None:
    query, key, value = arrays_of(2, 320, 320, 4, 32)
    function = jax.jit(lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True))
    actual = function(*jax.device_put((query, key, value), xpu))
    mask = np.where(np.arange(320)[:, None] >= np.arange(320), 0.0, -np.inf)
    assert_attention(actual, (query, key, value), mask)


def test_nan_and_infinity(xpu, cpu) -> None:
    query, key, value = arrays_of(1, 300, 300, 3, 16)
    query[0, 5, 1, 3] = np.nan  # one query's row
    key[0, 250, 2, 0] = np.inf  # scores of either sign, or NaN
    value[0, 7, 0, 2] = np.inf  # a feature of one head
    value[0, 9, 0, 4] = np.nan
    bias = np.zeros((300, 300), np.float32)
    bias[17] = -np.inf  # no key at all
    bias[20, 100] = np.inf
    arguments = query, key, value, bias
    actual, reference = (
        np.asarray(jax.jit(attention)(*jax.device_put(arguments, d))) for d in (xpu, cpu)
    )
    np.testing.assert_array_equal(np.isnan(actual), np.isnan(reference))
    np.testing.assert_array_equal(np.isposinf(actual), np.isposinf(reference))
    finite = np.isfinite(reference)
    assert 0.3 < finite.mean() < 0.99
    # Sums of about one: dozens of rounding errors.
    np.testing.assert_allclose(actual[finite], reference[finite], atol=64 * 2**-23 * 4)


def test_great_scores(xpu) -> None:
    query, key, value = arrays_of(1, 300, 300, 3, 16)
    query *= 100
    actual = np.asarray(jax.jit(attention)(*jax.device_put((query, key, value), xpu)))
    result, terms = expected(query, key, value)
    # Scores of some hundred: each of their units is 2^-15 of a weight.
    assert np.all(np.abs(actual - result) <= 2.0**-12 * terms + 1e-6)


def test_what_others_read_stays(xpu) -> None:
    arrays = arrays_of(1, 300, 300, 3, 16)

    def with_weights(query, key, value):
        weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", query, key))
        return jnp.einsum("bhqk,bkhd->bqhd", weights, value), weights

    def with_gradient(query, key, value):
        return jax.grad(lambda *x: attention(*x).sum(), argnums=(0, 1, 2))(query, key, value)

    on_device = jax.device_put(arrays, xpu)
    for function in with_weights, with_gradient:
        assert "attention_fusion" not in jax.jit(function).lower(*on_device).compile().as_text()
    assert_attention(jax.jit(with_weights)(*on_device)[0], (arrays[0] * 4, *arrays[1:]))


def test_weights_are_rounded_where_that_was_asked_for(xpu) -> None:
    arrays = jax.device_put(arrays_of(1, 300, 300, 3, 16, "bfloat16"), xpu)
    options = {"xla_allow_excess_precision": False}

    def with_f32_values(query, key, value):
        weights = jax.nn.softmax(
            jnp.einsum("bqhd,bkhd->bhqk", query, key, preferred_element_type=jnp.float32)
        )
        return jnp.einsum(
            "bhqk,bkhd->bqhd",
            weights.astype(jnp.bfloat16).astype(jnp.float32),
            value.astype(jnp.float32),
        )

    for function in attention, with_f32_values:
        compiled = jax.jit(function).lower(*arrays).compile(compiler_options=options)
        assert "attention_fusion" not in compiled.as_text()


def test_what_only_looks_like_it(xpu, cpu) -> None:
    query, key, value = arrays_of(1, 300, 300, 3, 16)

    def below_zero(query, key, value):
        # exp(score - 0) of scores that are all far below zero: nothing is left of any weight.
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) - 200
        weights = jnp.exp(scores - scores.max(-1, keepdims=True, initial=0.0))
        return jnp.einsum("bhqk,bkhd->bqhd", weights / weights.sum(-1, keepdims=True), value)

    def values_of_queries(query, key, value):
        weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", query, key) / 4)
        return jnp.einsum("bhqk,bqkhd->bqhd", weights, value[:, None] + query[:, :, None])

    assert np.isnan(
        np.asarray(jax.jit(below_zero)(*jax.device_put((query, key, value), xpu)))
    ).all()
    for function in below_zero, values_of_queries:
        text = (
            jax.jit(function).lower(*jax.device_put((query, key, value), xpu)).compile().as_text()
        )
        assert "attention_fusion" not in text
    check(xpu, cpu, values_of_queries, query, key, value)


def test_long_work_on_scores(xpu) -> None:
    query, key, value = arrays_of(1, 300, 300, 3, 16)

    def squared(query, key, value):
        # Each square has one operand twice, and each step of the hash two ways to the one before.
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / 64
        hashed = jnp.arange(300 * 300, dtype=jnp.uint32).reshape(300, 300)
        for _ in range(40):
            scores = scores * scores
            hashed = hashed ^ (hashed << 5)
        return jnp.einsum(
            "bhqk,bkhd->bqhd", jax.nn.softmax(scores + jnp.where(hashed % 2 == 0, 0.0, -1e9)), value
        )

    # What is below one is nothing when it was squared so often: all that are seen weigh the same.
    hashed = np.arange(300 * 300, dtype=np.uint32).reshape(300, 300)
    for _ in range(40):
        hashed = hashed ^ (hashed << np.uint32(5))
    bias = np.where(hashed % 2 == 0, 0.0, -1e9)
    actual = jax.jit(squared)(*jax.device_put((query, key, value), xpu))
    assert_attention(actual, (query * 0, key, value), bias)


def test_one_array_for_all_three(xpu) -> None:
    x = normal((2, 300, 3, 16))
    function = jax.jit(lambda x: attention(x, x, x), donate_argnums=0)
    assert_attention(function(jax.device_put(x, xpu)), (x, x, x))


def test_weights_by_themselves(xpu) -> None:
    query, key, _ = arrays_of(1, 512, 512, 1, 16)

    def square(query, key):
        weights = jax.nn.softmax(query[0, :, 0] @ key[0, :, 0].T)
        return weights @ weights

    scores = query[0, :, 0].astype(np.float64) @ key[0, :, 0].astype(np.float64).T
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    # Scores of some 16, twice: each of their units is 2^-20 of a weight.
    np.testing.assert_allclose(
        jax.jit(square)(*jax.device_put((query, key), xpu)), weights @ weights, rtol=1e-4, atol=1e-9
    )


def test_other_orders_of_dimensions(xpu) -> None:
    query, key, value = arrays_of(2, 256, 200, 4, 16)
    formulas = [
        ("hbqd", "hbdk", "hbkd", "bqhd"),
        ("bhqd", "bhkd", "bhdk", "dbqh"),
        ("dqbh", "kdhb", "kdbh", "qbdh"),
    ]
    for q, k, v, out in formulas:

        def function(a, b, c, q=q, k=k, v=v, out=out):
            weights = jax.nn.softmax(jnp.einsum(f"{q},{k}->bhqk", a, b) / 4)
            return jnp.einsum(f"bhqk,{v}->{out}", weights, c)

        turned = [
            np.ascontiguousarray(np.einsum(f"b{i}hd->{to}", x))
            for x, i, to in ((query, "q", q), (key, "k", k), (value, "k", v))
        ]
        actual = np.asarray(jax.jit(function)(*jax.device_put(turned, xpu)))
        assert_attention(np.einsum(f"{out}->bqhd", actual), (query, key, value))


def test_in_a_loop(xpu) -> None:
    query, key, value = arrays_of(1, 300, 300, 3, 16)
    loop = jax.jit(
        lambda q, k, v: lax.scan(lambda c, _: (attention(c, k, v), None), q, length=3)[0]
    )
    actual = loop(*jax.device_put((query, key, value), xpu))
    wide = query.astype(np.float64)
    for _ in range(3):
        wide, _ = expected(wide, key, value)
    # Means of 300 values, of about one, as the next step's queries: the bound of one step three
    # times over.
    np.testing.assert_allclose(actual, wide, rtol=0, atol=3 * 64 * 2**-23)
