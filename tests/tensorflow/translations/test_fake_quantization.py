"""FakeQuantWithMinMax ops and their gradients, at values between two levels."""

from __future__ import annotations

import both
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import every

R = tf.raw_ops
RANDOM = np.random.default_rng(0)
# With zero inside, at an end and outside; of no width; the wrong way round.
RANGES = [
    (-1.0, 1.0),
    (0.0, 6.0),
    (-6.0, 0.0),
    (0.1, 0.7),
    (-0.7, -0.1),
    (-0.3, 1.1),
    (-1e-3, 1e3),
    (0.0, 0.0),
    (1.0, 1.0),
    (-1.0, -1.0),
    (2.0, -2.0),
]
BITS = (2, 3, 8, 11, 16)


def held(values: np.ndarray) -> tf.Tensor:
    """Returns an argument: TensorFlow would compute with a constant when it builds a graph."""
    with tf.device("/CPU:0"):
        return tf.identity(np.asarray(values, np.float32))


def inputs(low: float, high: float, bits: int) -> np.ndarray:
    """Returns levels, values half way between them, values that are not finite, and others."""
    step = (high - low) / (2**bits - 1) or 1.0
    levels = np.arange(0, 41) * step / 2
    return np.concatenate(
        [
            levels - 10 * step,
            low + levels,
            high - levels,
            [np.nan, 1e9, -1e9, np.inf, -np.inf, 0.0, -0.0],
            RANDOM.uniform(min(low, high) - 1, max(low, high) + 1, 126),
        ]
    ).astype(np.float32)


CASES = [(limits, bits, narrow) for limits in RANGES for bits in BITS for narrow in (False, True)]


@pytest.mark.parametrize(("limits", "bits", "narrow"), every(7, CASES, unpack=True))
def test_values(limits: tuple[float, float], bits: int, narrow: bool) -> None:
    x = held(inputs(*limits, bits))
    options = {"num_bits": bits, "narrow_range": narrow}
    if limits[0] < limits[1]:
        both.check(
            lambda: R.FakeQuantWithMinMaxArgs(inputs=x, min=limits[0], max=limits[1], **options), 0
        )
    low, high = held(limits[0]), held(limits[1])
    both.check(lambda: R.FakeQuantWithMinMaxVars(inputs=x, min=low, max=high, **options), 0)
    lows, highs = held([limits[0], -1.0, 0.0]), held([limits[1], 0.7, 0.0])
    channels = tf.stack([x, x * 0.3, x], 1)
    both.check(
        lambda: R.FakeQuantWithMinMaxVarsPerChannel(
            inputs=channels, min=lows, max=highs, **options
        ),
        0,
    )


@pytest.mark.parametrize(("limits", "bits", "narrow"), every(9, CASES, unpack=True))
def test_gradients(limits: tuple[float, float], bits: int, narrow: bool) -> None:
    x = held(inputs(*limits, bits))
    slopes = held(np.arange(x.shape[0]) % 7 - 3)  # of which sums have no rounding
    options = {"num_bits": bits, "narrow_range": narrow}
    if limits[0] < limits[1]:
        both.check(
            lambda: R.FakeQuantWithMinMaxArgsGradient(
                gradients=slopes, inputs=x, min=limits[0], max=limits[1], **options
            ),
            0,
        )
    low, high = held(limits[0]), held(limits[1])
    both.check(
        lambda: list(
            R.FakeQuantWithMinMaxVarsGradient(
                gradients=slopes, inputs=x, min=low, max=high, **options
            )
        ),
        0,
    )
    lows, highs = held([limits[0], -1.0, 0.0]), held([limits[1], 0.7, 0.0])
    channels, channel_slopes = tf.stack([x, x * 0.3, x], 1), tf.stack([slopes, slopes, -slopes], 1)
    both.check(
        lambda: list(
            R.FakeQuantWithMinMaxVarsPerChannelGradient(
                gradients=channel_slopes, inputs=channels, min=lows, max=highs, **options
            )
        ),
        0,
    )


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (6, 5), (5,), (0, 5)])
def test_channels_of_shapes(shape: tuple[int, ...]) -> None:
    x, slopes = held(RANDOM.uniform(-2, 2, shape)), held(RANDOM.integers(-3, 4, shape))
    lows, highs = held(-RANDOM.uniform(0.1, 1, 5)), held(RANDOM.uniform(0.1, 1, 5))
    both.check(lambda: R.FakeQuantWithMinMaxVarsPerChannel(inputs=x, min=lows, max=highs), 0)
    both.check(
        lambda: list(
            R.FakeQuantWithMinMaxVarsPerChannelGradient(
                gradients=slopes, inputs=x, min=lows, max=highs
            )
        ),
        0,
    )


def test_slopes_that_are_not_finite() -> None:
    x, slopes = held([-5.0, 0.0, 5.0, 0.5]), held([np.inf, np.nan, 1.0, -np.inf])
    both.check(
        lambda: list(
            R.FakeQuantWithMinMaxVarsGradient(gradients=slopes, inputs=x, min=-1.0, max=1.0)
        ),
        0,
    )


def test_refused() -> None:
    x = tf.ones([3, 2])
    for options in (
        {"num_bits": 1},
        {"num_bits": 17},
        {"min": 1.0, "max": 1.0},
        {"min": 2.0, "max": -2.0},
    ):
        both.check_refused(lambda options=options: R.FakeQuantWithMinMaxArgs(inputs=x, **options))
    both.check_refused(lambda: R.FakeQuantWithMinMaxVars(inputs=x, min=-1.0, max=1.0, num_bits=17))
    both.check_refused(lambda: R.FakeQuantWithMinMaxVarsPerChannel(inputs=x, min=[-1.0], max=[1.0]))
