"""Gradients of convolutions by their images, where there is nothing to convolve or the shape is
named in part.
"""

from __future__ import annotations

import both
import numpy as np
import pytest
import tensorflow as tf

R = tf.raw_ops
RANDOM = np.random.RandomState(0)


def ones(*shape: int) -> np.ndarray:
    return RANDOM.rand(*shape).astype(np.float32)


@pytest.mark.parametrize(
    ("sizes", "filter_shape", "slopes"),
    [
        ([3, 1, 1, 2], (1, 3, 2, 3), (3, 1, 0, 3)),
        ([0, 4, 4, 2], (3, 3, 2, 3), (0, 2, 2, 3)),
        ([2, 4, 4, 2], (3, 3, 2, 0), (2, 2, 2, 0)),
        ([2, 4, 5, 2], (3, 3, 2, 3), (2, 2, 3, 3)),
    ],
)
def test_2d(sizes: list[int], filter_shape: tuple[int, ...], slopes: tuple[int, ...]) -> None:
    strides = [1, 1, 2, 1] if slopes[2] == 0 else [1, 1, 1, 1]
    weights, slope = ones(*filter_shape), ones(*slopes)
    both.check(
        lambda: R.Conv2DBackpropInput(
            input_sizes=sizes, filter=weights, out_backprop=slope, strides=strides, padding="VALID"
        ),
        ulps=32,  # sums of 27 products, in another order
    )


def test_spatial_sizes_alone() -> None:
    weights, slope = ones(2, 2, 3, 4), ones(5, 2, 3, 4)
    both.check(
        lambda: R.Conv2DBackpropInput(
            input_sizes=[3, 4],
            filter=weights,
            out_backprop=slope,
            strides=[1, 1, 1, 1],
            padding="VALID",
        ),
        ulps=32,
    )


def test_3d_and_depthwise() -> None:
    weights, slope = ones(2, 2, 2, 3, 4), ones(2, 3, 3, 3, 4)
    both.check(
        lambda: R.Conv3DBackpropInputV2(
            input_sizes=[2, 4, 4, 4, 3],
            filter=weights,
            out_backprop=slope,
            strides=[1] * 5,
            padding="VALID",
        ),
        ulps=64,
    )
    depthwise, slope2 = ones(2, 2, 3, 2), ones(2, 3, 3, 6)
    for count in (2, 0):
        both.check(
            lambda n=count: R.DepthwiseConv2dNativeBackpropInput(
                input_sizes=[n, 4, 4, 3],
                filter=depthwise,
                out_backprop=slope2[:n],
                strides=[1] * 4,
                padding="VALID",
            ),
            ulps=32,
        )


def test_refused() -> None:
    weights, slope = ones(2, 2, 3, 4), ones(5, 2, 3, 4)
    for sizes in ([3], [5, 3, 4], [5, 3, 4, 7], [5, 9, 4, 3]):
        both.check_refused(
            lambda s=sizes: R.Conv2DBackpropInput(
                input_sizes=s,
                filter=weights,
                out_backprop=slope,
                strides=[1, 1, 1, 1],
                padding="VALID",
            )
        )
