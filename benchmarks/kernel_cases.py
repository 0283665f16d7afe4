"""The most used ops that XLA has no form for: SYCL kernels on xpu, TensorFlow's own kernels on its
CPU device.

Inputs have a million elements and are on their device before the clock starts; it stops when the
results are there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from cases import Case, Run

R = tf.raw_ops
Op = Callable[[], Any]

N = 1 << 20
# A sparse matrix of N elements.
ROWS, COLUMNS = 1 << 14, 1 << 12


def _random() -> np.random.Generator:
    return np.random.default_rng(0)


def _floats(*shape: int) -> tf.Tensor:
    return tf.constant(_random().standard_normal(shape, np.float32))


def _integers(
    high: int, *shape: int, dtype: tf.DType = tf.int32, ascending: bool = False
) -> tf.Tensor:
    values = _random().integers(0, high, shape)
    # Constants of 32 bits stay on the host.
    return tf.cast(tf.constant(np.sort(values) if ascending else values), dtype)


def _cells(in_order: bool = True) -> tf.Tensor:
    """Coordinates of N places of the sparse matrix, no two of them the same."""
    places = _random().permutation(ROWS * COLUMNS)[:N]
    places = np.sort(places) if in_order else places
    return tf.constant(np.stack(np.unravel_index(places, (ROWS, COLUMNS)), 1))


def _host(value: Any, dtype: tf.DType = tf.int64) -> tf.Tensor:
    """What a kernel reads on the host: on xpu, too, the ops' shapes and sizes are there."""
    with tf.device("/CPU:0"):
        return tf.constant(value, dtype)


def _shape() -> tf.Tensor:
    return _host([ROWS, COLUMNS])


def _where() -> Op:
    x = tf.constant(_random().uniform(size=N) < 0.5)
    return lambda: R.Where(condition=x)


def _unique(kinds: int) -> Op:
    x = _integers(kinds, N)
    return lambda: R.Unique(x=x)


def _unique_with_counts(kinds: int) -> Op:
    x = _integers(kinds, N, dtype=tf.int64)
    return lambda: R.UniqueWithCounts(x=x)


