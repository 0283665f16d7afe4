"""Families of row operations (softmax, norms, sorts, transforms), small loops and elementwise
operations.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.sizes.cases import (
    MOVED,
    ORDERED,
    ORDERED_TOO,
    SUMMED,
    WIDE_FLOATS,
    Case,
    distinct,
    family,
    small,
    wide,
)

# A work-group computes a row if rows have at least 64 elements and there are enough of them
# (ShouldUseRowSchedule).
_MORE_ROWS, _MORE_COLUMNS = 8, 40


def _quarters(shape: tuple[int, int], dtype: str) -> np.ndarray:
    x = distinct(shape, "int8").astype(np.float64) / 32
    return x.astype(distinct(1, dtype).dtype)


@family("softmax of rows", ("float32", "bfloat16"))
def _(m, n, dtype):
    def reference(x):
        weights = np.exp(wide(x) - wide(x).max(1, keepdims=True))
        return weights / weights.sum(1, keepdims=True)

    # An exponential, a quotient and three roundings to the type; in wide ones the rounding of a sum
    # of 110 terms, too.
    x = _quarters((m + _MORE_ROWS, n + _MORE_COLUMNS), dtype)
    return Case(
        lambda x: jax.nn.softmax(x, 1), (x,), reference, ulps=16 if dtype in WIDE_FLOATS else 4
    )


@family("softmax of columns", ("float32",))
def _(m, n, dtype):
    def reference(x):
        weights = np.exp(wide(x) - wide(x).max(0, keepdims=True))
        return weights / weights.sum(0, keepdims=True)

    return Case(lambda x: jax.nn.softmax(x, 0), (_quarters((m, n), dtype),), reference, ulps=16)


@family("layer norm of rows", WIDE_FLOATS)
def _(m, n, dtype):
    def norm(x, where):
        centred = x - x.mean(1, keepdims=True)
        return centred / where.sqrt((centred * centred).mean(1, keepdims=True) + 0.25)

    # Two sums of 110 terms, whose errors are relative to the terms and not to the mean, which
    # nearly vanishes.
    return Case(
        lambda x: norm(x, jnp),
        (_quarters((m + _MORE_ROWS, n + _MORE_COLUMNS), dtype),),
        lambda x: norm(wide(x), np),
        ulps=64,
    )


@family("subtract the maximum of rows", ORDERED)
def _(m, n, dtype):
    x = small((m + _MORE_ROWS, n), dtype)
    return Case(
        lambda x: x - x.max(1, keepdims=True),
        (x,),
        lambda x: wide(x) - wide(x).max(1, keepdims=True),
    )


@family("subtract the sum of columns", SUMMED)
def _(m, n, dtype):
    x = small((m, n), dtype)
    return Case(
        lambda x: x - lax.reduce(x, np.zeros((), x.dtype), lax.add, (0,)),
        (x,),
        lambda x: wide(x) - wide(x).sum(0),
    )


# ---- Sorts ----


def _sorted(x: np.ndarray, axis: int) -> Case:
    return Case(lambda x: lax.sort(x, axis), (x,), lambda x: np.sort(wide(x), axis))


@family("sort rows", ORDERED)
def _(m, n, dtype):
    return _sorted(distinct((m, n), dtype), 1)


@family("sort columns", ORDERED_TOO)
def _(m, n, dtype):
    return _sorted(distinct((m, n), dtype), 0)


@family("stable argsort of rows", ("int8", "float32"))
def _(m, n, dtype):
    x = small((1 + m % 5, n), dtype)
    return Case(
        lambda x: jnp.argsort(x, 1, stable=True),
        (x,),
        lambda x: np.argsort(wide(x), 1, kind="stable"),
    )


# ---- Fourier transforms ----


def spectrum(transform: str, x: np.ndarray, length: int | None = None) -> Case:
    # Up to log2(n) rounding steps, or sums of n products for lengths with a large prime factor.
    def reference(x):
        return getattr(np.fft, transform)(
            x.astype(np.complex128 if x.dtype.kind == "c" else np.float64), length
        )

    return Case(lambda x: getattr(jnp.fft, transform)(x, length), (x,), reference, ulps=32)


@family("Fourier transform", ("complex64", "complex128"))
def _(m, n, dtype):
    return spectrum("fft", small((m, n), "complex64").astype(dtype))


@family("inverse Fourier transform", ("complex64",))
def _(m, n, dtype):
    return spectrum("ifft", small((m, n), "complex64"))


@family("real Fourier transform", WIDE_FLOATS)
def _(m, n, dtype):
    return spectrum("rfft", small((m, n), dtype))


@family("inverse real Fourier transform", ("complex64",))
def _(m, n, dtype):
    x = small((m, n // 2 + 1), "complex64")
    x.imag[:, 0] = 0
    x.imag[:, -1] *= n % 2
    return spectrum("irfft", x, n)


# ---- Loops compiled to one kernel (small_region.cc) ----


@family("loop over a matrix", ("float64",))
def _(m, n, dtype):
    def step(x):
        return x[::-1] - x[:, :1]

    def reference(x):
        for _ in range(3):
            x = step(x)
        return x

    return Case(
        lambda x: lax.fori_loop(0, 3, lambda _, x: step(x), x), (small((m, n), dtype),), reference
    )


@family("loop with sums of columns", ("int32",))
def _(m, n, dtype):
    def reference(x):
        x = wide(x)
        for _ in range(2):
            x = x - x.sum(0)
        return x

    return Case(
        lambda x: lax.fori_loop(0, 2, lambda _, x: x - x.sum(0, dtype=x.dtype), x),
        (small((m, n), dtype),),
        reference,
    )


@family("scan over rows", ("float32", "bfloat16"))
def _(m, n, dtype):
    def of_jax(x):
        carry, rows = lax.scan(lambda carry, row: (carry + row, carry), jnp.zeros(n, x.dtype), x)
        return carry, rows

    def reference(x):
        sums = np.cumsum(wide(x), 0)
        return sums[-1], np.concatenate([np.zeros_like(sums[:1]), sums[:-1]])

    return Case(of_jax, (small((m, n), dtype),), reference)


# ---- Elementwise ----


@family("elementwise on a vector", MOVED)
def _(m, n, dtype):
    x = small(m * n, dtype)
    return Case(lambda x: x * x + x, (x,), lambda x: wide(x) * wide(x) + wide(x))


@family("elementwise with a row and a column", ORDERED_TOO)
def _(m, n, dtype):
    return Case(
        lambda x, row, column: x * row + column,
        (small((m, n), dtype), small(n, dtype, 1), small((m, 1), dtype, 2)),
        lambda x, row, column: wide(x) * wide(row) + wide(column),
    )


@family("conversions", ("int8", "float32"))
def _(m, n, dtype):
    x = small((m, n), dtype)
    return Case(
        lambda x: tuple(x.astype(to) for to in ("int32", "float16", "float64", "int64")),
        (x,),
        lambda x: (wide(x),) * 4,
    )
