"""Products that kernels compute in blocks of rows: sizes around the blocks, types, neighbours,
loops.
"""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.exhaustive import every
from tests.jax.compare import assert_sums_of_products, normal


@pytest.mark.parametrize("dtype", every(3, ["float32", "bfloat16", "float16"]))
def test_sizes_around_the_blocks(xpu, dtype) -> None:
    # One column, several and a part of a vector in a work-item; one row to more than two blocks.
    for m, k, n in itertools.product((1, 2, 4, 5, 8, 19), (1, 3, 70), (8, 16, 50, 64, 256, 512)):
        a, b = normal((m, k), dtype), normal((k, n), dtype)
        actual = jax.jit(jnp.matmul)(*jax.device_put((a, b), xpu))
        a, b = a.astype(np.float64), b.astype(np.float64)
        assert_sums_of_products(actual, a @ b, (abs(a) @ abs(b)).max())


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint16"])
def test_integers(xpu, cpu, dtype) -> None:
    random = np.random.default_rng(0)
    a, b = (random.integers(0, 60, shape).astype(dtype) for shape in ((9, 70), (70, 130)))
    function = jax.jit(lambda a, b: lax.dot(a, b, preferred_element_type=np.int32))
    actual, expected = (np.asarray(function(*jax.device_put((a, b), d))) for d in (xpu, cpu))
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(
    "formula",
    ["bmk,bkn->bmn", "mk,nk->mn", "km,kn->mn", "bkm,bnk->bmn", "mk,k->m", "k,kn->n", "bsd,bd->bs"],
)
def test_operands_that_lie_otherwise(xpu, formula) -> None:
    extent = {"b": 3, "m": 21, "k": 66, "n": 96, "s": 40, "d": 128}
    a, b = (normal([extent[i] for i in operand]) for operand in formula.split("->")[0].split(","))
    actual = jax.jit(lambda a, b: jnp.einsum(formula, a, b))(*jax.device_put((a, b), xpu))
    a, b = a.astype(np.float64), b.astype(np.float64)
    assert_sums_of_products(
        actual, np.einsum(formula, a, b), np.einsum(formula, abs(a), abs(b)).max()
    )


def test_several_products_in_one_kernel(xpu) -> None:
    x, h, w, u, b = (
        normal((20, 64)),
        normal((20, 96)),
        normal((64, 256)),
        normal((96, 256)),
        normal((256,)),
    )
    function = jax.jit(lambda x, h, w, u, b: jnp.tanh(x @ w / 8 + h @ u / 8 + b))
    arguments = jax.device_put((x, h, w, u, b), xpu)
    text = function.lower(*arguments).compile().as_text()
    assert text.count(" fusion(") == 1
    x, h, w, u, b = (i.astype(np.float64) for i in (x, h, w, u, b))
    terms = (abs(x) @ abs(w) / 8 + abs(h) @ abs(u) / 8 + abs(b)).max()
    assert_sums_of_products(function(*arguments), np.tanh(x @ w / 8 + h @ u / 8 + b), terms)


def test_a_product_that_others_read_too(xpu) -> None:
    x, w = normal((24, 100)), normal((100, 80)) / 10
    product, activated, total = jax.jit(lambda x, w: (x @ w, jnp.exp(x @ w), jnp.sum(x @ w)))(
        *jax.device_put((x, w), xpu)
    )
    x, w = x.astype(np.float64), w.astype(np.float64)
    terms = (abs(x) @ abs(w)).max()
    assert_sums_of_products(product, x @ w, terms)
    assert_sums_of_products(activated, np.exp(x @ w), terms * np.exp(x @ w).max())
    assert_sums_of_products(total, (x @ w).sum(), terms * product.size**0.5)


def test_not_numbers_stay_in_their_rows(xpu) -> None:
    x, w = normal((12, 64)), normal((64, 64))
    x[3, 5], x[9, 0] = np.nan, np.inf
    actual = np.asarray(jax.jit(jnp.matmul)(*jax.device_put((x, w), xpu)))
    assert np.isnan(actual[3]).all()
    np.testing.assert_array_equal(np.sign(actual[9]), np.sign(w[0]))
    assert np.isinf(actual[9]).all()
    assert np.isfinite(np.delete(actual, (3, 9), 0)).all()


@pytest.mark.parametrize("rows", [1, 20])
def test_weights_of_a_loop_both_ways(xpu, cpu, rows) -> None:
    """A loop that reads its weights by rows forwards and by columns backwards."""
    x, w = normal((rows, 128)), normal((128, 128)) / 12

    def loss(w, x):
        return jnp.sum(lax.scan(lambda h, _: (jnp.tanh(h @ w), None), x, None, length=20)[0] ** 2)

    actual, expected = (
        np.asarray(jax.jit(jax.grad(loss))(*jax.device_put((w, x), device)))
        for device in (xpu, cpu)
    )
    # 40 steps, each of which rounds like one product of 128 terms: half as many units at most.
    np.testing.assert_allclose(actual, expected, rtol=0, atol=40 * 64 * 6e-8 * abs(expected).max())


@pytest.mark.parametrize("batch", [1, 2])
def test_attention_in_bfloat16(xpu, batch) -> None:
    """Sums in float32, weights rounded to bfloat16: maximum, exponential, sum and quotient are one
    kernel.
    """
    q, k, v = (normal((batch, 256, 4, 16), "bfloat16") for _ in range(3))

    def attention(q, k, v):
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k, preferred_element_type=np.float32)
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores).astype(v.dtype), v)

    function = jax.jit(attention)
    arguments = jax.device_put((q, k, v), xpu)
    actual = np.asarray(function(*arguments)).astype(np.float64)
    text = function.lower(*arguments).compile().as_text()
    rows = [body for body in text.split("\n\n") if " exponential(" in body]
    assert len(rows) == 1 and rows[0].count(" reduce(") == 2 and " divide(" in rows[0]
    q, k, v = (i.astype(np.float64) for i in (q, k, v))
    scores = np.einsum("bqhd,bkhd->bhqk", q, k)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = np.einsum("bhqk,bkhd->bqhd", weights / weights.sum(-1, keepdims=True), v)
    # Weights and result are rounded to 8 bits, and the weights of a row sum to 1.
    assert abs(actual - expected).max() <= 2 * 2.0**-8 * abs(v).max()


def test_complex_products_in_a_wider_type(xpu) -> None:
    random = np.random.default_rng(3)
    a, b = (random.standard_normal((2, 300, 300)) + 1j for _ in range(2))
    a, b = a.astype(np.complex64), b.astype(np.complex64)
    product = jax.jit(lax.batch_matmul)
    wide = jax.jit(
        lambda a, b: lax.dot_general(
            a, b, (((2,), (1,)), ((0,), (0,))), preferred_element_type=np.complex128
        )
    )
    operands = jax.device_put((a, b), xpu)
    exact = a.astype(np.complex128) @ b.astype(np.complex128)
    np.testing.assert_allclose(wide(*operands), exact, rtol=0, atol=1e-12 * np.abs(exact).max())
    np.testing.assert_allclose(product(*operands), exact, rtol=0, atol=1e-5 * np.abs(exact).max())
