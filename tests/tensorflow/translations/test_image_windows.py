"""Dilation and pooling with places: windows with strides, rates and padding, and their
gradients.
"""

from __future__ import annotations

from typing import Any

import both
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering, every

R = tf.raw_ops
IMAGES = np.random.RandomState(0).randn(2, 9, 7, 3).astype(np.float32)
FILTER = np.random.RandomState(1).randn(3, 2, 3).astype(np.float32)

PADDINGS = ["SAME", "VALID"]
STRIDES = [(1, 1), (2, 3), (2, 1)]


def gradient_like(shape: Any, dtype: Any = np.float32) -> tf.Tensor:
    return tf.constant(np.random.RandomState(2).randn(*shape).astype(dtype))


@covering(padding=PADDINGS, strides=STRIDES, rates=every(2, [(1, 1), (1, 2), (2, 2)]))
def test_dilation(rates: tuple[int, int], strides: tuple[int, int], padding: str) -> None:
    options = {"strides": [1, *strides, 1], "rates": [1, *rates, 1], "padding": padding}
    inputs = {"input": IMAGES, "filter": FILTER}
    both.check(lambda: R.Dilation2D(**inputs, **options))
    slope = gradient_like(R.Dilation2D(**inputs, **options).shape)
    both.check(lambda: R.Dilation2DBackpropInput(**inputs, out_backprop=slope, **options))
    both.check(lambda: R.Dilation2DBackpropFilter(**inputs, out_backprop=slope, **options))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64, np.int32, np.uint8])
def test_dilation_of_types(dtype: Any) -> None:
    options = {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "SAME"}
    images, weights = (np.abs(a * 10).astype(dtype) for a in (IMAGES, FILTER))
    both.check(lambda: R.Dilation2D(input=images, filter=weights, **options))


def test_dilation_with_infinities_and_nan() -> None:
    images = IMAGES.copy()
    images[0, 2, 3] = [np.nan, np.inf, -np.inf]
    options = {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "SAME"}
    both.check(lambda: R.Dilation2D(input=images, filter=FILTER, **options))


def test_dilation_of_shapes_that_do_not_fit() -> None:
    options = {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "SAME"}
    both.check_refused(lambda: R.Dilation2D(input=IMAGES, filter=FILTER[..., :2], **options))
    both.check_refused(lambda: R.Dilation2D(input=IMAGES[0], filter=FILTER, **options))


@covering(padding=PADDINGS, strides=STRIDES, include_batch=[False, True])
def test_pooling_with_places(include_batch: bool, strides: tuple[int, int], padding: str) -> None:
    options = {
        "ksize": [1, 3, 2, 1],
        "strides": [1, *strides, 1],
        "padding": padding,
        "include_batch_in_index": include_batch,
    }
    equal = np.round(IMAGES)  # the first of several greatest elements counts
    equal[0, 0, 0] = np.nan
    both.check(lambda: R.MaxPoolWithArgmax(input=equal, **options))
    with tf.device("/CPU:0"):
        output, places = (t.numpy() for t in R.MaxPoolWithArgmax(input=IMAGES, **options))
    slope = gradient_like(output.shape)
    both.check(lambda: R.MaxPoolGradWithArgmax(input=IMAGES, grad=slope, argmax=places, **options))
    both.check(
        lambda: R.MaxPoolGradGradWithArgmax(input=IMAGES, grad=IMAGES * 2, argmax=places, **options)
    )


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64, np.int32, np.uint8])
def test_pooling_with_places_of_types(dtype: Any) -> None:
    images = np.abs(IMAGES * 10).astype(dtype)
    both.check(
        lambda: R.MaxPoolWithArgmax(
            input=images, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME"
        )
    )


def test_pooling_of_nothing() -> None:
    both.check_refused(
        lambda: R.MaxPoolWithArgmax(
            input=IMAGES[:0], ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME"
        )
    )
