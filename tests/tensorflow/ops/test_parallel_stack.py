"""tf.parallel_stack, which TensorFlow's own graph pass makes writes into a shared tensor of, and
ours a concatenation.
"""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf


@pytest.mark.parametrize("device", [None, "/XPU:0", "/CPU:0"])
@pytest.mark.parametrize("shape", [(1,), (3,), (3, 2), (50, 24, 24, 3)])
def test_in_graphs(shape: tuple[int, ...], device: str | None) -> None:
    data = np.random.RandomState(0).randn(*shape).astype(np.float32)
    with tf.Graph().as_default(), tf.device(device):
        stacked = [
            tf.parallel_stack([tf.constant(piece) for piece in data]),
            tf.parallel_stack(data),
        ]
        with tf.compat.v1.Session() as session:
            for result in session.run(stacked):
                np.testing.assert_array_equal(result, data)


def test_order_and_consumers() -> None:
    @tf.function
    def step(x: tf.Tensor, variable: tf.Variable) -> tf.Tensor:
        before = variable.assign_add(1.0)
        with tf.control_dependencies([before]):
            stacked = tf.parallel_stack([x, x * 2, tf.fill([3], variable)])
        with tf.control_dependencies([stacked]):
            variable.assign(0.0)
        return stacked + stacked[0]

    with tf.device("/XPU:0"):
        variable = tf.Variable(4.0)
        result = step(tf.constant([1.0, 2.0, 3.0]), variable)
    np.testing.assert_array_equal(result, [[2, 4, 6], [3, 6, 9], [6, 7, 8]])
    assert variable.numpy() == 0


def test_a_shape_without_places_is_refused() -> None:
    concatenate = tf.function(lambda: tf.raw_ops.ParallelConcat(values=[["tf"]], shape=0))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="0th dimension .* must be greater than"
    ):
        concatenate()
