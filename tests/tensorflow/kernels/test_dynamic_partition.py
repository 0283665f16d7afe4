"""DynamicPartition: rows by the partition that each belongs to, with its gradient."""

from __future__ import annotations

from typing import Any

import both
import compare
import numpy as np
import pytest
import tensorflow as tf

RANDOM = np.random.RandomState(0)


def check(data: np.ndarray, partitions: Any, count: int) -> None:
    both.check(
        lambda: tf.dynamic_partition(data, np.asarray(partitions, np.int32), count),
        ulps=0,
        modes=("eager",),
    )


@pytest.mark.parametrize("dtype", compare.TYPES)
def test_types(dtype: Any) -> None:
    check(RANDOM.randint(0, 100, (50, 3)).astype(dtype), RANDOM.randint(0, 4, 50), 4)


@pytest.mark.parametrize("row", [(), (1,), (5, 7), (0,)])
@pytest.mark.parametrize("rows", [(1,), (6, 7), (20_000,)])
def test_shapes(rows: tuple[int, ...], row: tuple[int, ...]) -> None:
    data = RANDOM.uniform(size=rows + row).astype(np.float32)
    check(data, RANDOM.randint(0, 3, rows), 5)  # two stay empty


@pytest.mark.parametrize("count", [1, 255, 256, 257, 1000])
def test_counts(count: int) -> None:
    check(np.arange(3000), RANDOM.randint(0, count, 3000), count)


def test_nothing() -> None:
    check(np.zeros([0, 2], np.float32), np.zeros([0]), 3)


def test_scalar() -> None:
    check(np.float32([1, 2]), 1, 2)


def test_and_back() -> None:
    data = RANDOM.uniform(size=(40, 2)).astype(np.float32)
    partitions = RANDOM.randint(0, 3, 40).astype(np.int32)

    def slopes() -> tf.Tensor:
        x = tf.constant(data)
        with tf.GradientTape() as tape:
            tape.watch(x)
            parts = tf.dynamic_partition(x, partitions, 3)
            loss = sum((i + 1.0) * tf.reduce_sum(part**2) for i, part in enumerate(parts))
        return tape.gradient(loss, x)

    both.check(slopes, modes=("eager",))


def test_refused() -> None:
    both.check_refused(lambda: tf.dynamic_partition(tf.zeros([3, 2]), [0, 3, 1], 3))
    both.check_refused(lambda: tf.dynamic_partition(tf.zeros([3, 2]), [0, -1, 1], 3))
    both.check_refused(
        lambda: tf.raw_ops.DynamicPartition(
            data=tf.zeros([3, 2]), partitions=[0, 1], num_partitions=2
        )
    )
