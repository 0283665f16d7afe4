"""Stateless gamma numbers: those of TensorFlow's CPU kernels."""

from __future__ import annotations

from typing import Any

import both
import numpy as np
import pytest
import tensorflow as tf

R = tf.raw_ops
# Made in double precision of the same words; logarithms and powers differ by some units of that.
ULPS = 2


def check(function: Any) -> None:
    both.check(function, modes=("eager",), ulps=ULPS)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("shape", [(3,), (1, 3), (1000, 3), (7, 5, 3)])
def test_numbers(shape: tuple[int, ...], dtype: Any) -> None:
    alphas = np.array([0.3, 1.0, 7.5], dtype)
    check(lambda: R.StatelessRandomGammaV2(shape=shape, seed=[12, -7], alpha=alphas))
    check(lambda: tf.random.stateless_gamma(shape, seed=[3, 4], alpha=alphas, dtype=dtype))


def test_double_precision() -> None:
    alphas = np.array([0.3, 1.0, 7.5])
    both.check(
        lambda: R.StatelessRandomGammaV2(shape=[500, 3], seed=[1, 2], alpha=alphas),
        modes=("eager",),
        ulps=64,
    )


@pytest.mark.parametrize("alpha", [1e-3, 0.5, 0.999, 1.001, 1e4])
def test_alphas(alpha: float) -> None:
    check(lambda: R.StatelessRandomGammaV2(shape=[4000], seed=[1, 2], alpha=np.float32(alpha)))


def test_keys_and_counters() -> None:
    key, counter = tf.constant([1 << 63], tf.uint64), tf.constant([(1 << 64) - 9, 5], tf.uint64)

    def draw(algorithm: int) -> tf.Tensor:
        return R.StatelessRandomGammaV3(
            shape=[300, 2], key=key, counter=counter, alg=algorithm, alpha=np.float32([0.5, 2])
        )

    check(lambda: draw(1))
    check(lambda: draw(3))


def test_mean() -> None:
    with tf.device("/XPU:0"):
        numbers = tf.random.stateless_gamma(
            [100_000, 2], seed=[1, 2], alpha=[0.5, 4.0], beta=2.0
        ).numpy()
    # The means are alpha / beta, the variances alpha / beta^2: five standard deviations of the
    # mean.
    np.testing.assert_allclose(numbers.mean(0), [0.25, 2.0], atol=5 * 1.0 / np.sqrt(100_000))


def test_not_a_number() -> None:
    with tf.device("/XPU:0"):
        numbers = R.StatelessRandomGammaV2(shape=[4, 2], seed=[1, 2], alpha=[np.nan, 2.0]).numpy()
    assert np.isnan(numbers[:, 0]).all() and not np.isnan(numbers[:, 1]).any()


def test_nothing() -> None:
    check(lambda: R.StatelessRandomGammaV2(shape=[0, 3], seed=[1, 2], alpha=tf.ones([3])))
    check(lambda: R.StatelessRandomGammaV2(shape=[2, 0], seed=[1, 2], alpha=tf.ones([0])))


def test_refused() -> None:
    both.check_refused(
        lambda: R.StatelessRandomGammaV2(shape=[2, 3], seed=[1, 2, 3], alpha=tf.ones([3]))
    )
    both.check_refused(
        lambda: R.StatelessRandomGammaV2(shape=[2, 3], seed=[1, 2], alpha=tf.ones([2]))
    )
    stream: dict[str, Any] = {
        "key": tf.constant([1], tf.uint64),
        "counter": tf.constant([1, 2], tf.uint64),
        "alg": 1,
    }
    for changed in ({"alg": 2}, {"key": tf.constant([1, 2], tf.uint64)}):
        both.check_call_refused(
            lambda **stream: R.StatelessRandomGammaV3(shape=[2, 3], alpha=tf.ones([3]), **stream),
            **(stream | changed),
        )
