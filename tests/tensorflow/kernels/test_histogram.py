"""HistogramFixedWidth: the CPU's counts exactly, also at the bins' edges."""

from __future__ import annotations

from typing import Any

import both
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering

R = tf.raw_ops


def check(values: Any, value_range: Any, nbins: int, out: tf.DType = tf.int32) -> None:
    both.check(
        lambda: R.HistogramFixedWidth(
            values=values, value_range=value_range, nbins=nbins, dtype=out
        ),
        ulps=0,
        modes=("eager", "graph"),
    )


@pytest.mark.parametrize("out", [tf.int32, tf.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_types(dtype: Any, out: tf.DType) -> None:
    values = (np.random.RandomState(0).rand(500) * 60 - 20).astype(dtype)
    check(values, np.array([-10, 30], dtype), 7, out)


@covering(nbins=[1, 2, 3, 10, 100, 10_000], size=[0, 1, 4096, 4097, 100_000])
def test_sizes(size: int, nbins: int) -> None:
    check(
        np.random.RandomState(size).randn(size).astype(np.float32),
        np.array([-2.5, 2.5], np.float32),
        nbins,
    )


def test_edges_and_their_neighbours() -> None:
    low, high, nbins = np.float32(-0.3), np.float32(0.7), 33
    edges = (low + (high - low) / nbins * np.arange(nbins + 1)).astype(np.float32)
    values = np.concatenate(
        [edges, np.nextafter(edges, np.float32(np.inf)), np.nextafter(edges, np.float32(-np.inf))]
    )
    check(values, np.array([low, high]), nbins)


@covering(
    nbins=[1, 2, 33, 1000],
    limits=[(-0.3, 0.7), (1000.0, 1000.125), (0.0, 1e38), (-3e38, 1e38)],
    dtype=[np.float32, np.float64],
)
def test_many_values_at_edges(dtype: Any, limits: tuple[float, float], nbins: int) -> None:
    """Among others and the infinities, in long walks of many values at a time."""
    random = np.random.RandomState(nbins)
    low, high = np.array(limits, dtype).astype(np.float64)
    width = (high - low) / nbins
    edges = (low + width * np.arange(nbins + 1)).astype(dtype)
    near = [edges, np.nextafter(edges, dtype(np.inf)), np.nextafter(edges, dtype(-np.inf))]
    between = (low + width * random.uniform(-0.1, nbins + 0.1, 9000)).astype(dtype)
    values = np.concatenate([*near, between, np.array([np.inf, -np.inf, 0.0, -0.0] * 9, dtype)])
    check(tf.constant(random.permutation(values)), tf.constant(limits, dtype), nbins)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_many_integers(dtype: Any) -> None:
    limits = np.iinfo(dtype)
    values = np.random.RandomState(0).randint(limits.min, limits.max, 9001, dtype)
    values[::7] = np.arange(len(values[::7])) - 9
    check(values, np.array([-5, 700], dtype), 101)
    check(values, np.array([0, limits.max], dtype), 7)


def test_more_bins_than_numbers_between() -> None:
    values = np.float32(1) + np.arange(20, dtype=np.float32) * np.finfo(np.float32).eps
    check(values, values[[0, -1]], 1000)


def test_infinities_and_zeros() -> None:
    values = np.array([np.inf, -np.inf, 0.0, -0.0, 1e38, -1e38, 1e-45], np.float32)
    check(values, np.array([-1, 1], np.float32), 2)
    check(values, np.array([0, 1], np.float32), 5)


def test_integers_far_apart() -> None:
    values = np.array([0, 1, 2**31 - 1, -(2**31), 2**30], np.int32)
    check(values, np.array([0, 2**31 - 1], np.int32), 4)


def test_any_shape() -> None:
    check(
        np.random.RandomState(1).rand(3, 1, 5).astype(np.float32), np.array([0, 1], np.float32), 4
    )


@pytest.mark.parametrize(
    ("values", "value_range", "nbins"),
    [
        ([np.nan, 1.0], [0.0, 1.0], 3),
        ([0.5] * 11 + [np.nan] + [0.5] * 11, [0.0, 1.0], 3),
        ([0.5], [1.0, 1.0], 3),
        ([0.5], [0.0, 1.0], 0),
        ([0.5], [0.0, 1.0], -1),
        ([0.5], [0.0, 1.0, 2.0], 3),
        ([0.5], [0.0, 1.0], [3]),
    ],
)
def test_bad_arguments(values: Any, value_range: Any, nbins: Any) -> None:
    both.check_refused(
        lambda: R.HistogramFixedWidth(
            values=np.array(values, np.float32),
            value_range=np.array(value_range, np.float32),
            nbins=nbins,
        )
    )
