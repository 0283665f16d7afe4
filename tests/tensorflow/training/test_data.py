"""tf.data in front of XPU: elements that arrive on the device."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import onexpu

VALUES = np.arange(48, dtype=np.float32).reshape(12, 4)


def _dataset() -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices((VALUES, np.arange(12, dtype=np.int32))).batch(5)


def test_prefetch_to_device() -> None:
    dataset = _dataset().apply(tf.data.experimental.prefetch_to_device("/XPU:0"))
    for _ in range(2):
        batches = list(dataset)
        assert [b.shape[0] for b, _ in batches] == [5, 5, 2]
        assert all("XPU" in b.backing_device for b, _ in batches)
        np.testing.assert_array_equal(np.concatenate([b for b, _ in batches]), VALUES)
        np.testing.assert_array_equal(np.concatenate([i for _, i in batches]), np.arange(12))


def test_a_step_on_prefetched_batches_copies_nothing_more() -> None:
    dataset = _dataset().apply(tf.data.experimental.prefetch_to_device("/XPU:0"))
    batches = list(dataset)

    @tf.function(jit_compile=True)
    def step(batch: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(batch * 2.0)

    with tf.device("/XPU:0"):
        step(batches[0][0])
        before = onexpu.transfer_statistics()
        totals = [step(batches[1][0]), step(batches[0][0])]
        moved = onexpu.transfer_statistics() - before
    assert moved.total_bytes == 0, str(moved)
    np.testing.assert_allclose(
        totals, [VALUES[5:10].sum() * 2, VALUES[:5].sum() * 2]
    )  # exact: small integers


def test_iteration_on_the_device() -> None:
    with tf.device("/XPU:0"):
        totals = [float(tf.reduce_sum(b)) for b, _ in _dataset()]
    assert totals == [VALUES[:5].sum(), VALUES[5:10].sum(), VALUES[10:].sum()]


@pytest.mark.parametrize("jit_compile", [True, None])
def test_iterator_inside_a_function(jit_compile) -> None:
    dataset = _dataset().apply(tf.data.experimental.prefetch_to_device("/XPU:0"))
    inner = tf.function(lambda x: tf.reduce_sum(x * x), jit_compile=jit_compile)

    @tf.function
    def step(iterator) -> tf.Tensor:
        batch, _ = next(iterator)
        return inner(batch)

    with tf.device("/XPU:0"):
        iterator = iter(dataset)
        totals = [float(step(iterator)) for _ in range(3)]
        with pytest.raises(tf.errors.OutOfRangeError):
            step(iterator)
    assert totals == [float((VALUES[a:b] ** 2).sum()) for a, b in ((0, 5), (5, 10), (10, 12))]


def test_optional() -> None:
    with tf.device("/XPU:0"):
        optional = tf.experimental.Optional.from_value(tf.constant(VALUES))
        np.testing.assert_array_equal(optional.get_value() * 1.0, VALUES)
        assert bool(optional.has_value())
        assert not bool(tf.experimental.Optional.empty(tf.TensorSpec([], tf.float32)).has_value())
