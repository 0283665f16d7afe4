"""Kernels under jax.vmap: one launch where the definition allows it, and the same numbers as a
loop.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import onexpu
from onexpu.kernels import layer_norm, reference, rms_norm, rotary_embedding, swiglu

SOURCE = """
ONEXPU_KERNEL void sums(const float* x, const float* w, float* y, size_t columns) {
  const size_t row = onexpu::global_id();
  float sum = 0;
  for (size_t c = 0; c < columns; ++c) sum += w[c] * x[row * columns + c];
  y[row] = sum;
}
"""


def sums(**overrides) -> onexpu.SyclKernel:
    arguments = {
        "inputs": ["x", "w"],
        "outputs": {"y": onexpu.like("x", shape=lambda x, w: x.shape[:-1])},
        "attributes": {"columns": lambda x, w: x.shape[-1]},
        "shapes": {"x": "*rows columns", "w": "columns"},
        "vmap": "leading",
        **overrides,
    }
    return onexpu.sycl_kernel(SOURCE, **arguments)


def calls(function: Callable, *operands: jax.Array) -> int:
    """How often a program calls a kernel; loops have their body once."""
    return jax.jit(function).lower(*operands).as_text().count("@onexpu.kernel")


def numbers(xpu, *shapes: tuple[int, ...]) -> list[jax.Array]:
    random = np.random.default_rng(len(shapes))
    return [
        jax.device_put(random.standard_normal(shape).astype(np.float32), xpu) for shape in shapes
    ]


def has_loop(function: Callable, *operands: jax.Array) -> bool:
    return "while" in jax.jit(function).lower(*operands).as_text()


@pytest.mark.parametrize("in_axes", [(0, None), (1, None), (2, None)])
def test_one_launch_for_a_batch(in_axes, xpu) -> None:
    x, w = numbers(xpu, (4, 4, 4), (4,))
    run = jax.vmap(sums(), in_axes)
    assert not has_loop(run, x, w)
    expected = jax.vmap(lambda x, w: x @ w, in_axes)(x, w)
    # Four products of size 1, added in another order.
    np.testing.assert_allclose(jax.jit(run)(x, w), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(run(x, w), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("in_axes", [(None, 0), (0, 0), (0, 1)])
def test_a_batch_of_what_takes_no_more_dimensions_is_a_loop(in_axes, xpu) -> None:
    x, w = numbers(xpu, (4, 4, 4), (4, 4))
    run = jax.vmap(sums(), in_axes)
    assert has_loop(run, x, w)
    expected = jax.vmap(lambda x, w: x @ w, in_axes)(x, w)
    np.testing.assert_allclose(jax.jit(run)(x, w), expected, rtol=1e-5, atol=1e-5)


def test_nested(xpu) -> None:
    x, w = numbers(xpu, (2, 3, 4, 5), (5,))
    run = jax.vmap(jax.vmap(sums(), (0, None)), (1, None))
    assert not has_loop(run, x, w)
    expected = jnp.swapaxes(x, 0, 1) @ w
    np.testing.assert_allclose(jax.jit(run)(x, w), expected, rtol=1e-5, atol=1e-5)


def test_a_kernel_without_a_rule_is_launched_for_each(swish, xpu) -> None:
    (x,) = numbers(xpu, (3, 7))
    run = jax.vmap(lambda row: swish(row, beta=1.0))
    assert has_loop(run, x)
    np.testing.assert_array_equal(jax.jit(run)(x), swish(x, beta=1.0))


def test_a_rule_of_ones_own(xpu) -> None:
    kernel = sums(vmap="sequential")

    @kernel.defvmap
    def batch(axis_size, in_batched, x, w):
        assert axis_size == 3 and list(in_batched) == [True, False]
        return kernel(x.reshape(-1, x.shape[-1]), w).reshape(x.shape[:-1]), True

    x, w = numbers(xpu, (3, 4, 5), (5,))
    run = jax.vmap(kernel, (0, None))
    assert calls(run, x, w) == 1 and not has_loop(run, x, w)
    np.testing.assert_allclose(jax.jit(run)(x, w), x @ w, rtol=1e-5, atol=1e-5)


def test_rules_that_do_not_fit(xpu) -> None:
    x, w = numbers(xpu, (3, 4, 5), (5,))
    kernel = sums()
    kernel.defvmap(lambda axis_size, in_batched, x, w: ([x, x], [True, True]))
    with pytest.raises(
        ValueError, match="the vmap rule of kernel 'sums' gave 2 outputs and 2 flags for 1 outputs"
    ):
        jax.vmap(kernel, (0, None))(x, w)
    fixed = sums(outputs={"y": onexpu.array((5,), "float32")}, range=4)
    with pytest.raises(
        ValueError,
        match=r"says vmap='leading', but output 'y' has the shape \(5,\) for a batch of 3",
    ):
        jax.vmap(fixed, (0, None))(x, w)
    with pytest.raises(
        ValueError, match="vmap of kernel 'sums' is 'sequential' or 'leading', not 'all'"
    ):
        sums(vmap="all")
    with pytest.raises(ValueError, match="the declared shape of none of its inputs begins with"):
        sums(shapes={})


CASES = [
    (rms_norm, reference.rms_norm, [(4, 5, 6), (6,)], (0, None), (0, 1)),
    (layer_norm, reference.layer_norm, [(4, 5, 6), (6,), (6,)], (0, None, None), (0, 1, 2)),
    (swiglu, reference.swiglu, [(4, 5, 6), (4, 5, 6)], (0, 0), (0, 1)),
    (swiglu, reference.swiglu, [(4, 5, 6), (5, 6)], (0, None), (0, 1)),
    (
        rotary_embedding,
        reference.rotary_embedding,
        [(4, 5, 2, 6), (5, 3), (5, 3)],
        (0, None, None),
        (0,),
    ),
]
SHIPPED = pytest.mark.parametrize(
    ("kernel", "plain", "shapes", "in_axes", "changing"),
    CASES,
    ids=lambda v: getattr(v, "__name__", ""),
)


def close(found, expected) -> None:
    for ours, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        # Rows of six summed in another order.
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)


@SHIPPED
def test_shipped_kernels_are_launched_once(kernel, plain, shapes, in_axes, changing, xpu) -> None:
    operands = numbers(xpu, *shapes)
    run = jax.vmap(kernel, in_axes)
    assert calls(run, *operands) == 1 and not has_loop(run, *operands)
    close(jax.jit(run)(*operands), jax.vmap(plain, in_axes)(*operands))


def squares(function: Callable) -> Callable:
    return lambda *operands: (function(*operands) ** 2).sum()


@SHIPPED
def test_gradients_of_a_batch(kernel, plain, shapes, in_axes, changing, xpu) -> None:
    operands = numbers(xpu, *shapes)

    def of(function: Callable) -> Callable:
        return jax.jit(jax.grad(squares(jax.vmap(function, in_axes)), changing))

    assert not has_loop(of(kernel), *operands)
    close(of(kernel)(*operands), of(plain)(*operands))


@SHIPPED
def test_a_batch_of_gradients(kernel, plain, shapes, in_axes, changing, xpu) -> None:
    """Each example's own, also of what they share."""
    operands = numbers(xpu, *shapes)

    def of(function: Callable) -> Callable:
        return jax.jit(jax.vmap(jax.grad(squares(function), changing), in_axes))

    assert not has_loop(of(kernel), *operands)
    close(of(kernel)(*operands), of(plain)(*operands))


def test_gradients_of_nested_batches(xpu) -> None:
    x, weight = numbers(xpu, (2, 3, 5, 6), (6,))

    def of(function: Callable) -> Callable:
        each = jax.vmap(jax.grad(squares(function), (0, 1)), (0, None))
        return jax.jit(jax.vmap(each, (0, None)))

    assert not has_loop(of(rms_norm), x, weight)
    close(of(rms_norm)(x, weight), of(reference.rms_norm)(x, weight))


def test_a_batch_of_weights(xpu) -> None:
    x, weight = numbers(xpu, (5, 6), (4, 6))

    def of(function: Callable) -> Callable:
        return jax.jit(jax.vmap(jax.value_and_grad(squares(function), (0, 1)), (None, 0)))

    close(of(rms_norm)(x, weight), of(reference.rms_norm)(x, weight))
