"""Pointwise ops on arrays of many sizes, which one program of each op computes."""

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

# By the name of their operand.
UNARY_FLOAT = {
    "x": (
        *("Abs", "Ceil", "Cos", "Erf", "Exp", "Floor", "IsNan", "Neg", "OnesLike", "Rint", "Round"),
        *("Sigmoid", "Sign", "Sin", "Square", "Tanh", "ZerosLike", "Atan", "Erfc", "Expm1"),
    ),
    "features": ("Elu", "LeakyRelu", "Relu", "Relu6", "Selu", "Softplus", "Softsign"),
}
BINARY_FLOAT = {
    name: getattr(R, name)
    for name in (
        *("AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "SquaredDifference", "Atan2"),
        *("DivNoNan", "MulNoNan", "Less", "GreaterEqual", "Equal", "NotEqual", "FloorDiv"),
        *("FloorMod", "Xlogy", "Xdivy"),
    )
}
# One work-item, parts of a vector, of a work-group and of several; ranks 0 to 4.
SHAPES = [(), (1,), (3,), (16,), (17,), (1023,), (1024,), (1025,), (100_003,)]
SHAPES += [(2, 3), (1, 1, 1), (5, 1, 7), (3, 4, 5, 6), (0,), (3, 0, 2)]
BROADCASTS = [
    ((), (5,)),
    ((1,), (3, 4)),
    ((1, 1), (7,)),
    ((6, 40), (40,)),
    ((6, 40), (1, 40)),
    ((6, 40), (6, 1)),
    ((40,), (6, 40)),
    ((6, 1), (6, 40)),
    ((2, 3, 20), (20,)),
    ((2, 3, 20), (3, 20)),
    ((2, 3, 20), (2, 1, 1)),
    ((2, 3, 20), (2, 3, 1)),
    ((2, 3, 20), (1, 3, 1)),
    ((3, 1), (3,)),
    ((3, 1), (1, 4)),
    ((4, 1, 32), (4, 32)),
    ((1, 32), (32,)),
    ((5, 3), (3,)),
    ((100, 1000), (1000,)),
    ((1000, 100), (1000, 1)),
    ((0, 40), (40,)),
    ((2, 0), (2, 1)),
]


def values(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> tf.Tensor:
    """Returns an argument with infinities and NaN, if `dtype` has them."""
    random = np.random.default_rng(seed)
    x = random.normal(size=shape) * 3
    if np.dtype(dtype).kind not in "iub":
        x = np.where(random.random(size=shape) < 0.05, np.inf, x)
        x = np.where(random.random(size=shape) < 0.05, np.nan, x)
    elif np.dtype(dtype).kind in "ui":
        x = np.abs(x) + 1
    with tf.device("/CPU:0"):
        return tf.identity(x.astype(dtype))


@pytest.mark.parametrize(
    "operand, name", [(operand, name) for operand, names in UNARY_FLOAT.items() for name in names]
)
def test_one_operand(operand: str, name: str) -> None:
    for shape in SHAPES:
        x = values(shape)
        both.check(lambda x=x: getattr(R, name)(**{operand: x}), modes=MODES)


@pytest.mark.parametrize("name", BINARY_FLOAT)
def test_two_operands(name: str) -> None:
    for shape in SHAPES:
        x, y = values(shape), values(shape, seed=1)
        both.check(lambda x=x, y=y: BINARY_FLOAT[name](x=x, y=y), modes=MODES)


@pytest.mark.parametrize("name", ["AddV2", "Sub", "RealDiv", "Less", "Xlogy"])
def test_broadcasts(name: str) -> None:
    for first, second in BROADCASTS:
        for left, right in ((first, second), (second, first)):
            x, y = values(left), values(right, seed=1)
            both.check(lambda x=x, y=y: BINARY_FLOAT[name](x=x, y=y), modes=MODES)


@pytest.mark.parametrize("dtype", every(2, compare.TYPES))
def test_types(dtype: Any) -> None:
    for shape in ((1,), (33,), (3, 40)):
        x, y = values(shape, dtype), values(shape[-1:], dtype, seed=1)
        if np.dtype(dtype) == np.bool_:
            both.check(lambda x=x, y=y: R.LogicalAnd(x=x, y=y), modes=MODES)
        else:
            both.check(lambda x=x, y=y: R.AddV2(x=x, y=y), modes=MODES)
            both.check(lambda x=x, y=y: R.Equal(x=x, y=y), modes=MODES)
        both.check(lambda x=x: R.Cast(x=x, DstT=tf.float32), modes=MODES)
        both.check(lambda x=x: R.ZerosLike(x=x), modes=MODES)


def test_three_operands_and_more() -> None:
    for shape in ((), (1,), (100,), (7, 33)):
        x, y = values(shape), values(shape, seed=1)
        condition = values(shape, seed=2) > 0
        both.check(lambda c=condition, x=x, y=y: R.Select(condition=c, x=x, y=y), modes=MODES)
        both.check(lambda c=condition, x=x, y=y: R.SelectV2(condition=c, t=x, e=y), modes=MODES)
        zero = values((), seed=3)
        both.check(lambda c=condition, x=x, z=zero: R.SelectV2(condition=c, t=x, e=z), modes=MODES)
        both.check(lambda x=x, y=y: R.AddN(inputs=[x, y, x, y]), modes=MODES)
        for low, high in ((zero, zero + 1), (y - 1, y + 1)):
            both.check(
                lambda x=x, a=low, b=high: R.ClipByValue(t=x, clip_value_min=a, clip_value_max=b),
                modes=MODES,
            )


def test_biases() -> None:
    for shape in ((5, 40), (2, 3, 4, 50), (2, 3, 4), (3, 1), (40, 1)):
        value, bias = values(shape), values(shape[-1:], seed=1)
        both.check(lambda v=value, b=bias: R.BiasAdd(value=v, bias=b), modes=MODES)
    value, bias = values((2, 30, 4, 5)), values((30,), seed=1)
    both.check(lambda: R.BiasAdd(value=value, bias=bias, data_format="NCHW"), modes=MODES)


def test_gradients() -> None:
    for shape in ((), (50,), (3, 41)):
        y, dy = values(shape), values(shape, seed=1)
        for op in (R.TanhGrad, R.SigmoidGrad, R.RsqrtGrad, R.SqrtGrad):
            both.check(lambda op=op, y=y, dy=dy: op(y=y, dy=dy), modes=MODES)
        for op in (R.ReluGrad, R.Relu6Grad, R.SoftplusGrad):
            both.check(lambda op=op, y=y, dy=dy: op(gradients=dy, features=y), modes=MODES)


@pytest.mark.parametrize(
    "call",
    [
        lambda: R.AddV2(x=values((3, 20)), y=values((4, 20))),
        lambda: R.Select(condition=values((2, 20)) > 0, x=values((2, 20)), y=values((20,))),
        lambda: R.BiasAdd(value=values((3, 20)), bias=values((1,))),
        lambda: R.BiasAdd(value=values((20,)), bias=values((20,))),
        lambda: R.AddN(inputs=[values((20,)), values((1,))]),
    ],
)
def test_shapes_that_do_not_fit_are_refused(call: Callable[[], Any]) -> None:
    both.check_refused(call)


_NEW_SHAPES = """
import tensorflow as tf
with tf.device("/XPU:0"):
    for size in range(1, 40):
        x = tf.fill([size, 20], 0.5)  # compiled for each size
        y = tf.tanh(x) + x * 2.0 + tf.ones([20])
        assert abs(float(tf.reshape(y, [-1])[0]) - 2.4621172) < 1e-6, y
"""


def test_a_new_shape_is_not_compiled(tmp_path: pathlib.Path) -> None:
    process.output_of(_NEW_SHAPES, XLA_FLAGS=f"--xla_dump_to={tmp_path}", ONEXPU_PROGRAM_CACHE="0")
    modules = [path.name for path in tmp_path.glob("*before_optimizations.txt")]
    counts = {op: sum(op in name for name in modules) for op in ("Tanh", "AddV2", "Mul")}
    # AddV2 of two arrays, and of an array and a row.
    assert counts == {"Tanh": 1, "AddV2": 2, "Mul": 1}, modules
