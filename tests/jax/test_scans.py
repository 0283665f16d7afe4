"""Running sums, products, maxima and minima along every dimension and from both ends."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.exhaustive import covering
from tests.jax.compare import scaled

# Lines: none, one, too few for work-items of their own, just enough, more, and of lengths around
# the blocks of long scans.
SHAPES = [
    (0, 5), (1,), (31,), (33,), (1000,), (4097,), (63, 32), (64, 32), (65, 33), (3, 70, 41),
    (200, 1), (2, 32, 64), (100, 1025),
]  # fmt: skip
SCANS = {
    "sum": (lax.cumsum, np.cumsum),
    "product": (lax.cumprod, np.cumprod),
    "maximum": (lax.cummax, np.maximum.accumulate),
    "minimum": (lax.cummin, np.minimum.accumulate),
}


def _run(xpu, scan, x, axis, reverse) -> np.ndarray:
    run = jax.jit(lambda x: scan(x, axis=axis, reverse=reverse))
    return np.asarray(run(jax.device_put(x, xpu)))


def _expected(accumulate, x, axis, reverse) -> np.ndarray:
    if reverse:
        return np.flip(accumulate(np.flip(x, axis), axis=axis), axis)
    return accumulate(x, axis=axis)


@covering(name=SCANS, shape=SHAPES, reverse=[False, True])
def test_scans_of_integers(xpu, name, shape, reverse) -> None:
    scan, accumulate = SCANS[name]
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(np.int32)
    for axis in range(len(shape)):
        expected = _expected(accumulate, x, axis, reverse).astype(np.int32)
        np.testing.assert_array_equal(_run(xpu, scan, x, axis, reverse), expected)


@covering(dtype=["float16", "bfloat16", "float32", "float64", "complex64"], reverse=[False, True])
def test_sums(xpu, dtype, reverse) -> None:
    for shape in ((65, 33), (4097,), (100, 1025)):
        x = scaled(shape, dtype)
        wide = x.astype("c16" if dtype == "complex64" else "f8")
        for axis in range(len(shape)):
            actual = _run(xpu, lax.cumsum, x, axis, reverse)
            assert actual.dtype == x.dtype
            expected = _expected(np.cumsum, wide, axis, reverse)
            magnitudes = _expected(np.cumsum, np.abs(wide), axis, reverse)
            # One rounding of the result; the sums of blocks have at least f32, or the type of x.
            eps = float(jnp.finfo(dtype).eps)
            tolerance = eps * np.abs(expected) + 8 * min(eps, 2.0**-23) * magnitudes
            assert (np.abs(actual.astype(wide.dtype) - expected) <= tolerance).all()


@pytest.mark.parametrize("reverse", [False, True])
def test_nan_and_infinities(xpu, reverse) -> None:
    x = scaled((70, 40), "float32")
    x[3, 7], x[5, 20], x[69, 39] = np.nan, np.inf, -np.inf
    for scan, accumulate in SCANS.values():
        actual = _run(xpu, scan, x, 1, reverse)
        expected = _expected(accumulate, x, 1, reverse)
        np.testing.assert_array_equal(np.isnan(actual), np.isnan(expected))
        np.testing.assert_array_equal(np.isinf(actual), np.isinf(expected))


@pytest.mark.parametrize("axis", [0, 1])
def test_a_scan_of_two_arrays(xpu, axis) -> None:
    """The reducer takes the first of equal maxima, so it depends on the order."""
    x = np.random.default_rng(0).integers(0, 5, (80, 90)).astype("f4")

    @jax.jit
    def first_maxima(x):
        places = lax.broadcasted_iota(jnp.int32, x.shape, axis)
        length = x.shape[axis]
        window = tuple(length if i == axis else 1 for i in range(2))
        padding = tuple((length - 1, 0) if i == axis else (0, 0) for i in range(2))

        def later(left, right):
            is_left = left[0] >= right[0]
            return tuple(jnp.where(is_left, a, b) for a, b in zip(left, right, strict=True))

        return lax.reduce_window(
            (x, places), (np.float32(-np.inf), np.int32(-1)), later, window, (1, 1), padding
        )

    values, places = map(np.asarray, first_maxima(jax.device_put(x, xpu)))
    maxima = np.maximum.accumulate(x, axis=axis)
    np.testing.assert_array_equal(values, maxima)
    for i in range(x.shape[axis]):
        part = np.take(x, range(i + 1), axis=axis)
        np.testing.assert_array_equal(np.take(places, i, axis=axis), part.argmax(axis))
