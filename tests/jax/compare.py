"""Runs a function on xpu and on JAX's CPU backend and compares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

# Relative to the largest element, in units of the type's rounding error: other orders of summation
# and other polynomials for elementary functions differ by some units; a chain of a few hundred
# operations by some dozen.
ULPS = 64


def normal(shape: tuple[int, ...] | list[int], dtype: str = "float32", seed: int = 0) -> np.ndarray:
    """Returns normally distributed numbers, other ones for each shape and seed."""
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return np.array(jax.numpy.asarray(values).astype(dtype))


def scaled(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Returns normally distributed values times 4, the same for each shape; also complex ones."""
    random = np.random.default_rng(sum(shape))
    values = random.standard_normal(shape) * 4
    if np.issubdtype(np.dtype(dtype), np.complexfloating):
        values = values + 1j * random.standard_normal(shape)
    return np.array(jax.numpy.asarray(values).astype(dtype))


def on(device: jax.Device, function: Callable[..., Any], *args: Any) -> Any:
    """Calls a function with its arguments and default device on `device`; returns numpy arrays."""
    with jax.default_device(device):
        result = function(*jax.device_put(args, device))
    for leaf in jax.tree.leaves(result):
        if isinstance(leaf, jax.Array):
            assert leaf.devices() == {device}
    return jax.tree.map(np.asarray, result)


def assert_same(actual: Any, expected: Any, ulps: float = ULPS) -> None:
    """Compares trees of arrays: integers exactly, floats to `ulps` rounding errors of the largest
    element.
    """
    assert jax.tree.structure(actual) == jax.tree.structure(expected)
    for a, e in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        assert (a.shape, a.dtype) == (e.shape, e.dtype)
        if not jax.numpy.issubdtype(a.dtype, jax.numpy.inexact):
            np.testing.assert_array_equal(a, e)
            continue
        wide = np.complex128 if jax.numpy.issubdtype(a.dtype, np.complexfloating) else np.float64
        finite = e.astype(wide)[np.isfinite(e.astype(wide))]
        scale = float(np.max(np.abs(finite))) if finite.size else 1.0
        tolerance = ulps * float(jax.numpy.finfo(a.dtype).eps) * max(scale, 1e-30)
        np.testing.assert_allclose(a.astype(wide), e.astype(wide), rtol=0, atol=tolerance)


def check(
    xpu: jax.Device, cpu: jax.Device, function: Callable[..., Any], *args: Any, ulps: float = ULPS
) -> None:
    """Asserts that `function` gives the same on both devices."""
    assert_same(on(xpu, function, *args), on(cpu, function, *args), ulps)


def assert_sums_of_products(
    actual: Any, expected: np.ndarray, terms: float, message: str = ""
) -> None:
    """Compares an array of sums of products with float64 `expected`; `terms` is the largest sum of
    the products' magnitudes.

    A sum of k products rounds with every one of them: at most k units of `terms`, a few in
    practice.
    """
    tolerance = 4 * float(jax.numpy.finfo(actual.dtype).eps) * terms
    np.testing.assert_allclose(
        np.asarray(actual).astype(np.float64), expected, rtol=0, atol=tolerance, err_msg=message
    )
