"""Buckets of integers by the hash of their text, which TensorFlow's graph optimiser makes one op
of.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context, execute

import onexpu
from tests.exhaustive import covering

INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


def fused(values: np.ndarray, buckets: int) -> tf.Tensor:
    dtype = tf.as_dtype(values.dtype)
    with tf.device("/XPU:0"):
        return execute.execute(
            b"_TensorToHashBucketFast", 1, [tf.constant(values)],
            attrs=("T", dtype.as_datatype_enum, "num_buckets", buckets), ctx=context.context(),
        )[0]  # fmt: skip


def of_text(values: np.ndarray, buckets: int) -> np.ndarray:
    with tf.device("/CPU:0"):
        return tf.strings.to_hash_bucket_fast(
            tf.constant([str(x) for x in values.ravel()]), buckets
        ).numpy()


def values_of_every_length(dtype: Any) -> np.ndarray:
    limits = np.iinfo(dtype)
    powers = [10**i for i in range(20)]
    values = {sign * x + d for x in powers for sign in (-1, 1) for d in (-1, 0, 1, 123456789012345)}
    values |= {limits.min, limits.max, 0}
    return np.array(sorted(x for x in values if limits.min <= x <= limits.max), dtype)


@covering(buckets=[1, 2, 1000, (1 << 63) - 1], dtype=INTEGERS)
def test_buckets_are_those_of_the_text(dtype: Any, buckets: int) -> None:
    values = values_of_every_length(dtype)
    result = fused(values, buckets)
    assert "XPU" in result.device
    np.testing.assert_array_equal(result, of_text(values, buckets))


def test_many() -> None:
    values = np.random.RandomState(0).randint(-(1 << 62), 1 << 62, (100, 1000))
    values >>= np.random.RandomState(1).randint(0, 62, values.shape)
    np.testing.assert_array_equal(fused(values, 997).numpy().ravel(), of_text(values, 997))


def test_nothing() -> None:
    assert fused(np.zeros((0, 3), np.int64), 5).shape == (0, 3)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_in_functions_nothing_is_made_text(dtype: Any) -> None:
    @tf.function
    def bucket(ids: tf.Tensor) -> tf.Tensor:
        return tf.strings.to_hash_bucket_fast(tf.strings.as_string(ids * 3), 100)

    ids = np.arange(-50, 50, dtype=dtype)
    with tf.device("/XPU:0"):
        np.testing.assert_array_equal(bucket(ids), of_text(ids * 3, 100))
        report = onexpu.placement_report(bucket, tf.constant(ids))
    assert report.counts["sycl_kernel"]["_TensorToHashBucketFast"] == 1


def test_a_vocabulary_with_buckets_for_the_rest() -> None:
    with tf.device("/XPU:0"):
        table = tf.lookup.StaticVocabularyTable(
            tf.lookup.KeyValueTensorInitializer(
                tf.constant([5, 6], tf.int64), tf.constant([0, 1], tf.int64)
            ),
            4,
            lookup_key_dtype=tf.int64,
        )
        found = tf.function(table.lookup)(tf.constant([6, 5, 70, 80], tf.int64)).numpy()
    np.testing.assert_array_equal(found, [1, 0, *(2 + of_text(np.array([70, 80]), 4))])
