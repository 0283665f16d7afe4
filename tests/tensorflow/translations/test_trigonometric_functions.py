"""Inverse trigonometric and hyperbolic functions, and the logarithm of the gamma function, against
numpy and SciPy in double precision, and at the ends of their domains against TensorFlow's CPU
kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import both
import compare
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from tests.exhaustive import covering

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "Acos": np.arccos,
    "Acosh": np.arccosh,
    "Asin": np.arcsin,
    "Asinh": np.arcsinh,
    "Atan": np.arctan,
    "Atanh": np.arctanh,
    "Cosh": np.cosh,
    "Sinh": np.sinh,
}
REAL = {**FUNCTIONS, "Lgamma": special.gammaln}
# Of each element, in rounding errors of its type.
ULPS = 8
# XLA's series for the logarithm of the gamma function cancels around its zeros, 1 and 2, and has
# some roundings more elsewhere.
LGAMMA_ULPS = 24


def evaluate(names: Any, x: Any, mode: str) -> dict[str, np.ndarray]:
    """The functions of one array, in one program if compiled."""
    results = compare.on("/XPU:0", lambda: [getattr(tf.raw_ops, name)(x=x) for name in names], mode)
    return {name: result.numpy() for name, result in zip(names, results, strict=True)}


def assert_close(name: str, x: Any, actual: Any, expected: Any, bound: Any) -> None:
    with np.errstate(invalid="ignore"):
        excess = np.where(np.isfinite(expected), np.abs(actual - expected) / bound, 0)
    worst = np.argmax(excess)
    assert excess[worst] <= 1, (name, x[worst], actual[worst], expected[worst])


@covering(mode=both.MODES, dtype=[np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_real(dtype: Any, mode: str) -> None:
    limits = ml_dtypes.finfo(dtype)
    magnitudes = np.geomspace(float(limits.tiny), float(limits.max), 300)
    x = np.concatenate([np.linspace(-4, 4, 801), magnitudes, -magnitudes]).astype(dtype)
    wide = x.astype(np.float64)
    for name, actual in evaluate(REAL, x, mode).items():
        with np.errstate(all="ignore"):
            # Infinite beyond the largest value.
            expected = REAL[name](wide).astype(dtype).astype(np.float64)
        magnitude = np.abs(expected)
        actual = actual.astype(np.float64)
        if name == "Lgamma":
            # Between poles, the logarithm of the sine has lost the digits that tell how far away
            # they are.
            expected = np.where(wide > 0, expected, np.nan)
            bound = LGAMMA_ULPS * float(limits.eps) * np.maximum(magnitude, 1)
        else:
            undefined = ~np.isfinite(expected)
            np.testing.assert_array_equal(actual[undefined], expected[undefined], err_msg=name)
            bound = ULPS * float(limits.eps) * magnitude + float(limits.tiny)
        assert_close(name, x, actual, expected, bound)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_edges(dtype: Any) -> None:
    x = np.array([0.0, -0.0, 1, -1, 2, -2, np.inf, -np.inf, np.nan], dtype)
    empty = np.ones((3, 0), dtype)
    for mode in both.MODES:
        for name, actual in evaluate(REAL, x, mode).items():
            expected = compare.on("/CPU:0", lambda name=name: getattr(tf.raw_ops, name)(x=x))
            rounding = float(np.finfo(np.float32 if dtype == np.float16 else dtype).eps)
            np.testing.assert_allclose(
                actual,
                expected,
                rtol=ULPS * float(np.finfo(dtype).eps),
                # Around the zeros of Lgamma.
                atol=LGAMMA_ULPS * rounding if name == "Lgamma" else 0,
                err_msg=name,
            )
        for actual in evaluate(REAL, empty, mode).values():
            assert (actual.shape, actual.dtype) == (empty.shape, dtype)


@covering(mode=both.MODES, dtype=[np.complex64, np.complex128])
def test_complex(dtype: Any, mode: str) -> None:
    # On both sides of every branch cut, which signed zeros tell apart.
    parts = [0.0, -0.0, 0.5, -0.5, 1, -1, 1.5, -1.5, 3, -3, 1e-4, -1e-4, 20, -20]
    x = np.empty(len(parts) ** 2, dtype)
    x.real, x.imag = np.repeat(parts, len(parts)), np.tile(parts, len(parts))
    # The poles of Atan and Atanh.
    x = x[~np.isin(x, [1, -1, 1j, -1j])]
    limits = np.finfo(dtype)
    for name, actual in evaluate(FUNCTIONS, x, mode).items():
        expected = FUNCTIONS[name](x.astype(np.complex128))
        bound = ULPS * float(limits.eps) * np.abs(expected) + float(limits.tiny)
        assert_close(name, x, actual, expected, bound)
