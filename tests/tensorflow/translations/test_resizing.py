"""Resizing of images to the nearest element and by bilinear interpolation, and the gradients."""

from __future__ import annotations

from typing import Any

import both
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering

R = tf.raw_ops
IMAGES = np.random.RandomState(0).randn(2, 7, 11, 3).astype(np.float32)
OPTIONS = [None, "align_corners", "half_pixel_centers"]
SIZES = [(3, 4), (14, 22), (7, 11), (1, 1), (7, 20), (9, 5)]


def options_of(option: str | None) -> dict[str, bool]:
    return {option: True} if option else {}


def with_infinities(shape: tuple[int, ...]) -> np.ndarray:
    """Returns values of which three are infinite or NaN, far from each other."""
    values = np.random.RandomState(1).randn(*shape).astype(np.float32)
    values[0, 1, 1, 0], values[0, -2, -2, 0], values[1, 1, -2, 1] = np.inf, np.nan, -np.inf
    return values


@covering(size=SIZES, option=OPTIONS)
def test_nearest(option: str | None, size: tuple[int, int]) -> None:
    both.check(
        lambda: R.ResizeNearestNeighbor(images=IMAGES, size=size, **options_of(option)), ulps=0
    )


@pytest.mark.parametrize(
    "dtype",
    [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64, np.float16, ml_dtypes.bfloat16,
     np.float64],
)  # fmt: skip
def test_nearest_keeps_every_bit(dtype: Any) -> None:
    """Beyond 2^24, integers have no float32 of their own."""
    bits = np.random.RandomState(2).randint(0, 256, 2 * 7 * 11 * np.dtype(dtype).itemsize)
    images = np.frombuffer(bits.astype(np.uint8).tobytes(), dtype).reshape(2, 7, 11, 1)
    images = np.where(np.isfinite(images), images, 0).astype(dtype)
    for option in OPTIONS:
        both.check(
            lambda option=option: R.ResizeNearestNeighbor(
                images=images, size=[9, 5], **options_of(option)
            ),
            ulps=0,
        )


def test_nearest_integers_of_tf_image() -> None:
    images = (2**24 + np.arange(60)).reshape(1, 6, 10, 1)
    for dtype in (tf.int32, tf.int64):
        both.check(lambda dtype=dtype: tf.image.resize(tf.cast(images, dtype), [9, 4], "nearest"))


@covering(size=SIZES, option=OPTIONS)
def test_gradient_of_nearest(option: str | None, size: tuple[int, int]) -> None:
    slope = np.random.RandomState(1).randn(2, 7, 11, 3).astype(np.float32)
    both.check(lambda: R.ResizeNearestNeighborGrad(grads=slope, size=size, **options_of(option)))


@pytest.mark.parametrize(
    "dtype", [np.uint8, np.int8, np.int32, np.float16, ml_dtypes.bfloat16, np.float64]
)
def test_gradient_of_nearest_of_types(dtype: Any) -> None:
    slope = np.abs(IMAGES * 5).astype(dtype)
    both.check(lambda: R.ResizeNearestNeighborGrad(grads=slope, size=[3, 4]))


@covering(size=SIZES, option=OPTIONS)
def test_bilinear(option: str | None, size: tuple[int, int]) -> None:
    options = options_of(option)
    both.check(lambda: R.ResizeBilinear(images=IMAGES, size=size, **options))
    slope = np.random.RandomState(1).randn(2, *size, 3).astype(np.float32)
    both.check(lambda: R.ResizeBilinearGrad(grads=slope, original_image=IMAGES, **options))


@covering(size=SIZES, option=OPTIONS)
def test_bilinear_with_infinities(option: str | None, size: tuple[int, int]) -> None:
    """Only the results next to an infinite or NaN element are infinite or NaN."""
    options = options_of(option)
    images = with_infinities((2, 7, 11, 3))
    both.check(lambda: R.ResizeBilinear(images=images, size=size, **options))
    if min(size) < 3:
        return
    slope = with_infinities((2, *size, 3))
    both.check(lambda: R.ResizeBilinearGrad(grads=slope, original_image=IMAGES, **options))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_bilinear_of_types(dtype: Any) -> None:
    images = IMAGES.astype(dtype)
    both.check(lambda: R.ResizeBilinear(images=images, size=[9, 5]))
    slope = np.random.RandomState(1).randn(2, 9, 5, 3).astype(np.float32)
    # The factors of the CPU's gradient are float32: 8 of its rounding errors, 2^29 of float64 each.
    ulps = 2.0**32 if dtype == np.float64 else 64
    both.check(lambda: R.ResizeBilinearGrad(grads=slope, original_image=images), ulps=ulps)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.uint16, np.int32, np.int64])
def test_bilinear_of_integers(dtype: Any) -> None:
    images = np.abs(IMAGES * 50).astype(dtype)
    both.check(lambda: R.ResizeBilinear(images=images, size=[9, 5], half_pixel_centers=True))


def test_invalid_arguments() -> None:
    for op in (R.ResizeNearestNeighbor, R.ResizeBilinear):
        both.check_call_refused(op, images=IMAGES[0], size=[3, 4])
        both.check_call_refused(op, images=IMAGES, size=[3, 0])
        both.check_call_refused(op, images=IMAGES, size=[3, 4, 5])
        both.check_call_refused(op, images=IMAGES[:, :0], size=[3, 4])
        both.check_call_refused(
            op, images=IMAGES, size=[3, 4], align_corners=True, half_pixel_centers=True
        )
    both.check_call_refused(R.ResizeBilinearGrad, grads=IMAGES, original_image=IMAGES[0])
