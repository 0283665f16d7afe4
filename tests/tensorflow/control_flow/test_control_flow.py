"""Control flow in the three modes: alone, in a graph that is not compiled, and in a compiled
program.
"""

from __future__ import annotations

import compare
import numpy as np
import pytest
import tensorflow as tf

X = np.random.RandomState(7).rand(4, 4).astype(np.float32)


@pytest.mark.parametrize("mode", compare.MODES)
def test_for_over_a_range(mode: str) -> None:
    def body(x: tf.Tensor) -> tf.Tensor:
        for i in tf.range(5):
            x = tf.tanh(tf.matmul(x, x)) + tf.cast(i, tf.float32)
        return x

    converted = tf.autograph.to_graph(body)
    compare.check(lambda: converted(tf.constant(X)), mode)


@pytest.mark.parametrize("mode", compare.MODES)
def test_condition_that_depends_on_data(mode: str) -> None:
    def function() -> list[tf.Tensor]:
        return tf.while_loop(
            lambda n, x: tf.reduce_sum(x) < 200.0,
            lambda n, x: [n + 1, x * 1.5],
            [tf.constant(0), tf.constant(X)],
        )

    compare.check(function, mode)


@pytest.mark.parametrize("mode", compare.MODES)
@pytest.mark.parametrize("taken", [True, False])
def test_cond_on_a_device_value(taken: bool, mode: str) -> None:
    def function() -> tf.Tensor:
        x = tf.constant(X if taken else -X)
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.matmul(x, x), lambda: x - 1.0)

    compare.check(function, mode)


@pytest.mark.parametrize("mode", compare.MODES)
def test_switch_case(mode: str) -> None:
    def function() -> list[tf.Tensor]:
        x = tf.constant(X)
        branches = [lambda: x, lambda: x * 2.0, lambda: tf.transpose(x)]
        return [tf.switch_case(tf.constant(i), branches) for i in (0, 2, 7)]

    compare.check(function, mode)


@pytest.mark.parametrize("mode", compare.MODES)
def test_gradient_of_cond(mode: str) -> None:
    def function() -> tf.Tensor:
        x = tf.constant(X)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.sin(x) * x, lambda: tf.matmul(x, x))
        return tape.gradient(y, x)

    compare.check(function, mode)


@pytest.mark.parametrize("mode", ["graph", "jit"])
def test_gradient_of_while(mode: str) -> None:
    def function() -> tf.Tensor:
        x = tf.constant(X)
        with tf.GradientTape() as tape:
            tape.watch(x)
            _, y = tf.while_loop(
                lambda i, y: i < 4,
                lambda i, y: [i + 1, tf.tanh(tf.matmul(y, x))],
                [tf.constant(0), x],
                maximum_iterations=4,  # XLA wants to know how long the lists of the gradient get.
            )
            loss = tf.reduce_sum(y)
        return tape.gradient(loss, x)

    compare.check(function, mode)


@pytest.mark.parametrize("mode", compare.MODES)
def test_tensor_array_in_a_loop(mode: str) -> None:
    def function() -> tf.Tensor:
        array = tf.TensorArray(tf.float32, size=4, element_shape=[4])
        _, array = tf.while_loop(
            lambda i, a: i < 4,
            lambda i, a: [i + 1, a.write(i, tf.constant(X)[i] * tf.cast(i, tf.float32))],
            [tf.constant(0), array],
        )
        return array.stack()

    compare.check(function, mode)


def test_functions_call_functions() -> None:
    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        return tf.matmul(x, x) + 1.0

    compiled = tf.function(lambda x: tf.tanh(x) * 2.0, jit_compile=True)
    compare.check(lambda: inner(compiled(inner(tf.constant(X)))), "graph")


def test_print_and_assert_in_a_graph() -> None:
    def function() -> tf.Tensor:
        x = tf.constant(X)
        tf.print(x[0, 0], output_stream="file:///dev/null")
        with tf.control_dependencies([tf.debugging.assert_less(x, 2.0)]):
            return x * 2.0

    compare.check(function, "graph")


def test_a_failing_assertion_raises() -> None:
    @tf.function
    def function() -> tf.Tensor:
        x = tf.constant(X)
        with tf.control_dependencies([tf.debugging.assert_less(x, 0.5)]):
            return x * 2.0

    with tf.device("/XPU:0"), pytest.raises(tf.errors.InvalidArgumentError):
        function()


@pytest.mark.parametrize("mode", ["eager", "graph"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_check_numerics(bad: float, mode: str) -> None:
    values = X.copy()
    values[2, 1] = bad
    word = "NaN" if np.isnan(bad) else "Inf"
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=f"the message : Tensor had {word} values"
    ):
        compare.on(
            "/XPU:0", lambda: tf.debugging.check_numerics(tf.constant(values), "the message"), mode
        )
