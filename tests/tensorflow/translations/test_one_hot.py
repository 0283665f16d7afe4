"""tf.one_hot of every type of indices, also with more classes than the type has values."""

from __future__ import annotations

from typing import Any

import both
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering

CLASSES = 300  # more than 8 bits can count
INDICES = [[0, 5, 44], [127, 126, 43]]  # 44 is 300 modulo 256


@covering(dtype=[np.uint8, np.int8, np.int32, np.int64], axis=[-1, 0, 1])
def test_more_classes_than_values(dtype: Any, axis: int) -> None:
    indices = np.array(INDICES, dtype)
    both.check(lambda: tf.one_hot(indices, CLASSES, axis=axis))


@pytest.mark.parametrize("dtype", [tf.float16, tf.int64, tf.bool, tf.complex64, tf.uint8])
def test_values(dtype: tf.DType) -> None:
    indices = np.array(INDICES, np.uint8)
    on, off = (tf.cast(value, dtype) for value in (1, 0))
    both.check(lambda: tf.one_hot(indices, CLASSES, on, off, dtype=dtype))
    both.check(lambda: tf.one_hot(indices, 0, on, off, dtype=dtype))


def test_indices_outside_of_the_classes() -> None:
    both.check(lambda: tf.one_hot(np.array([-1, -128, 4, 3, 127], np.int8), 4))
    both.check(lambda: tf.one_hot(np.array([-1, 2**40, 3], np.int64), 4))
    both.check(lambda: tf.one_hot(np.uint8(255), CLASSES, 7, 3))


def test_invalid_arguments() -> None:
    indices = np.array(INDICES)
    both.check_refused(lambda: tf.one_hot(indices, -1))
    both.check_refused(lambda: tf.one_hot(indices, 3, axis=4))
