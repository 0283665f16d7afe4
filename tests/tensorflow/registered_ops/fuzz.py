"""Calls that are wrong in rank, size, type or value, to see that each is refused, and nothing
worse.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tests.tensorflow.registered_ops import registry
from tests.tensorflow.registered_ops.calls import Call, TensorList, Values, Variable

_SIZES = (0, 1, 2, 3, 5)
_INTEGERS = (-2, -1, 0, 1, 2, 3, 7, 100)
_TYPES = (tf.float32, tf.int32, tf.int64, tf.bool, tf.complex64, tf.float64, tf.float16, tf.uint8)


def mutants(call: Call, count: int) -> Iterator[Call]:
    """`count` calls, the same each time."""
    random = np.random.RandomState(zlib.crc32(call.op.encode()))
    for _ in range(count):
        yield _mutant(call, random)


def _mutant(call: Call, random: np.random.RandomState) -> Call:
    inputs, attributes = dict(call.inputs), dict(call.attributes)
    for name in inputs:
        if random.rand() < 0.6:
            inputs[name] = _changed(inputs[name], random)
    for attribute in registry.op_def(call.op).attr:
        if attribute.name in attributes and random.rand() < 0.15:
            attributes[attribute.name] = _changed_attribute(attributes[attribute.name], random)
    _name_types(call.op, inputs, attributes)
    types = {name: attributes.get(name, dtype) for name, dtype in call.types.items()}
    return dataclasses.replace(call, types=types, inputs=inputs, attributes=attributes)


def _changed(value: Any, random: np.random.RandomState) -> Any:
    if isinstance(value, tuple):
        return tuple(_changed(item, random) for item in value)
    if isinstance(value, Variable | TensorList):
        # Its type is an attribute, which would have to be another, too.
        return dataclasses.replace(value, value=_reshaped(value.value, value.type, random))
    dtype = tf.string if value.dtype == object else tf.as_dtype(value.dtype)
    way = random.randint(4)
    if way == 0 and dtype.is_integer:
        return np.asarray(random.choice(_INTEGERS, value.shape)).astype(value.dtype)
    if way == 1 and dtype != tf.string:
        return Values(value.shape).array(_TYPES[random.randint(len(_TYPES))], random)
    return _reshaped(value, dtype, random)


def _reshaped(value: np.ndarray, dtype: tf.DType, random: np.random.RandomState) -> np.ndarray:
    if value.ndim and random.rand() < 0.5:
        # A size less or a size more, where the op looks at one of several.
        shape = list(value.shape)
        shape[random.randint(value.ndim)] += random.choice((-1, 1))
        shape = tuple(max(size, 0) for size in shape)
    else:
        shape = tuple(random.choice(_SIZES, random.randint(5)))
    return Values(shape).array(dtype, random)


def _changed_attribute(value: Any, random: np.random.RandomState) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return int(random.choice(_INTEGERS))
    if isinstance(value, list) and value and all(type(item) is int for item in value):
        return [int(random.choice(_INTEGERS)) for _ in range(random.randint(len(value) + 2))]
    return value


def _name_types(op: str, inputs: dict[str, Any], attributes: dict[str, Any]) -> None:
    """Has type and number attributes say what the inputs are, the last of several with one
    attribute.
    """
    for argument in registry.op_def(op).input_arg:
        value = inputs[argument.name]
        items = value if isinstance(value, tuple) else (value,)
        types = [
            tf.string if item.dtype == object else tf.as_dtype(item.dtype)
            for item in items
            if isinstance(item, np.ndarray)
        ]
        if argument.number_attr:
            attributes[argument.number_attr] = len(items)
        if argument.type_list_attr:
            attributes[argument.type_list_attr] = types
        elif argument.type_attr and types:
            attributes[argument.type_attr] = types[-1]
