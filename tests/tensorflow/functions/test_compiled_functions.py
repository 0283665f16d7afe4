"""Compiled functions that are called again: the program of the first time, with the operands of
this time.
"""

from __future__ import annotations

import concurrent.futures

import numpy as np
import pytest
import tensorflow as tf

import onexpu

X, Y = np.random.RandomState(0).rand(2, 4, 6).astype(np.float32)


@pytest.fixture(autouse=True)
def _on_the_device():
    with tf.device("/XPU:0"):
        yield


def compiled(function):
    return tf.function(function, autograph=False, jit_compile=True, reduce_retracing=False)


def test_one_tensor_as_both_operands_first() -> None:
    difference = compiled(lambda a, b: a - b)
    x, y = tf.constant(X), tf.constant(Y)
    for a, b in ((x, x), (x, y), (y, y), (y, x), (x, y)):
        np.testing.assert_array_equal(difference(a, b), a.numpy() - b.numpy())


@pytest.mark.parametrize("signature", [None, [tf.TensorSpec([None])]])
def test_shapes_in_turn(signature) -> None:
    """One function of any shape (a signature) launches more programs than it remembers."""
    product = tf.function(lambda x: x * x[::-1], signature, autograph=False, jit_compile=True)
    for _ in range(3):
        for size in range(13):
            x = tf.constant(np.arange(size, dtype=np.float32))
            np.testing.assert_array_equal(product(x), np.arange(size) * np.arange(size)[::-1])


def test_operands_that_programs_are_made_for() -> None:
    rows = compiled(lambda x, begin, size: tf.slice(x, begin, size))
    for begin in ([0, 0], [1, 2], [0, 0], [2, 3]):
        np.testing.assert_array_equal(
            rows(tf.constant(X), tf.constant(begin), tf.constant([2, 3])),
            X[begin[0] :, begin[1] :][:2, :3],
        )
    scaled = compiled(lambda x, n: x * tf.cast(n, tf.float32))
    for n in (1, 2, 1, 5):
        np.testing.assert_array_equal(scaled(tf.constant(X), tf.constant(n)), X * n)


def test_operands_that_are_results_or_unused() -> None:
    both = compiled(lambda x, unused: (x, x + 1.0, x))
    for values in (X, Y, X):
        first, second, third = both(tf.constant(values), tf.constant(1.0))
        np.testing.assert_array_equal(first, values)
        np.testing.assert_array_equal(second, values + 1)
        np.testing.assert_array_equal(third, values)


def test_variables_are_read_and_written() -> None:
    v, w = tf.Variable(X), tf.Variable(Y)
    read = compiled(lambda x: v * x)
    write = compiled(lambda x: w.assign_add(x) * 1.0)
    expected = Y.copy()
    for _ in range(4):
        np.testing.assert_array_equal(read(tf.constant(Y)), v.numpy() * Y)
        v.assign_add(tf.constant(Y))
        expected = expected + X
        np.testing.assert_array_equal(write(tf.constant(X)), expected)
        np.testing.assert_array_equal(w, expected)


def test_random_numbers_differ() -> None:
    draw = compiled(lambda x: x + tf.random.uniform([1000]))
    draws = [draw(tf.constant(0.0)).numpy() for _ in range(4)]
    assert len({d.tobytes() for d in draws}) == 4


def test_gradients() -> None:
    square = compiled(lambda x: tf.reduce_sum(x * x))
    for values in (X, Y, X):
        x = tf.constant(values)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = square(x)
        np.testing.assert_array_equal(tape.gradient(y, x), 2 * values)


def test_errors_are_not_remembered() -> None:
    reshaped = compiled(lambda x, shape: tf.reshape(x, shape))
    for _ in range(2):
        np.testing.assert_array_equal(
            reshaped(tf.constant(X), tf.constant([6, 4])), X.reshape(6, 4)
        )
        with pytest.raises(tf.errors.InvalidArgumentError):
            reshaped(tf.constant(X), tf.constant([5, 5]))


def test_functions_that_are_gone() -> None:
    for i in range(20):
        add = compiled(lambda x, i=i: x + float(i))
        for _ in range(3):
            np.testing.assert_array_equal(add(tf.constant(X)), X + np.float32(i))
        del add


def test_each_run_is_counted() -> None:
    tanh = compiled(lambda x: tf.tanh(x @ tf.transpose(x)))
    x = tf.constant(X)
    onexpu.reset_statistics()
    for _ in range(5):
        tanh(x)
    counts = onexpu.placement_report().counts
    assert counts["cluster"]["Tanh"] == 5 and counts["cluster"]["MatMul"] == 5
    assert not counts["on_demand"] and not counts["host"]


def test_threads() -> None:
    step = compiled(lambda x: tf.tanh(x * 1.01))

    def chain(seed: int) -> float:
        with tf.device("/XPU:0"):
            x = tf.constant(np.random.RandomState(seed).rand(16, 16 + seed % 3).astype(np.float32))
            for _ in range(50):
                x = step(x)
            return float(tf.reduce_sum(x))

    expected = [chain(seed) for seed in range(6)]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        assert list(pool.map(chain, range(6))) == expected


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", [tf.float16, tf.float32, tf.float64])
def test_a_translation_of_another_type_gives_the_ops(kind: tf.DType, compiled: bool) -> None:
    """XLA's gradient has the type of `grads`, which the op says is that of `original_image`."""

    def gradient(grads: tf.Tensor) -> tf.Tensor:
        return tf.raw_ops.ResizeBilinearGrad(
            grads=grads, original_image=tf.ones([1, 2, 3, 1], kind)
        )

    grads = np.arange(15, dtype=np.float32).reshape(1, 3, 5, 1)
    with tf.device("/CPU:0"):
        expected = gradient(tf.constant(grads))
    with tf.device("/XPU:0"):
        actual = tf.function(gradient, jit_compile=compiled)(tf.constant(grads))
    assert actual.dtype == kind
    np.testing.assert_allclose(
        actual, expected, rtol=2e-3 if kind == tf.float16 else 1e-6
    )  # sums in single precision
