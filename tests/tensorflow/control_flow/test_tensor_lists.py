"""Tensor lists and arrays in graphs that are not compiled: every op that makes tensors of a list,
or a list of a tensor.
"""

from __future__ import annotations

import compare
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.ops import list_ops

VALUES = np.random.RandomState(3).rand(7, 2, 3).astype(np.float32)
TYPES = [np.float32, np.float64, np.float16, np.int32, np.int64, np.int8, np.bool_, np.complex64]


def _values(dtype=np.float32) -> tf.Tensor:
    return tf.constant((VALUES * 4).astype(dtype))


@pytest.mark.parametrize("mode", ["eager", "graph"])
@pytest.mark.parametrize("dtype", TYPES)
def test_from_tensor_and_stack(dtype, mode: str) -> None:
    def function() -> tf.Tensor:
        handle = list_ops.tensor_list_from_tensor(_values(dtype), element_shape=[2, 3])
        return list_ops.tensor_list_stack(handle, element_dtype=dtype, element_shape=[2, 3])

    compare.check(function, mode)


def test_lists_longer_than_one_program_takes() -> None:
    values = np.random.RandomState(1).rand(150, 3).astype(np.float32)

    def function() -> list[tf.Tensor]:
        handle = list_ops.tensor_list_from_tensor(tf.constant(values), element_shape=[3])
        item = list_ops.tensor_list_get_item(handle, 100, tf.float32, element_shape=[3])
        return [item, list_ops.tensor_list_stack(handle, tf.float32, element_shape=[3])]

    compare.check(function, "graph", ulps=0)


def test_elements_that_are_not_set_are_zeros() -> None:
    def function() -> list[tf.Tensor]:
        handle = list_ops.tensor_list_reserve([2, 3], 4, tf.float32)
        handle = list_ops.tensor_list_set_item(handle, 2, _values()[0])
        return [
            list_ops.tensor_list_get_item(handle, 0, tf.float32, element_shape=[2, 3]),
            list_ops.tensor_list_get_item(handle, 2, tf.float32, element_shape=[2, 3]),
            list_ops.tensor_list_stack(handle, tf.float32, element_shape=[2, 3]),
            list_ops.tensor_list_gather(handle, [2, 1, 2], tf.float32, element_shape=[2, 3]),
        ]

    compare.check(function, "graph", ulps=0)


def test_push_and_pop() -> None:
    def function() -> list[tf.Tensor]:
        handle = list_ops.empty_tensor_list([2, 3], tf.float32)
        for i in range(3):
            handle = list_ops.tensor_list_push_back(handle, _values()[i])
        handle, last = list_ops.tensor_list_pop_back(handle, tf.float32)
        return [
            last,
            list_ops.tensor_list_length(handle),
            list_ops.tensor_list_stack(handle, tf.float32),
        ]

    compare.check(function, "graph", ulps=0)


def test_concat_and_split() -> None:
    def function() -> list[tf.Tensor]:
        handle = list_ops.tensor_list_split(
            _values(), element_shape=[None, 2, 3], lengths=[2, 0, 4, 1]
        )
        return [
            list_ops.tensor_list_concat(handle, tf.float32, element_shape=[None, 2, 3]),
            list_ops.tensor_list_get_item(handle, 1, tf.float32),
            list_ops.tensor_list_get_item(handle, 2, tf.float32),
        ]

    compare.check(function, "graph", ulps=0)


def test_scatter() -> None:
    def function() -> list[tf.Tensor]:
        handle = list_ops.tensor_list_scatter(_values()[:3], [4, 0, 2], element_shape=[2, 3])
        first = list_ops.tensor_list_stack(handle, tf.float32, element_shape=[2, 3])
        handle = list_ops.tensor_list_scatter(_values()[3:5], [1, 5], input_handle=handle)
        return [first, list_ops.tensor_list_stack(handle, tf.float32, element_shape=[2, 3])]

    compare.check(function, "graph", ulps=0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda h: list_ops.tensor_list_get_item(h, 9, tf.float32), "Trying to access element 9"),
        (lambda h: list_ops.tensor_list_get_item(h, 0, tf.int32), "Invalid data types"),
        (lambda h: list_ops.tensor_list_gather(h, [0, 7], tf.float32), "element 7 in|Index 7 out"),
        (
            lambda h: list_ops.tensor_list_stack(h, tf.float32, num_elements=3),
            "Operation expected a list with 3",
        ),
    ],
)
def test_bad_arguments(call, message: str) -> None:
    for device in ("/CPU:0", "/XPU:0"):
        with tf.device(device), pytest.raises(tf.errors.InvalidArgumentError, match=message):
            call(list_ops.tensor_list_from_tensor(_values(), element_shape=[2, 3]))


