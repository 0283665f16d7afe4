"""Select-and-scatter, the gradient of max pooling, against loops in Python: sums of integers, so
that all results are exact. JAX's CPU backend differs where windows reach beyond the operand and
hold nothing but infinities or NaN: it selects elements of the padding.
"""

from __future__ import annotations

import itertools

import jax
import numpy as np
import pytest
from jax import lax

from tests.exhaustive import covering

# Shape, window, stride, padding.
FORMS = {
    "windows apart": ((2, 8, 8, 3), (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
    "overlapping": ((2, 13, 9, 3), (1, 3, 3, 1), (1, 2, 2, 1), "SAME"),
    "every element": ((2, 9, 7, 3), (1, 3, 3, 1), (1, 1, 1, 1), "SAME"),
    "no padding": ((1, 11, 11, 2), (1, 3, 3, 1), (1, 2, 2, 1), "VALID"),
    "one side padded": ((10, 10, 2), (3, 2, 1), (2, 1, 1), [(2, 0), (0, 1), (0, 0)]),
    "elements that no window covers": ((20,), (3,), (7,), "VALID"),
    "a row": ((50,), (5,), (2,), "SAME"),
    "a volume": ((5, 6, 7), (2, 3, 2), (1, 2, 1), "SAME"),
    "a long window": ((60,), (40,), (3,), "SAME"),
    "padded by more than a stride": ((6,), (5,), (2,), [(4, 4)]),
    "one window": ((4, 5), (4, 5), (1, 1), "VALID"),
}  # fmt: skip
VALUES = {
    "ties": lambda random, shape: random.integers(0, 3, shape),
    "distinct": lambda random, shape: random.permutation(int(np.prod(shape))).reshape(shape),
    "NaN and infinities": lambda random, shape: random.choice(
        [np.nan, np.inf, -np.inf, 1, -1], shape
    ),
    "infinities alone": lambda random, shape: np.full(shape, -np.inf),
}


def _gradient(x, window, stride, padding, operation):
    initial = -np.inf if operation is lax.max else np.inf
    if not np.issubdtype(x.dtype, np.inexact) and x.dtype.name != "bfloat16":
        limits = np.iinfo(x.dtype)
        initial = limits.min if operation is lax.max else limits.max
    initial = np.asarray(initial, x.dtype)
    pool = jax.jit(lambda x: lax.reduce_window(x, initial, operation, window, stride, padding))
    y = jax.eval_shape(pool, x)
    weights = np.random.default_rng(1).integers(-4, 5, y.shape).astype(x.dtype)
    return jax.jit(lambda x, weights: jax.vjp(pool, x)[1](weights)[0]), weights


def _expected(x, weights, window, stride, padding, operation) -> np.ndarray:
    """Each window keeps the element that it has selected if that is not less than the next one."""
    if isinstance(padding, str):
        padding = lax.padtype_to_pads(x.shape, window, stride, padding)
    result = np.zeros(x.shape, "f8")
    for number in np.ndindex(*weights.shape):
        corner = [n * s - low for n, s, (low, _) in zip(number, stride, padding, strict=True)]
        selected = None
        for place in itertools.product(
            *(
                range(max(c, 0), min(c + w, n))
                for c, w, n in zip(corner, window, x.shape, strict=True)
            )
        ):
            if selected is None:
                selected = place
            elif operation is lax.max and not x[selected] >= x[place]:
                selected = place
            elif operation is lax.min and not x[selected] <= x[place]:
                selected = place
        if selected is not None:
            result[selected] += float(weights[number])
    return result


@covering(name=FORMS, values=VALUES, operation=[lax.max, lax.min])
def test_gradients(xpu, name, values, operation) -> None:
    shape, *window = FORMS[name]
    x = VALUES[values](np.random.default_rng(0), shape).astype("float32")
    run, weights = _gradient(x, *window, operation)
    expected = _expected(x, weights, *window, operation)
    np.testing.assert_array_equal(run(*jax.device_put((x, weights), xpu)), expected)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_types(xpu, dtype) -> None:
    shape, *window = FORMS["overlapping"]
    x = np.random.default_rng(0).integers(-20, 20, shape).astype(jax.numpy.dtype(dtype))
    run, weights = _gradient(x, *window, lax.max)
    expected = _expected(x, weights, *window, lax.max)
    result = np.asarray(run(*jax.device_put((x, weights), xpu)))
    assert result.dtype == x.dtype
    np.testing.assert_array_equal(result.astype("f8"), expected)
