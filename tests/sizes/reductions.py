"""Families of reductions: along axes, over windows, and cumulative ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.sizes.cases import (
    ORDERED,
    ORDERED_TOO,
    SUMMED,
    SUMMED_TOO,
    Case,
    distinct,
    family,
    signs,
    small,
    wide,
)
from tests.sizes.movement import padded

_OPERATIONS = {
    "sum": (lax.add, np.add, lambda dtype: 0),
    "max": (lax.max, np.maximum, lambda dtype: _limits(dtype)[0]),
    "min": (lax.min, np.minimum, lambda dtype: _limits(dtype)[1]),
    "xor": (lax.bitwise_xor, np.bitwise_xor, lambda dtype: 0),
    "product": (lax.mul, np.multiply, lambda dtype: 1),
}


def _limits(dtype) -> tuple[object, object]:
    if jnp.issubdtype(dtype, np.integer):
        return np.iinfo(dtype).min, np.iinfo(dtype).max
    return -np.inf, np.inf


def reduced(operation: str, x: np.ndarray, *axes: int) -> Case:
    """A reduction in the array's own dtype, in which integers wrap around (`jnp.sum` would widen
    them).
    """
    of_jax, of_numpy, initial = _OPERATIONS[operation]
    value = np.asarray(initial(x.dtype)).astype(x.dtype)
    return Case(
        lambda x: lax.reduce(x, value, of_jax, axes), (x,), lambda x: of_numpy.reduce(wide(x), axes)
    )


@family("sum columns", SUMMED)
def _(m, n, dtype):
    return reduced("sum", small((m, n), dtype), 0)


@family("sum rows", SUMMED_TOO)
def _(m, n, dtype):
    return reduced("sum", small((m, n), dtype), 1)


@family("sum everything", SUMMED)
def _(m, n, dtype):
    x = small((m, n), dtype)
    return (
        reduced("sum", x, 0, 1)
        if dtype not in ("bfloat16", "float16")
        else reduced("sum", x[:, : 70 // m + 1], 0, 1)
    )


@family("sum the middle axis", SUMMED_TOO)
def _(m, n, dtype):
    return reduced("sum", small((3, m, n), dtype), 1)


@family("sum the first and the last axis", SUMMED)
def _(m, n, dtype):
    return reduced("sum", small((m, n, 1 + m % 2), dtype), 0, 2)


@family("sum the outer of three axes", SUMMED_TOO)
def _(m, n, dtype):
    return reduced("sum", small((m, 2, n), dtype), 0)


@family("sum the inner of three axes", SUMMED)
def _(m, n, dtype):
    return reduced("sum", small((2, m, n), dtype), 2)


# EmitNarrowColumns (reduction_cpu.cc): fewer than 16 adjacent columns, at least 64 rows.
@family("sum few long columns", SUMMED_TOO)
def _(m, n, dtype):
    x = small((m + 60, 1 + n % 16), dtype)
    return reduced("sum", x[:80] if dtype == "float16" else x, 0)


@family("maximum of few long columns", ORDERED)
def _(m, n, dtype):
    return reduced("max", distinct((2, m + 60, 1 + n % 16), dtype), 1)


for _operation, _dtypes in (("max", ORDERED), ("min", ORDERED_TOO)):

    @family(f"{_operation} of columns", _dtypes)
    def _(m, n, dtype, operation=_operation):
        return reduced(operation, distinct((m, n), dtype), 0)

    @family(f"{_operation} of rows", _dtypes)
    def _(m, n, dtype, operation=_operation):
        return reduced(operation, distinct((m, n), dtype), 1)

    @family(f"{_operation} of the middle axis", _dtypes[:1])
    def _(m, n, dtype, operation=_operation):
        return reduced(operation, distinct((2, m, n), dtype), 1)


# Reducers other than sums and extrema.
@family("xor of columns", ("int32",))
def _(m, n, dtype):
    return reduced("xor", distinct((m, n), dtype), 0)


@family("product of columns", ("int8",))
def _(m, n, dtype):
    return reduced("product", signs((m, n), dtype), 0)


@family("product of rows", ("float16", "int64"))
def _(m, n, dtype):
    return reduced("product", signs((m, n), dtype), 1)


for _axis, _dtypes in ((0, ORDERED), (1, ORDERED_TOO)):

    @family(f"argmax along axis {_axis}", _dtypes)
    def _(m, n, dtype, axis=_axis):
        return Case(
            lambda x: jnp.argmax(x, axis),
            (distinct((m, n), dtype),),
            lambda x: np.argmax(wide(x), axis),
        )

    @family(f"argmin along axis {_axis}", _dtypes)
    def _(m, n, dtype, axis=_axis):
        # Many elements are equal; the result is the first index.
        return Case(
            lambda x: jnp.argmin(x, axis),
            (small((m, n), dtype),),
            lambda x: np.argmin(wide(x), axis),
        )

    @family(f"any and all along axis {_axis}", ("bool",))
    def _(m, n, dtype, axis=_axis):
        # One element in 70 is true, so that both results occur.
        x = distinct((m, n), "int32") % 70 == 0
        return Case(
            lambda x: (x.any(axis), (~x).all(axis)), (x,), lambda x: (x.any(axis), (~x).all(axis))
        )

    @family(f"sum and maximum along axis {_axis}", (("int32", "float64")[_axis],))
    def _(m, n, dtype, axis=_axis):
        least = np.asarray(_limits(np.dtype(dtype))[0]).astype(dtype)

        def both(x, y):
            return lax.reduce(
                (x, y),
                (np.zeros((), dtype), least),
                lambda a, b: (a[0] + b[0], lax.max(a[1], b[1])),
                (axis,),
            )

        return Case(
            both,
            (small((m, n), dtype), distinct((m, n), dtype)),
            lambda x, y: (x.sum(axis), y.max(axis)),
        )


@family("sum columns of a fused expression", ("float32", "int32"))
def _(m, n, dtype):
    return Case(
        lambda x, y: ((x * 2 + y) * x).sum(0),
        (small((m, n), dtype), small((m, n), dtype, 1)),
        lambda x, y: ((wide(x) * 2 + wide(y)) * wide(x)).sum(0),
    )


@family("sum rows of a fused expression", ("float32", "float64"))
def _(m, n, dtype):
    return Case(
        lambda x, y: jnp.where(x > y, x * y, 1).sum(1),
        (small((m, n), dtype), small((m, n), dtype, 1)),
        lambda x, y: np.where(x > y, wide(x) * wide(y), 1).sum(1),
    )


@family("sum of a transposed array", ("float32",))
def _(m, n, dtype):
    return Case(
        lambda x: x.T.sum(0) - x.sum(0).sum(),
        (small((m, n), dtype),),
        lambda x: wide(x).T.sum(0) - wide(x).sum(),
    )


# ---- Windows ----


def _windows(
    x: np.ndarray, value: object, window: Sequence[int], strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int], window_dilation: Sequence[int],
) -> np.ndarray:  # fmt: skip
    """A view whose trailing axes are the elements of each window."""
    x = padded(
        x,
        value,
        [
            (low, high, dilation - 1)
            for (low, high), dilation in zip(padding, base_dilation, strict=True)
        ],
    )
    reach = [
        (size - 1) * dilation + 1 for size, dilation in zip(window, window_dilation, strict=True)
    ]
    view = np.lib.stride_tricks.sliding_window_view(x, reach)
    return view[
        (
            *(slice(None, None, step) for step in strides),
            *(slice(None, None, step) for step in window_dilation),
        )
    ]


def window_case(
    operation: str, x: np.ndarray, window: Sequence[int], strides: Sequence[int] = (),
    padding: Sequence[tuple[int, int]] = (),
    base_dilation: Sequence[int] = (), window_dilation: Sequence[int] = (),
) -> Case:  # fmt: skip
    of_jax, of_numpy, initial = _OPERATIONS[operation]
    ones = (1,) * x.ndim
    options = (
        window,
        strides or ones,
        padding or ((0, 0),) * x.ndim,
        base_dilation or ones,
        window_dilation or ones,
    )
    value = np.asarray(initial(x.dtype)).astype(x.dtype)
    widest = wide(np.asarray(value))
    axes = tuple(range(x.ndim, 2 * x.ndim))
    return Case(
        lambda x: lax.reduce_window(x, value, of_jax, *options),
        (x,),
        lambda x: of_numpy.reduce(_windows(wide(x), widest, *options), axes),
    )


@family("window sums of rows", SUMMED)
def _(m, n, dtype):
    return window_case("sum", small((m, n + 2), dtype), (1, 3))


@family("window sums of columns", SUMMED_TOO)
def _(m, n, dtype):
    return window_case("sum", small((m, n), dtype), (3, 1), padding=((1, 1), (0, 0)))


@family("window sums with same padding", SUMMED)
def _(m, n, dtype):
    return window_case("sum", small((m, n), dtype), (2, 3), padding=((0, 1), (1, 1)))


@family("window maxima with strides", ORDERED)
def _(m, n, dtype):
    return window_case("max", distinct((m + 1, n + 1), dtype), (2, 2), (2, 2))


@family("window maxima that overlap", ORDERED_TOO)
def _(m, n, dtype):
    return window_case("max", distinct((m, n), dtype), (3, 3), (2, 1), ((1, 1), (1, 1)))


@family("window minima of three axes", ORDERED)
def _(m, n, dtype):
    return window_case(
        "min", distinct((3, m, n), dtype), (2, 1, 2), padding=((0, 0), (0, 0), (1, 0))
    )


@family("window sums with window dilation", SUMMED)
def _(m, n, dtype):
    return window_case("sum", small((m + 2, n + 4), dtype), (2, 3), window_dilation=(2, 2))


@family("window sums with base dilation", SUMMED_TOO)
def _(m, n, dtype):
    return window_case(
        "sum", small((m, n), dtype), (2, 2), padding=((1, 1), (0, 1)), base_dilation=(2, 3)
    )


@family("window maxima of one row", ORDERED)
def _(m, n, dtype):
    return window_case(
        "max", distinct((1, n), dtype), (1, min(n, 1 + m % 9)), padding=((1, 0), (0, 0))
    )


@family("window as long as the row", SUMMED)
def _(m, n, dtype):
    return window_case("sum", small((m, n), dtype), (1, n), padding=((0, 0), (n - 1, 0)))


def _selected(
    x: np.ndarray, source: np.ndarray, window: Sequence[int], strides: Sequence[int]
) -> np.ndarray:
    """The gradient of max pooling: adds each element of `source` at the first maximum of its
    window.
    """
    result = np.zeros(x.shape, wide(source).dtype)
    ones = (1,) * x.ndim
    windows = _windows(wide(x), 0, window, strides, ((0, 0),) * x.ndim, ones, ones)
    first = windows.reshape(*source.shape, -1).argmax(-1)
    in_window = np.unravel_index(first, window)
    positions = tuple(
        p * s + w for p, s, w in zip(np.indices(source.shape), strides, in_window, strict=True)
    )
    np.add.at(result, positions, wide(source))
    return result


def _select_and_scatter(
    dtype: str, shape: tuple[int, int], window: tuple[int, int], strides: tuple[int, int]
) -> Case:
    def pooled(x):
        return lax.reduce_window(
            x, np.asarray(-np.inf).astype(x.dtype), lax.max, window, strides, "VALID"
        )

    x = distinct(shape, dtype)
    source = small(
        tuple((extent - w) // s + 1 for extent, w, s in zip(shape, window, strides, strict=True)),
        dtype,
    )
    return Case(
        lambda x, source: jax.vjp(pooled, x)[1](source)[0],
        (x, source),
        lambda x, source: _selected(x, source, window, strides),
    )


@family("gradient of window maxima", ("float32", "bfloat16"))
def _(m, n, dtype):
    return _select_and_scatter(dtype, (m + 1, n + 1), (2, 2), (2, 2))


@family("gradient of window maxima that overlap", ("float64",))
def _(m, n, dtype):
    return _select_and_scatter(dtype, (m + 2, n + 1), (3, 2), (1, 1))


# ---- Cumulative reductions ----


def _cumulative(
    of_jax: Callable, of_numpy: Callable, x: np.ndarray, axis: int, reverse: bool = False
) -> Case:
    def reference(x):
        x = np.flip(wide(x), axis) if reverse else wide(x)
        return np.flip(of_numpy(x, axis), axis) if reverse else of_numpy(x, axis)

    return Case(lambda x: of_jax(x, axis, reverse), (x,), reference)


@family("cumulative sums of columns", SUMMED)
def _(m, n, dtype):
    return _cumulative(lax.cumsum, np.cumsum, small((m, n), dtype), 0)


@family("cumulative sums of rows", SUMMED_TOO)
def _(m, n, dtype):
    return _cumulative(lax.cumsum, np.cumsum, small((m, n), dtype), 1)


@family("cumulative sums of a vector", SUMMED)
def _(m, n, dtype):
    return _cumulative(lax.cumsum, np.cumsum, small(n, dtype), 0, reverse=m % 2 == 1)


@family("cumulative maxima of rows", ORDERED)
def _(m, n, dtype):
    return _cumulative(lax.cummax, np.maximum.accumulate, distinct((m, n), dtype), 1)


@family("reverse cumulative minima of columns", ORDERED_TOO)
def _(m, n, dtype):
    return _cumulative(lax.cummin, np.minimum.accumulate, distinct((m, n), dtype), 0, reverse=True)
