"""Special functions against SciPy in double precision, and at the ends of their domains against
TensorFlow's CPU kernels.

TensorFlow's kernels in single precision lose the phase of large arguments of J and Y; those here do
not.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import both
import compare
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from tests.exhaustive import covering

Function = Callable[[np.ndarray], np.ndarray]

FUNCTIONS: dict[str, Function] = {
    "BesselI0": special.i0,
    "BesselI1": special.i1,
    "BesselJ0": special.j0,
    "BesselJ1": special.j1,
    "BesselK0": special.k0,
    "BesselK0e": special.k0e,
    "BesselK1": special.k1,
    "BesselK1e": special.k1e,
    "BesselY0": special.y0,
    "BesselY1": special.y1,
    "Dawsn": special.dawsn,
    "Expint": special.expi,
    "FresnelCos": lambda x: special.fresnel(x)[1],
    "FresnelSin": lambda x: special.fresnel(x)[0],
    "Spence": special.spence,
}
# Not below zero.
POSITIVE = {
    "BesselK0",
    "BesselK0e",
    "BesselK1",
    "BesselK1e",
    "BesselY0",
    "BesselY1",
    "Expint",
    "Spence",
}
# If terms of order one cancel, the error is relative to them. In rounding errors of the largest
# term; at most 9 were measured.
ULPS = 24


def evaluate(name: str, x: np.ndarray, mode: str = "eager") -> np.ndarray:
    return compare.on("/XPU:0", lambda: getattr(tf.raw_ops, name)(x=tf.constant(x)), mode).numpy()


def assert_close(name: str, actual: np.ndarray, x: np.ndarray, ulps: float = ULPS) -> None:
    with np.errstate(all="ignore"):
        expected = FUNCTIONS[name](x.astype(np.float64))
    epsilon = float(ml_dtypes.finfo(actual.dtype).eps)
    bound = ulps * epsilon * np.maximum(np.abs(expected), 1)
    difference = np.abs(actual.astype(np.float64) - expected)
    worst = np.argmax(difference / bound)
    assert difference[worst] <= bound[worst], (name, x[worst], actual[worst], expected[worst])


@covering(mode=both.MODES, dtype=[np.float32, np.float64], name=sorted(FUNCTIONS))
def test_values(name: str, dtype: type, mode: str) -> None:
    # Both sides of every seam (0.5, 1.5, 1.6, 2, 4, 6, 8), and many orders of magnitude.
    seams = [
        np.nextafter(dtype(s), dtype(d)) for s in (0.5, 1.5, 1.6, 2, 4, 6, 8) for d in (-99, 99)
    ]
    x = np.concatenate(
        [np.linspace(0, 40, 2001)[1:], 10.0 ** np.linspace(-30, 0, 61), seams]
    ).astype(dtype)
    if name not in POSITIVE:
        x = np.concatenate([x, -x])
    assert_close(name, evaluate(name, x, mode), x)


@pytest.mark.parametrize("name", ["BesselJ0", "BesselJ1", "BesselY0", "BesselY1"])
def test_large_arguments_keep_their_phase(name: str) -> None:
    x = np.float32(np.logspace(2, 4, 301))
    assert_close(name, evaluate(name, x), x)


def test_zeros_of_j_are_sharp() -> None:
    # What is left at the doubles next to the zeros, computed with 30 digits.
    left = {
        "BesselJ0": {
            2.404825557695773: -6.10876525973673e-17,
            5.520078110286311: -2.75226494326218e-17,
        },
        "BesselJ1": {
            3.8317059702075125: -6.14980735699490e-17,
            7.015586669815619: 2.82533940947893e-17,
        },
    }
    for name, values in left.items():
        actual = evaluate(name, np.array(list(values)))
        np.testing.assert_allclose(actual, list(values.values()), rtol=1e-6)


@covering(dtype=[np.float16, ml_dtypes.bfloat16], name=sorted(FUNCTIONS))
def test_half_precision_computes_in_single(name: str, dtype: type) -> None:
    x = np.linspace(0.125, 8, 64).astype(dtype)
    if dtype is np.float16 and name in ("Dawsn", "Expint", "FresnelCos", "FresnelSin", "Spence"):
        x = x[:1]
    single = evaluate(name, x.astype(np.float32))
    np.testing.assert_array_equal(
        evaluate(name, x).view(np.uint16), single.astype(dtype).view(np.uint16)
    )


@covering(dtype=[np.float32, np.float64], name=sorted(FUNCTIONS))
def test_ends_of_the_domain(name: str, dtype: type) -> None:
    x = np.array([0.0, -1.0, -np.inf, np.nan], dtype)
    expected = compare.on("/CPU:0", lambda: getattr(tf.raw_ops, name)(x=tf.constant(x))).numpy()
    if name == "BesselY1":
        expected[0] = -np.inf  # the limit; the CPU's kernel gives NaN in single precision
    np.testing.assert_allclose(evaluate(name, x), expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_exponential_integral_is_finite_as_long_as_it_can_be(dtype: type) -> None:
    x = np.array([89.0 if dtype is np.float32 else 711.0, np.inf], dtype)
    large = np.longdouble(x[0])
    series = sum(math.factorial(k) / large**k for k in range(20))  # asymptotic: it ends below 1e-16
    np.testing.assert_allclose(
        evaluate("Expint", x), [np.exp(large) / large * series, np.inf], rtol=1e-5
    )


@pytest.mark.parametrize("shape", [(0,), (), (3, 0, 2), (2, 3, 4)])
def test_shapes(shape: tuple[int, ...]) -> None:
    both.check(lambda: tf.raw_ops.Dawsn(x=tf.ones(shape)))


def test_gradients() -> None:
    x = tf.constant(np.linspace(0.25, 6, 24))
    for function in (tf.math.special.bessel_j0, tf.math.special.dawsn, tf.math.special.spence):
        with tf.device("/XPU:0"), tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        slope = tape.gradient(y, x)
        step = 1e-6
        expected = (function(x + step) - function(x - step)) / (2 * step)
        np.testing.assert_allclose(slope, expected, atol=1e-8)


@pytest.mark.parametrize("mode", ["eager", "jit"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_quantiles_of_the_normal_distribution(dtype: type, mode: str) -> None:
    small = 10.0 ** -np.arange(0.3, 37, 0.7)
    p = np.concatenate(
        [small, 1 - small[small > 1e-6], [0.0, 1.0, 0.5, 0.1, 0.9, -1e-8, 1.0000002, np.nan]]
    ).astype(dtype)
    if dtype is np.float64:
        p = np.append(p, [1e-100, 1e-300])
    expected = special.ndtri(p.astype(np.float64))
    actual = compare.on("/XPU:0", lambda: tf.math.ndtri(p), mode).numpy().astype(np.float64)
    # Beside 1/2 the quantile is small, and its error is that of 2p - 1.
    np.testing.assert_allclose(
        actual, expected, rtol=16 * np.finfo(dtype).eps, atol=4 * np.finfo(dtype).eps
    )
