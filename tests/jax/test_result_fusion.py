"""Kernels with several results, of which some follow from others, against float64."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.exhaustive import every


def _kernels(compiled) -> list[str]:
    return [
        line for line in compiled.as_text().split("ENTRY")[1].splitlines() if " fusion(" in line
    ]


def _ftrl(library, x, gradient, squares, linear):
    """A step of FTRL (McMahan et al. 2013): the root is dear and read twice, all states are
    results.
    """
    new_squares = squares + gradient * gradient
    root = library.power(new_squares, 0.7)
    linear = linear + gradient - (root - library.power(squares, 0.7)) / 3 * x
    return -linear / (root / 3 + 0.1), new_squares, linear


@pytest.mark.parametrize("donate", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", every(3, [(5,), (0, 3), (), (33, 130), (4, 1 << 14)]))
def test_an_optimisers_step_is_one_kernel(xpu, shape, dtype, donate) -> None:
    random = np.random.default_rng(7)
    arrays = [random.uniform(0.5, 2, shape).astype(dtype) for _ in range(4)]
    step = jax.jit(lambda *a: _ftrl(jnp, *a), donate_argnums=(0, 2, 3) if donate else ())
    on_device = jax.device_put(arrays, xpu)
    compiled = step.lower(*on_device).compile()
    if 0 not in shape:
        assert len(_kernels(compiled)) == 1
    expected = _ftrl(np, *(a.astype(np.float64) for a in arrays))
    # The roots may be rounded before they are subtracted; their difference is a quarter of one of
    # them.
    tolerance = 16 * float(jnp.finfo(dtype).eps)
    for actual, reference in zip(compiled(*on_device), expected, strict=True):
        assert actual.dtype == jnp.dtype(dtype)
        np.testing.assert_allclose(
            np.asarray(actual, np.float64), reference, rtol=tolerance, atol=tolerance
        )


@pytest.mark.parametrize("size", [1000, 1 << 16])
def test_what_is_read_elsewhere_is_not_overwritten(xpu, size) -> None:
    """The mirrored sines are a result, and read by what is written over the array that they
    mirror.
    """
    x = np.random.default_rng(3).standard_normal(size).astype(np.float32)

    def function(library, x):
        mirrored = library.sin(x[::-1])
        return mirrored, x + mirrored * mirrored

    expected = function(np, x.astype(np.float64))
    actual = jax.jit(lambda x: function(jnp, x), donate_argnums=0)(jax.device_put(x, xpu))
    for result, reference in zip(actual, expected, strict=True):
        np.testing.assert_allclose(
            np.asarray(result), reference, rtol=1e-5, atol=1e-6
        )  # sine: 4 units; a sum


def test_who_waits_between_them_keeps_kernels_apart(xpu) -> None:
    x = np.random.default_rng(5).uniform(1, 2, (64, 1000)).astype(np.float32)

    def function(library, x):
        roots = library.power(x, 0.3)
        return roots, roots / library.sum(library.power(roots, 1.5))

    expected = function(np, x.astype(np.float64))
    actual = jax.jit(lambda x: function(jnp, x))(jax.device_put(x, xpu))
    for result, reference in zip(actual, expected, strict=True):
        np.testing.assert_allclose(np.asarray(result), reference, rtol=2e-6)  # powers: 4 units each


@pytest.mark.parametrize("rows", [False, True])
def test_what_follows_from_the_result_goes_to_a_callback_alone(xpu, rows) -> None:
    """The result is the program's root, elementwise or a sum of rows."""
    x = jax.device_put(np.arange(24, dtype=np.float32).reshape(4, 6) + 1, xpu)
    told = []

    @jax.jit
    def function(x):
        y = jnp.sum(x, 1) if rows else jnp.sqrt(x)
        jax.debug.callback(
            lambda value: told.append(np.asarray(value)), x / y[:, None] if rows else y + 1
        )
        return y

    y = np.asarray(function(x))
    jax.effects_barrier()
    np.testing.assert_allclose(y, np.sum(x, 1) if rows else np.sqrt(x), rtol=1e-6)
    np.testing.assert_allclose(told[0], np.asarray(x) / y[:, None] if rows else y + 1, rtol=1e-6)
