"""Loops of graphs are compiled without jit_compile, where a program does the same as the ops.

A loop runs op by op twice, and then as a program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import compare
import keras
import numpy as np
import process
import pytest
import tensorflow as tf

import onexpu

_RUNS = 5
_STEPS = 30
X = np.random.RandomState(0).rand(_STEPS, 4, 3).astype(np.float32)
W = np.random.RandomState(1).rand(3, 3).astype(np.float32) / 3


def _count(step: Callable[[], Any]) -> int:
    """Returns how many programs and kernels of their own `step` ran."""
    before = onexpu.transfer_statistics()
    step()
    moved = onexpu.transfer_statistics() - before
    return moved.programs_executed + moved.eager_launches


def _runs(function: Callable[..., Any], *arguments: np.ndarray) -> list[int]:
    """Calls a graph of `function` on XPU several times, and compares each call's results with those
    of the CPU. Returns what each call ran.
    """
    with tf.device("/CPU:0"):
        expected = tf.function(function)(*map(tf.constant, arguments))
    counts = []
    with tf.device("/XPU:0"):
        graph, tensors = tf.function(function), list(map(tf.constant, arguments))
        results: list[Any] = []
        for _ in range(_RUNS):
            counts.append(_count(lambda: results.append(graph(*tensors))))
    for result in results:
        compare.assert_same(result, expected)
    return counts


def _while(x: tf.Tensor) -> tf.Tensor:
    return tf.while_loop(lambda i, _: i < _STEPS, lambda i, x: (i + 1, tf.sin(x) * 1.1), (0, x))[1]


def _scan(x: tf.Tensor) -> tf.Tensor:
    return tf.scan(lambda state, row: state * 0.9 + row, x)


def _reverse_scan(x: tf.Tensor) -> tf.Tensor:
    return tf.scan(lambda state, row: state * 0.9 + row, x, reverse=True)


def _map(x: tf.Tensor) -> tf.Tensor:
    return tf.map_fn(lambda row: tf.reduce_sum(row * row) + tf.sin(row), x)


def _for_with_branches(x: tf.Tensor) -> tf.Tensor:
    total = tf.zeros_like(x[0])
    for i in tf.range(_STEPS):
        row = x[i]
        if tf.reduce_sum(total) > 1.0:
            total = total * 0.5
        elif i > 20:
            continue
        else:
            total += row
    return total


def _data_dependent(x: tf.Tensor) -> tf.Tensor:
    while tf.reduce_max(x) > 0.01:
        x = x * 0.8
    return x


def _nested(x: tf.Tensor) -> tf.Tensor:
    total = tf.zeros([4, 3])
    for i in tf.range(5):
        for j in tf.range(6):
            total = tf.tanh(total + x[i * 6 + j])
    return total


def _recurrence(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    states = tf.TensorArray(tf.float32, _STEPS)
    state = tf.zeros([4, 3])
    for i in tf.range(_STEPS):
        state = tf.tanh(tf.matmul(state, tf.constant(W)) + x[i])
        states = states.write(i, state)
    return states.stack(), state


def _gradient_of_scan(x: tf.Tensor) -> tf.Tensor:
    """Each row's gradient is a list."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(_scan(x) ** 2)
    return tape.gradient(loss, x)


def _gradient_over(places: Callable[[tf.Tensor], tf.Tensor]) -> Callable[..., Any]:
    """A gradient of a loop without maximum_iterations, so that TensorFlow sets no limit to the
    lists that keep the states.
    """

    def gradient(x: tf.Tensor) -> list[tf.Tensor]:
        weights = tf.constant(W)
        with tf.GradientTape() as tape:
            tape.watch([x, weights])
            state = tf.zeros([4, 3])
            for i in places(x):
                state = tf.tanh(tf.matmul(state, weights) + x[i])
            loss = tf.reduce_sum(state**2)
        return tape.gradient(loss, [x, weights])

    return gradient


