"""Loops of graphs that are not compiled: their lists, their gradients and their conditions stay
where they are.
"""

from __future__ import annotations

import compare
import keras
import numpy as np
import pytest
import tensorflow as tf

import onexpu

X = np.random.RandomState(0).rand(4, 6, 3).astype(np.float32)


def _transfers(function) -> onexpu.TransferStatistics:
    with tf.device("/XPU:0"):
        compiled = tf.function(function, autograph=False)
        compiled()
        before = onexpu.transfer_statistics()
        compiled()
        return onexpu.transfer_statistics() - before


def _sum_of_lists() -> tf.Tensor:
    """The list is read in two places: its gradient is a sum of lists."""
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        handle = tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=[6, 3])
        first = tf.raw_ops.TensorListStack(
            input_handle=handle, element_shape=[6, 3], element_dtype=tf.float32
        )
        one = tf.raw_ops.TensorListGetItem(
            input_handle=handle, index=2, element_shape=[6, 3], element_dtype=tf.float32
        )
        loss = tf.reduce_sum(first**2) + 3.0 * tf.reduce_sum(one**3)
    return tape.gradient(loss, x)


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_gradients_of_a_list_that_is_read_twice(mode: str) -> None:
    compare.check(_sum_of_lists, mode)


def test_they_are_added_on_the_device() -> None:
    # The index of a list's element, a 32-bit integer, is on the host.
    assert _transfers(_sum_of_lists).total_bytes <= 8


def test_zeros_like_a_list() -> None:
    def function() -> tf.Tensor:
        handle = tf.raw_ops.TensorListFromTensor(tensor=tf.constant(X), element_shape=[6, 3])
        longer = tf.raw_ops.TensorListResize(input_handle=handle, size=5)
        return tf.raw_ops.TensorListStack(
            input_handle=tf.zeros_like(longer), element_shape=[6, 3], element_dtype=tf.float32
        )

    compare.check(function)
    compare.check(function, "graph")


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_sums_and_zeros_of_lists_of_lists(mode: str) -> None:
    def function(x: tf.Tensor) -> list[tf.Tensor]:
        scalar = tf.constant([], tf.int32)
        inner = tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=[6, 3])
        outer = tf.raw_ops.EmptyTensorList(
            element_shape=scalar, max_num_elements=2, element_dtype=tf.variant
        )
        outer = tf.raw_ops.TensorListPushBack(input_handle=outer, tensor=inner)
        results = []
        for handle in (tf.add_n([outer, outer, outer]), tf.zeros_like(outer)):
            _, last = tf.raw_ops.TensorListPopBack(
                input_handle=handle, element_shape=scalar, element_dtype=tf.variant
            )
            results.append(
                tf.raw_ops.TensorListStack(
                    input_handle=last, element_shape=[6, 3], element_dtype=tf.float32
                )
            )
        return results

    # An argument: TensorFlow would make constants of lists on the host.
    with tf.device("/XPU:0"):
        called = function if mode == "eager" else tf.function(function)
        total, zeros = called(tf.constant(X))
    np.testing.assert_array_equal(total, X + X + X)
    np.testing.assert_array_equal(zeros, np.zeros_like(X))


def test_sums_and_zeros_of_optionals() -> None:
    types, shapes = [tf.float32, tf.int64], [[4, 6, 3], [5]]

    def function() -> list[tf.Tensor]:
        full = tf.raw_ops.OptionalFromValue(
            components=[tf.constant(X), tf.range(5, dtype=tf.int64)]
        )
        results = []
        for optional in (tf.add_n([full, full]), tf.zeros_like(full)):
            results += tf.raw_ops.OptionalGetValue(
                optional=optional, output_types=types, output_shapes=shapes
            )
        empty = tf.raw_ops.OptionalNone()
        results.append(tf.raw_ops.OptionalHasValue(optional=tf.add_n([empty, empty])))
        results.append(tf.raw_ops.OptionalHasValue(optional=tf.zeros_like(empty)))
        return results

    compare.check(function)
    compare.check(function, "graph")


def test_optionals_that_cannot_be_added() -> None:
    for device in ("/CPU:0", "/XPU:0"):
        with (
            tf.device(device),
            pytest.raises(tf.errors.InvalidArgumentError, match="one has a value"),
        ):
            full = tf.raw_ops.OptionalFromValue(components=[tf.constant(X)])
            tf.add_n([full, tf.raw_ops.OptionalNone()])


@pytest.mark.parametrize("masked", [True, False])
def test_a_recurrent_layer_copies_nothing(masked: bool) -> None:
    with tf.device("/XPU:0"):
        layer = keras.layers.LSTM(5)
        layer.build(X.shape)
        x, mask = tf.constant(X), tf.constant(X[:, :, 0] > 0.2)

    def step() -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(x, mask=mask if masked else None) ** 2)
        return tape.gradient(loss, [v.value for v in layer.trainable_variables])

    moved = _transfers(step)
    assert moved.total_bytes == 0, str(moved)


def test_a_condition_of_several_parts() -> None:
    def function() -> tf.Tensor:
        def more(i: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
            return ((i < 7) & ~(i > 4)) | (i < 2)

        def body(i: tf.Tensor, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return i + 1, x * 1.5 + tf.cast(i, tf.float32)

        return tf.while_loop(more, body, (tf.constant(0), tf.constant(X)), maximum_iterations=9)[1]

    compare.check(function, "graph")


def test_a_condition_on_values_is_read() -> None:
    def function() -> tf.Tensor:
        x = tf.constant(X)
        return tf.while_loop(
            lambda x: tf.reduce_max(x) < 50.0, lambda x: [x * 2.0], [x], maximum_iterations=20
        )

    compare.check(function, "graph")


@pytest.mark.parametrize(
    ("start", "limit", "delta"),
    [(0, 5, 1), (5, 0, -2), (3, 3, 1), (0, 0, 0), (2147483640, 2147483645, 5)],
)
def test_for_with_numbers_of_every_memory(start: int, limit: int, delta: int) -> None:
    @tf.function
    def body(i: tf.Tensor, total: tf.Tensor, count: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return total * 0.5 + tf.cast(i, tf.float32), count + 1

    concrete = body.get_concrete_function(
        tf.TensorSpec([], tf.int32), tf.TensorSpec([3], tf.float32), tf.TensorSpec([2], tf.int32)
    )

    @tf.function
    def loop(total: tf.Tensor, count: tf.Tensor) -> list[tf.Tensor]:
        return tf.raw_ops.For(
            start=start, limit=limit, delta=delta, input=[total, count], body=concrete
        )

    results = []
    for device in ("/CPU:0", "/XPU:0"):
        with tf.device(device):
            results.append(
                [x.numpy() for x in loop(tf.constant([1.0, 2.0, 3.0]), tf.constant([4, 5]))]
            )
    for actual, expected in zip(*reversed(results), strict=True):
        np.testing.assert_array_equal(actual, expected)


def test_for_that_never_ends_is_refused() -> None:
    body = tf.function(lambda i, x: (x,)).get_concrete_function(
        tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.float32)
    )
    for device in ("/CPU:0", "/XPU:0"):
        with tf.device(device), pytest.raises(tf.errors.InvalidArgumentError):
            tf.function(
                lambda: tf.raw_ops.For(start=0, limit=3, delta=-1, input=[1.0], body=body)
            )()
