"""MaxPool and its gradient, with padding of every kind."""

from __future__ import annotations

from typing import Any

import both
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering

R = tf.raw_ops
X = np.random.RandomState(0).randn(2, 9, 7, 3).astype(np.float32)
PADDINGS = {
    "VALID": [],
    "SAME": [],
    "EXPLICIT": [0, 0, 1, 2, 2, 0, 0, 0],
}


def _arguments(padding: str, window: int, stride: int) -> dict[str, Any]:
    return {
        "ksize": [1, window, window, 1],
        "strides": [1, stride, stride, 1],
        "padding": padding,
        "explicit_paddings": PADDINGS[padding],
    }


@covering(padding=PADDINGS, dtype=[np.float32, np.float64, np.float16, np.int32])
@pytest.mark.parametrize(("window", "stride"), [(1, 1), (3, 1), (3, 2), (2, 3)])
def test_pooling(dtype: Any, window: int, stride: int, padding: str) -> None:
    if window < 3 and padding == "EXPLICIT":
        # Padding has to be less than the window.
        both.check_refused(lambda: R.MaxPool(input=X, **_arguments(padding, window, stride)))
        return
    x = (X * 9).astype(dtype)
    both.check(
        lambda: R.MaxPool(input=tf.constant(x), **_arguments(padding, window, stride)), ulps=0
    )


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize(("window", "stride"), [(3, 1), (3, 2), (3, 3)])
def test_gradients(window: int, stride: int, padding: str) -> None:
    def function() -> tf.Tensor:
        x = tf.constant(X)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = R.MaxPool(input=x, **_arguments(padding, window, stride))
            value = tf.reduce_sum(y * tf.sin(y))
        return tape.gradient(value, x)

    both.check(function)


def test_images_of_infinities() -> None:
    """The greatest of infinities below zero is that, where TensorFlow's CPU kernel has the least
    finite number.
    """
    x = np.full([1, 4, 4, 1], -np.inf, np.float32)
    with tf.device("/XPU:0"):
        assert np.all(np.isneginf(R.MaxPool(input=x, **_arguments("EXPLICIT", 3, 2))))


def test_channels_first_in_programs() -> None:
    """TensorFlow's CPU kernels have the channels last alone."""
    expected = R.MaxPool(input=X, **_arguments("EXPLICIT", 3, 2))

    @tf.function(jit_compile=True)
    def function(x: tf.Tensor) -> tf.Tensor:
        return R.MaxPool(
            input=x, ksize=[1, 1, 3, 3], strides=[1, 1, 2, 2], padding="EXPLICIT",
            explicit_paddings=[0, 0, 0, 0, 1, 2, 2, 0], data_format="NCHW",
        )  # fmt: skip

    with tf.device("/XPU:0"):
        np.testing.assert_array_equal(
            function(X.transpose(0, 3, 1, 2)).numpy().transpose(0, 2, 3, 1), expected
        )


@pytest.mark.parametrize("ksize", [[1, 0, 1, 1], [1, 2, 2], [1, -1, 1, 1]])
def test_refused(ksize: list[int]) -> None:
    for device in ("/CPU:0", "/XPU:0"):
        with tf.device(device), pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
            R.MaxPool(input=X, ksize=ksize, strides=[1, 1, 1, 1], padding="VALID")
