"""FusedBatchNormV3 and its gradient against TensorFlow's CPU kernels, and where these have no
results or round early, against numpy in double precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import both
import compare
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering

RAW = tf.raw_ops
# The CPU kernels have the images last in memory, and their gradient of running moments no other
# format.
FORMATS = {"NHWC": (3, (2, 4, 5, 3)), "NCHW": (1, (2, 3, 4, 5)), "NDHWC": (4, (2, 2, 3, 2, 3))}
DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32]
# Images of 16 bits are rounded once, from f32; statistics are sums of up to 40 elements.
ULPS = 8


def values(seed: int, shape: Sequence[int], dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(seed).normal(2, 3, shape).astype(dtype)


def statistics(channels: int) -> dict[str, np.ndarray]:
    names = ("scale", "offset", "mean", "variance")
    found = {name: values(seed, [channels]) for seed, name in enumerate(names)}
    found["variance"] = np.abs(found["variance"])
    return found


def normalize(x: Any, is_training: bool, factor: float = 1.0, **options: Any) -> list[Any]:
    """The results that are defined: all in training, otherwise the first three."""
    results = RAW.FusedBatchNormV3(
        x=x, is_training=is_training, exponential_avg_factor=factor, **options
    )
    return list(results) if is_training else list(results[:3])


@covering(dtype=DTYPES, data_format=list(FORMATS), is_training=[True, False])
def test_values(dtype: Any, data_format: str, is_training: bool) -> None:
    _, shape = FORMATS[data_format]
    x = values(7, shape, dtype)
    options = {"data_format": data_format, "epsilon": 0.01, **statistics(3)}
    both.check(
        lambda: [normalize(x, is_training, factor, **options) for factor in (1.0, 0.75)],
        ulps=ULPS,
    )


@covering(dtype=DTYPES, data_format=list(FORMATS), is_training=[True, False])
def test_gradients(dtype: Any, data_format: str, is_training: bool) -> None:
    axis, shape = FORMATS[data_format]
    x, dy = values(7, shape, dtype), values(8, shape, dtype)
    found = statistics(3)
    scale, mean, variance = found["scale"], found["mean"], found["variance"]
    results = [
        compare.on(
            "/XPU:0",
            lambda: RAW.FusedBatchNormGradV3(
                y_backprop=dy,
                x=x,
                scale=scale,
                reserve_space_1=mean,
                reserve_space_2=variance,
                reserve_space_3=0.0,
                is_training=is_training,
                data_format=data_format,
                epsilon=0.01,
            ),
            mode,
        )
        for mode in both.MODES
    ]
    x, dy = (np.moveaxis(a.astype(np.float64), axis, -1).reshape(-1, 3) for a in (x, dy))
    reciprocal = 1 / np.sqrt(variance.astype(np.float64) + 0.01)
    centered = x - mean
    of_scale, of_offset = (dy * centered).sum(0) * reciprocal, dy.sum(0)
    inner = dy
    if is_training:
        inner = dy - dy.mean(0) - centered * (dy * centered).mean(0) * reciprocal**2
    of_images = (scale * reciprocal * inner).reshape(np.moveaxis(np.empty(shape), axis, -1).shape)
    expected = [
        np.moveaxis(of_images, -1, axis).astype(dtype),
        of_scale.astype(np.float32),
        of_offset.astype(np.float32),
        np.zeros(0, np.float32),
        np.zeros(0, np.float32),
    ]
    for actual in results:
        compare.assert_same(list(actual), expected, ULPS)


@covering(shape=[(0, 4, 5, 3), (2, 0, 5, 3), (2, 4, 5, 0), (1, 1, 1, 3)], is_training=[True, False])
def test_of_few_elements(shape: tuple[int, ...], is_training: bool) -> None:
    found = statistics(shape[-1])
    x, dy = values(7, shape), values(8, shape)

    def results() -> Any:
        gradients = RAW.FusedBatchNormGradV3(
            y_backprop=dy,
            x=x,
            scale=found["scale"],
            reserve_space_1=found["mean"],
            reserve_space_2=found["variance"],
            reserve_space_3=0.0,
            is_training=is_training,
        )
        # The CPU does not set the moments for the gradient if there are no images.
        normalized = [normalize(x, is_training, factor, **found)[:3] for factor in (1.0, 0.75)]
        return [*normalized, list(gradients)]

    both.check(results)


@pytest.mark.parametrize("is_training", [True, False])
def test_not_finite(is_training: bool) -> None:
    x = values(7, (2, 4, 5, 3))
    x[1, 2, 3, 1], x[0, 0, 0, 2] = np.nan, np.inf
    both.check(lambda: normalize(x, is_training, **statistics(3)), ulps=ULPS)


def test_without_running_moments() -> None:
    x, found = values(7, (2, 4, 5, 3)), statistics(3)
    found["mean"] = found["variance"] = np.zeros(0, np.float32)
    both.check(lambda: normalize(x, True, **found), ulps=ULPS)


def test_moments_for_the_gradient() -> None:
    x, dy = values(7, (2, 4, 5, 3)), values(8, (2, 4, 5, 3))
    found = statistics(3)

    def gradients() -> Any:
        with tf.GradientTape() as tape:
            watched = [tf.constant(a) for a in (x, found["scale"], found["offset"])]
            tape.watch(watched)
            result = tf.compat.v1.nn.fused_batch_norm(*watched, is_training=True)[0]
        return tape.gradient(result, watched, tf.constant(dy))

    both.check(gradients, ulps=ULPS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"x": (3, 3)},
        {"scale": (2,)},
        {"offset": (3, 3)},
        {"mean": (2,)},
        {"variance": (1, 3)},
    ],
)
def test_refuses_shapes(wrong: dict[str, tuple[int, ...]]) -> None:
    arguments = {"x": values(7, (2, 4, 5, 3)), **statistics(3)}
    arguments |= {name: values(9, shape) for name, shape in wrong.items()}
    for is_training in (True, False):
        both.check_refused(
            lambda is_training=is_training: RAW.FusedBatchNormV3(
                is_training=is_training, exponential_avg_factor=0.5, **arguments
            )
        )
