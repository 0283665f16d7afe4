"""Normal numbers between bounds, near the mean and far from it, against the distribution itself."""

from __future__ import annotations

from typing import Any

import both
import numpy as np
import pytest
import scipy.stats
import tensorflow as tf

R = tf.raw_ops
COUNT = 20_000

BOUNDS = {
    "both sides": (0, 1, -2, 2),
    "off the mean": (-1, 1, -2, 2),
    "narrow": (0, 0.1, 0.05, 0.1),
    "far right": (0, 1, 4, np.inf),
    "far left": (0, 1, -np.inf, -4),
    "two bounds on the left": (0, 1, -6, -3),
    "further left": (6, 1, -1, 1),
    "further right": (-5, 1, 2, np.inf),
    "furthest right": (0, 1, 30, np.inf),
    "nearly all": (10, 1, 4, np.inf),
    "nearly all to the left": (-8, 1, -np.inf, -4),
    "one side": (3, 2, 3, np.inf),
}


def draw(
    op: str, shape: Any, mean: Any, deviation: Any, low: Any, high: Any, dtype: Any = np.float32
) -> np.ndarray:
    mean, deviation, low, high = (np.asarray(x, dtype) for x in (mean, deviation, low, high))
    with tf.device("/XPU:0"):
        if op == "stateless":
            result = R.StatelessParameterizedTruncatedNormal(
                shape=shape, seed=[11, 5], means=mean, stddevs=deviation, minvals=low, maxvals=high
            )
        else:
            result = R.ParameterizedTruncatedNormal(
                shape=shape,
                means=mean,
                stdevs=deviation,
                minvals=low,
                maxvals=high,
                seed=7,
                seed2=9,
            )
    assert "XPU" in result.device
    assert result.dtype == dtype
    return result.numpy()


def check_distribution(
    numbers: np.ndarray, mean: float, deviation: float, low: float, high: float
) -> None:
    """Fails for one draw of a million of a right generator, as the test of Kolmogorov and Smirnov
    says.
    """
    assert (numbers >= low).all() and (numbers <= high).all()
    a, b = (low - mean) / deviation, (high - mean) / deviation
    expected = scipy.stats.truncnorm(a, b, loc=mean, scale=deviation)
    assert scipy.stats.kstest(numbers.astype(np.float64), expected.cdf).pvalue > 1e-6


@pytest.mark.parametrize("op", ["stateless", "stateful"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bounds", BOUNDS.values(), ids=BOUNDS)
def test_distributions(op: str, dtype: Any, bounds: tuple[float, ...]) -> None:
    check_distribution(draw(op, [COUNT], *bounds, dtype=dtype), *bounds)


@pytest.mark.parametrize("op", ["stateless", "stateful"])
def test_half_precision(op: str) -> None:
    numbers = draw(op, [COUNT], 0, 1, 0.5, np.inf, dtype=np.float16).astype(np.float64)
    expected = scipy.stats.truncnorm(0.5, np.inf)
    # The mean of so many has a deviation of 0.004; rounding to 11 bits adds nothing to that.
    assert abs(numbers.mean() - expected.mean()) < 5 * expected.std() / np.sqrt(COUNT)
    assert (numbers >= 0.5).all()


def test_each_batch_has_its_parameters() -> None:
    means, highs = np.array([0.0, 5.0, -100.0]), np.array([2.0, 5.5, -99.0])
    numbers = draw("stateful", [3, COUNT // 10, 10], means, 1.0, means - 1, highs)
    for batch, mean, high in zip(numbers, means, highs, strict=True):
        check_distribution(batch.ravel(), mean, 1.0, mean - 1, high)


def test_parameters_are_broadcast() -> None:
    means, deviations = np.array([[0.0], [50.0]]), np.array([1.0, 2.0, 4.0])
    numbers = draw("stateless", [COUNT, 2, 3], means, deviations, means - 1, 1000.0)
    for i in range(2):
        for j in range(3):
            check_distribution(
                numbers[:, i, j], means[i, 0], deviations[j], means[i, 0] - 1, 1000.0
            )


def test_seeds_say_which_numbers() -> None:
    with tf.device("/XPU:0"):
        parameters = {"means": 0.0, "stddevs": 1.0, "minvals": -1.0, "maxvals": 1.0}
        a = R.StatelessParameterizedTruncatedNormal(shape=[1000], seed=[1, 2], **parameters)
        b = R.StatelessParameterizedTruncatedNormal(shape=[1000], seed=[1, 2], **parameters)
        c = R.StatelessParameterizedTruncatedNormal(shape=[1000], seed=[1, 3], **parameters)
    np.testing.assert_array_equal(a, b)
    assert np.unique(np.concatenate([a, c])).size > 1990


def test_a_generator_goes_on() -> None:
    @tf.function
    def twice() -> tuple[tf.Tensor, tf.Tensor]:
        parameters = {"means": 0.0, "stdevs": 1.0, "minvals": -1.0, "maxvals": 1.0}
        return tuple(
            R.ParameterizedTruncatedNormal(shape=[1000], seed=1, seed2=i, **parameters)
            for i in range(2)
        )

    with tf.device("/XPU:0"):
        numbers = np.concatenate([*twice(), *twice()])
    assert np.unique(numbers).size > 3950


@pytest.mark.parametrize(
    "bounds",
    [(0, -1, 0, 1), (0, 1, 1, 0), (0, 1, 1, 1), (0, 1, -np.inf, np.inf), (0, 1, np.nan, 1)],
)
def test_what_is_no_distribution_is_nan(bounds: tuple[float, ...]) -> None:
    assert np.isnan(draw("stateless", [5], *bounds)).all()
    assert np.isnan(draw("stateful", [5], *bounds)).all()


def test_nothing() -> None:
    assert draw("stateless", [0], 0, 1, 0, 1).shape == (0,)
    assert draw("stateful", [0, 3], 0, 1, 0, 1).shape == (0, 3)
    assert draw("stateless", [3, 0], np.zeros(0), 1, 0, 1).shape == (3, 0)


def test_refused() -> None:
    def stateful(**changed: Any) -> tf.Tensor:
        given = {"shape": [4], "means": 0.0, "stdevs": 1.0, "minvals": -1.0, "maxvals": 1.0}
        return R.ParameterizedTruncatedNormal(**(given | changed))

    def stateless(**changed: Any) -> tf.Tensor:
        given = {
            "shape": [4],
            "seed": [1, 2],
            "means": 0.0,
            "stddevs": 1.0,
            "minvals": -1.0,
            "maxvals": 1.0,
        }
        return R.StatelessParameterizedTruncatedNormal(**(given | changed))

    for changed in (
        {"shape": []},
        {"shape": [[2]]},
        {"means": np.zeros(3, np.float32)},
        {"maxvals": np.ones((1, 4), np.float32)},
    ):
        both.check_call_refused(stateful, **changed)
    for changed in (
        {"seed": [1, 2, 3]},
        {"shape": [[2]]},
        {"means": np.zeros(3, np.float32)},
        {"means": np.zeros(2, np.float32), "stddevs": np.ones(3, np.float32)},
    ):
        both.check_call_refused(stateless, **changed)
