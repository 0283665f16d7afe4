"""Reduce-windows with long windows, which the compiler splits, against the sums and maxima of each
window in numpy.
"""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.exhaustive import covering
from tests.jax.compare import check, scaled

# Shape, window, stride, padding, window dilation, base dilation.
FORMS = {
    "a product": ((500,), (64,), (1,), "VALID", (1,), (1,)),
    "a prime": ((500,), (97,), (1,), "SAME", (1,), (1,)),
    "a square and one": ((500,), (101,), (1,), "SAME", (1,), (1,)),
    "longer than the operand": ((40,), (90,), (1,), [(89, 89)], (1,), (1,)),
    "one result": ((300,), (300,), (1,), "VALID", (1,), (1,)),
    "all padding at one end": ((70,), (60,), (1,), [(120, 0)], (1,), (1,)),
    "strides": ((500,), (100,), (3,), "SAME", (1,), (1,)),
    "strides that leave a rest": ((503,), (60,), (4,), "VALID", (1,), (1,)),
    "a long stride": ((500,), (100,), (50,), "VALID", (1,), (1,)),
    "dilation": ((900,), (50,), (1,), "SAME", (3,), (1,)),
    "dilation of the operand": ((90,), (70,), (1,), "SAME", (1,), (2,)),
    "rows": ((7, 200), (1, 80), (1, 1), "SAME", (1, 1), (1, 1)),
    "columns": ((200, 7), (80, 1), (1, 1), "SAME", (1, 1), (1, 1)),
    "an area": ((70, 60), (17, 15), (1, 1), "SAME", (1, 1), (1, 1)),
    "an area with a long side": ((30, 200), (3, 90), (2, 3), "SAME", (1, 2), (1, 1)),
    "a volume": ((20, 21, 22), (7, 8, 9), (1, 2, 1), "VALID", (1, 1, 1), (1, 1, 1)),
}


def _expected(x, initial, reduce, form) -> np.ndarray:
    """Returns `reduce` of each window, in the type of `x`."""
    _, window, stride, padding, dilation, base_dilation = form
    extent = [(w - 1) * d + 1 for w, d in zip(window, dilation, strict=True)]
    base = [(n - 1) * d + 1 for n, d in zip(x.shape, base_dilation, strict=True)]
    if isinstance(padding, str):
        padding = lax.padtype_to_pads(base, extent, stride, padding)
    spread = np.full(base, initial, x.dtype)
    spread[tuple(slice(None, None, d) for d in base_dilation)] = x
    padded = np.pad(spread, padding, constant_values=initial)
    views = np.lib.stride_tricks.sliding_window_view(padded, extent)
    rank = x.ndim
    views = views[
        tuple(slice(None, None, s) for s in stride) + tuple(slice(None, None, d) for d in dilation)
    ]
    return reduce(views, axis=tuple(range(rank, 2 * rank)))


@covering(name=FORMS, dtype=["float32", "bfloat16", "int32"])
def test_sums(xpu, name, dtype) -> None:
    form = FORMS[name]
    shape, window, stride, padding, dilation, base_dilation = form
    x = scaled(shape, dtype)

    @jax.jit
    def run(x):
        return lax.reduce_window(
            x, np.zeros((), x.dtype), lax.add, window, stride, padding, base_dilation, dilation
        )

    actual = np.asarray(run(jax.device_put(x, xpu))).astype("f8")
    expected = _expected(x.astype("f8"), 0, np.sum, form)
    if dtype == "int32":
        np.testing.assert_array_equal(actual, expected)
        return
    # One rounding of the result, and those of sums of sums in f32, relative to the sum of absolute
    # values.
    magnitudes = _expected(np.abs(x.astype("f8")), 0, np.sum, form)
    tolerance = float(jnp.finfo(dtype).eps) * np.abs(expected) + 4 * 2.0**-23 * magnitudes
    assert (np.abs(actual - expected) <= tolerance).all()


@pytest.mark.parametrize("name", FORMS)
def test_maxima_and_minima(xpu, name) -> None:
    form = FORMS[name]
    shape, window, stride, padding, dilation, base_dilation = form
    x = scaled(shape, "float32")
    x.flat[x.size // 2] = np.nan
    x.flat[x.size // 3] = np.inf
    for operation, reduce, initial in (
        (lax.max, np.max, -np.inf),
        (lax.min, np.min, np.inf),
    ):
        run = jax.jit(
            lambda x, operation=operation, initial=initial: lax.reduce_window(
                x, np.float32(initial), operation, window, stride, padding, base_dilation, dilation
            )
        )
        expected = _expected(x, np.float32(initial), reduce, form)
        np.testing.assert_array_equal(run(jax.device_put(x, xpu)), expected)


def test_an_initial_value_takes_part_once(xpu, cpu) -> None:
    run = jax.jit(lambda x: lax.reduce_window(x, np.float32(3), lax.add, (100,), (1,), "VALID"))
    check(xpu, cpu, run, scaled((500,), "float32"))


def test_gradients_of_long_windows(xpu, cpu) -> None:
    def loss(x, operation, initial):
        return (lax.reduce_window(x, initial, operation, (80,), (1,), "SAME") ** 2).sum()

    x = scaled((300,), "float32")
    check(xpu, cpu, jax.jit(jax.grad(lambda x: loss(x, lax.add, 0.0))), x)
    check(xpu, cpu, jax.jit(jax.grad(lambda x: loss(x, lax.max, -jnp.inf))), x)


def test_products_and_logical_operations(xpu) -> None:
    random = np.random.default_rng(0)
    form = ((500,), (100,), (1,), "SAME", (1,), (1,))
    cases = itertools.chain(
        [(lax.mul, np.prod, 1, random.choice([-1, 1], 500).astype(np.int32))],
        [(lax.bitwise_and, np.all, True, random.random(500) < 0.99)],
        [(lax.bitwise_or, np.any, False, random.random(500) < 0.01)],
    )
    for operation, reduce, initial, x in cases:
        run = jax.jit(
            lambda x, operation=operation, initial=initial: lax.reduce_window(
                x, np.asarray(initial, x.dtype), operation, (100,), (1,), "SAME"
            )
        )
        expected = _expected(x, np.asarray(initial, x.dtype), reduce, form)
        np.testing.assert_array_equal(run(jax.device_put(x, xpu)), expected)
