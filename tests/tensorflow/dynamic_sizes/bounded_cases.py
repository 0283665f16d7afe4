"""Ops with an operand whose size is known only at run time: every kind of op, each as a function.

A case gets ``v``, the rows of a matrix that a mask selects (``[<=N, K]``), and ``e``, an object
with the operands that other ops need. It returns tensors of any size.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import tensorflow as tf

N, K = 7, 3


@dataclasses.dataclass
class Operands:
    """What a case may use besides the selected rows."""

    x: Any  # the matrix that rows are selected from, [N, K]
    mask: Any  # which rows, [N]
    w: Any  # [K, 4]
    r: Any  # a row, [K]

    @property
    def rows(self) -> Any:
        """The indices of the selected rows, [<=N]."""
        return tf.reshape(tf.where(self.mask), [-1])

    @property
    def ids(self) -> Any:
        """A segment for each selected row, [<=N], in no order."""
        return tf.cast(self.rows * 3 % 5, tf.int32)


Case = Callable[[Any, Operands], Any]
CASES: dict[str, Case] = {}
# Cases without a gradient, or whose results are integers.
VALUES_ONLY: set[str] = set()
# Cases that are rejected, with the op that the message names.
REJECTED: dict[str, tuple[str, Case]] = {
    "Unique": ("Unique", lambda v, e: tf.unique(tf.cast(v[:, 0] * 2, tf.int32))),
    "Roll": ("Roll", lambda v, e: tf.roll(v, 2, 0)),
    "MirrorPad": ("MirrorPad", lambda v, e: tf.pad(v, [[0, 0], [1, 1]], "REFLECT")),
    "MatrixDiag": ("MatrixDiagV3", lambda v, e: tf.linalg.diag(v[:, 0])),
    "AvgPool": ("AvgPool", lambda v, e: tf.nn.avg_pool1d(v[None], 2, 1, "SAME")),
    "FusedBatchNorm": (
        "FusedBatchNormV3",
        lambda v, e: tf.compat.v1.nn.fused_batch_norm(
            v[:, None, None, :], e.r, e.r, is_training=True
        ),
    ),
    "TensorStridedSliceUpdate": (
        "TensorStridedSliceUpdate",
        lambda v, e: tf.raw_ops.TensorStridedSliceUpdate(
            input=tf.zeros_like(e.x[:, 0]),
            begin=[0],
            end=[e.x.shape[0]],
            strides=[1],
            value=v[:, 0],
        ),
    ),
    "FFT": (
        "FFT",
        lambda v, e: tf.abs(tf.signal.fft(tf.cast(tf.transpose(v), tf.complex64))),
    ),
}


def case(name: str, function: Case, *, gradient: bool = True) -> None:
    CASES[name] = function
    if not gradient:
        VALUES_ONLY.add(name)


for _name in (
    "abs",
    "negative",
    "exp",
    "tanh",
    "sigmoid",
    "square",
    "rsqrt",
    "log1p",
    "sin",
    "floor",
    "sign",
    "erf",
):
    f = getattr(tf.math, _name)
    case(_name, lambda v, e, f=f: f(tf.abs(v) + 0.1))
for _name in (
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "minimum",
    "squared_difference",
    "atan2",
    "pow",
):
    f = getattr(tf.math, _name)
    case(f"{_name} of a scalar", lambda v, e, f=f: f(tf.abs(v) + 0.1, 1.5))
    case(f"{_name} of a row", lambda v, e, f=f: f(tf.abs(v) + 0.1, tf.abs(e.r) + 0.1))
    case(f"{_name} of two", lambda v, e, f=f: f(tf.abs(v) + 0.1, tf.abs(tf.sin(v)) + 0.1))
    case(
        f"{_name} of a column",
        lambda v, e, f=f: f(tf.abs(v) + 0.1, tf.reduce_sum(tf.abs(v), 1, keepdims=True) + 0.1),
    )
for _name in ("equal", "less", "greater_equal", "floormod"):
    f = getattr(tf.math, _name)
    case(f"{_name} of a row", lambda v, e, f=f: f(v, e.r), gradient=False)
case("where of three", lambda v, e: tf.where(v > 0, v, v * 2))
case("where with a row", lambda v, e: tf.where(v > 0, v, e.r))
case("clip_by_value", lambda v, e: tf.clip_by_value(v, -0.5, 0.5))
case("cast", lambda v, e: tf.cast(v, tf.float64))
case("cast to int", lambda v, e: tf.cast(v * 10, tf.int32), gradient=False)
case("bitcast", lambda v, e: tf.bitcast(v, tf.int32), gradient=False)
case("ones_like", lambda v, e: tf.ones_like(v) * 2)
case("zeros_like", lambda v, e: tf.zeros_like(v) + 2)
case("fill of the shape", lambda v, e: tf.fill(tf.shape(v), 2.0) * v)
case("shape", lambda v, e: tf.shape(v), gradient=False)
case("size", lambda v, e: tf.size(v), gradient=False)

for _name in ("sum", "prod", "max", "min", "mean", "logsumexp", "std", "variance"):
    f = getattr(tf.math, f"reduce_{_name}")
    for axis in (None, 0, 1):
        case(f"reduce_{_name} of axis {axis}", lambda v, e, f=f, axis=axis: f(v, axis))
    case(f"reduce_{_name} of axis 0, kept", lambda v, e, f=f: f(v, 0, keepdims=True))
    case(
        f"reduce_{_name} of the last axis of a transposed", lambda v, e, f=f: f(tf.transpose(v), 1)
    )
    case(f"reduce_{_name} of rank 1", lambda v, e, f=f: f(v[:, 0]))
for _name in ("all", "any"):
    f = getattr(tf.math, f"reduce_{_name}")
    for axis in (None, 0, 1):
        case(
            f"reduce_{_name} of axis {axis}",
            lambda v, e, f=f, axis=axis: f(v > 0, axis),
            gradient=False,
        )
        case(
            f"reduce_{_name} of not, axis {axis}",
            lambda v, e, f=f, axis=axis: f(v < 9, axis),
            gradient=False,
        )
for _name in ("argmax", "argmin"):
    f = getattr(tf.math, _name)
    for axis in (0, 1):
        case(f"{_name} of axis {axis}", lambda v, e, f=f, axis=axis: f(v, axis), gradient=False)
    case(f"{_name} of less than nothing", lambda v, e, f=f: f(-9 - tf.abs(v), 0), gradient=False)
    case(f"{_name} of ints", lambda v, e, f=f: f(tf.cast(v * 10, tf.int32), 0), gradient=False)
case("count_nonzero", lambda v, e: tf.math.count_nonzero(v > 0, 0), gradient=False)
case("max of negatives", lambda v, e: tf.reduce_max(-9 - tf.abs(v), 0))
case(
    "max of ints",
    lambda v, e: tf.reduce_max(tf.cast(-9 - tf.abs(v) * 10, tf.int32), 0),
    gradient=False,
)
case(
    "min of unsigned",
    lambda v, e: tf.reduce_min(tf.cast(tf.abs(v) * 10 + 3, tf.uint8), 0),
    gradient=False,
)
case("moments", lambda v, e: tf.nn.moments(v, 0))
case("norm", lambda v, e: tf.norm(v))
case("norm of columns", lambda v, e: tf.norm(v, axis=0, ord=1))
case("l2_normalize", lambda v, e: tf.nn.l2_normalize(v, 0))
case("l2_loss", lambda v, e: tf.nn.l2_loss(v))
case("zero_fraction", lambda v, e: tf.nn.zero_fraction(tf.nn.relu(v)), gradient=False)

for axis in (0, 1):
    case(f"softmax of axis {axis}", lambda v, e, axis=axis: tf.nn.softmax(v, axis))
    case(f"log_softmax of axis {axis}", lambda v, e, axis=axis: tf.nn.log_softmax(v, axis))
    for options in (
        {},
        {"exclusive": True},
        {"reverse": True},
        {"exclusive": True, "reverse": True},
    ):
        text = " ".join(options)
        case(f"cumsum of axis {axis} {text}", lambda v, e, a=axis, o=options: tf.cumsum(v, a, **o))
        case(
            f"cumprod of axis {axis} {text}",
            lambda v, e, a=axis, o=options: tf.math.cumprod(v, a, **o),
        )
    case(
        f"cumulative_logsumexp of axis {axis}",
        lambda v, e, a=axis: tf.math.cumulative_logsumexp(v, a),
    )
    case(f"reverse of axis {axis}", lambda v, e, axis=axis: tf.reverse(v, [axis]))
    for direction in ("ASCENDING", "DESCENDING"):
        case(
            f"sort of axis {axis} {direction}",
            lambda v, e, a=axis, d=direction: tf.sort(v, a, d),
            gradient=False,
        )
        case(
            f"argsort of axis {axis} {direction}",
            lambda v, e, a=axis, d=direction: tf.argsort(v, a, d),
            gradient=False,
        )
    case(f"concat with itself, axis {axis}", lambda v, e, axis=axis: tf.concat([v, v * 2], axis))
case("roll of axis 1", lambda v, e: tf.roll(v, 2, 1))
case("reverse of both", lambda v, e: tf.reverse(v, [0, 1]))
case("sort of ints", lambda v, e: tf.sort(tf.cast(v * 10, tf.int32), 0), gradient=False)
case("sort of rank 1", lambda v, e: tf.sort(v[:, 0]), gradient=False)
case("top_k of 1 in columns", lambda v, e: tf.math.top_k(tf.transpose(v), 1), gradient=False)
case("top_k in rows", lambda v, e: tf.math.top_k(v, 2), gradient=False)
case("in_top_k", lambda v, e: tf.math.in_top_k(e.ids % K, v, 2), gradient=False)
case("concat of a static before", lambda v, e: tf.concat([e.x[:2], v], 0))
case("concat of a static after", lambda v, e: tf.concat([v, e.x[:2]], 0))
case("concat of three", lambda v, e: tf.concat([v, e.x[:2], v * 3], 0))
case("stack", lambda v, e: tf.stack([v, v * 2], 0))
case("stack of the last", lambda v, e: tf.stack([v, v * 2], 2))
case("unstack", lambda v, e: tf.unstack(v, axis=1))
case("split", lambda v, e: tf.split(v, [1, 2], axis=1))
case("tile of rows", lambda v, e: tf.tile(v, [2, 1]))
case("tile of columns", lambda v, e: tf.tile(v, [1, 2]))
case("repeat of columns", lambda v, e: tf.repeat(v, 2, axis=1))
case("transpose", lambda v, e: tf.transpose(v))
case("expand_dims first", lambda v, e: tf.expand_dims(v, 0))
case("expand_dims last", lambda v, e: tf.expand_dims(v, 2))
case("squeeze", lambda v, e: tf.squeeze(tf.expand_dims(v, 1), 1))
case("reshape flat", lambda v, e: tf.reshape(v, [-1]))
case("reshape split", lambda v, e: tf.reshape(tf.reshape(v, [-1]), [-1, K]))
case("reshape of columns", lambda v, e: tf.reshape(tf.transpose(v), [-1]))
case("reshape to the shape", lambda v, e: tf.reshape(v, [tf.shape(v)[0], K, 1]))
case("reshape by tensors", lambda v, e: tf.reshape(v, [tf.shape(v)[0] * K]))
case("pad of rows", lambda v, e: tf.pad(v, [[1, 2], [0, 0]], constant_values=5.0))
case("pad of columns", lambda v, e: tf.pad(v, [[0, 0], [1, 1]]))
case("slice of columns", lambda v, e: v[:, 1:])
case("column", lambda v, e: v[:, 1])
case("first row", lambda v, e: v[0])
case("last row", lambda v, e: v[-1])
case("rows from the second", lambda v, e: v[1:])
case("rows but the last", lambda v, e: v[:-1])
case("rows up to the second", lambda v, e: v[:2])
case("last two rows", lambda v, e: v[-2:])
case("rows between", lambda v, e: v[1:-1])
case("every other row backwards", lambda v, e: v[-1:0:-2])
case("last row and a column", lambda v, e: v[-1, 1:])
case("rows backwards", lambda v, e: v[::-1])
case("every other row", lambda v, e: v[::2])
case("columns backwards", lambda v, e: v[:, ::-1])
case("new axis", lambda v, e: v[:, tf.newaxis] * v[tf.newaxis])
case("broadcast_to", lambda v, e: tf.broadcast_to(v[tf.newaxis], tf.concat([[2], tf.shape(v)], 0)))

case("gather of the first", lambda v, e: tf.gather(v, [0, 0]))
case("gather of columns", lambda v, e: tf.gather(v, [2, 0], axis=1))
case("gather by bounded indices", lambda v, e: tf.gather(e.x, e.rows))
case("gather by sorted order", lambda v, e: tf.gather(v, tf.argsort(v[:, 0])))
case("gather_nd", lambda v, e: tf.gather_nd(e.x, tf.where(e.x > 0)))
case("batched gather", lambda v, e: tf.gather(v, e.ids % K, batch_dims=1))
case("embedding_lookup", lambda v, e: tf.nn.embedding_lookup(e.x, e.ids))
case("scatter_nd", lambda v, e: tf.scatter_nd(e.rows[:, None], v, [N, K]))
case("scatter_nd of equal indices", lambda v, e: tf.scatter_nd(e.ids[:, None], v, [N, K]))
case("scatter_nd of scalars", lambda v, e: tf.scatter_nd(e.ids[:, None], v[:, 0], [N]))
case("tensor_scatter_nd_add", lambda v, e: tf.tensor_scatter_nd_add(e.x, e.ids[:, None], v))
case("tensor_scatter_nd_update", lambda v, e: tf.tensor_scatter_nd_update(e.x, e.rows[:, None], v))
case(
    "tensor_scatter_nd_max",
    lambda v, e: tf.tensor_scatter_nd_max(e.x, e.ids[:, None], v),
    gradient=False,
)
case(
    "tensor_scatter_nd_min",
    lambda v, e: tf.tensor_scatter_nd_min(e.x, e.ids[:, None], v),
    gradient=False,
)
case("scatter into bounded", lambda v, e: tf.tensor_scatter_nd_add(v, [[0]], [e.r]))
for _name in ("sum", "prod", "max", "min", "mean", "sqrt_n"):
    f = getattr(tf.math, f"unsorted_segment_{_name}")
    case(f"unsorted_segment_{_name}", lambda v, e, f=f: f(v, e.ids, 5))
    case(f"unsorted_segment_{_name} of rank 1", lambda v, e, f=f: f(v[:, 0], e.ids, 5))
case(
    "unsorted_segment_sum of ints",
    lambda v, e: tf.math.unsorted_segment_sum(tf.cast(v * 10, tf.int32), e.ids, 5),
    gradient=False,
)
case(
    "unsorted_segment_sum of matrices of indices",
    lambda v, e: tf.math.unsorted_segment_sum(v, tf.stack([e.ids] * K, 1), 5),
)
case("one_hot", lambda v, e: tf.one_hot(e.ids, 5), gradient=False)
case("one_hot product", lambda v, e: tf.matmul(tf.one_hot(e.ids, 5), v, transpose_a=True))
case("bincount", lambda v, e: tf.math.bincount(e.ids, minlength=5, maxlength=5), gradient=False)
case("searchsorted", lambda v, e: tf.searchsorted(tf.sort(e.x[:, 0]), v[:, 0]), gradient=False)
case(
    "range of the size", lambda v, e: tf.cast(tf.range(tf.shape(v)[0]), tf.float32), gradient=False
)
case("sequence_mask", lambda v, e: tf.sequence_mask(e.ids, 5), gradient=False)

case("matmul", lambda v, e: tf.matmul(v, e.w))
case("matmul of transposed", lambda v, e: tf.matmul(e.w, v, transpose_a=True, transpose_b=True))
case("Gram matrix of columns", lambda v, e: tf.matmul(v, v, transpose_a=True))
case("Gram matrix of rows", lambda v, e: tf.matmul(v, v, transpose_b=True))
case(
    "covariance",
    lambda v, e: tf.matmul(v - tf.reduce_mean(v, 0), v - tf.reduce_mean(v, 0), transpose_a=True),
)
case("einsum", lambda v, e: tf.einsum("ni,nj->ij", v, tf.sin(v)))
case("einsum of rows", lambda v, e: tf.einsum("ni,ni->n", v, tf.sin(v)))
case("einsum of all", lambda v, e: tf.einsum("ni,mi->", v, tf.sin(v)))
case("tensordot", lambda v, e: tf.tensordot(v, v, [[0], [0]]))
case("inner product", lambda v, e: tf.tensordot(v[:, 0], v[:, 1], 1))
case(
    "batches of matrices",
    lambda v, e: tf.matmul(v[:, :, None] * e.r, v[:, None, :] + e.w[:, :1], transpose_b=True),
)
case("matvec", lambda v, e: tf.linalg.matvec(v, e.r))
case("matvec of transposed", lambda v, e: tf.linalg.matvec(v, v[:, 0], transpose_a=True))
case("attention", lambda v, e: tf.matmul(tf.nn.softmax(tf.matmul(v, v, transpose_b=True)), v))
case(
    "attention of batches",
    lambda v, e: tf.matmul(
        tf.nn.softmax(tf.matmul(tf.stack([v, v * 2]), tf.stack([v, v]), transpose_b=True)),
        tf.stack([v, v]),
    ),
)
case("bias_add", lambda v, e: tf.nn.bias_add(v, e.r))
case("dense layer", lambda v, e: tf.nn.relu(tf.nn.bias_add(tf.matmul(v, e.w), e.w[0])))

case(
    "layer normalisation",
    lambda v, e: (
        (v - tf.reduce_mean(v, 1, keepdims=True))
        * tf.math.rsqrt(tf.math.reduce_variance(v, 1, keepdims=True) + 0.1)
    ),
)
case(
    "softmax cross entropy",
    lambda v, e: tf.nn.softmax_cross_entropy_with_logits(tf.nn.softmax(tf.sin(v)), v),
)
case(
    "sparse softmax cross entropy",
    lambda v, e: tf.nn.sparse_softmax_cross_entropy_with_logits(e.ids % K, v),
)
case(
    "mean of cross entropies",
    lambda v, e: tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(e.ids % K, v)),
)
case(
    "sigmoid cross entropy", lambda v, e: tf.nn.sigmoid_cross_entropy_with_logits(tf.sigmoid(v), v)
)
case("mean squared error", lambda v, e: tf.reduce_mean(tf.square(v - e.r)))
case("dropout of nothing", lambda v, e: tf.nn.dropout(v, 0.0))

case(
    "conv1d of batches",
    lambda v, e: tf.nn.conv1d(v[:, :, None], e.w[:2, :, None][:, :1], 1, "SAME"),
)
case(
    "conv1d over the bounded, SAME",
    lambda v, e: tf.nn.conv1d(v[None], e.w[None] * tf.ones([2, 1, 1]), 1, "SAME"),
)
case(
    "conv1d over the bounded, VALID",
    lambda v, e: tf.nn.conv1d(v[None], e.w[None] * tf.ones([1, 1, 1]), 1, "VALID"),
)
case(
    "conv2d of batches",
    lambda v, e: tf.nn.conv2d(
        v[:, :, None, None] * e.r[:, None], e.w[:2, :, None, None][:, :2], 1, "SAME"
    ),
)
case("max_pool of batches", lambda v, e: tf.nn.max_pool1d(v[:, :, None], 2, 1, "SAME"))
case("avg_pool of batches", lambda v, e: tf.nn.avg_pool1d(v[:, :, None], 2, 1, "SAME"))
case("max_pool over the bounded", lambda v, e: tf.nn.max_pool1d(v[None], 2, 1, "SAME"))
case("max_pool over the bounded, VALID", lambda v, e: tf.nn.max_pool1d(v[None], 1, 1, "VALID"))
case(
    "depthwise conv of batches",
    lambda v, e: tf.nn.depthwise_conv2d(
        v[:, :, None, None] * e.r,
        e.w[:2, :3, None, None] * tf.ones([1, 1, 3, 1]),
        [1, 1, 1, 1],
        "SAME",
    ),
)


def _identity(size: Any) -> Any:
    return tf.cast(tf.range(size)[:, None] == tf.range(size)[None], tf.float32)


def _matrices(v: Any) -> Any:
    return v[:, :, None] * v[:, None, :] + 2 * tf.eye(K)


case("cholesky of batches", lambda v, e: tf.linalg.cholesky(_matrices(v)))
case("inverse of batches", lambda v, e: tf.linalg.inv(_matrices(v)))
case("det of batches", lambda v, e: tf.linalg.det(_matrices(v)))
case("solve of batches", lambda v, e: tf.linalg.solve(_matrices(v), v[:, :, None]))
case(
    "triangular_solve of batches",
    lambda v, e: tf.linalg.triangular_solve(_matrices(v), v[:, :, None]),
)
case(
    "triangular_solve of many",
    lambda v, e: tf.linalg.triangular_solve(2 * tf.eye(K) + 0.1, tf.transpose(v)),
)
case("eigvalsh of batches", lambda v, e: tf.linalg.eigvalsh(_matrices(v)))
case("qr of batches", lambda v, e: tf.abs(tf.linalg.qr(_matrices(v))[1]))
case("svd of batches", lambda v, e: tf.linalg.svd(_matrices(v), compute_uv=False))
case(
    "cholesky of the Gram matrix",
    lambda v, e: tf.linalg.cholesky(tf.matmul(v, v, transpose_a=True) + tf.eye(K)),
)
case(
    "cholesky of the rows' Gram matrix",
    lambda v, e: tf.linalg.cholesky(tf.matmul(v, v, transpose_b=True) + _identity(tf.shape(v)[0])),
    gradient=False,
)
case(
    "solve of least squares",
    lambda v, e: tf.linalg.solve(
        tf.matmul(v, v, transpose_a=True) + tf.eye(K), tf.matmul(v, v[:, :1], transpose_a=True)
    ),
)
case("diag", lambda v, e: tf.linalg.diag(v))
case("diag_part of batches", lambda v, e: tf.linalg.diag_part(_matrices(v)))
case("band_part of batches", lambda v, e: tf.linalg.band_part(_matrices(v), 0, -1))
case("trace of batches", lambda v, e: tf.linalg.trace(_matrices(v)))
case("cross", lambda v, e: tf.linalg.cross(v, tf.sin(v)))
case("fft of rows", lambda v, e: tf.abs(tf.signal.fft(tf.cast(v, tf.complex64))))
case("rfft of rows", lambda v, e: tf.math.real(tf.signal.rfft(v)))

case("boolean_mask again", lambda v, e: tf.boolean_mask(v, v[:, 0] > 0))
case("where again", lambda v, e: tf.where(v > 0), gradient=False)
case("dynamic_partition", lambda v, e: tf.dynamic_partition(v, e.ids % 2, 2))
case(
    "dynamic_stitch of columns",
    lambda v, e: tf.dynamic_stitch([[2, 0], 1], [tf.transpose(v)[:2], v[:, 2]]),
)
case(
    "cond of the size",
    lambda v, e: tf.cond(
        tf.shape(v)[0] > 2, lambda: tf.reduce_sum(v, 0), lambda: tf.reduce_max(v, 0)
    ),
)
case(
    "cond with bounded results",
    lambda v, e: tf.cond(tf.shape(v)[0] > 2, lambda: v * 2, lambda: v + 1),
)
case(
    "while over bounded",
    lambda v, e: tf.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y) + v), (0, v), maximum_iterations=3
    )[1],
)
case(
    "while with a sum",
    lambda v, e: tf.while_loop(
        lambda i, y: i < 3,
        lambda i, y: (i + 1, y + tf.reduce_sum(v * y, 0)),
        (0, e.r),
        maximum_iterations=3,
    )[1],
)
case("map_fn", lambda v, e: tf.map_fn(lambda r: tf.sin(r) * e.r, v))
case("vectorized_map", lambda v, e: tf.vectorized_map(lambda r: tf.sin(r) * e.r, v))
case("scan", lambda v, e: tf.scan(lambda a, r: a * 0.5 + r, v, tf.zeros([K])))
case("foldl", lambda v, e: tf.foldl(lambda a, r: a * 0.5 + r, v, tf.zeros([K])))
case("random of the shape", lambda v, e: tf.random.stateless_uniform(tf.shape(v), [1, 2]) * 0 + v)
case("meshgrid", lambda v, e: tf.meshgrid(v[:, 0], v[:, 1]))
case("pairwise distances", lambda v, e: tf.reduce_sum(tf.square(v[:, None] - v[None]), 2))
case("nearest", lambda v, e: tf.reduce_min(tf.reduce_sum(tf.square(v[:, None] - e.x[None]), 2), 0))
case(
    "nearest of all",
    lambda v, e: tf.argmin(tf.reduce_sum(tf.square(v[:, None] - e.x[None]), 2), 1),
    gradient=False,
)
case("median", lambda v, e: tf.sort(v[:, 0])[tf.shape(v)[0] // 2], gradient=False)
case(
    "quantile of the last",
    lambda v, e: tf.gather(tf.sort(v, 0), tf.shape(v)[0] - 1),
    gradient=False,
)
case("checksum", lambda v, e: tf.reduce_sum(tf.bitcast(v, tf.int32)), gradient=False)
case("bfloat16", lambda v, e: tf.cast(tf.reduce_max(tf.cast(v, tf.bfloat16), 0), tf.float32))
case("complex", lambda v, e: tf.math.real(tf.reduce_sum(tf.complex(v, v * 2), 0)))
case(
    "strings of ops",
    lambda v, e: tf.reduce_sum(
        tf.cumsum(tf.reverse(tf.sort(v, 0), [0]), 0) * tf.nn.softmax(v, 0), 0
    ),
    gradient=False,
)
