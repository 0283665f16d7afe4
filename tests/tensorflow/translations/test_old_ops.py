"""Ops that only graphs of TensorFlow's first versions may have: imported as such, against the CPU
or what became of them.
"""

from __future__ import annotations

from typing import Any

import compare
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import graph_pb2

RANDOM = np.random.RandomState(0)
X = RANDOM.randn(2, 3, 4, 8).astype(np.float32)
Z = (X + 1j * RANDOM.randn(2, 3, 4, 8)).astype(np.complex64)
MATRICES = (RANDOM.randn(2, 5, 5) + 5 * np.eye(5)).astype(np.float32)
R = tf.raw_ops


def run(op: str, inputs: list[np.ndarray], producer: int, **attributes: Any) -> list[np.ndarray]:
    """Runs one op on XPU, in a graph that a TensorFlow with graphs of version `producer` wrote."""
    graph_def = graph_pb2.GraphDef()
    graph_def.versions.producer = producer
    for i, value in enumerate(inputs):
        node = graph_def.node.add(name=f"input{i}", op="Const", device="/XPU:0")
        node.attr["dtype"].type = tf.as_dtype(value.dtype).as_datatype_enum
        node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
    node = graph_def.node.add(
        name="op", op=op, device="/XPU:0", input=[f"input{i}" for i in range(len(inputs))]
    )
    for name, value in attributes.items():
        if isinstance(value, tf.DType):
            node.attr[name].type = value.as_datatype_enum
        elif isinstance(value, bool):
            node.attr[name].b = value
        elif isinstance(value, str):
            node.attr[name].s = value.encode()
        elif isinstance(value, list):
            node.attr[name].list.i.extend(value)
        else:
            node.attr[name].f = value
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        config = tf.compat.v1.ConfigProto(allow_soft_placement=False)
        with tf.compat.v1.Session(graph=graph, config=config) as session:
            return session.run(graph.get_operation_by_name("op").outputs)


@pytest.mark.parametrize("dimensions", ["", "2D", "3D"])
@pytest.mark.parametrize("direction", ["FFT", "IFFT"])
def test_fourier_transforms(direction: str, dimensions: str) -> None:
    name = direction + dimensions
    compare.assert_same(run(f"Batch{name}", [Z], 14), [getattr(R, name)(input=Z)])


def test_matrices() -> None:
    t = {"T": tf.float32}
    diagonals = MATRICES[:, 0]
    lower, upper = np.array(1, np.int64), np.array(0, np.int64)
    compare.assert_same(
        run("BatchMatrixBandPart", [MATRICES, lower, upper], 13, **t),
        [R.MatrixBandPart(input=MATRICES, num_lower=lower, num_upper=upper)],
    )
    compare.assert_same(
        run("BatchMatrixDiag", [diagonals], 13, **t), [R.MatrixDiag(diagonal=diagonals)]
    )
    compare.assert_same(
        run("BatchMatrixDiagPart", [MATRICES], 13, **t), [R.MatrixDiagPart(input=MATRICES)]
    )
    compare.assert_same(
        run("BatchMatrixSetDiag", [MATRICES, diagonals], 13, **t),
        [R.MatrixSetDiag(input=MATRICES, diagonal=diagonals)],
    )
    compare.assert_same(
        run("BatchMatrixTriangularSolve", [MATRICES, MATRICES], 12, **t),
        [R.MatrixTriangularSolve(matrix=MATRICES, rhs=MATRICES)],
    )
    singular_values = run("BatchSvd", [MATRICES], 12, compute_uv=False, **t)[0]
    compare.assert_same(
        singular_values, np.linalg.svd(MATRICES, compute_uv=False).astype(np.float32), ulps=256
    )


@pytest.mark.parametrize("scale", [False, True])
def test_global_normalization(scale: bool) -> None:
    vectors = [RANDOM.rand(8).astype(np.float32) + 0.1 for _ in range(4)]
    mean, variance, beta, gamma = vectors
    options = {"T": tf.float32, "variance_epsilon": 0.01, "scale_after_normalization": scale}
    result = run("BatchNormWithGlobalNormalization", [X, mean, variance, beta, gamma], 8, **options)
    gradients = run(
        "BatchNormWithGlobalNormalizationGrad", [X, mean, variance, gamma, X * 2], 8, **options
    )

    inputs = [tf.constant(a) for a in (X, mean, variance, beta, gamma)]
    with tf.device("/CPU:0"), tf.GradientTape() as tape:
        tape.watch(inputs)
        y = tf.nn.batch_normalization(*inputs[:4], inputs[4] if scale else None, 0.01)
    dx, dm, dv, db, dg = tape.gradient(y, inputs, X * 2, unconnected_gradients="zero")
    compare.assert_same(result, [y])
    compare.assert_same(gradients, [dx, dm, dv, db, dg], ulps=256)


def test_adjust_contrast() -> None:
    inputs = [X, *(np.array(v, np.float32) for v in (1.7, -0.5, 0.75))]
    (result,) = run("AdjustContrast", inputs, 1, T=tf.float32)
    mean = X.mean(axis=(1, 2), keepdims=True)
    compare.assert_same(result, np.clip((X - mean) * np.float32(1.7) + mean, -0.5, 0.75))


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("strides", [[1, 1, 1, 1, 1], [1, 2, 1, 3, 1]])
def test_gradients_of_3d_convolutions(strides: list[int], padding: str) -> None:
    images, kernel = (
        RANDOM.randn(2, 6, 7, 8, 3).astype(np.float32),
        RANDOM.randn(2, 3, 3, 3, 4).astype(np.float32),
    )
    attributes = {"strides": strides, "padding": padding}
    slopes = RANDOM.randn(*R.Conv3D(input=images, filter=kernel, **attributes).shape).astype(
        np.float32
    )
    old = {"T": tf.float32, **attributes}
    compare.assert_same(
        run("Conv3DBackpropInput", [images, kernel, slopes], 9, **old),
        [
            R.Conv3DBackpropInputV2(
                input_sizes=images.shape, filter=kernel, out_backprop=slopes, **attributes
            )
        ],
    )
    compare.assert_same(
        run("Conv3DBackpropFilter", [images, kernel, slopes], 9, **old),
        [
            R.Conv3DBackpropFilterV2(
                input=images, filter_sizes=kernel.shape, out_backprop=slopes, **attributes
            )
        ],
    )
