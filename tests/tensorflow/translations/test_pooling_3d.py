"""AvgPool3D and MaxPool3DGrad against TensorFlow's CPU kernels, and in the format that these lack
against a transposed operand.
"""

from __future__ import annotations

from typing import Any

import both
import compare
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

RAW = tf.raw_ops
# Windows and strides of depth, height and width. Strides are at most as wide as the windows: Eigen
# computes a negative padding otherwise, and the CPU kernels leave out the first elements.
WINDOWS = [
    ((2, 2, 2), (2, 2, 2)),
    ((3, 2, 1), (1, 2, 1)),
    ((1, 1, 1), (1, 1, 1)),
    ((2, 3, 4), (1, 1, 3)),
]


def values(seed: int, shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    # Distinct: the CPU's gradient goes to all elements that are nearly the largest.
    count = int(np.prod(shape))
    return np.random.default_rng(seed).permutation(count).reshape(shape).astype(dtype)


def attributes(window: tuple[int, ...], strides: tuple[int, ...], padding: str) -> dict[str, Any]:
    return {"ksize": [1, *window, 1], "strides": [1, *strides, 1], "padding": padding}


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("window, strides", WINDOWS)
def test_averages(window: tuple[int, ...], strides: tuple[int, ...], padding: str) -> None:
    x = values(0, (2, 5, 4, 6, 3))
    both.check(lambda: RAW.AvgPool3D(input=x, **attributes(window, strides, padding)), ulps=4)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_types(dtype: Any) -> None:
    x = (values(0, (2, 3, 4, 6, 3)) / 7).astype(dtype)
    options = attributes((2, 2, 2), (2, 2, 2), "SAME")
    expected = compare.on("/CPU:0", lambda: RAW.AvgPool3D(input=x.astype(np.float64), **options))
    for mode in both.MODES:
        actual = compare.on("/XPU:0", lambda: RAW.AvgPool3D(input=x, **options), mode)
        compare.assert_same(actual, tf.cast(expected, dtype), 1)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("window, strides", WINDOWS)
def test_gradients_of_maxima(
    window: tuple[int, ...], strides: tuple[int, ...], padding: str
) -> None:
    x = values(0, (2, 5, 4, 6, 3))
    options = attributes(window, strides, padding)
    with tf.device("/CPU:0"):
        pools = RAW.MaxPool3D(input=x, **options)
    dy = np.random.default_rng(1).normal(size=pools.shape).astype(np.float32)
    both.check(
        lambda: RAW.MaxPool3DGrad(orig_input=x, orig_output=pools, grad=dy, **options), ulps=4
    )


def test_channels_first() -> None:
    x = values(0, (2, 5, 4, 6, 3))
    options = attributes((2, 2, 2), (2, 2, 2), "SAME")
    first = {
        "ksize": [1, 1, 2, 2, 2],
        "strides": [1, 1, 2, 2, 2],
        "padding": "SAME",
        "data_format": "NCDHW",
    }
    with tf.device("/CPU:0"):
        pools = RAW.MaxPool3D(input=x, **options)
    dy = np.random.default_rng(1).normal(size=pools.shape).astype(np.float32)
    to_first, to_last = [0, 4, 1, 2, 3], [0, 2, 3, 4, 1]

    def averages() -> Any:
        return tf.transpose(RAW.AvgPool3D(input=tf.transpose(x, to_first), **first), to_last)

    def gradients() -> Any:
        operands = [tf.transpose(a, to_first) for a in (x, pools, dy)]
        gradient = RAW.MaxPool3DGrad(
            orig_input=operands[0], orig_output=operands[1], grad=operands[2], **first
        )
        return tf.transpose(gradient, to_last)

    expected = compare.on(
        "/CPU:0",
        lambda: (
            RAW.AvgPool3D(input=x, **options),
            RAW.MaxPool3DGrad(orig_input=x, orig_output=pools, grad=dy, **options),
        ),
    )
    for mode in both.MODES:
        compare.assert_same(compare.on("/XPU:0", averages, mode), expected[0], 4)
        compare.assert_same(compare.on("/XPU:0", gradients, mode), expected[1], 4)


def test_refuses() -> None:
    x = values(0, (2, 5, 4, 6, 3))
    for wrong in ({"ksize": [2, 2, 2, 1]}, {"strides": [1, 1, 1]}, {"ksize": [1, 9, 9, 9, 1]}):
        options = {**attributes((2, 2, 2), (2, 2, 2), "VALID"), **wrong}
        for device in ("/CPU:0", "/XPU:0"):
            with pytest.raises((tf.errors.InvalidArgumentError, ValueError)), tf.device(device):
                RAW.AvgPool3D(input=x, **options)
    refused = pytest.raises(tf.errors.UnimplementedError, match="pools the depth dimension")
    with refused, tf.device("/XPU:0"):
        RAW.AvgPool3D(input=x, ksize=[1, 2, 2, 2, 2], strides=[1, 1, 1, 1, 1], padding="VALID")
