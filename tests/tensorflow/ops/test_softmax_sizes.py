"""Softmax, its logarithm and the cross-entropy of labels, for arrays of many sizes."""

from __future__ import annotations

import pathlib
from typing import Any

import both
import numpy as np
import process
import pytest
import tensorflow as tf

R = tf.raw_ops
# Graphs run the same kernels as eager ops.
MODES = ("eager", "graph")
FLOATS = [np.float32, np.float64, np.float16, tf.bfloat16.as_numpy_dtype]
SHAPES = [
    (1,),
    (7,),
    (1, 1),
    (3, 2),
    (5, 16),
    (4, 17),
    (2, 3, 33),
    (300, 5),
    (2, 1000),
    (3, 50_257),
]


def values(shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    """Returns logits of a few hundred and less."""
    return (np.random.default_rng(0).normal(size=shape) * 20).astype(dtype)


def softmax(x: np.ndarray) -> np.ndarray:
    """Returns the softmax of rows in float64."""
    x = x.astype(np.float64)
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def unit(dtype: Any) -> float:
    """Returns what a number of this type is rounded to, relative to it, and a few of float32's."""
    return {np.float32: 4e-6, np.float64: 1e-13, np.float16: 2e-3}.get(dtype, 1e-2)


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax(dtype) -> None:
    for shape in SHAPES:
        x = values(shape, dtype)
        with tf.device("/XPU:0"):
            result = R.Softmax(logits=x).numpy().astype(np.float64)
            logarithm = R.LogSoftmax(logits=x).numpy().astype(np.float64)
        expected = softmax(x)
        # Numbers below the smallest normal one are zeros or not.
        np.testing.assert_allclose(result, expected, rtol=unit(dtype), atol=1e-7)
        wide = x.astype(np.float64)
        shifted = wide - wide.max(-1, keepdims=True)
        expected = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
        np.testing.assert_allclose(logarithm, expected, rtol=unit(dtype), atol=unit(dtype))


@pytest.mark.parametrize("labels_type", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", FLOATS)
def test_sparse_cross_entropy(dtype, labels_type) -> None:
    for rows, columns in ((1, 1), (3, 2), (5, 16), (4, 17), (300, 10), (2, 1000)):
        x = values((rows, columns), dtype)
        labels = np.random.default_rng(1).integers(0, columns, rows).astype(labels_type)
        with tf.device("/XPU:0"):
            loss, gradient = R.SparseSoftmaxCrossEntropyWithLogits(features=x, labels=labels)
        wide = x.astype(np.float64)
        shifted = wide - wide.max(-1, keepdims=True)
        logarithm = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
        expected = -logarithm[np.arange(rows), labels]
        np.testing.assert_allclose(
            loss.numpy().astype(np.float64), expected, rtol=unit(dtype), atol=unit(dtype)
        )
        expected = softmax(x)
        expected[np.arange(rows), labels] -= 1
        np.testing.assert_allclose(
            gradient.numpy().astype(np.float64), expected, rtol=unit(dtype), atol=unit(dtype)
        )


def test_like_the_cpu() -> None:
    for shape in SHAPES[:-1]:
        x = values(shape)
        both.check(lambda x=x: R.Softmax(logits=x), modes=MODES)
        both.check(lambda x=x: R.LogSoftmax(logits=x), modes=MODES)
    for shape in ((0, 4), (4, 0)):
        x = values(shape)
        both.check(lambda x=x: R.Softmax(logits=x), modes=MODES)


@pytest.mark.parametrize("columns", [3, 16, 40])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_special_values(value, columns) -> None:
    for place in {0, 1, columns - 1}:
        x = values((3, columns))
        x[1, place] = value
        expected = softmax(x)
        with tf.device("/XPU:0"):
            np.testing.assert_allclose(R.Softmax(logits=x), expected, rtol=4e-6, atol=1e-30)
    x = np.full((2, columns), -np.inf, np.float32)
    with tf.device("/XPU:0"):
        assert np.isnan(R.Softmax(logits=x)).all()


@pytest.mark.parametrize("label", [-1, 17])
def test_labels_that_are_no_column_give_nan(label) -> None:
    x = values((3, 17))
    with tf.device("/XPU:0"):
        loss, gradient = R.SparseSoftmaxCrossEntropyWithLogits(features=x, labels=[2, label, 3])
    np.testing.assert_array_equal(np.isnan(loss), [False, True, False])
    np.testing.assert_array_equal(np.isnan(gradient).all(1), [False, True, False])
    assert np.isfinite(gradient.numpy()[[0, 2]]).all()


def test_shapes_that_do_not_fit_are_refused() -> None:
    both.check_refused(lambda: R.Softmax(logits=np.float32(1)))
    both.check_refused(
        lambda: R.SparseSoftmaxCrossEntropyWithLogits(features=values((3, 4)), labels=[1, 2])
    )


_NEW_SHAPES = """
import tensorflow as tf
with tf.device("/XPU:0"):
    for size in range(2, 40):
        x = tf.fill([3, size], 0.5)
        p = tf.nn.softmax(x) * tf.exp(tf.nn.log_softmax(x))
        assert abs(float(p[0, 0]) * size * size - 1) < 1e-5
        tf.nn.sparse_softmax_cross_entropy_with_logits([0, 1, 1], x)
"""


def test_a_new_shape_is_not_compiled(tmp_path: pathlib.Path) -> None:
    process.output_of(_NEW_SHAPES, XLA_FLAGS=f"--xla_dump_to={tmp_path}", ONEXPU_PROGRAM_CACHE="0")
    modules = [path.name for path in tmp_path.glob("*before_optimizations.txt")]
    assert len(modules) <= 2, modules  # Mul and Exp, for all shapes
