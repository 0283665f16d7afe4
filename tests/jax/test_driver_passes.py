"""Programs that a pass of the CPU driver's compiler miscompiled
(docs/developer/cpu_driver_passes.md).

Each test computes wrong values if the pass that it names is enabled. Programs are small on purpose:
packed into one program, some become one kernel, which the driver compiles correctly.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.exhaustive import covering


@covering(rows=[3, 7, 10], columns=[5, 13, 15])
def test_gradient_of_one_row(xpu, rows, columns) -> None:
    """instcombine: the comparison of a quotient selects the padding everywhere."""
    x = np.arange(1, rows * columns + 1, dtype=np.float32).reshape(rows, columns)
    with jax.default_device(xpu):
        for row in range(rows):
            got = jax.jit(jax.grad(lambda x, row=row: (x[row] ** 2).sum()))(x)
            expected = np.zeros_like(x)
            expected[row] = 2 * x[row]
            np.testing.assert_array_equal(got, expected, f"row {row}")


@pytest.mark.parametrize(
    "low,high,interior", [(0, 2, 0), (1, 0, 0), (2, 3, 0), (1, 1, 1), (-1, 2, 2)]
)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_pad(xpu, axis, low, high, interior) -> None:
    """instcombine: pads below the first axis lose the operand."""
    config = [(0, 0, 0)] * 3
    config[axis] = (low, high, interior)
    shapes = ((1, 3, 5), (7, 3, 3), (2, 5, 13))
    arrays = [np.arange(1, np.prod(shape) + 1, dtype=np.int32).reshape(shape) for shape in shapes]
    with jax.default_device(xpu):
        results = [jax.jit(lambda x: lax.pad(x, np.int32(-1), config))(x) for x in arrays]
    for x, got in zip(arrays, results, strict=True):
        moved = np.moveaxis(x, axis, 0)
        spread = np.full(((len(moved) - 1) * (interior + 1) + 1, *moved.shape[1:]), -1)
        spread[:: interior + 1] = moved
        spread = spread[max(-low, 0) :]
        around = [(max(low, 0), high)] + [(0, 0)] * 2
        expected = np.moveaxis(np.pad(spread, around, constant_values=-1), 0, axis)
        np.testing.assert_array_equal(got, expected, str(x.shape))


def test_pad_and_slice(xpu) -> None:
    """instcombine, with a GPU's schedules: the row that is left."""
    x = np.arange(1, 36, dtype=np.float32).reshape(7, 5)
    with jax.default_device(xpu):
        got = jax.jit(lambda x: jnp.pad(x, ((1, 0), (0, 0)))[:-1])(x)
    np.testing.assert_array_equal(got, np.pad(x, ((1, 0), (0, 0)))[:-1])


@covering(operation=["max", "min"], dtype=[np.int8, np.int32, np.uint32, np.int64])
def test_extremum_over_columns(xpu, operation, dtype) -> None:
    """jump-threading, after instcombine: a masked store of one lane masks the stores of 15
    others.
    """
    random = np.random.default_rng(0)
    arrays = [
        random.integers(1, 9, (rows, columns)).astype(dtype)
        for rows in (100, 255)
        for columns in (17, 33, 49)
    ]
    with jax.default_device(xpu):
        results = jax.jit(lambda arrays: [getattr(jnp, operation)(x, axis=0) for x in arrays])(
            arrays
        )
    for x, got in zip(arrays, results, strict=True):
        np.testing.assert_array_equal(got, getattr(np, operation)(x, axis=0), str(x.shape))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_sign_of_differences(xpu, dtype) -> None:
    """instcombine: the shift that spreads the sign of `0 - x` became a comparison without
    overflow.
    """
    limits = np.iinfo(dtype)
    top = limits.bits - 1
    x = np.array([limits.min, limits.min + 1, limits.max, -7, -1, 0, 1, 5, 99, 101], dtype)
    hundred, seven = dtype(100), dtype(7)

    def signs(x):
        negative = -x
        return (
            jnp.sign(negative), negative >> top, jnp.where(negative < 0, dtype(-1), dtype(0)),
            (hundred - x) >> top, ~(x - hundred) >> top, (seven * x - x) >> top,
            -((-x).view(f"u{x.dtype.itemsize}") >> top).astype(dtype), negative // dtype(3),
        )  # fmt: skip

    with jax.enable_x64(True), jax.default_device(xpu):
        got = jax.jit(signs)(x)
    with jax.enable_x64(True), np.errstate(over="ignore"):
        negative = -x
        expected = (
            np.sign(negative), negative >> top, np.where(negative < 0, dtype(-1), dtype(0)),
            (hundred - x) >> top, ~(x - hundred) >> top, (seven * x - x) >> top, negative >> top,
            negative // dtype(3),
        )  # fmt: skip
        # Alone, too: other uses of the difference decide what the driver does.
        alone = [
            jax.jit(lambda x, i=i: signs(x)[i])(jax.device_put(x, xpu))
            for i in range(len(expected))
        ]
    for i, (a, b, c) in enumerate(zip(got, expected, alone, strict=True)):
        np.testing.assert_array_equal(a, b, f"form {i}")
        np.testing.assert_array_equal(c, b, f"form {i} alone")


def _decay(module: Any, x: Any) -> Any:
    return module.roll(x, 1) * module.exp(-(module.arange(16) % 3).astype(x.dtype))


def _negated_places(module: Any, x: Any) -> Any:
    return module.roll(x, 1) * -(module.arange(16) % 3).astype(x.dtype) + 1


def _root(module: Any, x: Any) -> Any:
    return module.roll(x, 1) + module.sqrt(-(module.arange(16) % 3 - 2).astype(x.dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("step", [_decay, _negated_places, _root])
def test_negations_in_a_loop(xpu, step, dtype) -> None:
    """The barriers' analysis of work-items: a negated value that lives across a barrier was taken
    for the same in all work-items.
    """
    x = np.linspace(0.1, 1, 16).astype(dtype)
    with jax.enable_x64(True), jax.default_device(xpu):
        got = jax.jit(lambda x: lax.fori_loop(0, 4, lambda _, x: step(jnp, x), x))(x)
    expected = x.astype(np.float64)
    for _ in range(4):
        expected = step(np, expected)
    np.testing.assert_allclose(got, expected, 20 * np.finfo(dtype).eps)


@pytest.mark.parametrize("lower", [True, False])
def test_solves_of_two_equations_in_a_loop(xpu, lower) -> None:
    """As above: the identity that the solve begins with lost elements."""
    a = np.array([[3.5, 0.2], [0.4, 3.1]], np.float32)
    b = np.array([1, 2], np.float32)

    def step(_, state):
        a, b = state
        return a * 1.5, jax.scipy.linalg.solve_triangular(a, b, lower=lower)

    with jax.default_device(xpu):
        got = jax.jit(lambda *state: lax.fori_loop(0, 3, step, state)[1])(a, b)
    expected, matrix = b.astype(np.float64), a.astype(np.float64)
    for _ in range(3):
        expected = np.linalg.solve(np.tril(matrix) if lower else np.triu(matrix), expected)
        matrix = matrix * 1.5
    np.testing.assert_allclose(got, expected, 1e-5)
