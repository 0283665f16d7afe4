"""Patches of images and volumes."""

from __future__ import annotations

from typing import Any

import both
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering

R = tf.raw_ops
IMAGES = np.random.RandomState(0).randn(2, 9, 8, 3).astype(np.float32)
PADDINGS = ["SAME", "VALID"]


@covering(
    padding=PADDINGS,
    size=[(3, 3), (2, 4), (1, 1), (9, 8)],
    strides=[(1, 1), (2, 3), (4, 1)],
    rates=[(1, 1), (2, 1), (1, 2)],
)
def test_images(
    padding: str, size: tuple[int, int], strides: tuple[int, int], rates: tuple[int, int]
) -> None:
    if padding == "VALID" and size == (9, 8):
        rates = (1, 1)  # the window fits only once
    both.check(
        lambda: tf.image.extract_patches(
            IMAGES, [1, *size, 1], [1, *strides, 1], [1, *rates, 1], padding
        ),
        ulps=0,
    )


@pytest.mark.parametrize("padding", PADDINGS)
def test_images_with_infinities(padding: str) -> None:
    """An infinite or NaN element is in the patches that hold it, at its position only."""
    images = IMAGES.copy()
    images[0, 2, 3], images[1, 0, 0, 1] = [np.inf, np.nan, -np.inf], np.nan
    both.check(
        lambda: tf.image.extract_patches(images, [1, 3, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], padding),
        ulps=0,
    )


@pytest.mark.parametrize(
    "dtype",
    [np.float16, ml_dtypes.bfloat16, np.float64, np.int8, np.uint8, np.int32, np.int64, np.bool_,
     np.complex64],
)  # fmt: skip
def test_images_of_types(dtype: Any) -> None:
    images = (IMAGES * 2**28 if np.dtype(dtype).itemsize > 2 else IMAGES * 9).astype(dtype)
    both.check(
        lambda: R.ExtractImagePatches(
            images=images, ksizes=[1, 2, 3, 1], strides=[1, 2, 1, 1], rates=[1, 1, 2, 1],
            padding="SAME",
        ),
        ulps=0,
    )  # fmt: skip


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_volumes(dtype: Any, padding: str) -> None:
    volumes = (np.random.RandomState(2).randn(2, 5, 6, 7, 2) * 9).astype(dtype)
    both.check(
        lambda: R.ExtractVolumePatches(
            input=volumes, ksizes=[1, 2, 3, 2, 1], strides=[1, 1, 2, 3, 1], padding=padding
        ),
        ulps=0,
    )


def test_invalid_arguments() -> None:
    def call(**changes: Any) -> tf.Tensor:
        arguments = {
            "images": IMAGES, "ksizes": [1, 2, 2, 1], "strides": [1, 1, 1, 1],
            "rates": [1, 1, 1, 1], "padding": "VALID",
        }  # fmt: skip
        return R.ExtractImagePatches(**arguments | changes)

    both.check_refused(lambda: call(images=IMAGES[0]))
    for device in ("/CPU:0", "/XPU:0"):
        with pytest.raises(tf.errors.OpError), tf.device(device):
            call(strides=[1, 0, 1, 1])
        with pytest.raises(tf.errors.OpError), tf.device(device):
            call(ksizes=[2, 2, 2, 1])
