"""Ops by name, small but not trivial, for the sweep over XPU's kernels. Each gives a nest of
tensors.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

_RANDOM = np.random.RandomState(0)
A = _RANDOM.rand(4, 4).astype(np.float32)
B = _RANDOM.rand(2, 3, 5).astype(np.float32) - 0.5
INDICES = np.array([3, 1, 2, 0], np.int32)
IMAGE = _RANDOM.rand(2, 8, 8, 3).astype(np.float32)
FILTER = _RANDOM.rand(3, 3, 3, 4).astype(np.float32)
SPD = A @ A.T + 4 * np.eye(4, dtype=np.float32)
PRIME = (_RANDOM.rand(2053) - 0.5 + 1j * _RANDOM.rand(2053)).astype(np.complex64)
T = tf.constant


def _strided_assign() -> tf.Tensor:
    v = tf.Variable(A)
    v[1:2].assign([[9.0, 9.0, 9.0, 9.0]])
    return v.read_value()


def _tensor_array() -> tf.Tensor:
    array = tf.TensorArray(tf.float32, 3, element_shape=[4, 4])
    return array.write(0, T(A)).write(2, T(A) * 2.0).stack()


OPS = {
    "add": lambda: T(B) + 1.5,
    "matmul": lambda: tf.matmul(T(A), T(A), transpose_b=True),
    "matmul_f64": lambda: tf.cast(T(A), tf.float64) @ tf.cast(T(A), tf.float64),
    "matmul_bf16": lambda: tf.cast(T(A), tf.bfloat16) @ tf.cast(T(A), tf.bfloat16),
    "batch_matmul": lambda: tf.matmul(T(B), T(B), transpose_a=True),
    "einsum": lambda: tf.einsum("ij,jk->ik", T(A), T(A)),
    "sum": lambda: tf.reduce_sum(T(B), axis=[0, 2]),
    "mean": lambda: tf.reduce_mean(T(B), axis=1, keepdims=True),
    "max": lambda: tf.reduce_max(T(B), axis=0),
    "prod": lambda: tf.reduce_prod(T(B), axis=-1),
    "all": lambda: tf.reduce_all(T(A) > 0.5, axis=0),
    "logsumexp": lambda: tf.reduce_logsumexp(T(B), axis=-1),
    "unary": lambda: [
        f(T(A)) for f in (tf.exp, tf.math.log, tf.tanh, tf.sin, tf.sqrt, tf.math.erf, tf.sigmoid)
    ],
    "rounding": lambda: [f(T(B) * 7.0) for f in (tf.floor, tf.math.ceil, tf.round, tf.sign)],
    "gather": lambda: tf.gather(T(A), T(INDICES)),
    "gather_axis": lambda: tf.gather(T(B), [1, 0, 2], axis=1),
    "gather_nd": lambda: tf.gather_nd(T(A), [[0, 1], [3, 2]]),
    "scatter_nd": lambda: tf.scatter_nd([[1], [3]], [[1.0, 2.0], [3.0, 4.0]], [5, 2]),
    "tensor_scatter": lambda: tf.tensor_scatter_nd_update(T(A), [[0]], [[1.0, 1.0, 1.0, 1.0]]),
    "one_hot": lambda: tf.one_hot(T(INDICES), 5),
    "cumsum": lambda: tf.cumsum(T(A), axis=1, exclusive=True),
    "argsort": lambda: tf.argsort(T(A), axis=1),
    "sort": lambda: tf.sort(T(A), direction="DESCENDING"),
    "top_k": lambda: list(tf.math.top_k(T(A), 2)),
    "argmax": lambda: tf.argmax(T(A), 1),
    "select": lambda: tf.where(T(A) > 0.5, T(A), -T(A)),
    "where": lambda: tf.where(T(A) > 0.5),
    "boolean_mask": lambda: tf.boolean_mask(T(A), T(A) > 0.5),
    "unique": lambda: list(tf.unique(T([1, 1, 2]))),
    "setdiff": lambda: tf.raw_ops.ListDiff(x=T(INDICES), y=T([1])).out,
    "range": lambda: tf.range(0, 10, 2),
    "range_f32": lambda: tf.range(0.0, 1.0, 0.25),
    "linspace": lambda: tf.linspace(0.0, 1.0, 5),
    "concat": lambda: tf.concat([T(A), T(A) * 2.0], 1),
    "split": lambda: tf.split(T(A), [1, 3]),
    "stack": lambda: tf.stack([T(A), T(A)], axis=1),
    "unstack": lambda: tf.unstack(T(A)),
    "stack_i32": lambda: tf.stack([T(INDICES), T(INDICES)]),
    "pad": lambda: tf.pad(T(A), [[1, 1], [0, 2]]),
    "mirror_pad": lambda: tf.pad(T(A), [[1, 1], [1, 1]], mode="REFLECT"),
    "tile": lambda: tf.tile(T(A), [2, 1]),
    "slice": lambda: T(A)[1:3, ::2],
    "reverse": lambda: tf.reverse(T(B), [1]),
    "roll": lambda: tf.roll(T(A), 1, 0),
    "transpose": lambda: tf.transpose(T(B), [2, 0, 1]),
    "reshape": lambda: tf.reshape(T(B), [5, -1]),
    "expand_squeeze": lambda: tf.squeeze(tf.expand_dims(T(B), 1), [1]),
    "broadcast": lambda: tf.broadcast_to(T(A)[0], [3, 4]),
    "cast_i32": lambda: tf.cast(T(A) * 10.0, tf.int32),
    "cast_i64": lambda: tf.cast(T(INDICES), tf.int64) + 1,
    "bitcast": lambda: tf.bitcast(T(A), tf.int32),
    "i32_arithmetic": lambda: T(INDICES) * T(INDICES) - 3,
    "i32_sum": lambda: tf.reduce_sum(T(INDICES)),
    "i32_compare": lambda: tf.equal(T(INDICES), [3, 0, 2, 1]),
    "u8_arithmetic": lambda: tf.cast(T(INDICES), tf.uint8) + tf.constant(250, tf.uint8),
    "complex": lambda: tf.complex(T(A), -T(A)) * tf.complex(T(A), T(A)),
    "fft": lambda: tf.signal.fft(tf.cast(T(A), tf.complex64)),
    "fft_of_a_large_prime": lambda: tf.signal.fft(PRIME),
    "conv": lambda: tf.nn.conv2d(IMAGE, FILTER, 2, "SAME"),
    "depthwise": lambda: tf.nn.depthwise_conv2d(IMAGE, FILTER, [1, 1, 1, 1], "VALID"),
    "conv_transpose": lambda: tf.nn.conv2d_transpose(
        IMAGE, tf.transpose(FILTER, [0, 1, 3, 2]), [2, 16, 16, 4], 2
    ),
    "max_pool": lambda: tf.nn.max_pool2d(IMAGE, 2, 2, "SAME"),
    "avg_pool": lambda: tf.nn.avg_pool2d(IMAGE, 3, 1, "SAME"),
    "batch_norm": lambda: tf.compat.v1.nn.fused_batch_norm(IMAGE, [1.0, 1.0, 1.0], [0.0, 0.0, 0.0])[
        0
    ],
    "softmax": lambda: tf.nn.softmax(T(A)),
    "cross_entropy": lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(T(INDICES), T(A)),
    "bias_relu": lambda: tf.nn.relu(tf.nn.bias_add(T(B), [0.1, 0.2, 0.3, 0.4, 0.5])),
    "resize": lambda: tf.image.resize(IMAGE, [4, 5]),
    "crop_and_resize": lambda: tf.image.crop_and_resize(IMAGE, [[0.1, 0.0, 1.0, 0.9]], [1], [4, 4]),
    "non_max_suppression": lambda: tf.image.non_max_suppression(
        [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9]], [1.0, 0.5], 2
    ),
    "inverse": lambda: tf.linalg.inv(T(SPD)),
    "cholesky": lambda: tf.linalg.cholesky(T(SPD)),
    "triangular_solve": lambda: tf.linalg.triangular_solve(tf.linalg.cholesky(T(SPD)), T(A)),
    "singular_values": lambda: tf.linalg.svd(T(A), compute_uv=False),
    "qr": lambda: tf.abs(tf.linalg.qr(T(A))[1]),
    "band_part": lambda: tf.linalg.band_part(T(A), 1, 0),
    "diag": lambda: tf.linalg.diag(T(A)[0]),
    "segment_sum": lambda: tf.math.unsorted_segment_sum(T(A), T(INDICES), 4),
    "bincount": lambda: tf.math.bincount(T(INDICES)),
    "histogram": lambda: tf.histogram_fixed_width(T(A), [0.0, 1.0]),
    "shape": lambda: [tf.shape(T(B)), tf.size(T(B)), tf.rank(T(B))],
    "empty": lambda: T(np.zeros((0, 4), np.float32)) * 2.0,
    "cond": lambda: tf.cond(T(True), lambda: T(A), lambda: -T(A)),
    "while": lambda: tf.while_loop(lambda i, x: i < 3, lambda i, x: [i + 1, x * 2.0], [T(0), T(A)]),
    "map_fn": lambda: tf.map_fn(lambda x: x * 2.0, T(A)),
    "tensor_array": _tensor_array,
    "strings": lambda: tf.strings.length(tf.strings.join([T("hello"), T("xpu")])),
    "to_number": lambda: tf.strings.to_number(tf.strings.as_string(T(INDICES))),
    "py_function": lambda: tf.numpy_function(lambda x: x * 2, [T(A)], tf.float32),
    "dawsn": lambda: tf.math.special.dawsn(tf.cast(T(A), tf.float64)),
    "betainc": lambda: tf.math.betainc(T(A), T(A), T(A)),
    "ragged": lambda: tf.RaggedTensor.from_row_lengths(T([1.0, 2.0, 3.0]), [1, 2]).to_tensor(),
    "sparse": lambda: tf.sparse.to_dense(tf.sparse.from_dense(T(A))),
    "check_numerics": lambda: tf.debugging.check_numerics(T(A), "finite"),
    "strided_assign": _strided_assign,
}

# What cannot be one compiled program: results of data-dependent size, strings, Python, no
# translation in XLA.
NOT_IN_PROGRAMS = {
    "where", "boolean_mask", "unique", "setdiff", "crop_and_resize", "non_max_suppression",
    "strings", "to_number", "py_function", "ragged", "sparse", "bincount", "histogram",
    "strided_assign",
}  # fmt: skip
# Variables are made once, outside of functions.
EAGER_ONLY = {"strided_assign"}

# Ops whose results are of long chains of operations, in units of compare.ULPS: decompositions in
# single precision.
ULPS = {
    "inverse": 512,
    "singular_values": 512,
    "qr": 512,
    "cholesky": 256,
    "triangular_solve": 512,
    "betainc": 4096,
}
