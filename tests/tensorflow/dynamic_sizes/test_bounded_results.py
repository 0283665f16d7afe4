"""Compiled functions whose results have sizes that depend on values.

Each runs several times with other values, so that the second call goes through the memo of the
program that the first one ran. Expected is what the same function gives eagerly on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

Function = Callable[[tf.Tensor], object]

FUNCTIONS: dict[str, Function] = {
    "where": lambda x: tf.where(x > 0),
    "boolean_mask": lambda x: tf.boolean_mask(x, x > 0),
    "rows": lambda x: tf.boolean_mask(x, x[:, 0] > 0),
    "columns": lambda x: tf.boolean_mask(x, x[0] > 0, axis=1),
    "columns of rows": lambda x: tf.boolean_mask(tf.boolean_mask(x, x[:, 0] > 0), x[0] > 0, axis=1),
    "columns of no rows": lambda x: tf.boolean_mask(x, x[0] > 0, axis=1)[:0],
    "no columns of rows": lambda x: tf.boolean_mask(x, x[:, 0] > 0)[:, :0],
    "half turn": lambda x: tf.image.rot90(x[None, :, :, None], 2)[-2:0:3, -15::],
    "transposed rows": lambda x: tf.transpose(tf.boolean_mask(x, x[:, 0] > 0)),
    "rows in blocks": lambda x: tf.boolean_mask(tf.stack([x, x + 1], 1), x[:, 0] > 0),
    "unique": lambda x: tf.unique(tf.reshape(tf.cast(2 * x, tf.int32), [-1])),
    "partition": lambda x: tf.dynamic_partition(x, tf.cast(x[:, 0] > 0, tf.int32), 2),
    "with a static result": lambda x: (
        x + 1,
        tf.boolean_mask(x, x > 0),
        tf.reduce_sum(x),
        tf.where(x > 1),
    ),
    "elementwise": lambda x: tf.exp(tf.boolean_mask(x, x > 0)) * 2 + 1,
    "sorted": lambda x: tf.sort(tf.boolean_mask(x, x > 0)),
    "concatenated": lambda x: tf.concat(
        [tf.boolean_mask(x, x > 0), tf.boolean_mask(x, x < 0), x[0]], 0
    ),
    "gathered": lambda x: tf.gather(x, tf.where(x[:, 0] > 0)[:, 0]),
    "product": lambda x: tf.matmul(tf.boolean_mask(x, x[:, 0] > 0), x, transpose_b=True),
    "size": lambda x: (tf.size(tf.where(x > 0)), tf.where(x > 0)),
}


def _values(rows: int = 6, columns: int = 5) -> list[np.ndarray]:
    """Matrices with some positive elements: some, other ones, all, none."""
    random = np.random.RandomState(0)
    some = random.randn(rows, columns).astype(np.float32)
    return [some, -some, np.abs(some) + 0.1, -np.abs(some) - 0.1]


def _check(got: object, want: object, **tolerance: float) -> None:
    for one, other in zip(tf.nest.flatten(got), tf.nest.flatten(want), strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, **tolerance)


def _eager(function: Function, x: np.ndarray) -> object:
    with tf.device("/CPU:0"):
        return function(tf.constant(x))


# Rounding of exp and of a product of five terms.
ROUNDING = {"rtol": 1e-5, "atol": 1e-6}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_eager(name: str) -> None:
    compiled = tf.function(FUNCTIONS[name], jit_compile=True)
    for x in _values() + _values():
        with tf.device("/XPU:0"):
            got = compiled(tf.constant(x))
        _check(got, _eager(FUNCTIONS[name], x), **ROUNDING)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "int64", "float16", "bfloat16", "float64", "complex64"]
)
def test_types(dtype: str) -> None:
    def function(x: tf.Tensor) -> object:
        chosen = tf.cast(tf.round(x * 4), dtype)
        return [
            tf.boolean_mask(chosen, x[:, 0] > 0),
            tf.boolean_mask(chosen, x[0] > 0, axis=1),
        ]

    compiled = tf.function(function, jit_compile=True)
    for x in _values():
        with tf.device("/XPU:0"):
            got = compiled(tf.constant(x))
        for one, other in zip(got, _eager(function, x), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


def test_results_are_operands() -> None:
    """Of eager ops, of another compiled function, and of gradients."""
    select = tf.function(lambda x: tf.boolean_mask(x, x > 0), jit_compile=True)
    total = tf.function(lambda x: tf.reduce_sum(x * x), jit_compile=True)
    for x in _values():
        positive = x[x > 0]
        with tf.device("/XPU:0"):
            selected = select(tf.constant(x))
            eager = selected + tf.ones_like(selected)
            sum_of_squares = total(selected)
        np.testing.assert_array_equal(eager, positive + 1)
        np.testing.assert_allclose(sum_of_squares, np.sum(positive * positive), rtol=1e-6)


def test_gradient_of_a_result() -> None:
    select = tf.function(lambda x: 3 * tf.boolean_mask(x, x > 0), jit_compile=True)
    for x in _values():
        with tf.device("/XPU:0"), tf.GradientTape() as tape:
            operand = tf.constant(x)
            tape.watch(operand)
            loss = tf.reduce_sum(select(operand) ** 2)
        np.testing.assert_allclose(
            tape.gradient(loss, operand), np.where(x > 0, 18 * x, 0), rtol=1e-6
        )


def test_inside_of_a_graph() -> None:
    select = tf.function(lambda x: tf.boolean_mask(x, x > 0), jit_compile=True)

    @tf.function
    def graph(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_mean(tf.concat([select(x), select(-x)], 0))

    for x in _values():
        with tf.device("/XPU:0"):
            got = graph(tf.constant(x))
        np.testing.assert_allclose(got, np.mean(np.abs(x)), rtol=1e-6)


ASSIGNMENTS = {
    "AssignVariableOp": lambda v, x: v.assign(x),
    "AssignAddVariableOp": lambda v, x: v.assign_add(x),
    "ResourceApplyGradientDescent": lambda v, x: tf.raw_ops.ResourceApplyGradientDescent(
        var=v.handle, alpha=0.1, delta=x
    ),
    "ResourceStridedSliceAssign": lambda v, x: v[:].assign(x),
}


@pytest.mark.parametrize("op", ASSIGNMENTS)
def test_variables_are_rejected(op: str) -> None:
    """TensorFlow would keep them with their bounds, as the CPU's JIT does."""
    with tf.device("/XPU:0"):
        variable = tf.Variable(tf.zeros([8]), shape=tf.TensorShape(None))

        @tf.function(jit_compile=True)
        def assign(x: tf.Tensor) -> None:
            ASSIGNMENTS[op](variable, tf.boolean_mask(x, x > 0))

        with pytest.raises(tf.errors.UnimplementedError, match=op):
            assign(tf.range(-3.0, 5.0))
        np.testing.assert_array_equal(variable, np.zeros(8))


def test_many_elements() -> None:
    """More than one kernel's work-items, and prime sizes."""
    x = np.random.RandomState(1).randn(1009, 997).astype(np.float32)
    compiled = tf.function(
        lambda x: (tf.boolean_mask(x, x[0] > 0, axis=1), tf.where(x > 2)), jit_compile=True
    )
    with tf.device("/XPU:0"):
        columns, places = compiled(tf.constant(x))
    np.testing.assert_array_equal(columns, x[:, x[0] > 0])
    np.testing.assert_array_equal(places, np.argwhere(x > 2))
