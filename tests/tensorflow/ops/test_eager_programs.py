"""Ops that run again as eager code: the program of the first time, with the operands of this
time.
"""

from __future__ import annotations

import concurrent.futures

import numpy as np
import pytest
import tensorflow as tf

import onexpu

R = tf.raw_ops
X, Y = np.random.RandomState(0).rand(2, 4, 6).astype(np.float32)


@pytest.fixture(autouse=True)
def _on_the_device():
    with tf.device("/XPU:0"):
        yield


def test_one_tensor_as_both_operands_first() -> None:
    x, y = tf.constant(X), tf.constant(Y)
    for a, b in ((x, x), (x, y), (y, y), (y, x), (x, y)):
        np.testing.assert_array_equal(a - b, a.numpy() - b.numpy())


def test_shapes_in_turn() -> None:
    for _ in range(3):
        for size in range(1, 13):
            x = tf.constant(np.arange(size, dtype=np.float32))
            np.testing.assert_array_equal(x * x[::-1], np.arange(size) * np.arange(size)[::-1])


def test_operands_of_the_host_in_turn() -> None:
    x = tf.constant(X)
    for axis in (0, 1, 0, 1, -1):
        np.testing.assert_allclose(tf.reduce_sum(x, axis), X.sum(axis), rtol=1e-6)
    for shape in ([4, 6], [2, 12], [4, 6]):
        np.testing.assert_array_equal(tf.fill(shape, tf.constant(2.5)), np.full(shape, 2.5))


def test_several_results() -> None:
    for values in (X, Y, X):
        first, second = R.Split(axis=1, value=tf.constant(values), num_split=2)
        np.testing.assert_array_equal(first, values[:, :3])
        np.testing.assert_array_equal(second, values[:, 3:])
        top, places = tf.math.top_k(tf.constant(values), 2)
        np.testing.assert_array_equal(places, np.argsort(-values, 1)[:, :2])
        np.testing.assert_array_equal(top, -np.sort(-values, 1)[:, :2])


def test_programs_made_for_the_contents_of_an_operand() -> None:
    """What a translation reads when it compiles is another program when it is something else."""
    x = tf.constant(X)
    for begin in ([0, 0], [1, 2], [0, 0], [2, 3]):
        on_device = tf.identity(tf.constant(begin, tf.int64))
        np.testing.assert_array_equal(
            R.Slice(input=x, begin=on_device, size=tf.constant([2, 3], tf.int64)),
            X[begin[0] :, begin[1] :][:2, :3],
        )


def test_variables_are_read_anew() -> None:
    v = tf.Variable(X)
    for _ in range(4):
        before = v.numpy()
        v.assign_add(tf.constant(Y))
        np.testing.assert_array_equal(v, before + Y)


def test_each_run_is_counted() -> None:
    x = tf.constant(X)
    onexpu.reset_statistics()
    for _ in range(5):
        tf.tanh(x)
    assert onexpu.placement_report().counts["on_demand"] == {"Tanh": 5}


def test_threads() -> None:
    def chain(seed: int) -> float:
        with tf.device("/XPU:0"):
            x = tf.constant(np.random.RandomState(seed).rand(16, 16 + seed % 3).astype(np.float32))
            for _ in range(50):
                x = tf.tanh(x * 1.01)
            return float(tf.reduce_sum(x))

    expected = [chain(seed) for seed in range(6)]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        assert list(pool.map(chain, range(6))) == expected


def test_an_empty_tensor_between() -> None:
    for size in (3, 0, 3, 0):
        x = tf.constant(np.ones(size, np.float32))
        np.testing.assert_array_equal(x + x, np.full(size, 2.0, np.float32))
