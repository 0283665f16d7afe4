"""Selects of selects keep what each of them does with NaN
(pjrt_core/compiler/codegen/llvm/nested_selects.h).
"""

from __future__ import annotations

import itertools
import operator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

SAMPLES = [np.nan, -np.inf, -7.0, -0.0, 0.0, 5.0, 6.0, 7.0, np.inf]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("limit", [0.0, 6.0])
def test_two_selects(xpu, dtype, limit) -> None:
    x = jnp.asarray(SAMPLES, dtype)
    c = jnp.asarray(limit, dtype)

    def select(compare, keeps, x):
        return jnp.where(compare(x, c), *((x, c) if keeps else (c, x)))

    choices = list(itertools.product(COMPARISONS, (False, True), repeat=2))

    def program(x):
        return [select(outer, b, select(inner, a, x)) for inner, a, outer, b in choices]

    # By numpy: XLA:CPU's LLVM has the same pass.
    def expected(compare, keeps, x):
        holds = compare(x, limit)
        return np.where(holds == keeps, x, limit)

    results = jax.jit(program)(jax.device_put(x, xpu))
    values = np.asarray(SAMPLES)
    for got, (inner, a, outer, b) in zip(results, choices, strict=True):
        wanted = expected(outer, b, expected(inner, a, values))
        np.testing.assert_array_equal(
            np.asarray(got, np.float64), wanted, f"{inner} {a} {outer} {b}"
        )


@pytest.mark.parametrize("to", ["uint8", "uint16", "int16", "int32", "uint32"])
def test_clip_and_convert(xpu, to) -> None:
    """A conversion guards against NaN with a select, over a clip that is one, too."""
    x = np.asarray([np.nan, -5.0, 7.0], np.float32)
    info = np.iinfo(to)

    def program(x):
        low = jnp.where(x < float(max(info.min, 0)), float(max(info.min, 0)), x)
        return [low.astype(to), jnp.where(low > float(info.max), float(info.max), low).astype(to)]

    for got in jax.jit(program)(jax.device_put(x, xpu)):
        np.testing.assert_array_equal(np.asarray(got), np.asarray([0, 0, 7], to))
