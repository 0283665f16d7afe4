"""What ops of tensors alone are called with, where random matrices for every argument would mean
nothing.

An entry has arguments and attributes by the names of the op's definition, and holds for all ops
before it. What it does not name is made of the definition: arguments are matrices of three rows and
four columns, attributes are the default. Plain numbers become of the argument's type, a tuple is an
argument of several tensors, a list of entries is several calls.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.compiler.tf2xla.python import xla
from tensorflow.compiler.xla import xla_data_pb2

from tests.tensorflow.registered_ops.calls import Function, Program, indices, values

raw = tf.raw_ops

_SCATTER = {"indices": [[1], [3]], "updates": values(2, 3)}
_SPARSE = [[0, 0], [1, 2], [3, 1]]
_SPARSE_SEGMENTS = {"indices": [0, 2, 4], "segment_ids": [0, 0, 1]}
_STRIDES = {"begin": [0, 3], "end": [3, 0], "strides": [2, -1]}
_SIGNED = {"low": -3, "high": 3, "floor": -5, "ceiling": 6}
_SCALE = {
    "scales": 0.01,
    "zero_points": 0,
    "quantization_min_val": -128,
    "quantization_max_val": 127,
}


def _reducer(function: Any) -> Function:
    return Function(function, (("T", ()), ("T", ())))


def _xla_scatter(operand: tf.Tensor, updates: tf.Tensor) -> tf.Tensor:
    numbers = xla_data_pb2.ScatterDimensionNumbers(
        update_window_dims=[1],
        inserted_window_dims=[0],
        scatter_dims_to_operand_dims=[0],
        index_vector_dim=1,
    )
    specs = [tf.TensorSpec([], tf.float32)] * 2
    add = tf.function(lambda a, b: a + b, input_signature=specs).get_concrete_function()
    return xla.scatter(operand, tf.constant([[1], [3]]), updates, add, numbers)


def _scales(name: str, scale: float = 0.01) -> dict[str, Any]:
    bounds = {f"{name}_quantization_min_val": -128, f"{name}_quantization_max_val": 127}
    return {f"{name}_scales": scale, f"{name}_zero_points": 0, **bounds}


def _quantised(x: tf.Tensor) -> tf.Tensor:
    return raw.UniformQuantize(input=x, Tout=tf.qint8, **_SCALE)


CALLS = {
    # Elementwise, where the matrices of the definition are outside of what the op takes.
    "Acosh": {"x": values(3, 4, low=1.1, high=3)},
    "Bitcast": [
        {"T": tf.float32, "type": tf.int32},
        {"T": tf.complex64, "type": tf.float32},
        {"input": values(3, 2), "T": tf.int32, "type": tf.float64},
    ],
    "Bucketize": {"boundaries": [0.25, 0.5, 2.5]},
    "Cast": {"x": values(3, 4, high=9)},
    "CheckNumerics CheckNumericsV2": {"message": "not finite"},
    "ClipByValue": {"t": values(3, 4, high=6), "clip_value_min": 2, "clip_value_max": 4},
    "Cross": {"a": values(4, 3), "b": values(4, 3)},
    "DataFormatDimMap": {"x": [0, 1, 2, 3]},
    "DataFormatVecPermute": {"x": [3, 1, 4, 2]},
    "FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsGradient": {"min": -0.5, "max": 0.6},
    "FakeQuantWithMinMaxVarsPerChannel FakeQuantWithMinMaxVarsPerChannelGradient": {
        "min": [-0.5, -1, 0, 0.1],
        "max": [0.6, 1, 0.5, 2],
    },
    "Add AddV2 Sub Mul Maximum Minimum Div RealDiv FloorDiv FloorMod Mod TruncateDiv TruncateMod "
    "DivNoNan MulNoNan Atan2"
    " SquaredDifference Less LessEqual Greater GreaterEqual Equal NotEqual": [
        {},
        {"x": values(3, 4, **_SIGNED), "y": values(4)},
    ],
    "InvGrad ReciprocalGrad RsqrtGrad SigmoidGrad SqrtGrad TanhGrad": [{}, {"T": tf.complex64}],
    "LeftShift RightShift": {"y": values(3, 4)},
    "Polygamma": {"a": [1, 2, 3, 1], "x": values(3, 4, high=3)},
    "QuantizeAndDequantizeV2 QuantizeAndDequantizeV4": {
        "input_min": -1,
        "input_max": 1,
        "range_given": True,
    },
    "QuantizeAndDequantizeV3": {"input_min": -1, "input_max": 1, "num_bits": 8},
    "QuantizeAndDequantizeV4Grad": {"input_min": 0.3, "input_max": 0.6},
    "RandomGammaGrad": {"alpha": values(3, 4, high=3), "sample": values(3, 4, high=3)},
    "Zeta": {"x": values(3, 4, low=1.5, high=4)},
    "XlaReducePrecision": {"exponent_bits": 5, "mantissa_bits": 3},
    "XlaDequantize": {
        "min_range": 0.0,
        "max_range": 1.0,
        "mode": "MIN_COMBINED",
        "transpose_output": False,
    },
    "DebugNumericSummaryV2": {"tensor_debug_mode": 2},
    "DebugIdentity DebugIdentityV3 DebugNanCount DebugNumericSummary": {"tensor_name": "swept:0"},
    "_UnaryOpsComposition": {"op_names": ["Abs", "Neg"], "T": tf.float32},
    # Quantised numbers come from integers, and go back to them.
    "Dequantize": Program(
        lambda x: raw.Dequantize(
            input=raw.Bitcast(input=x, type=tf.qint8), min_range=-1.0, max_range=1.0
        ),
        (values(3, 4),),
        tf.int8,
    ),
    "UniformQuantize": Program(
        lambda x: raw.Bitcast(input=_quantised(x), type=tf.int8), (values(3, 4),)
    ),
    "UniformDequantize": Program(
        lambda x: raw.UniformDequantize(input=_quantised(x), Tout=tf.float32, **_SCALE),
        (values(3, 4),),
    ),
    "UniformRequantize": Program(
        lambda x: raw.Bitcast(
            input=raw.UniformRequantize(
                input=_quantised(x), Tout=tf.qint8, **_scales("input"), **_scales("output", 0.02)
            ),
            type=tf.int8,
        ),
        (values(3, 4),),
    ),
    "UniformQuantizedAdd": Program(
        lambda x: raw.Bitcast(
            input=raw.UniformQuantizedAdd(
                lhs=raw.Bitcast(input=x, type=tf.qint32),
                rhs=raw.Bitcast(input=x, type=tf.qint32),
                **_scales("lhs"),
                **_scales("rhs"),
                **_scales("output"),
            ),
            type=tf.int32,
        ),
        (values(3, 4),),
        tf.int32,
    ),
    "UniformQuantizedClipByValue": Program(
        lambda x: raw.Bitcast(
            input=raw.UniformQuantizedClipByValue(
                operand=raw.Bitcast(input=x, type=tf.qint32),
                min=raw.Bitcast(input=tf.constant(2), type=tf.qint32),
                max=raw.Bitcast(input=tf.constant(3), type=tf.qint32),
                **_SCALE,
            ),
            type=tf.int32,
        ),
        (values(3, 4),),
        tf.int32,
    ),
    "UniformQuantizedDot": Program(
        lambda x: raw.Bitcast(
            input=raw.UniformQuantizedDot(
                lhs=_quantised(x),
                rhs=_quantised(tf.transpose(x)),
                Tout=tf.qint32,
                **_scales("lhs"),
                **_scales("rhs"),
                **_scales("output"),
            ),
            type=tf.int32,
        ),
        (values(3, 4),),
    ),
    # Shapes and places.
    "BroadcastTo": {"input": values(4), "shape": [3, 4]},
    "BroadcastArgs": {"s0": [3, 1], "s1": [4]},
    "BroadcastGradientArgs": {"s0": [3, 1], "s1": [4]},
    "Concat": {"concat_dim": 1},
    "ConcatV2": {"axis": 1},
    "ConcatOffset": {"concat_dim": 1, "shape": ([3, 4], [3, 2])},
    "ConjugateTranspose Transpose": [
        {"x": values(2, 3, 4), "perm": [2, 0, 1]},
        {"x": values(2, 3, 4), "perm": [2, 0, 1], "T": tf.complex64},
    ],
    "InvertPermutation": {"x": [2, 0, 1, 3]},
    "DeviceIndex": {"device_names": ["TPU"]},
    "Assert": {"condition": True, "data": (values(3, 4),), "T": [tf.float32]},
    "_ArrayToList": {"out_types": [tf.float32, tf.float32], "T": tf.float32},
    "_ListToArray": {
        "Tin": [tf.float32, tf.float32],
        "input": (values(3, 4), values(3, 4)),
        "T": tf.float32,
        "N": 2,
    },
    "Empty": {"shape": [3, 4], "init": True},
    "EnsureShape": {"shape": [3, None]},
    "ExpandDims": {"dim": 1},
    "Fill": {"dims": [3, 4], "value": 2},
    "LinSpace": {"start": 0, "stop": 1, "num": 5},
    "MirrorPad": {"paddings": [[1, 1], [2, 0]], "mode": "REFLECT"},
    "MirrorPadGrad": {"input": values(5, 6), "paddings": [[1, 1], [2, 0]], "mode": "REFLECT"},
    "OneHot": {"indices": [0, 2, 1], "depth": 4, "on_value": 1, "off_value": 0},
    "Pad": {"paddings": [[1, 0], [0, 2]]},
    "PadV2": {"paddings": [[1, 0], [0, 2]], "constant_values": 1},
    "PlaceholderWithDefault": {"shape": [3, 4]},
    "Range": {"start": 0, "limit": 10, "delta": 3},
    "Reshape": [{"shape": [2, 6]}, {"shape": [-1, 3]}],
    "Reverse": {"tensor": values(2, 3, 4), "dims": [True, False, True]},
    "ReverseV2": {"tensor": values(2, 3, 4), "axis": [0, 2]},
    "ReverseSequence": {"input": values(3, 4, 2), "seq_lengths": [1, 4, 2], "seq_dim": 1},
    "Roll": {"shift": [1, 2], "axis": [0, 1]},
    "Slice": {"begin": [1, 0], "size": [2, -1]},
    "Split": {"split_dim": 1, "num_split": 2},
    "SplitV": {"size_splits": [1, 3], "split_dim": 1, "num_split": 2},
    "Squeeze": {"input": values(3, 1, 4)},
    "StridedSlice": _STRIDES,
    "StridedSliceGrad": {"shape": [3, 4], **_STRIDES, "dy": values(2, 3)},
    "TensorStridedSliceUpdate": [
        {"begin": [0, 3], "end": [2, 0], "strides": [1, -1], "value": values(2, 3)},
        {**_STRIDES, "value": values(2, 3)},
    ],
    "Tile": {"multiples": [2, 1]},
    "Unpack": {"num": 3},
    "BatchToSpace": {"input": values(4, 2, 3, 2), "crops": [[0, 0], [0, 1]], "block_size": 2},
    "BatchToSpaceND": {
        "input": values(4, 2, 3, 2),
        "block_shape": [2, 2],
        "crops": [[0, 0], [0, 1]],
    },
    "SpaceToBatch": {"input": values(2, 4, 5, 2), "paddings": [[0, 0], [0, 1]], "block_size": 2},
    "SpaceToBatchND": {
        "input": values(2, 4, 5, 2),
        "block_shape": [2, 2],
        "paddings": [[0, 0], [0, 1]],
    },
    "DepthToSpace": {"input": values(2, 2, 3, 8), "block_size": 2},
    "SpaceToDepth": {"input": values(2, 4, 6, 2), "block_size": 2},
    "XlaBroadcastHelper": {"rhs": values(4), "broadcast_dims": [1]},
    "XlaDynamicSlice": {"start_indices": [1, 2], "size_indices": [2, 2]},
    "XlaDynamicUpdateSlice": {"update": values(2, 2), "indices": [1, 2]},
    "XlaPad": {
        "padding_value": 0,
        "padding_low": [1, 0],
        "padding_high": [0, 2],
        "padding_interior": [1, 0],
    },
    "XlaAllReduce": {"group_assignment": [[0]], "reduce_op": "Add", "mode": "CrossReplica"},
    "XlaReduceScatter": {"group_assignment": [[0]], "scatter_dimension": 0, "reduce_op": "Add"},
    "XlaSpmdFullToShardShape": {"manual_sharding": ""},
    "XlaSpmdShardToFullShape": {"manual_sharding": "", "full_shape": [3, 4]},
    "XlaSetBound": {"input": 3, "bound": 5},
    "XlaSetDynamicDimensionSize": {"dim_index": 1, "size": 2},
    "XlaRemoveDynamicDimensionSize": {"dim_index": 1},
    "XlaSplitND": {"input": values(4, 4), "N": 4, "num_splits": [2, 2]},
    "XlaConcatND": {"inputs": (values(2, 2),) * 4, "num_concats": [2, 2]},
    # Reductions, sums of prefixes, orders.
    "All Any Max Mean Min Prod Sum EuclideanNorm": [
        {"input": values(2, 3, 4), "reduction_indices": [0, 2]},
        {"input": values(3, 5), "reduction_indices": [1]},
        {"input": values(0, 3), "reduction_indices": [0]},
    ],
    # (TensorFlow's CPU kernels read four bytes of a dimension of int16.)
    "ArgMax ArgMin": [{"dimension": 1, "Tidx": tf.int32}, {"dimension": 1, "Tidx": tf.int64}],
    "Cumsum Cumprod CumulativeLogsumexp": {"axis": 1},
    "ApproxTopK": {"input": values(3, 8), "k": 2},
    "TopKV2": {"input": values(3, 6), "k": 2},
    "InTopKV2": {"predictions": values(3, 5), "targets": indices(3, below=5), "k": 2},
    "LowerBound UpperBound": {
        "sorted_inputs": [[1, 2, 3], [1, 3, 4]],
        "values": values(2, 4, high=5),
    },
    "Bincount": {"arr": indices(6, below=5), "size": 5, "weights": values(6)},
    "DenseBincount": {"input": indices(2, 6, below=5), "size": 5, "weights": values(2, 6)},
    "HistogramFixedWidth": {"values": values(3, 4), "value_range": [0, 5], "nbins": 4},
    "_TensorToHashBucketFast": {"input": values(3, 4, high=9), "num_buckets": 5},
    "Softmax LogSoftmax": {"logits": values(3, 4)},
    "SoftmaxCrossEntropyWithLogits": {"features": values(3, 4)},
    "SparseSoftmaxCrossEntropyWithLogits": {"labels": indices(3, below=4)},
    "Unique UniqueWithCounts": {"x": [1, 1, 2, 4, 4, 4, 7]},
    "UniqueV2": {"x": [1, 1, 2, 4, 4, 4, 7], "axis": [0]},
    "Where": [{"input": [[0, 1, 0], [2, 0, 3]]}, {"input": values(0, 3)}],
    "ListDiff": {"x": [1, 2, 3, 4], "y": [2, 4]},
    "XlaReduce": {
        "init_value": 0,
        "dimensions_to_reduce": [1],
        "reducer": _reducer(lambda a, b: a + b),
        "T": tf.float32,
    },
    "XlaVariadicReduce": {
        "init_value": (0, 1),
        "dimensions_to_reduce": [1],
        "T": tf.float32,
        "reducer": Function(lambda a, b, c, d: (a + c, b * d), (("T", ()),) * 4),
    },
    "XlaVariadicReduceV2": {
        "inputs": (values(3, 4), values(3, 4)),
        "init_values": (0, 1),
        "T": [tf.float32, tf.int64],
        "dimensions_to_reduce": [1],
        "reducer": Function(
            lambda a, b, c, d: (a + c, b * d),
            ((tf.float32, ()), (tf.int64, ()), (tf.float32, ()), (tf.int64, ())),
        ),
    },
    "XlaReduceWindow": {
        "init_value": 0,
        "window_dimensions": [2, 2],
        "window_strides": [1, 1],
        "base_dilations": [1, 1],
        "window_dilations": [1, 1],
        "padding": [[0, 0], [0, 1]],
        "computation": _reducer(lambda a, b: a + b),
        "T": tf.float32,
    },
    "XlaSelectAndScatter": {
        "operand": values(4, 6),
        "window_dimensions": [2, 2],
        "window_strides": [2, 2],
        "padding": [[0, 0], [0, 0]],
        "source": values(2, 3),
        "init_value": 0,
        "select": _reducer(lambda a, b: a >= b),
        "scatter": _reducer(lambda a, b: a + b),
        "T": tf.float32,
    },
    "XlaSort": {"input": values(3, 6)},
    "XlaKeyValueSort": {"keys": [4, 2, 3, 1], "values": values(4)},
    "XlaVariadicSort": {
        "inputs": (values(2, 6), values(2, 6)),
        "T": [tf.float32, tf.int64],
        "dimension": 1,
        "is_stable": True,
        "comparator": Function(
            lambda a, b, c, d: a < b,
            ((tf.float32, ()), (tf.float32, ()), (tf.int64, ()), (tf.int64, ())),
        ),
    },
    # Gathers and scatters.
    "Gather": {"params": values(5, 3), "indices": [[0, 4], [2, 2]]},
    "GatherV2": {"params": values(5, 3), "indices": [[0, 4], [2, 2]], "axis": 0},
    "GatherNd": {"params": values(4, 3), "indices": [[0, 1], [3, 2]]},
    "DynamicPartition": {
        "data": values(6, 2),
        "partitions": [0, 1, 1, 0, 2, 1],
        "num_partitions": 3,
    },
    "DynamicStitch ParallelDynamicStitch": {
        "indices": ([0, 2], [1, 3]),
        "data": (values(2, 3), values(2, 3)),
    },
    "InplaceAdd InplaceSub InplaceUpdate": {"x": values(4, 3), "i": [0, 2], "v": values(2, 3)},
    "ScatterNd": {**_SCATTER, "shape": [4, 3]},
    "ScatterNdNonAliasingAdd": {"input": values(4, 3), **_SCATTER},
    "TensorScatterAdd TensorScatterMax TensorScatterMin TensorScatterSub TensorScatterUpdate": {
        "tensor": values(4, 3),
        **_SCATTER,
    },
    "SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum": {
        "data": values(5, 3),
        "segment_ids": [0, 0, 1, 3, 3],
    },
    "SegmentMaxV2 SegmentMinV2 SegmentProdV2 SegmentSumV2": {
        "data": values(5, 3),
        "segment_ids": [0, 0, 1, 3, 3],
        "num_segments": 5,
    },
    "UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum": {
        "data": values(5, 3),
        "segment_ids": [0, 2, 0, 1, 2],
        "num_segments": 4,
    },
    "SparseSegmentMean SparseSegmentSqrtN SparseSegmentSum": {
        "data": values(5, 3),
        **_SPARSE_SEGMENTS,
    },
    (
        "SparseSegmentMeanWithNumSegments SparseSegmentSqrtNWithNumSegments "
        "SparseSegmentSumWithNumSegments"
    ): {
        "data": values(5, 3),
        **_SPARSE_SEGMENTS,
        "num_segments": 3,
    },
    "SparseSegmentMeanGrad SparseSegmentSqrtNGrad SparseSegmentSumGrad": {
        "grad": values(2, 3),
        **_SPARSE_SEGMENTS,
        "output_dim0": 5,
    },
    "SparseSegmentMeanGradV2 SparseSegmentSqrtNGradV2 SparseSegmentSumGradV2": {
        "grad": values(2, 3),
        **_SPARSE_SEGMENTS,
        "dense_output_dim0": 5,
    },
    "XlaGather": {
        "operand": values(5, 4),
        "start_indices": [[1], [3]],
        "slice_sizes": [1, 4],
        "indices_are_sorted": False,
        "dimension_numbers": xla_data_pb2.GatherDimensionNumbers(
            offset_dims=[1], collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=1
        ).SerializeToString(),
    },
    "XlaScatter": Program(_xla_scatter, (values(5, 4), values(2, 4))),
    # Sparse and ragged tensors.
    "RaggedFillEmptyRows": {
        "value_rowids": [0, 0, 2],
        "values": values(3),
        "nrows": 4,
        "default_value": 0,
    },
    "RaggedFillEmptyRowsGrad SparseFillEmptyRowsGrad": {
        "reverse_index_map": [0, 1, 3],
        "grad_values": values(5),
    },
    "SparseConcat": {
        "indices": ([[0, 0], [1, 2]], [[0, 1]]),
        "values": (values(2), values(1)),
        "shapes": ([2, 3], [2, 3]),
        "concat_dim": 1,
    },
    "SparseFillEmptyRows": {
        "indices": _SPARSE,
        "values": values(3),
        "dense_shape": [4, 3],
        "default_value": 0,
    },
    "SparseReorder": {
        "input_indices": _SPARSE[::-1],
        "input_values": values(3),
        "input_shape": [4, 3],
    },
    "SparseReshape": {"input_indices": _SPARSE, "input_shape": [4, 3], "new_shape": [2, 6]},
    "SparseSlice": {
        "indices": _SPARSE,
        "values": values(3),
        "shape": [4, 3],
        "start": [0, 1],
        "size": [2, 2],
    },
    "SparseSliceGrad": {
        "backprop_val_grad": values(1),
        "input_indices": _SPARSE,
        "input_start": [1, 1],
        "output_indices": [[0, 1]],
    },
    "SparseSplit": {
        "split_dim": 0,
        "indices": _SPARSE,
        "values": values(3),
        "shape": [4, 3],
        "num_split": 2,
    },
    "SparseTensorDenseMatMul": {
        "a_indices": _SPARSE,
        "a_values": values(3),
        "a_shape": [4, 3],
        "b": values(3, 2),
    },
    "SparseToDense": {
        "sparse_indices": [1, 3],
        "output_shape": [5],
        "sparse_values": values(2),
        "default_value": 0,
    },
}
