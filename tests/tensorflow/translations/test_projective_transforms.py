"""Projective transforms of images."""

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
# A general one, and one that leaves the image far behind.
TRANSFORMS = np.array(
    [[1.1, 0.2, -2, 0.1, 0.9, 1.5, 0.01, -0.02], [0.5, 0, 9, 0, -1.5, 3, 0, 0]], np.float32
)


@covering(
    fill_mode=["REFLECT", "WRAP", "CONSTANT", "NEAREST"],
    interpolation=["NEAREST", "BILINEAR"],
)
def test_projective_transforms(interpolation: str, fill_mode: str) -> None:
    options = {"interpolation": interpolation, "fill_mode": fill_mode, "output_shape": [10, 12]}
    for transforms in (TRANSFORMS, TRANSFORMS[:1], TRANSFORMS[1:]):
        both.check(
            lambda t=transforms: R.ImageProjectiveTransformV3(
                images=IMAGES, transforms=t, fill_value=0.25, **options
            )
        )
    one_row = IMAGES[:, :1]
    both.check(
        lambda: R.ImageProjectiveTransformV2(images=one_row, transforms=TRANSFORMS, **options)
    )


@pytest.mark.parametrize(
    "dtype", [np.uint8, np.int32, np.int64, np.float16, ml_dtypes.bfloat16, np.float64]
)
def test_projective_transforms_of_types(dtype: Any) -> None:
    images = np.abs(IMAGES * 50).astype(dtype)
    both.check(
        lambda: R.ImageProjectiveTransformV2(
            images=images, transforms=TRANSFORMS, output_shape=[5, 6], interpolation="BILINEAR"
        )
    )


def test_projective_transforms_that_do_not_fit() -> None:
    def transform(**changes: Any) -> tf.Tensor:
        inputs = {
            "images": IMAGES,
            "transforms": TRANSFORMS,
            "output_shape": [5, 6],
            "interpolation": "NEAREST",
        }
        return R.ImageProjectiveTransformV2(**inputs | changes)

    both.check_refused(lambda: transform(transforms=TRANSFORMS[:, :7]))
    both.check_refused(lambda: transform(images=IMAGES[0]))
    both.check_refused(lambda: transform(output_shape=[5, 0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="CUBIC"), tf.device("/XPU:0"):
        transform(interpolation="CUBIC")  # the CPU's kernel says so in the log, and takes another
