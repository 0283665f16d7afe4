"""Reductions of narrow floats by reducers of one's own: they run in f32, and round once.

A running result in bf16 stops growing where an element is less than half of its last place: over
1,000 rows, `logaddexp` was off by 23 % and the root of a sum of squares by 42 %.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

NARROW = [jnp.bfloat16, jnp.float16]
# A reducer, its initial value, and the same in float64 along an axis.
REDUCERS: dict[str, tuple[Callable, float, Callable]] = {
    "logaddexp": (jnp.logaddexp, -np.inf, lambda x, axis: np.logaddexp.reduce(x, axis)),
    "root of squares": (
        lambda a, b: jnp.sqrt(a * a + b * b),
        0.0,
        lambda x, axis: np.sqrt(np.sum(x * x, axis)),
    ),
    "harmonic": (lambda a, b: 1 / (1 / a + 1 / b), np.inf, lambda x, axis: 1 / np.sum(1 / x, axis)),
    "scaled sum": (
        lambda a, b: a + b * jnp.asarray(1, a.dtype),
        0.0,
        lambda x, axis: np.sum(x, axis),
    ),
}
# Rows, columns, both, and a length of one step.
SHAPES = [((1000, 8), 0), ((8, 1000), 1), ((33, 5), 0), ((3, 40, 7), 1), ((6, 1), 1)]


def _values(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return np.asarray(1 + 0.1 * np.random.default_rng(0).standard_normal(shape), dtype)


def _assert_rounded_once(actual: jax.Array, expected: np.ndarray) -> None:
    """Half a unit in the last place, and some for the roundings of f32."""
    half = float(ml_dtypes.finfo(actual.dtype).eps) / 2
    np.testing.assert_allclose(
        np.asarray(actual).astype(np.float64), expected, rtol=half * 1.02, atol=0
    )


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("name", REDUCERS)
def test_reductions(xpu, name: str, dtype: np.dtype) -> None:
    function, initial, reference = REDUCERS[name]
    arrays = [_values(shape, dtype) for shape, _ in SHAPES]

    @jax.jit
    def reduce(xs: list[jax.Array]) -> list[jax.Array]:
        start = jnp.asarray(initial, dtype)
        return [
            lax.reduce(x, start, function, (axis,)) for x, (_, axis) in zip(xs, SHAPES, strict=True)
        ]

    for result, x, (_, axis) in zip(reduce(arrays), arrays, SHAPES, strict=True):
        assert result.dtype == dtype
        _assert_rounded_once(result, reference(x.astype(np.float64), axis))


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [33, 1000])
def test_scans(xpu, length: int, reverse: bool, dtype: np.dtype) -> None:
    x = _values((3, length), dtype)
    wide = x.astype(np.float64)[:, :: -1 if reverse else 1]
    for name, expected in {
        "cumsum": np.cumsum(wide, 1),
        "cumprod": np.cumprod(wide, 1),
        "cumlogsumexp": np.logaddexp.accumulate(wide, 1),
    }.items():
        result = jax.jit(lambda x, name=name: getattr(lax, name)(x, 1, reverse=reverse))(x)
        expected = expected[:, :: -1 if reverse else 1]
        is_normal = expected > float(ml_dtypes.finfo(dtype).smallest_normal)
        _assert_rounded_once(result[is_normal], expected[is_normal])


@pytest.mark.parametrize("dtype", NARROW)
def test_windows(xpu, dtype: np.dtype) -> None:
    x = _values((40, 6), dtype)
    result = jax.jit(
        lambda x: lax.reduce_window(
            x, jnp.asarray(-np.inf, dtype), jnp.logaddexp, (20, 1), (3, 1), "VALID"
        )
    )(x)
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), 20, 0)[::3]
    _assert_rounded_once(result, np.logaddexp.reduce(windows, -1))


def test_several_arrays(xpu) -> None:
    """A reducer that adds the first array, and weighs it with a second one of integers."""
    x = _values((500, 4), jnp.bfloat16)
    counts = np.ones((500, 4), np.int32)

    def combine(a: tuple, b: tuple) -> tuple:
        total = a[1] + b[1]
        weight = jnp.maximum(total, 1).astype(jnp.bfloat16)
        mean = a[0] + (b[0] - a[0]) * (b[1].astype(jnp.bfloat16) / weight)
        return mean, total

    mean, count = jax.jit(
        lambda x, n: lax.reduce((x, n), (jnp.bfloat16(0), np.int32(0)), combine, (0,))
    )(x, counts)
    np.testing.assert_array_equal(count, np.full(4, 500))
    _assert_rounded_once(mean, x.astype(np.float64).mean(0))


def test_reducers_that_choose_stay_exact(xpu) -> None:
    """And so does their type: nothing is converted."""
    x = _values((50, 7), jnp.bfloat16)

    def larger(a: tuple, b: tuple) -> tuple:
        take = a[0] >= b[0]
        return jnp.where(take, a[0], b[0]), jnp.where(take, a[1], b[1])

    rows = np.broadcast_to(np.arange(50, dtype=np.int32)[:, None], x.shape)
    start = (jnp.bfloat16(-np.inf), np.int32(0))
    compiled = (
        jax.jit(lambda x, n: lax.reduce((x, n), start, larger, (0,))).lower(x, rows).compile()
    )
    best, row = compiled(x, rows)
    np.testing.assert_array_equal(best, x.max(0))
    np.testing.assert_array_equal(row, x.argmax(0))
    assert "f32" not in compiled.as_text()


def test_without_excess_precision_each_step_rounds(xpu) -> None:
    x = _values((1000, 8), jnp.bfloat16)
    compiled = (
        jax.jit(lambda x: lax.reduce(x, jnp.bfloat16(-np.inf), jnp.logaddexp, (0,)))
        .lower(x)
        .compile(compiler_options={"xla_allow_excess_precision": False})
    )
    assert not any("f32[" in line for line in compiled.as_text().splitlines())
