"""Functions and conversions of numbers whose last digits matter."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.exhaustive import covering
from tests.jax.compare import check


@pytest.mark.parametrize("function", ["sin", "cos"])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 1e5])
def test_sine_and_cosine_to_the_last_place(xpu, function, scale) -> None:
    random = np.random.default_rng(0)
    x = random.uniform(-scale, scale, 200_000).astype(np.float32)
    # Beside the zeros of both functions most digits of the operand cancel.
    nodes = (np.pi / 2 * np.arange(-20000, 20000)).astype(np.float32)
    x = np.concatenate([x, nodes, np.nextafter(nodes, np.float32(np.inf))])
    actual = np.asarray(jax.jit(getattr(jnp, function))(jax.device_put(x, xpu)))
    expected = getattr(np, function)(x.astype(np.float64))
    unit = np.spacing(np.abs(expected).astype(np.float32)).astype(np.float64)
    # Measured 0.84: the rounding of the result, and that of the two greatest terms.
    assert np.max(np.abs(actual - expected) / unit) < 0.9


def test_hyperbolic_tangent_to_the_last_places(xpu) -> None:
    x = np.concatenate([np.linspace(1e-6, 12, 300_001), np.geomspace(1e-44, 3e38, 100_000)]).astype(
        np.float32
    )
    x = np.concatenate([x, -x])
    actual = np.asarray(jax.jit(jnp.tanh)(jax.device_put(x, xpu)))
    expected = np.tanh(x.astype(np.float64))
    unit = np.spacing(np.abs(expected).astype(np.float32)).astype(np.float64)
    # Measured 2.3: the roundings of the polynomial, the sum and the quotient.
    assert np.max(np.abs(actual - expected) / unit) < 2.4
    assert np.max(np.abs(actual)) == 1


def test_hyperbolic_tangent_of_special_values(xpu) -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-40], np.float32)
    actual = np.asarray(jax.jit(jnp.tanh)(jax.device_put(x, xpu)))
    expected = np.array([0.0, -0.0, 1.0, -1.0, np.nan, 1e-45, -1e-40], np.float32)
    np.testing.assert_array_equal(actual, expected)
    np.testing.assert_array_equal(np.signbit(actual[:2]), np.signbit(expected[:2]))


def test_exponential_to_the_last_place(xpu) -> None:
    """Of numbers whose exponential is 0, below the normal numbers, normal, and the largest there
    is.
    """
    x = np.concatenate([np.linspace(-104, 88.72283, 400_003), np.linspace(-1, 1, 100_003)]).astype(
        np.float32
    )
    actual = np.asarray(jax.jit(jnp.exp)(jax.device_put(x, xpu)))
    expected = np.exp(x.astype(np.float64))
    # The coefficients' own error is small: what is left is the rounding of the last two steps.
    units = np.spacing(expected.astype(np.float32)).astype(np.float64)
    assert np.max(np.abs(actual - expected) / units) < 1.1


def test_exponential_of_special_values(xpu) -> None:
    x = np.float32(
        [0, -0.0, np.inf, -np.inf, np.nan, 88.72284, 88.73, 3e38, -104, -150, -3e38, 1e-40, -1e-40]
    )
    actual = np.asarray(jax.jit(jnp.exp)(jax.device_put(x, xpu)))
    np.testing.assert_array_equal(
        actual, [1, 1, np.inf, 0, np.nan, np.inf, np.inf, np.inf, 0, 0, 0, 1, 1]
    )


def test_log1p_to_the_last_places(xpu) -> None:
    """Of numbers near 0 of either sign, near -1, where 1 + x is rounded, and where the 1 is
    lost.
    """
    x = np.concatenate([np.geomspace(1e-45, 3e38, 600_001), np.linspace(0.2, 1, 200_001)]).astype(
        np.float32
    )
    x = np.concatenate([x, -x[x < 1]])
    actual = np.asarray(jax.jit(jnp.log1p)(jax.device_put(x, xpu)))
    expected = np.log1p(x.astype(np.float64))
    units = np.spacing(np.abs(expected).astype(np.float32)).astype(np.float64)
    # Measured 1.35, over all floats: the roundings of the quotient and of the last two sums.
    assert np.max(np.abs(actual - expected) / units) < 1.4


def test_log1p_of_special_values(xpu) -> None:
    x = np.float32([0, -0.0, -1, -1.0000001, -np.inf, np.inf, np.nan, 1e-45, -1e-40])
    actual = np.asarray(jax.jit(jnp.log1p)(jax.device_put(x, xpu)))
    expected = np.float32([0, -0.0, -np.inf, np.nan, np.nan, np.inf, np.nan, 1e-45, -1e-40])
    np.testing.assert_array_equal(actual, expected)
    np.testing.assert_array_equal(np.signbit(actual[:2]), np.signbit(expected[:2]))


@covering(dtype=["float16", "bfloat16", "float32", "float64"], greater=[True, False])
def test_extremes_of_zeros_and_what_is_no_number(xpu, greater, dtype) -> None:
    function, sign = (jnp.maximum, np.logical_and) if greater else (jnp.minimum, np.logical_or)
    some = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 3])
    x, y = (np.array(v) for v in zip(*itertools.product(some, some), strict=True))
    expected = (np.maximum if greater else np.minimum)(x, y)
    zeros = expected == 0
    # IEEE 754-2019: -0 is less than 0.
    expected[zeros] = np.where(sign(np.signbit(x), np.signbit(y))[zeros], -0.0, 0.0)

    def compare(actual):
        actual = np.asarray(actual).astype(np.float64)
        np.testing.assert_array_equal(actual, expected)
        np.testing.assert_array_equal(np.signbit(actual)[zeros], np.signbit(expected)[zeros])

    with jax.enable_x64(True):
        x_on, y_on = (jax.device_put(jnp.asarray(v).astype(dtype), xpu) for v in (x, y))
        compare(jax.jit(function)(x_on, y_on))
        # With a constant on either side, and as the step of a reduction.
        compare(jax.jit(lambda x: function(x, jnp.asarray(y).astype(dtype)))(x_on))
        pairs = jnp.stack([x_on, y_on], 1)
        compare(jax.jit(lambda p: (jnp.max if greater else jnp.min)(p, 1))(pairs))
        for number in some:
            at = (y == number) & (np.signbit(y) == np.signbit(number)) | np.isnan(y) & np.isnan(
                number
            )
            scalar = np.asarray(jax.jit(lambda x, n=number: function(x, n))(x_on)).astype(
                np.float64
            )[at]
            np.testing.assert_array_equal(scalar, expected[at])
            np.testing.assert_array_equal(
                np.signbit(scalar)[zeros[at]], np.signbit(expected[at])[zeros[at]]
            )


def test_sine_and_cosine_of_special_values(xpu) -> None:
    x = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-45, 2.0**17, -1e8, 3e38]
    x = np.array(x, np.float32)
    with np.errstate(invalid="ignore"):
        sine, cosine = np.sin(x.astype(np.float64)), np.cos(x.astype(np.float64))
    both = jax.jit(lambda x: (jnp.sin(x), jnp.cos(x)))(jax.device_put(x, xpu))
    actual = jax.tree.map(np.asarray, both)
    np.testing.assert_array_equal(np.signbit(actual[0][:2]), [False, True])
    # Beyond 2^17 OpenCL's functions are taken, which may be off by four units in the last place.
    np.testing.assert_allclose(actual[0], sine, rtol=4 * np.finfo(np.float32).eps, atol=1e-45)
    np.testing.assert_allclose(actual[1], cosine, rtol=4 * np.finfo(np.float32).eps)


def test_rounding_to_powers_of_two(xpu, cpu) -> None:
    powers = 2.0 ** np.arange(-127, 127)
    x = np.concatenate([powers * f for f in (0.5, 0.74, 0.75, 1, 1.25, 1.49, 1.5, 1.51)])
    special = [0, -0.0, -1, np.inf, -np.inf, np.nan, 1e-45, 3.4e38]
    x = np.concatenate([x, special]).astype(np.float32)
    cast = jax.jit(lambda x: x.astype(jnp.float8_e8m0fnu).view(jnp.uint8))
    check(xpu, cpu, cast, x)


@pytest.mark.parametrize("n", [3, 64, 300])  # in a loop, in blocks of rows, and by a library
def test_floats_multiplied_into_integers_add_up_as_floats(xpu, cpu, n) -> None:
    random = np.random.default_rng(n)
    # Multiples of 1/8 below 8: sums of their products are exact in any order.
    x, y = (random.integers(-64, 64, (n, n)) / 8 for _ in range(2))
    product = jax.jit(lambda x, y: jax.lax.dot(x, y, preferred_element_type=jnp.int32))
    check(xpu, cpu, product, x.astype(np.float32), y.astype(np.float32))


@pytest.mark.parametrize(
    ("dtype", "allowed"), [("bfloat16", True), ("bfloat16", False), ("float16", True)]
)
def test_excess_precision(xpu, dtype, allowed) -> None:
    """What is rounded away between two operations comes back with excess precision, and only
    then.
    """
    x = np.array(jnp.arange(1, 9).astype(dtype))
    small = np.array(jnp.full(8, 2.0**-12).astype(dtype))
    arguments = jax.device_put(
        (x, small, x.copy()), xpu
    )  # which no simplifier knows to be the same
    function = jax.jit(lambda x, s, y: (x + s) - y)
    compiled = function.lower(*arguments).compile(
        compiler_options={"xla_allow_excess_precision": allowed}
    )
    actual = np.asarray(compiled(*arguments)).astype(np.float64)
    np.testing.assert_array_equal(actual, 2.0**-12 if allowed else 0)
