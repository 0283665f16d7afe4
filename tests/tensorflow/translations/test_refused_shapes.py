"""Operands that do not fit together are refused before a program is compiled, in the words of
TensorFlow's CPU kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

R = tf.raw_ops
ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)
POOL = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
POOL_3D = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "SAME"}


def _ones(*shape: int) -> tf.Tensor:
    return tf.ones(shape)


def _scatter() -> None:
    variable = tf.Variable(1.0)
    R.ResourceScatterNdUpdate(ref=variable.handle, indices=[[0]], updates=[0.5])


CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "broadcast to one": (lambda: R.BroadcastTo(input=[0, 1], shape=[2, 1]),
                         "Unable to broadcast tensor of shape"),
    "broadcast to other sizes": (lambda: R.BroadcastTo(input=ROWS, shape=[2, 4]),
                                 r"Incompatible shapes: \[2,3\] vs. \[2,4\]"),
    "broadcast to a lower rank": (lambda: R.BroadcastTo(input=ROWS, shape=[3]),
                                  "must be no greater than rank of output shape"),
    "gather": (
        lambda: R.GatherV2(params=ROWS, indices=0, axis=1, batch_dims=1),
        r"Expected batch_dims in the range \[0, 0\], but got 1",
    ),
    "slice": (lambda: R.Slice(input=ROWS, begin=0, size=[1, 1]),
              "Expected begin and size arguments to be 1-D"),
    "tile": (lambda: R.Tile(input=ROWS, multiples=2), "Expected multiples to be 1-D"),
    "pad": (lambda: R.Pad(input=ROWS, paddings=[[1, 2]]),
            "The first dimension of paddings must be the rank of inputs"),
    "sparse to dense": (
        lambda: R.SparseToDense(sparse_indices=1, output_shape=4, sparse_values=7, default_value=0),
        "output_shape must be rank 1",
    ),
    "segments": (
        lambda: R.UnsortedSegmentSum(data=ROWS, segment_ids=[0, 1], num_segments=[2]),
        "num_segments should be a scalar",
    ),
    "paddings": (lambda: R.Pad(input=ROWS, paddings=[1, 2]),
                 "paddings must be a matrix with 2 columns"),
    "labels": (
        lambda: R.SparseSoftmaxCrossEntropyWithLogits(features=ROWS, labels=tf.constant(0)),
        "labels must be 1-D",
    ),
    "sums": (lambda: R.Cumsum(x=ROWS, axis=[[0, 1]]), "axis must be a scalar"),
    "one hot": (lambda: R.OneHot(indices=[1], depth=[2], on_value=1.0, off_value=0.0),
                "depth must be a scalar"),
    "scatter into a scalar": (_scatter, "Output must be at least 1-D"),
    "rows": (lambda: R.InplaceUpdate(x=ROWS, i=[[0]], v=ROWS[:1]), "i must be a vector"),
    "rows of another length": (lambda: R.InplaceAdd(x=ROWS, i=[0], v=ROWS[:1, :2]),
                               "x and v shape doesn't match"),
    "rows of another number": (lambda: R.InplaceSub(x=ROWS, i=[0, 1], v=ROWS[:1]),
                               "i and x shape doesn't match"),
    "greatest, pooled": (
        lambda: R.MaxPoolGrad(orig_input=_ones(1, 4, 4, 2), orig_output=_ones(1, 2, 1, 2),
                              grad=_ones(1, 2, 2, 2), **POOL),
        r"Expected orig_output shape to be \[1,2,2,2\], but got \[1,2,1,2\]",
    ),
    "greatest, gradient": (
        lambda: R.MaxPoolGrad(orig_input=_ones(1, 4, 4, 2), orig_output=_ones(1, 2, 2, 2),
                              grad=_ones(1, 2, 2, 1), **POOL),
        r"Expected grad shape to be \[1,2,2,2\], but got \[1,2,2,1\]",
    ),
    "greatest, second gradient": (
        lambda: R.MaxPoolGradGrad(orig_input=_ones(1, 4, 4, 2), orig_output=_ones(1, 2, 2, 2),
                                  grad=_ones(1, 2, 2, 2), **POOL),
        r"Expected grad shape to be \[1,4,4,2\], but got \[1,2,2,2\]",
    ),
    "places": (
        lambda: R.MaxPoolGradWithArgmax(
            input=_ones(1, 4, 4, 2), grad=_ones(1, 2, 2, 2),
            argmax=tf.zeros([1, 2, 1, 2], tf.int64), **POOL
        ),
        r"Expected argmax shape to be \[1,2,2,2\], but got \[1,2,1,2\]",
    ),
    "greatest in space": (
        lambda: R.MaxPool3DGrad(
            orig_input=_ones(1, 3, 4, 4, 2), orig_output=_ones(1, 2, 2, 2, 2),
            grad=_ones(1, 1, 2, 2, 2), **POOL_3D
        ),
        r"Expected grad shape to be \[1,2,2,2,2\], but got \[1,1,2,2,2\]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_refused_as_on_the_cpu(name: str) -> None:
    call, words = CALLS[name]
    for device in ("/CPU:0", "/XPU:0"):
        with pytest.raises(tf.errors.InvalidArgumentError, match=words), tf.device(device):
            call()


@pytest.mark.parametrize("grad", [(2, 2, 2, 2), (1, 2, 3, 2), (1, 2, 2, 1)])
def test_means_of_another_shape(grad: tuple[int, ...]) -> None:
    """TensorFlow's CPU kernel finds some of these by the address only."""
    with (
        pytest.raises(
            tf.errors.InvalidArgumentError, match=r"Expected grad shape to be \[1,2,2,2\]"
        ),
        tf.device("/XPU:0"),
    ):
        R.AvgPoolGrad(orig_input_shape=[1, 4, 4, 2], grad=_ones(*grad), **POOL)


@pytest.mark.parametrize("updates", [ROWS[:, :2], ROWS[:1], ROWS[0]])
def test_updates_of_another_shape(updates: np.ndarray) -> None:
    with (
        pytest.raises(tf.errors.InvalidArgumentError, match=r"Must have updates.shape.*Dimensions"),
        tf.device("/XPU:0"),
    ):
        R.ScatterNd(indices=[[0], [1]], updates=updates, shape=[4, 3])


@pytest.mark.parametrize("padding", ["VALID", "SAME"])
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_what_fits_is_taken(data_format: str, padding: str) -> None:
    shape, window = (
        ([2, 5, 7, 3], [1, 3, 2, 1]) if data_format == "NHWC" else ([2, 3, 5, 7], [1, 1, 3, 2])
    )
    x = tf.constant(np.random.RandomState(0).rand(*shape).astype(np.float32))
    pool = {"ksize": window, "strides": window, "padding": padding, "data_format": data_format}
    with tf.device("/XPU:0"):
        pooled = R.MaxPool(input=x, **pool)
        gradient = R.MaxPoolGrad(orig_input=x, orig_output=pooled, grad=pooled, **pool)
        second = R.MaxPoolGradGrad(orig_input=x, orig_output=pooled, grad=x, **pool)
        means = R.AvgPoolGrad(orig_input_shape=shape, grad=R.AvgPool(value=x, **pool), **pool)
    assert gradient.shape == means.shape == x.shape
    np.testing.assert_array_equal(second, pooled)  # x where it is the greatest
    np.testing.assert_allclose(np.sum(gradient), np.sum(pooled), rtol=1e-5)
