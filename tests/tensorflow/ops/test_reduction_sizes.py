"""Reductions of arrays of many sizes, which kernels compute whose sizes are arguments."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import both
import compare
import numpy as np
import process
import pytest
import tensorflow as tf

from tests.exhaustive import every

R = tf.raw_ops
# Graphs run the same kernels as eager ops.
MODES = ("eager", "graph")
OPS = {"Sum": R.Sum, "Mean": R.Mean, "Prod": R.Prod, "Max": R.Max, "Min": R.Min}
SHAPES = [
    ((), []),
    ((), [0][:0]),
    ((1,), [0]),
    ((7,), [0]),
    ((16,), [-1]),
    ((1000,), [0]),
    ((5, 7), [1]),
    ((5, 7), [0]),
    ((5, 7), [0, 1]),
    ((5, 7), []),
    ((3, 17), [-2]),
    ((17, 3), [0]),
    ((4, 33, 20), [1]),
    ((4, 33, 20), [0, 1]),
    ((4, 33, 20), [1, 2]),
    ((4, 33, 20), [0, 2]),  # not one group of dimensions: compiled
    ((1, 33, 1, 20), [0, 1, 2]),
    ((2, 1, 70), [1]),
    ((2, 65, 64), [1]),
    ((2, 64, 65), [2]),
    ((0, 4), [0]),
    ((4, 0), [0]),
    ((300, 301), [0]),
    ((300, 301), [1]),
    ((2, 40_001), [1]),
    ((40_001, 2), [0]),
    ((100_003,), [0]),
]


def values(shape: tuple[int, ...], dtype: Any = np.float32) -> tf.Tensor:
    """Returns numbers around 1, so that products stay finite."""
    random = np.random.default_rng(0)
    if np.dtype(dtype).kind in "iu":
        x = random.integers(1, 4, size=shape)
    elif np.dtype(dtype) == np.bool_:
        x = random.random(size=shape) < 0.5
    else:
        x = 1 + (random.random(size=shape) - 0.5) / 64
    with tf.device("/CPU:0"):
        return tf.cast(tf.identity(np.asarray(x)), dtype)


@pytest.mark.parametrize("keep_dims", [False, True])
@pytest.mark.parametrize("op", OPS)
def test_floats(op: str, keep_dims: bool) -> None:
    for shape, axes in SHAPES:
        # The rounding errors of long products differ by their order.
        if op == "Prod" and np.prod(shape) > 3000:
            continue
        x, axis = values(shape), np.array(axes, np.int32)
        both.check(lambda x=x, a=axis: OPS[op](input=x, axis=a, keep_dims=keep_dims), modes=MODES)


@pytest.mark.parametrize("dtype", every(2, [t for t in compare.TYPES if t != np.bool_]))
def test_types(dtype: Any) -> None:
    for shape, axes in (((3, 50), [1]), ((50, 3), [0]), ((40, 20), [0]), ((2, 999), [0, 1])):
        x = values(shape, dtype)
        is_ordered = not np.issubdtype(dtype, np.complexfloating)
        for op in ("Sum", "Max", "Min") if is_ordered else ("Sum",):
            both.check(lambda x=x, a=axes, op=op: OPS[op](input=x, axis=a), modes=MODES)


def test_booleans() -> None:
    for shape, axes in SHAPES:
        for x in (values(shape, np.bool_), values(shape) > 0, values(shape) < 0):
            for op in (R.Any, R.All):
                both.check(
                    lambda x=x, a=axes, op=op: op(input=x, axis=np.array(a, np.int32)), modes=MODES
                )


@pytest.mark.parametrize("shape", [(5, 7), (2, 3, 40), (2, 3, 4, 16), (1000, 3), (3, 1), (0, 3)])
def test_gradient_of_biases(shape) -> None:
    x = values(shape)
    both.check(lambda: R.BiasAddGrad(out_backprop=x), modes=MODES)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 40, 99])
def test_special_values(value, place) -> None:
    for shape, axes in (((3, 100), [1]), ((100, 3), [0]), ((100, 20), [0]), ((100,), [0])):
        x = np.ones(shape, np.float32)
        x[(1, place) if shape[0] == 3 else (place, ...)] = value
        x = np.where(np.arange(x.size).reshape(shape) % 7 == 3, -x, x)
        references = {"Sum": np.sum, "Mean": np.mean, "Prod": np.prod, "Max": np.max, "Min": np.min}
        for op, reference in references.items():
            with tf.device("/XPU:0"):
                actual = OPS[op](input=x, axis=axes).numpy()
            np.testing.assert_allclose(actual, reference(x, axis=tuple(axes)), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, tf.bfloat16.as_numpy_dtype])
@pytest.mark.parametrize(
    "shape, axis", [((3_000_000,), 0), ((3, 1_000_000), 1), ((1_000_000, 3), 0)]
)
def test_long_sums_keep_their_digits(shape, axis, dtype) -> None:
    x = np.random.default_rng(0).random(shape).astype(dtype)
    with tf.device("/XPU:0"):
        actual = R.Mean(input=x, axis=[axis]).numpy().astype(np.float64)
    exact = x.astype(np.float64).mean(axis)
    # Sums of f32 that grow with the root of the number of terms, then rounded to the type.
    tolerance = max(1e-6, 0.5 * float(np.finfo(np.float32).eps if dtype == np.float32 else 2**-8))
    np.testing.assert_allclose(actual, exact, rtol=tolerance)


@pytest.mark.parametrize(
    "call",
    [
        lambda: R.Sum(input=values((3, 4)), axis=[2]),
        lambda: R.Sum(input=values((3, 4)), axis=[0, 0]),
        lambda: R.Max(input=values((3, 4)), axis=[-3]),
        lambda: R.BiasAddGrad(out_backprop=values((3,))),
    ],
)
def test_axes_that_do_not_exist_are_refused(call: Callable[[], Any]) -> None:
    both.check_refused(call)


_NEW_SHAPES = """
import numpy as np
import tensorflow as tf
with tf.device("/XPU:0"):
    for size in range(2, 40):
        x = tf.fill([3, size, 20], 0.5)
        assert float(tf.reduce_sum(x)) == 30 * size
        assert float(tf.reduce_max(tf.reduce_mean(x, 1))) == 0.5
        assert not bool(tf.reduce_any(tf.reduce_all(x < 0.5, [0, 1])))
"""


def test_a_new_shape_is_not_compiled(tmp_path: pathlib.Path) -> None:
    process.output_of(_NEW_SHAPES, XLA_FLAGS=f"--xla_dump_to={tmp_path}", ONEXPU_PROGRAM_CACHE="0")
    modules = [path.name for path in tmp_path.glob("*before_optimizations.txt")]
    assert all("Less" in name for name in modules), modules  # once, for all shapes
    assert len(modules) <= 1
