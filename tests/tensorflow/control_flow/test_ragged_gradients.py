"""Gradients of `tf.map_fn` over ragged tensors in graphs: AddN and ZerosLike of ragged variants."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.ops import list_ops

from tests.exhaustive import covering

LENGTHS = [3, 0, 2, 4, 1]
VALUES = np.random.RandomState(0).randn(sum(LENGTHS), 4).astype(np.float32)

Rows = Callable[[tf.RaggedTensor], tf.Tensor]


def _means(ragged: tf.RaggedTensor) -> tf.Tensor:
    return tf.map_fn(
        lambda row: tf.reduce_sum(tf.sin(row), 0), ragged, fn_output_signature=tf.float32
    )


def _doubled(ragged: tf.RaggedTensor) -> tf.Tensor:
    signature = tf.RaggedTensorSpec([None, 4], ragged.dtype, 0)
    return tf.map_fn(lambda row: row * 2, ragged, fn_output_signature=signature).to_tensor()


def _twice(ragged: tf.RaggedTensor) -> tf.Tensor:
    """The gradients of both uses are added."""
    return _doubled(ragged)[:, 0] + _doubled(ragged)[:, 0] ** 2


def _selected(ragged: tf.RaggedTensor) -> tf.Tensor:
    """The rows that are not used have zero gradients."""
    return tf.map_fn(
        lambda i: tf.reduce_sum(ragged[i] ** 3),
        tf.constant([3, 0, 3]),
        fn_output_signature=ragged.dtype,
    )


def _gradient(rows: Rows, values: np.ndarray, nested: bool = False) -> tf.Tensor:
    @tf.function
    def gradient(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            ragged = tf.RaggedTensor.from_row_lengths(x, LENGTHS)
            if nested:
                ragged = tf.RaggedTensor.from_row_lengths(ragged, [2, 0, 3])
            loss = tf.reduce_sum(rows(ragged) ** 2)
        return tape.gradient(loss, x)

    return gradient(tf.constant(values))


@covering(dtype=[np.float32, np.float64, np.float16], rows=[_doubled, _twice, _selected])
def test_gradients(rows: Rows, dtype: type) -> None:
    with tf.device("/CPU:0"):
        expected = _gradient(rows, VALUES.astype(dtype))
    with tf.device("/XPU:0"):
        gradient = _gradient(rows, VALUES.astype(dtype))
    np.testing.assert_allclose(gradient, expected, rtol=1e-2 if dtype == np.float16 else 1e-5)


def test_gradient_of_a_reduction() -> None:
    with tf.device("/CPU:0"):
        expected = _gradient(_means, VALUES)
    with tf.device("/XPU:0"):
        np.testing.assert_allclose(_gradient(_means, VALUES), expected, rtol=1e-5)


def test_rows_that_are_ragged() -> None:
    def rows(ragged: tf.RaggedTensor) -> tf.Tensor:
        return tf.map_fn(
            lambda row: tf.reduce_sum(row.flat_values**2), ragged, fn_output_signature=tf.float32
        )

    with tf.device("/CPU:0"):
        expected = _gradient(rows, VALUES, nested=True)
    with tf.device("/XPU:0"):
        np.testing.assert_allclose(_gradient(rows, VALUES, nested=True), expected, rtol=1e-5)


def _encode(ragged: tf.RaggedTensor) -> tf.Tensor:
    return tf.raw_ops.RaggedTensorToVariant(
        rt_nested_splits=ragged.nested_row_splits,
        rt_dense_values=ragged.flat_values,
        batched_input=False,
    )


def _values_of(variant: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    return tf.raw_ops.RaggedTensorFromVariant(
        encoded_ragged=variant,
        input_ragged_rank=1,
        output_ragged_rank=1,
        Tvalues=dtype,
        Tsplits=tf.int64,
    )[1]


@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.int64, tf.complex64])
@pytest.mark.parametrize("values", [[1, 2, 3], []])
def test_sums_and_zeros(values: list[int], dtype: tf.DType) -> None:
    lengths = [2, 1] if values else [0, 0]
    with tf.device("/XPU:0"):
        row_values = tf.cast(tf.constant(values), dtype)
        variant = _encode(tf.RaggedTensor.from_row_lengths(row_values, lengths))
        total = _values_of(tf.raw_ops.AddN(inputs=[variant, variant, variant]), dtype)
        zeros = _values_of(tf.raw_ops.ZerosLike(x=variant), dtype)
    np.testing.assert_array_equal(total, 3 * np.array(values))
    np.testing.assert_array_equal(zeros, 0 * np.array(values))


THREE = [1.0, 2.0, 3.0]
OTHERS: dict[str, Callable[[], tf.Tensor]] = {
    "different row_splits": lambda: _encode(tf.RaggedTensor.from_row_lengths(THREE, [1, 2])),
    "different dtypes": lambda: _encode(tf.RaggedTensor.from_row_lengths([1, 2, 3], [2, 1])),
    "different ragged rank": lambda: _encode(
        tf.RaggedTensor.from_nested_row_lengths(THREE, [[2], [2, 1]])
    ),
    "Cannot add": lambda: list_ops.tensor_list_from_tensor(THREE, element_shape=[]),
}


@pytest.mark.parametrize("message", OTHERS)
def test_sums_that_do_not_exist(message: str) -> None:
    with tf.device("/XPU:0"):
        variant = _encode(tf.RaggedTensor.from_row_lengths(THREE, [2, 1]))
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            tf.raw_ops.AddN(inputs=[variant, OTHERS[message]()])