def _dynamic_partition(columns: int) -> Op:
    x, partitions = _floats(N // columns, columns), _integers(8, N // columns)
    x = tf.reshape(x, [N]) if columns == 1 else x
    return lambda: R.DynamicPartition(data=x, partitions=partitions, num_partitions=8)


def _boxes() -> tuple[tf.Tensor, tf.Tensor]:
    random = _random()
    corners, sizes = random.uniform(0, 1, (N // 4, 2)), random.uniform(0.01, 0.1, (N // 4, 2))
    boxes = tf.constant(np.concatenate([corners, corners + sizes], 1).astype(np.float32))
    return boxes, tf.constant(random.uniform(size=N // 4).astype(np.float32))


def _non_max_suppression(op: str) -> Op:
    boxes, scores = _boxes()
    most, limits = _host(1000, tf.int32), _host([0.5, 0.1], tf.float32)
    with tf.device("/CPU:0"):
        iou, score = tf.unstack(limits)
    return lambda: getattr(R, op)(
        boxes=boxes, scores=scores, max_output_size=most, iou_threshold=iou, score_threshold=score
    )


def _segment(op: str) -> Op:
    x, segments = _floats(N // 16, 16), _integers(4096, N // 16, ascending=True)
    return lambda: getattr(R, op)(data=x, segment_ids=segments)


def _sparse_segment(op: str) -> Op:
    x, segments = _floats(N // 16, 16), _integers(4096, N // 16, ascending=True)
    indices = _integers(N // 16, N // 16)
    return lambda: getattr(R, op)(data=x, indices=indices, segment_ids=segments)


def _sparse_segment_grad(op: str) -> Op:
    slopes, segments = _floats(4096, 16), _integers(4096, N // 16, ascending=True)
    indices = _integers(N // 16, N // 16)
    rows = _host(N // 16, tf.int32)
    return lambda: getattr(R, op)(
        grad=slopes, indices=indices, segment_ids=segments, dense_output_dim0=rows
    )


def _sparse_matmul() -> Op:
    cells, values, dense, shape = _cells(), _floats(N), _floats(COLUMNS, 16), _shape()
    return lambda: R.SparseTensorDenseMatMul(
        a_indices=cells, a_values=values, a_shape=shape, b=dense
    )


def _sparse_reorder() -> Op:
    cells, values, shape = _cells(in_order=False), _floats(N), _shape()
    return lambda: R.SparseReorder(input_indices=cells, input_values=values, input_shape=shape)


def _sparse_reshape() -> Op:
    cells, shape, new_shape = _cells(), _shape(), _host([ROWS // 16, -1])
    return lambda: R.SparseReshape(input_indices=cells, input_shape=shape, new_shape=new_shape)


def _sparse_slice() -> Op:
    cells, values, shape = _cells(), _floats(N), _shape()
    start, size = _host([ROWS // 4, COLUMNS // 4]), _host([ROWS // 2, COLUMNS // 2])
    return lambda: R.SparseSlice(indices=cells, values=values, shape=shape, start=start, size=size)


def _sparse_concat() -> Op:
    cells, values, shape = _cells(), _floats(N), _shape()
    return lambda: R.SparseConcat(
        indices=[cells] * 2, values=[values] * 2, shapes=[shape] * 2, concat_dim=1
    )


def _sparse_split() -> Op:
    cells, values, shape, dimension = _cells(), _floats(N), _shape(), _host(1)
    return lambda: R.SparseSplit(
        split_dim=dimension, indices=cells, values=values, shape=shape, num_split=4
    )


def _fill_empty_rows() -> Op:
    places = np.sort(_random().integers(0, 2 * N, N))
    cells, values = tf.constant(np.stack([places, places * 0], 1)), _floats(N)
    shape, default = _host([2 * N, 1]), tf.constant(0.0)
    return lambda: R.SparseFillEmptyRows(
        indices=cells, values=values, dense_shape=shape, default_value=default
    )


def _fill_empty_rows_grad() -> Op:
    places, slopes = tf.constant(np.sort(_random().permutation(2 * N)[:N])), _floats(2 * N)
    return lambda: R.SparseFillEmptyRowsGrad(reverse_index_map=places, grad_values=slopes)


def _sparse_apply(op: str, slots: list[str], scalars: dict[str, float]) -> Op:
    variables = {name: tf.Variable(tf.ones([N // 16, 16])) for name in ["var", *slots]}
    slopes, rows = _floats(N // 16, 16), _integers(N // 16, N // 16)
    factors = {name: tf.constant(value) for name, value in scalars.items()}
    handles = {name: variable.handle for name, variable in variables.items()}

    def run() -> Any:
        getattr(R, op)(**handles, **factors, grad=slopes, indices=rows)
        return variables  # lives as long as the handles

    return run


def _images() -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    corners = _random().uniform(0, 0.5, (64, 2))
    boxes = tf.constant(np.concatenate([corners, corners + 0.5], 1).astype(np.float32))
    return _floats(4, 128, 128, 16), boxes, _integers(4, 64)


def _crop_and_resize() -> Op:
    (images, boxes, which), size = _images(), _host([32, 32], tf.int32)
    return lambda: R.CropAndResize(image=images, boxes=boxes, box_ind=which, crop_size=size)


def _crop_and_resize_grad_image() -> Op:
    images, boxes, which = _images()
    slopes, size = _floats(64, 32, 32, 16), _host(images.shape, tf.int32)
    return lambda: R.CropAndResizeGradImage(
        grads=slopes, boxes=boxes, box_ind=which, image_size=size, T=tf.float32
    )


def _crop_and_resize_grad_boxes() -> Op:
    images, boxes, which = _images()
    slopes = _floats(64, 32, 32, 16)
    return lambda: R.CropAndResizeGradBoxes(grads=slopes, image=images, boxes=boxes, box_ind=which)


def _multinomial() -> Op:
    logits, samples = _floats(64, N // 64), _host(256, tf.int32)
    return lambda: R.Multinomial(logits=logits, num_samples=samples, seed=1, seed2=2)


def _random_numbers(op: str) -> Op:
    shape = _host([N])
    return lambda: getattr(R, op)(shape=shape, dtype=tf.float32, seed=1, seed2=2)


def _stateless(op: str, **given: Any) -> Op:
    key, counter = tf.constant([7], tf.uint64), tf.constant([1, 2], tf.uint64)
    shape, philox = _host([N]), _host(1, tf.int32)
    return lambda: getattr(R, op)(shape=shape, key=key, counter=counter, alg=philox, **given)


def _stateless_integers() -> Op:
    return _stateless("StatelessRandomUniformIntV2", minval=_host(0), maxval=_host(1000))


def _stateless_gamma() -> Op:
    return _stateless("StatelessRandomGammaV3", alpha=tf.constant(2.5))


def _histogram() -> Op:
    x, limits, bins = _floats(N), _host([-3.0, 3.0], tf.float32), _host(100, tf.int32)
    return lambda: R.HistogramFixedWidth(values=x, value_range=limits, nbins=bins)


def _csr() -> tf.Tensor:
    return R.SparseTensorToCSRSparseMatrix(
        indices=_cells(), values=_floats(N), dense_shape=_shape()
    )


def _to_csr() -> Op:
    cells, values, shape = _cells(), _floats(N), _shape()
    return lambda: R.SparseTensorToCSRSparseMatrix(indices=cells, values=values, dense_shape=shape)


def _csr_transpose() -> Op:
    matrix = _csr()
    return lambda: R.SparseMatrixTranspose(input=matrix, type=tf.float32)


def _csr_matmul() -> Op:
    matrix, dense = _csr(), _floats(COLUMNS, 16)
    return lambda: R.SparseMatrixMatMul(a=matrix, b=dense)


_RATE = {"lr": 0.01}

# What a row says: how to make the op with its operands on the device in scope.
_OPS: dict[str, Callable[[], Op]] = {
    "Where, half": _where,
    "Unique of 1000 kinds": functools.partial(_unique, 1000),
    "Unique of 1 M kinds": functools.partial(_unique, N),
    "UniqueWithCounts of 1000 kinds": functools.partial(_unique_with_counts, 1000),
    "UniqueWithCounts of 1 M kinds": functools.partial(_unique_with_counts, N),
    "DynamicPartition of numbers": functools.partial(_dynamic_partition, 1),
    "DynamicPartition of rows": functools.partial(_dynamic_partition, 16),
    "NonMaxSuppressionV3": functools.partial(_non_max_suppression, "NonMaxSuppressionV3"),
    "NonMaxSuppressionV4": functools.partial(_non_max_suppression, "NonMaxSuppressionV4"),
    "SegmentSum": functools.partial(_segment, "SegmentSum"),
    "SegmentMean": functools.partial(_segment, "SegmentMean"),
    "SegmentMax": functools.partial(_segment, "SegmentMax"),
    "SparseSegmentSum": functools.partial(_sparse_segment, "SparseSegmentSum"),
    "SparseSegmentMean": functools.partial(_sparse_segment, "SparseSegmentMean"),
    "SparseSegmentSqrtN": functools.partial(_sparse_segment, "SparseSegmentSqrtN"),
    "SparseSegmentSumGradV2": functools.partial(_sparse_segment_grad, "SparseSegmentSumGradV2"),
    "SparseSegmentMeanGradV2": functools.partial(_sparse_segment_grad, "SparseSegmentMeanGradV2"),
    "SparseTensorDenseMatMul": _sparse_matmul,
    "SparseReorder": _sparse_reorder,
    "SparseReshape": _sparse_reshape,
    "SparseSlice": _sparse_slice,
    "SparseConcat": _sparse_concat,
    "SparseSplit": _sparse_split,
    "SparseFillEmptyRows": _fill_empty_rows,
    "SparseFillEmptyRowsGrad": _fill_empty_rows_grad,
    "ResourceSparseApplyAdagradV2": functools.partial(
        _sparse_apply, "ResourceSparseApplyAdagradV2", ["accum"], _RATE | {"epsilon": 1e-7}
    ),
    "ResourceSparseApplyKerasMomentum": functools.partial(
        _sparse_apply, "ResourceSparseApplyKerasMomentum", ["accum"], _RATE | {"momentum": 0.9}
    ),
    "ResourceSparseApplyFtrlV2": functools.partial(
        _sparse_apply,
        "ResourceSparseApplyFtrlV2",
        ["accum", "linear"],
        _RATE | {"l1": 0.0, "l2": 0.0, "l2_shrinkage": 0.0, "lr_power": -0.5},
    ),
    "CropAndResize": _crop_and_resize,
    "CropAndResizeGradImage": _crop_and_resize_grad_image,
    "CropAndResizeGradBoxes": _crop_and_resize_grad_boxes,
    "Multinomial": _multinomial,
    "RandomUniform": functools.partial(_random_numbers, "RandomUniform"),
    "RandomStandardNormal": functools.partial(_random_numbers, "RandomStandardNormal"),
    "StatelessRandomUniformV2": functools.partial(_stateless, "StatelessRandomUniformV2"),
    "StatelessRandomNormalV2": functools.partial(_stateless, "StatelessRandomNormalV2"),
    "StatelessTruncatedNormalV2": functools.partial(_stateless, "StatelessTruncatedNormalV2"),
    "StatelessRandomUniformIntV2": _stateless_integers,
    "StatelessRandomGammaV3": _stateless_gamma,
    "HistogramFixedWidth": _histogram,
    "SparseTensorToCSRSparseMatrix": _to_csr,
    "SparseMatrixTranspose": _csr_transpose,
    "SparseMatrixMatMul": _csr_matmul,
}


def _contender(make: Callable[[], Op], device: str) -> Run:
    """The op there; TensorFlow would run it elsewhere if it had no kernel for the device."""
    with tf.device(device):
        op = make()
        for result in tf.nest.flatten(op()):
            if isinstance(result, tf.Tensor) and not result.device.endswith(device.lstrip("/")):
                raise ValueError(f"no kernel on {device}: the result is on {result.device}")
    tf.test.experimental.sync_devices()

    def run() -> None:
        with tf.device(device):
            results = op()
        if device != "/CPU:0":  # whose kernels are done when they return
            tf.test.experimental.sync_devices()
        del results

    return run


def _case(name: str, make: Callable[[], Op], _) -> Case:
    contenders = {"xpu": _contender(make, "/XPU:0"), "TF CPU": _contender(make, "/CPU:0")}
    return Case(name, contenders, rounds=51, seconds=5.0)


KERNEL_CASES = {
    name.replace(",", "").replace(" ", "_"): functools.partial(_case, name, make)
    for name, make in _OPS.items()
}
