"""Variables on XPU: assignments, sparse updates, updates in place, gradients and checkpoints."""

from __future__ import annotations

import pathlib

import compare
import numpy as np
import pytest
import tensorflow as tf

import onexpu

X = np.random.RandomState(5).rand(4, 3).astype(np.float32)


def _variable(value=X, device: str = "/XPU:0") -> tf.Variable:
    with tf.device(device):
        return tf.Variable(value)


@pytest.mark.parametrize(
    "dtype", [np.float32, np.float64, np.int32, np.int64, np.bool_, np.complex64]
)
def test_assign_and_read(dtype) -> None:
    variable = _variable((X * 4).astype(dtype))
    assert "XPU" in variable.device
    with tf.device("/XPU:0"):
        variable.assign(tf.reverse(variable, [0]))
        np.testing.assert_array_equal(variable.numpy(), (X * 4).astype(dtype)[::-1])


def test_a_value_that_was_read_stays() -> None:
    variable = _variable()
    with tf.device("/XPU:0"):
        before = variable.read_value()
        variable.assign_add(tf.ones_like(variable))
        np.testing.assert_array_equal(before, X)
        np.testing.assert_array_equal(variable, X + 1)


@pytest.mark.parametrize("mode", compare.MODES)
def test_sparse_updates(mode: str) -> None:
    def run(device: str) -> np.ndarray:
        variable = _variable(device=device)

        def update() -> None:
            variable.scatter_add(tf.IndexedSlices(tf.ones([2, 3]), tf.constant([2, 0])))
            variable.scatter_update(tf.IndexedSlices(tf.zeros([1, 3]), tf.constant([3])))
            variable.scatter_nd_sub([[1, 1]], [0.25])

        compare.on(device, update, mode)
        return variable.numpy()

    np.testing.assert_array_equal(run("/XPU:0"), run("/CPU:0"))


def test_gather_from_a_variable() -> None:
    variable = _variable()
    with tf.device("/XPU:0"):
        rows = variable.sparse_read([3, 0, 3])
    np.testing.assert_array_equal(rows, X[[3, 0, 3]])


def test_a_compiled_step_updates_in_place() -> None:
    variable = _variable()

    @tf.function(jit_compile=True)
    def step() -> None:
        variable.assign_add(tf.ones([4, 3]))

    with tf.device("/XPU:0"):
        step()
        addresses = set()
        for _ in range(3):
            addresses.add(onexpu.buffer_address(variable))
            step()
        addresses.add(onexpu.buffer_address(variable))
    assert len(addresses) == 1
    np.testing.assert_array_equal(variable.numpy(), X + 1 + 1 + 1 + 1)


def test_a_value_that_is_held_is_not_overwritten_in_place() -> None:
    variable = _variable()

    @tf.function(jit_compile=True)
    def step() -> None:
        variable.assign(variable * 2.0)

    with tf.device("/XPU:0"):
        held = variable.read_value()
        view = tf.reshape(held, [12])
        step()
    np.testing.assert_array_equal(held, X)
    np.testing.assert_array_equal(view, X.ravel())
    np.testing.assert_array_equal(variable.numpy(), X * 2)


@pytest.mark.parametrize("mode", compare.MODES)
def test_gradient_tape(mode: str) -> None:
    def run(device: str) -> list[np.ndarray]:
        w, b = _variable(device=device), _variable(X[0], device)

        def gradients() -> list[tf.Tensor]:
            with tf.GradientTape() as tape:
                hidden = tf.nn.relu(tf.matmul(w, w, transpose_b=True) - 0.5)
                loss = tf.reduce_mean(tf.square(tf.matmul(hidden, w) + b))
            return tape.gradient(loss, [w, b])

        return compare.on(device, gradients, mode)

    compare.assert_same(run("/XPU:0"), run("/CPU:0"))


def test_second_derivative() -> None:
    def function() -> tf.Tensor:
        x = tf.constant(X)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(tf.tanh(x) * x)
            first = inner.gradient(y, x)
        return outer.gradient(first, x)

    compare.check(function)


def test_checkpoint(tmp_path: pathlib.Path) -> None:
    variable = _variable()
    path = tf.train.Checkpoint(v=variable).write(str(tmp_path / "checkpoint"))
    with tf.device("/XPU:0"):
        variable.assign(tf.zeros_like(variable))
        tf.train.Checkpoint(v=variable).read(path)
    np.testing.assert_array_equal(variable.numpy(), X)
    assert "XPU" in variable.device


def test_an_uninitialised_variable_is_a_clear_error() -> None:
    with tf.device("/XPU:0"):
        handle = tf.raw_ops.VarHandleOp(
            dtype=tf.float32, shape=[2], shared_name="onexpu_test_uninitialised"
        )
        with pytest.raises((tf.errors.FailedPreconditionError, tf.errors.NotFoundError)):
            tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0, 2)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "int64", "complex64"])
def test_variables_without_elements(dtype: str, shape: tuple[int, ...]) -> None:
    """TensorFlow has no buffer for an empty array that comes from the host."""
    empty = np.zeros(shape, tf.as_dtype(dtype).as_numpy_dtype)
    for value in (empty, tf.constant(empty), tf.zeros(shape, dtype)):
        variable = tf.Variable(value)
        variable.assign_sub(value)
        variable.assign_add(tf.constant(empty))
        variable.assign(value)
        assert (variable + value).shape == variable.read_value().shape == shape

        def update(variable: tf.Variable, value: tf.Tensor) -> tf.Tensor:
            variable.assign_add(value)
            return variable * value

        for jit_compile in (False, True):
            function = tf.function(update, jit_compile=jit_compile)
            assert function(variable, tf.constant(empty)).shape == shape


def test_optimizers_of_variables_without_elements() -> None:
    variables = [tf.Variable(np.zeros((0, 3), np.float32)), tf.Variable(np.ones(4, np.float32))]
    gradients = [tf.zeros((0, 3)), tf.ones(4)]
    for optimizer in (tf.keras.optimizers.Adam(0.5), tf.keras.optimizers.SGD(0.5, momentum=0.9)):
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
    assert variables[0].shape == (0, 3)
    assert float(variables[1][0]) < 1