_UNSET = {"element_shape": None, "num_elements": 3, "element_dtype": tf.float32}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: list_ops.tensor_list_stack(list_ops.tensor_list_reserve(**_UNSET), tf.float32),
         "Tried to stack list which only contains uninitialized tensors"),
        (lambda: list_ops.tensor_list_stack(list_ops.empty_tensor_list(None, tf.float32),
                                            tf.float32),
         "empty list with non-fully-defined"),
        (lambda: list_ops.tensor_list_gather(list_ops.tensor_list_reserve(**_UNSET), [0],
                                             tf.float32),
         "Tried to gather uninitialized tensors from a list"),
        (lambda: list_ops.tensor_list_gather(list_ops.tensor_list_reserve(**_UNSET), [],
                                             tf.float32),
         "0-elements from a list with non-fully-defined"),
        (lambda: list_ops.tensor_list_get_item(list_ops.tensor_list_reserve(**_UNSET), 0,
                                               tf.float32),
         "Trying to read an uninitialized tensor but element_shape is not fully defined"),
        (lambda: list_ops.tensor_list_concat(list_ops.tensor_list_reserve(**_UNSET), tf.float32),
         "Trying to concat list with only uninitialized tensors"),
        (lambda: list_ops.tensor_list_concat(list_ops.empty_tensor_list(None, tf.float32),
                                             tf.float32),
         "concating an empty tensor list"),
        (lambda: tf.raw_ops.TensorListConcat(
            input_handle=list_ops.tensor_list_reserve([], 0, tf.float32), element_dtype=tf.float32,
            element_shape=[]),
         "element_shape must not be empty"),
        (lambda: tf.raw_ops.TensorListScatterV2(tensor=[2], indices=[2], element_shape=[2],
                                                num_elements=[[1]]),
         "num_elements must be a scalar|Shape must be rank 0"),
        (lambda: list_ops.tensor_list_split(_values(), [-1, 2, 3], [9]),
         r"Attempting to slice \[0, 9\]"),
        (lambda: list_ops.tensor_list_split(_values(), [-1, 2, 3], [-1]),
         "Invalid value in lengths: -1"),
        (lambda: list_ops.tensor_list_split(_values(), [4], [7]),
         "is not compatible with element_shape"),
        (lambda: list_ops.tensor_list_scatter(_values(), [0, 1], [2, 3]), "Expected: 2 Actual: 7"),
        (lambda: tf.add_n([list_ops.tensor_list_reserve([2], n, tf.float32) for n in (1, 2)]),
         "Trying to add two lists of tensors with different lengths"),
        (lambda: tf.add_n([list_ops.tensor_list_reserve([2], 1, t)
                           for t in (tf.float32, tf.int64)]),
         "of different dtypes"),
        (lambda: tf.add_n([list_ops.tensor_list_reserve([n], 1, tf.float32) for n in (2, 3)]),
         "incompatible element shapes"),
    ],
)  # fmt: skip
def test_bad_arguments_have_the_words_of_the_cpu(call, message: str) -> None:
    for device in ("/CPU:0", "/XPU:0"):
        with tf.device(device), pytest.raises(tf.errors.InvalidArgumentError, match=message):
            call()


def test_gradient_through_a_loop() -> None:
    """The loop's intermediate values go through lists, and so do their gradients."""

    def function() -> tf.Tensor:
        x = tf.constant(VALUES[0, 0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            _, y = tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, tf.sin(y) * x), [0, x])
            loss = tf.reduce_sum(y)
        return tape.gradient(loss, x)

    compare.check(function, "graph")


def test_gradient_of_stack_and_unstack() -> None:
    def function() -> tf.Tensor:
        x = _values()
        with tf.GradientTape() as tape:
            tape.watch(x)
            array = tf.TensorArray(tf.float32, 7, clear_after_read=False).unstack(x)
            y = array.read(1) * array.read(1) + array.read(5) + array.gather([2, 5])[1]
        return tape.gradient(y, x)

    compare.check(function, "graph")
