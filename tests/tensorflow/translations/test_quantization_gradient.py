"""QuantizeAndDequantizeV4Grad against TensorFlow's CPU kernel."""

from __future__ import annotations

from typing import Any

import both
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

R = tf.raw_ops
RANDOM = np.random.RandomState(0)
X = RANDOM.uniform(-2, 2, (3, 4, 5))
SLOPES = RANDOM.randn(3, 4, 5)


def check(dtype: Any, least: Any, greatest: Any, axis: int = -1, x: np.ndarray = X) -> None:
    both.check(
        lambda: R.QuantizeAndDequantizeV4Grad(
            gradients=SLOPES[tuple(slice(n) for n in x.shape)].astype(dtype),
            input=x.astype(dtype),
            input_min=np.asarray(least, dtype),
            input_max=np.asarray(greatest, dtype),
            axis=axis,
        ),
        ulps=0,
    )


# TensorFlow's CPU device has no kernel for bfloat16 and float16.
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_range(dtype: Any) -> None:
    check(dtype, -1.0, 0.5)
    check(dtype, 1.0, -1.0)  # of which nothing is within


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_ranges_along_an_axis(axis: int) -> None:
    size = X.shape[axis]
    check(np.float32, -RANDOM.uniform(0, 2, size), RANDOM.uniform(0, 2, size), axis)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision(dtype: Any) -> None:
    x, slopes = X.astype(dtype), SLOPES.astype(dtype)
    with tf.device("/XPU:0"):
        result = R.QuantizeAndDequantizeV4Grad(
            gradients=slopes, input=x, input_min=np.array(-1, dtype), input_max=np.array(1, dtype)
        )
    expected = np.where((x >= -1) & (x <= 1), slopes, 0)
    np.testing.assert_array_equal(
        result.input_backprop.numpy().astype(np.float32), expected.astype(np.float32)
    )


def test_the_ends_are_within_and_nan_is_not() -> None:
    check(np.float32, -1.0, 1.0, x=np.array([[[-1.0, 1.0, np.nan, np.inf, -np.inf]]]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_that_are_nan_stay_outside_of_the_range(dtype: Any) -> None:
    special = np.array([1, -1, 0, np.nan, np.inf, -np.inf], dtype)
    slopes, x = (tf.constant(a) for a in np.meshgrid(special, special))
    both.check(
        lambda: R.QuantizeAndDequantizeV4Grad(
            gradients=slopes,
            input=x,
            input_min=np.array(-0.5, dtype),
            input_max=np.array(0.5, dtype),
        ),
        ulps=0,
    )


def test_nothing() -> None:
    check(np.float32, -1.0, 1.0, x=np.zeros([0, 4, 5]))


def test_refused() -> None:
    given: dict[str, Any] = {
        "gradients": tf.ones([3, 2]),
        "input": tf.ones([3, 2]),
        "input_min": 0.0,
        "input_max": 1.0,
    }
    for changed in (
        {"input": tf.ones([3])},
        {"input_min": [0.0]},
        {"axis": 2},
        {"axis": 0, "input_min": [0.0], "input_max": [1.0]},
    ):
        both.check_call_refused(R.QuantizeAndDequantizeV4Grad, **(given | changed))
