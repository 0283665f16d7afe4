"""Select, tf.compat.v1.where, against TensorFlow's CPU kernel."""

from __future__ import annotations

from typing import Any

import both
import compare
import numpy as np
import pytest
import tensorflow as tf


def arrays(shape: tuple[int, ...], dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return random.integers(0, 2, shape).astype(dtype), random.integers(0, 99, shape).astype(dtype)


@pytest.mark.parametrize("dtype", compare.TYPES)
def test_types(dtype: Any) -> None:
    x, y = arrays((3, 4), dtype)
    conditions = (np.array([True, False, True]), np.array(True), np.eye(3, 4) == 1)
    both.check(
        lambda: [tf.raw_ops.Select(condition=condition, x=x, y=y) for condition in conditions],
        modes=("jit",),
    )


@pytest.mark.parametrize("shape", [(), (5,), (0,), (0, 3), (3, 0), (2, 3, 4, 5)])
def test_shapes(shape: tuple[int, ...]) -> None:
    x, y = arrays(shape)
    conditions = [np.array(False), np.random.default_rng(1).integers(0, 2, shape) == 1]
    if shape:
        conditions.append(np.arange(shape[0]) % 2 == 0)
    both.check(
        lambda: [tf.raw_ops.Select(condition=condition, x=x, y=y) for condition in conditions]
    )


def test_rows_of_unknown_size() -> None:
    x = np.arange(28, dtype=np.float32).reshape(7, 4)
    mask = np.arange(7) % 3 != 0

    def function() -> Any:
        rows = tf.boolean_mask(x, mask)
        condition = tf.boolean_mask(x[:, 0], mask) > 8
        # A vector and a matrix of conditions, and a smaller bound.
        few = tf.boolean_mask(x[1:], mask[1:])
        return (
            tf.raw_ops.Select(condition=condition, x=rows, y=-rows),
            tf.raw_ops.Select(condition=rows > 9, x=rows, y=-rows),
            tf.raw_ops.Select(condition=condition, x=few, y=-rows),
        )

    # Row 0 is masked out, so `few` has as many rows.
    expected = compare.on("/CPU:0", function)
    compare.assert_same(compare.on("/XPU:0", function, "jit"), expected, 0)


def test_refuses_shapes() -> None:
    x, y = arrays((3, 4))
    for condition in (np.ones(4, bool), np.ones((4, 3), bool), np.ones((3, 1), bool)):
        both.check_refused(
            lambda condition=condition: tf.raw_ops.Select(condition=condition, x=x, y=y)
        )
    both.check_refused(lambda: tf.raw_ops.Select(condition=np.ones(3, bool), x=x, y=y[:2]))