def _gradient_of_a_while_loop(x: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        tape.watch(x)
        i, y = tf.constant(1), x
        while i <= _STEPS:
            y = tf.sin(y) * 1.1
            i += 2
        loss = tf.reduce_sum(y)
    return tape.gradient(loss, x)


def _called(x: tf.Tensor) -> tf.Tensor:
    return tf.function(_scan)(tf.function(_while)(x) * 2.0)


def _random_walk(seeds: tf.Tensor) -> tf.Tensor:
    def step(state: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        accept = tf.random.stateless_uniform([8], seed) < 0.7
        return tf.where(accept, state + tf.random.stateless_normal([8], seed + 1), state)

    return tf.scan(step, seeds, initializer=tf.zeros([8]))


@pytest.mark.parametrize(
    "function",
    [
        _while,
        _scan,
        _reverse_scan,
        _map,
        _for_with_branches,
        _data_dependent,
        _nested,
        _recurrence,
        _gradient_of_scan,
        _gradient_over(lambda _: tf.range(_STEPS)),
        _gradient_over(lambda x: tf.range(tf.shape(x)[0])),
        _gradient_over(lambda x: tf.range(tf.shape(x)[0] - 1, -1, -1)),
        _gradient_over(lambda _: tf.range(2, _STEPS - 1, 3, dtype=tf.int64)),
        _gradient_of_a_while_loop,
        _called,
    ],
)
def test_the_third_run_is_a_program(function: Callable[..., Any]) -> None:
    counts = _runs(function, X)
    assert min(counts[:2]) > 15
    assert max(counts[2:]) <= 6, counts


def test_a_loop_of_functional_style() -> None:
    """TensorFlow's ctc_loss uses loops that are never lowered to ops."""
    rng = np.random.RandomState(3)
    labels = rng.randint(1, 6, [2, 7]).astype(np.int32)
    logits = rng.randn(2, _STEPS, 6).astype(np.float32)

    def loss(labels: tf.Tensor, logits: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        label_length, logit_length = tf.constant([7, 4]), tf.constant([_STEPS, _STEPS - 5])
        with tf.GradientTape() as tape:
            tape.watch(logits)
            losses = tf.nn.ctc_loss(
                labels, logits, label_length, logit_length, logits_time_major=False, blank_index=0
            )
        return losses, tape.gradient(losses, logits)

    counts = _runs(loss, labels, logits)
    assert min(counts[:2]) > 500
    assert max(counts[2:]) < 120, counts


def test_random_numbers_stay_the_same() -> None:
    seeds = np.random.RandomState(2).randint(0, 1 << 30, [_STEPS, 2])
    counts = _runs(_random_walk, seeds.astype(np.int32))
    assert max(counts[2:]) <= 6, counts


def test_a_recurrent_layer_and_its_gradient() -> None:
    with tf.device("/XPU:0"):
        layer = keras.layers.LSTM(5)
        layer.build((4, _STEPS, 3))
        x = tf.constant(X.transpose([1, 0, 2]))

        @tf.function
        def step(x: tf.Tensor) -> list[tf.Tensor]:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(layer(x) ** 2)
            return tape.gradient(loss, [v.value for v in layer.trainable_variables])

        results: list[Any] = []
        counts = [_count(lambda: results.append(step(x))) for _ in range(_RUNS)]
    for result in results[1:]:
        compare.assert_same(result, results[0])
    assert min(counts[:2]) > 200
    assert max(counts[2:]) <= 20, counts


def test_variables_are_read_when_the_loop_runs() -> None:
    with tf.device("/XPU:0"):
        scale = tf.Variable(1.0)

        @tf.function
        def loop(x: tf.Tensor) -> tf.Tensor:
            scale.assign_add(1.0)
            for _ in tf.range(3):
                x = x * scale
            return x

        for run in range(_RUNS):
            np.testing.assert_array_equal(loop(tf.constant([1.0])), [(run + 2.0) ** 3])


def test_other_shapes_are_right() -> None:
    with tf.device("/XPU:0"):
        loop = tf.function(_scan, reduce_retracing=True)
        for length in (3, 3, 3, 3, 5, 5, 4, 5, 2, 3):
            results = loop(tf.constant(X[:length]))
            np.testing.assert_allclose(results, _scan(X[:length]), rtol=1e-6)


# What a program would do in another way.


def _grows(x: tf.Tensor) -> tf.Tensor:
    rows = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    for i in tf.range(_STEPS):
        rows = rows.write(i, tf.sin(x[i]))
    return rows.stack()


def _shapes_change(x: tf.Tensor) -> tf.Tensor:
    rows = tf.zeros([0, 4, 3])
    for i in tf.range(_STEPS):
        tf.autograph.experimental.set_loop_options(
            shape_invariants=[(rows, tf.TensorShape([None, 4, 3]))]
        )
        rows = tf.concat([rows, x[i : i + 1]], 0)
    return rows


def _asserts(x: tf.Tensor) -> tf.Tensor:
    for _ in tf.range(_STEPS):
        tf.debugging.assert_less(x, 1e6)
        x = tf.sin(x)
    return x


def _selects(x: tf.Tensor) -> tf.Tensor:
    total = tf.zeros([])
    for i in tf.range(_STEPS):
        total += tf.reduce_sum(tf.boolean_mask(x[i], x[i] > 0.5))
    return total


def _row_of_data(x: tf.Tensor) -> tf.Tensor:
    place, total = 0, tf.zeros([4, 3])
    for _ in tf.range(_STEPS):
        total += x[place]
        place = tf.cast(tf.reduce_sum(total) * 7.0, tf.int32) % _STEPS
    return total


def _row_in_a_branch(x: tf.Tensor) -> tf.Tensor:
    total = tf.zeros([4, 3])
    for i in tf.range(_STEPS):
        if tf.reduce_sum(total) < 10.0:
            total += x[i]
    return total


def _gradient_of_a_loop_with_a_break(x: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.zeros([4, 3])
        for i in tf.range(_STEPS):
            if tf.reduce_sum(total) > 40.0:
                break
            total = tf.sin(total) + x[i]
        loss = tf.reduce_sum(total)
    return tape.gradient(loss, x)


def _pushes(x: tf.Tensor) -> tf.Tensor:
    """The list has fewer elements than it could have."""
    shape = tf.constant([4, 3])
    rows = tf.raw_ops.EmptyTensorList(
        element_shape=shape, max_num_elements=2 * _STEPS, element_dtype=tf.float32
    )
    for i in tf.range(_STEPS):
        rows = tf.raw_ops.TensorListPushBack(input_handle=rows, tensor=tf.sin(x[i]))
    return tf.raw_ops.TensorListStack(
        input_handle=rows, element_shape=shape, element_dtype=tf.float32
    )


def _partly_on_the_host(x: tf.Tensor) -> tf.Tensor:
    for _ in tf.range(_STEPS):
        with tf.device("/CPU:0"):
            x = tf.sin(x)
        x = tf.cos(x)
    return x


@pytest.mark.parametrize(
    "function",
    [
        _grows,
        _shapes_change,
        _asserts,
        _selects,
        _row_of_data,
        _row_in_a_branch,
        _gradient_of_a_loop_with_a_break,
        _pushes,
        _partly_on_the_host,
    ],
)
def test_other_loops_run_op_by_op(function: Callable[..., Any]) -> None:
    assert min(_runs(function, X)) > 15


def test_numbers_with_a_state_are_drawn_op_by_op() -> None:
    with tf.device("/XPU:0"):

        @tf.function
        def draw() -> tf.Tensor:
            total = tf.zeros([4])
            for _ in tf.range(_STEPS):
                total += tf.random.uniform([4])
            return total

        assert min(_count(draw) for _ in range(_RUNS)) > 15


def _sum_of_rows(x: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
    total = tf.zeros([4, 3])
    for i in tf.range(len(places)):
        total += x[places[i]]
    return total


def _sum_of_elements(x: tf.Tensor, steps: tf.Tensor) -> tf.Tensor:
    rows = tf.TensorArray(tf.float32, _STEPS).unstack(x)
    total = tf.zeros([4, 3])
    for i in tf.range(steps):
        total += rows.read(i)
    return total


def _written(x: tf.Tensor, steps: tf.Tensor) -> tf.Tensor:
    rows = tf.TensorArray(tf.float32, _STEPS, element_shape=[4, 3])
    for i in tf.range(steps):
        rows = rows.write(i, x[0])
    return rows.stack()


def _quotients(x: tf.Tensor, divisor: tf.Tensor) -> tf.Tensor:
    total = tf.zeros([], tf.int32)
    for i in tf.range(_STEPS):
        total += i // divisor
    return tf.cast(total, tf.float32) + x[0]


@pytest.mark.parametrize(
    ("function", "good", "bad"),
    [
        (_sum_of_rows, [0, 1], [0, _STEPS]),
        (_sum_of_elements, _STEPS, _STEPS + 1),
        (_written, _STEPS, _STEPS + 1),
        (_quotients, 1, 0),
    ],
)
def test_no_error_is_lost(function: Callable[..., Any], good: Any, bad: Any) -> None:
    with tf.device("/XPU:0"):
        loop = tf.function(function)
        for _ in range(_RUNS):
            loop(tf.constant(X), tf.constant(good))
        with pytest.raises(tf.errors.InvalidArgumentError):
            loop(tf.constant(X), tf.constant(bad))


def _filled(x: tf.Tensor) -> tf.Tensor:
    rows = tf.TensorArray(tf.float32, 10, element_shape=[4, 3])
    for i in tf.range(len(x)):
        rows = rows.write(i, x[i])
    return rows.stack()


def test_no_error_of_another_shape_is_lost() -> None:
    with tf.device("/XPU:0"):
        loop = tf.function(_filled, input_signature=[tf.TensorSpec([None, 4, 3])])
        for _ in range(2):
            loop(tf.constant(X[:10]))
        for _ in range(_RUNS):
            with pytest.raises(tf.errors.InvalidArgumentError):
                loop(tf.constant(X[:12]))
        for _ in range(_RUNS):
            np.testing.assert_array_equal(loop(tf.constant(X[:10])), X[:10])


_PROGRAM = """
    import tensorflow as tf, onexpu
    graph = tf.function(lambda x: tf.scan(lambda state, row: state + row, x))
    for run in range(4):
        before = onexpu.transfer_statistics()
        graph(tf.ones([30, 2]))
        moved = onexpu.transfer_statistics() - before
        print(moved.programs_executed + moved.eager_launches > 15)
"""


@pytest.mark.parametrize(
    ("choice", "by_ops"), [("0", "F F F F"), ("1", "T F F F"), ("never", "T T T T")]
)
def test_the_variable(choice: str, by_ops: str) -> None:
    printed = process.output_of(_PROGRAM, ONEXPU_COMPILE_LOOPS=choice)
    assert [line[0] for line in printed.split()] == by_ops.split()


def test_another_value_of_the_variable_is_an_error() -> None:
    done = process.run(_PROGRAM, ONEXPU_COMPILE_LOOPS="often")
    assert done.returncode != 0
    assert "ONEXPU_COMPILE_LOOPS is 'often'. It takes the number of runs" in done.stderr


@pytest.mark.parametrize("hide", ["", 'tf.config.set_visible_devices([], "XPU")'])
def test_loops_on_the_cpu_are_left_alone(hide: str) -> None:
    printed = process.output_of(
        f"""
        import tensorflow as tf
        {hide}

        @tf.function
        def step(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                loss = tf.reduce_sum(tf.scan(lambda state, row: state * 0.5 + row, x))
            return tape.gradient(loss, x)

        with tf.device("/CPU:0"):
            for run in range(4):
                print(step(tf.ones([3, 2])).numpy().tolist())
        """
    )
    assert printed.splitlines() == 4 * ["[[1.75, 1.75], [1.5, 1.5], [1.0, 1.0]]"]
