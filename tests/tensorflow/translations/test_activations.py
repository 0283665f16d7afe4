"""Activations, their gradients and clipping at NaN, infinities, zeros and limits that cross."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import both
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering

R = tf.raw_ops
MODES = ("eager", "graph", "jit")
FLOATS = (np.float16, tf.bfloat16.as_numpy_dtype, np.float32, np.float64)
VALUES = [
    np.nan,
    -np.inf,
    np.inf,
    -0.0,
    0.0,
    1.0,
    -1.0,
    6.0,
    7.0,
    0.5,
    -0.5,
    20.0,
    -20.0,
    np.nan,
    3.0,
]
PAIRS = np.array([(a, b) for a in VALUES for b in VALUES])

ACTIVATIONS: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {
    "relu": tf.nn.relu,
    "relu6": tf.nn.relu6,
    "leaky_relu": tf.nn.leaky_relu,
    "leaky_relu of a negative slope": lambda x: tf.nn.leaky_relu(x, -0.3),
    "leaky_relu of a steep slope": lambda x: tf.nn.leaky_relu(x, 1.75),
    "elu": tf.nn.elu,
    "selu": tf.nn.selu,
    "softplus": tf.nn.softplus,
    "softsign": tf.nn.softsign,
    "gelu": tf.nn.gelu,
    "swish": tf.nn.swish,
    "sigmoid": tf.nn.sigmoid,
    "tanh": tf.nn.tanh,
    "crelu": tf.nn.crelu,
    "square root": tf.sqrt,
    "reciprocal square root": tf.math.rsqrt,
    "reciprocal": tf.math.reciprocal,
}
GRADIENTS: dict[str, Callable[[tf.Tensor, tf.Tensor], tf.Tensor]] = {
    "ReluGrad": lambda dy, x: R.ReluGrad(gradients=dy, features=x),
    "Relu6Grad": lambda dy, x: R.Relu6Grad(gradients=dy, features=x),
    "LeakyReluGrad": lambda dy, x: R.LeakyReluGrad(gradients=dy, features=x, alpha=0.25),
    "EluGrad": lambda dy, x: R.EluGrad(gradients=dy, outputs=x),
    "SeluGrad": lambda dy, x: R.SeluGrad(gradients=dy, outputs=x),
    "SoftsignGrad": lambda dy, x: R.SoftsignGrad(gradients=dy, features=x),
    "SigmoidGrad": lambda dy, x: R.SigmoidGrad(y=x, dy=dy),
    "TanhGrad": lambda dy, x: R.TanhGrad(y=x, dy=dy),
    "SqrtGrad": lambda dy, x: R.SqrtGrad(y=x, dy=dy),
    "RsqrtGrad": lambda dy, x: R.RsqrtGrad(y=x, dy=dy),
    "ReciprocalGrad": lambda dy, x: R.ReciprocalGrad(y=x, dy=dy),
    "InvGrad": lambda dy, x: R.InvGrad(y=x, dy=dy),
}


def held(values: Any, dtype: Any) -> tf.Tensor:
    """Returns an argument, not a constant: TensorFlow would compute with that on the CPU when it
    builds a graph.
    """
    with tf.device("/CPU:0"):
        return tf.identity(np.asarray(values).astype(dtype))


def check(function: Callable[[], Any]) -> None:
    """Compares elements by themselves: beside infinities no element is the largest."""
    with tf.device("/CPU:0"):
        expected = tf.nest.flatten(function())
    for mode in MODES:
        with tf.device("/XPU:0"):
            run = (
                function
                if mode == "eager"
                else tf.function(function, jit_compile=mode == "jit" or None)
            )
            actual = tf.nest.flatten(run())
        for a, e in zip(actual, expected, strict=True):
            assert (a.dtype, a.shape) == (e.dtype, e.shape)
            relative = {tf.float16: 4e-3, tf.bfloat16: 3e-2, tf.float32: 1e-5}.get(e.dtype, 1e-9)
            np.testing.assert_allclose(
                tf.cast(a, tf.float64),
                tf.cast(e, tf.float64),
                rtol=relative,
                atol=relative,
                err_msg=mode,
            )


@covering(dtype=FLOATS, name=ACTIVATIONS)
def test_activations_and_their_gradients(name: str, dtype: Any) -> None:
    x, activation = held(VALUES, dtype), ACTIVATIONS[name]

    def both_ways() -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = activation(x)
        return [y, tape.gradient(y, x)]

    check(both_ways)


@covering(dtype=FLOATS, name=GRADIENTS)
def test_gradients_that_are_not_finite(name: str, dtype: Any) -> None:
    dy, x = held(PAIRS[:, 0], dtype), held(PAIRS[:, 1], dtype)
    check(lambda: GRADIENTS[name](dy, x))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_gradients_of_integers(dtype: Any) -> None:
    x, dy = held([0, 1, 5, 6, 7, 100], dtype), held([3, 2, 1, 4, 5, 6], dtype)
    both.check(lambda: [GRADIENTS[name](dy, x) for name in ("ReluGrad", "Relu6Grad")], modes=MODES)


@covering(
    limits=[(1.0, -1.0), (np.nan, 1.0), (-1.0, np.nan), (-np.inf, 0.5), (np.nan, np.nan)],
    dtype=FLOATS,
)
def test_limits_of_floats(dtype: Any, limits: tuple[float, float]) -> None:
    x = held(VALUES, dtype)
    for low_shape in ((), x.shape):
        for high_shape in ((), x.shape):
            low, high = (
                held(np.full(low_shape, limits[0]), dtype),
                held(np.full(high_shape, limits[1]), dtype),
            )
            check(
                lambda low=low, high=high: R.ClipByValue(
                    t=x, clip_value_min=low, clip_value_max=high
                )
            )


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64, np.complex64]
)
def test_limits_that_cross(dtype: Any) -> None:
    x = held(np.arange(60).reshape(5, 12) % 11, dtype)
    if dtype is np.complex64:
        x = tf.complex(tf.math.real(x), tf.reverse(tf.math.real(x), [1]))
    for low, high in ((5, 2), (2, 5), (3, 3)):
        both.check(
            lambda low=low, high=high: R.ClipByValue(
                t=x, clip_value_min=held(low, dtype), clip_value_max=held(high, dtype)
            ),
            modes=MODES,
        )


def test_gradient_of_limits_that_cross() -> None:
    x = held(VALUES[1:], np.float32)

    def gradients() -> list[tf.Tensor]:
        low, high = tf.ones_like(x), -tf.ones_like(x)
        with tf.GradientTape() as tape:
            tape.watch([x, low, high])
            y = R.ClipByValue(t=x, clip_value_min=low, clip_value_max=high)
        return tape.gradient(y, [x, low, high])

    check(gradients)


def test_limits_of_wrong_shapes_are_refused() -> None:
    both.check_refused(
        lambda: R.ClipByValue(t=tf.ones([2, 3]), clip_value_min=tf.ones([3]), clip_value_max=1.0)
    )
