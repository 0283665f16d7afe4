"""Assignments to slices of variables and of tensors, with strides, broadcasting and all masks."""

from __future__ import annotations

from typing import Any

import both
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering

X = np.arange(2 * 7 * 5).reshape(2, 7, 5)
_ALL = slice(None)
SLICES = {
    "one element": (0, 1, 2),
    "a row": (1, 3),
    "dense": (_ALL, slice(2, 5)),
    "negative ends": (_ALL, slice(-3, -1), slice(-2, None)),
    "strides": (_ALL, slice(1, 7, 2), slice(0, 5, 3)),
    "a stride beyond the end": (_ALL, slice(6, 7, 4)),
    "backwards": (slice(None, None, -1), slice(5, 1, -1)),
    "backwards with strides": (_ALL, slice(None, None, -3), slice(4, 0, -2)),
    "newaxis": (_ALL, tf.newaxis, slice(0, 7, 3)),
    "an ellipsis": (Ellipsis, slice(1, None, 2)),
    "an index and strides": (1, Ellipsis, slice(None, None, 2)),
    "empty": (_ALL, slice(3, 3)),
    "everything": (Ellipsis,),
}
TYPES = [np.float32, np.float16, np.int64, np.int8, np.bool_, np.complex64]


def _value(key: Any, dtype: Any) -> np.ndarray:
    shape = X[key].shape
    return (-1 - np.arange(np.prod(shape, dtype=int)).reshape(shape)).astype(dtype)


def _arguments(key: Any) -> dict[str, Any]:
    """What TensorFlow's ops take in place of a key."""
    begin, end, strides = [], [], []
    masks = dict.fromkeys(
        ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0
    )
    for i, part in enumerate(key):
        bit, bounds = 1 << i, (0, 0, 1)
        if part is Ellipsis:
            masks["ellipsis_mask"] |= bit
        elif part is tf.newaxis:
            masks["new_axis_mask"] |= bit
        elif isinstance(part, slice):
            masks["begin_mask"] |= bit * (part.start is None)
            masks["end_mask"] |= bit * (part.stop is None)
            bounds = (part.start or 0, part.stop or 0, part.step or 1)
        else:
            masks["shrink_axis_mask"] |= bit
            bounds = (part, part + 1, 1)
        for values, bound in zip((begin, end, strides), bounds, strict=True):
            values.append(bound)
    return {"begin": begin, "end": end, "strides": strides, **masks}


def _update(x: np.ndarray, key: Any, value: np.ndarray) -> tf.Tensor:
    return tf.raw_ops.TensorStridedSliceUpdate(
        input=tf.constant(x), value=tf.constant(value), **_arguments(key)
    )


@covering(name=SLICES, dtype=TYPES)
def test_tensors(name: str, dtype: Any) -> None:
    key = SLICES[name]
    both.check(lambda: _update(X.astype(dtype), key, _value(key, dtype)), ulps=0)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (3, 1), (1, 1, 2), (2, 1, 2), (1, 1, 1, 1, 2)])
def test_values_are_broadcast(shape: tuple[int, ...]) -> None:
    value = -1 - np.arange(np.prod(shape, dtype=int)).reshape(shape)
    key = (
        SLICES["strides"]
        if shape != (3,) and shape != (3, 1)
        else (_ALL, slice(0, 6, 2), slice(0, 5, 2))
    )
    both.check(lambda: _update(X, key, value), ulps=0)


@pytest.mark.parametrize("shape", [(4,), (2, 3, 4), (2, 1, 1, 1)])
def test_values_that_do_not_fit(shape: tuple[int, ...]) -> None:
    both.check_refused(lambda: _update(X, SLICES["strides"], np.zeros(shape, X.dtype)))


@pytest.mark.parametrize("name", SLICES)
def test_variables(name: str) -> None:
    key = SLICES[name]
    expected = X.copy()
    expected[key] = _value(key, X.dtype)
    with tf.device("/XPU:0"):
        alone, compiled = tf.Variable(X), tf.Variable(X)
        alone[key].assign(_value(key, X.dtype))
        tf.function(lambda: compiled[key].assign(_value(key, X.dtype)), jit_compile=True)()
    np.testing.assert_array_equal(alone.numpy(), expected)
    np.testing.assert_array_equal(compiled.numpy(), expected)
