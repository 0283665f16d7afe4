"""What ops of matrices, networks, images and random numbers are called with.

Entries are as in tensor_calls.py.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.compiler.tf2xla.python import xla
from tensorflow.compiler.xla import xla_data_pb2

from tests.tensorflow.registered_ops.calls import Definite, Program, values

raw = tf.raw_ops

_IMAGE = values(2, 6, 5, 4)
_VOLUME = values(1, 4, 4, 4, 2)
_POOL = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
_POOL_3D = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "VALID"}
_CONVOLUTION = {"strides": [1, 2, 2, 1], "padding": "SAME"}
_CONVOLUTION_3D = {"strides": [1, 1, 1, 1, 1], "padding": "VALID"}
_BOXES = [[0.0, 0.0, 1.0, 1.0], [0.1, 0.2, 0.9, 0.8]]
_NMS_BOXES = {"boxes": [[0, 0, 1, 1], [0, 0, 1, 0.9], [0, 0.5, 1, 1.5]], "scores": [0.9, 0.8, 0.7]}
_SEED = {"shape": [3, 4], "seed": [1, 2]}
_KEY = {"shape": [3, 4], "key": [3], "counter": [1, 2], "alg": 1}
_TRANSFORM = [[1.0, 0.1, 0.0, 0.1, 1.0, 0.2, 0.0, 0.0]]
_CELL = {"w": values(8, 20), "wci": values(5), "wcf": values(5), "wco": values(5), "b": values(20)}
_GRU = {
    "x": values(2, 3),
    "h_prev": values(2, 5),
    "w_ru": values(8, 10),
    "w_c": values(8, 5),
    "b_ru": values(10),
}
_TRIDIAGONAL = {"diagonals": [[0.1, 0.4, 0.3, 0], [2, 3, 4, 3], [0, 0.5, 0.2, 0.6]]}


def _each(names: str, value: Any) -> dict[str, Any]:
    """The same for several arguments."""
    return dict.fromkeys(names.split(), value)


def _max_pool(x: tf.Tensor) -> tf.Tensor:
    return raw.MaxPool(input=x, **_POOL)


def _max_pool_3d(x: tf.Tensor) -> tf.Tensor:
    return raw.MaxPool3D(input=x, **_POOL_3D)


def _arg_pool(x: tf.Tensor) -> tf.Tensor:
    return raw.MaxPoolWithArgmax(input=x, **_POOL).argmax


def _line_of_channels() -> xla_data_pb2.ConvolutionDimensionNumbers:
    """Of a convolution over one dimension, channels last."""
    return xla_data_pb2.ConvolutionDimensionNumbers(
        input_batch_dimension=0, input_spatial_dimensions=[1], input_feature_dimension=2,
        kernel_spatial_dimensions=[0], kernel_input_feature_dimension=1,
        kernel_output_feature_dimension=2,
        output_batch_dimension=0, output_spatial_dimensions=[1], output_feature_dimension=2,
    )  # fmt: skip


CALLS = {
    # Matrices.
    "MatMul SparseMatMul": {"a": values(3, 4), "b": values(4, 5)},
    "BatchMatMul BatchMatMulV2 BatchMatMulV3": {"x": values(2, 3, 4), "y": values(2, 4, 5)},
    "Einsum": {"inputs": (values(3, 4), values(4, 5)), "equation": "ij,jk->ik"},
    "XlaEinsum": {"a": values(3, 4), "b": values(4, 5), "equation": "ij,jk->ik"},
    "XlaDot XlaDotV2": {
        "lhs": values(3, 4),
        "rhs": values(4, 5),
        "precision_config": "",
        "dimension_numbers": xla_data_pb2.DotDimensionNumbers(
            lhs_contracting_dimensions=[1], rhs_contracting_dimensions=[0]
        ).SerializeToString(),
    },
    "MatrixBandPart": {"input": values(2, 3, 4), "num_lower": 1, "num_upper": 0},
    "MatrixDiag": {"diagonal": values(2, 3)},
    "MatrixDiagPart": {"input": values(2, 3, 4)},
    "MatrixSetDiag": {"input": values(2, 3, 4), "diagonal": values(2, 3)},
    "MatrixDiagPartV2 MatrixDiagPartV3": {
        "input": values(2, 3, 4),
        "k": [-1, 1],
        "padding_value": 2,
    },
    "MatrixDiagV2 MatrixDiagV3": {
        "diagonal": values(2, 3),
        "k": 1,
        "num_rows": -1,
        "num_cols": -1,
        "padding_value": 2,
    },
    "MatrixSetDiagV2 MatrixSetDiagV3": {"input": values(2, 3, 4), "diagonal": values(2, 3), "k": 1},
    "Diag": {"diagonal": values(3)},
    "DiagPart": {"input": values(3, 3)},
    "Cholesky MatrixInverse": {"input": Definite((2, 4, 4))},
    "MatrixSolve MatrixTriangularSolve": {"matrix": Definite((2, 4, 4)), "rhs": values(2, 4, 3)},
    "MatrixDeterminant LogMatrixDeterminant Lu": {"input": values(2, 4, 4)},
    "Qr": {"input": values(2, 4, 3)},
    "Svd": {"input": values(2, 4, 3)},
    "SelfAdjointEigV2": [
        {"input": Definite((2, 4, 4))},
        {"input": Definite((2, 4, 4)), "T": tf.complex64},
    ],
    "XlaSelfAdjointEig": {"a": Definite((4, 4)), "lower": True, "max_iter": 100, "epsilon": 1e-6},
    "XlaSvd": {"a": values(4, 3), "max_iter": 100, "epsilon": 1e-6, "precision_config": ""},
    "TridiagonalMatMul": {
        **_each("superdiag maindiag subdiag", values(2, 1, 4)),
        "rhs": values(2, 4, 3),
    },
    "TridiagonalSolve": [
        {**_TRIDIAGONAL, "rhs": values(4, 2), "partial_pivoting": False},
        {**_TRIDIAGONAL, "rhs": values(4, 2), "partial_pivoting": True},
    ],
    "FFT IFFT FFT2D IFFT2D FFT3D IFFT3D": {"input": values(2, 4, 4, 6)},
    "FFTND IFFTND": {"input": values(2, 4, 6), "fft_length": [4, 6], "axes": [1, 2]},
    "RFFT": {"input": values(2, 6), "fft_length": [6]},
    "RFFT2D": {"input": values(2, 4, 6), "fft_length": [4, 6]},
    "RFFT3D": {"input": values(2, 3, 4, 6), "fft_length": [3, 4, 6]},
    "RFFTND": {"input": values(2, 4, 6), "fft_length": [4, 6], "axes": [1, 2]},
    "IRFFT": {"input": values(2, 4), "fft_length": [6]},
    "IRFFT2D": {"input": values(2, 4, 4), "fft_length": [4, 6]},
    "IRFFT3D": {"input": values(2, 3, 4, 4), "fft_length": [3, 4, 6]},
    "IRFFTND": {"input": values(2, 4, 4), "fft_length": [4, 6], "axes": [1, 2]},
    # Neural networks.
    "BiasAdd BiasAddV1": {"value": values(2, 3, 4), "bias": values(4)},
    "BiasAddGrad": {"out_backprop": values(2, 3, 4)},
    "FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3": [
        {"x": _IMAGE, **_each("scale offset", values(4)), "mean": [], "variance": []},
        # The other results are of training only.
        Program(
            lambda x, *of_channels: (
                raw.FusedBatchNormV3(
                    x=x,
                    scale=of_channels[0],
                    offset=of_channels[1],
                    mean=of_channels[2],
                    variance=of_channels[3],
                    is_training=False,
                ).y
            ),
            (_IMAGE, *(values(4),) * 4),
        ),
    ],
    "FusedBatchNormGrad FusedBatchNormGradV2": {
        **_each("y_backprop x", _IMAGE),
        **_each("scale reserve_space_1 reserve_space_2", values(4)),
    },
    "FusedBatchNormGradV3": {
        **_each("y_backprop x", _IMAGE),
        **_each("scale reserve_space_1 reserve_space_2 reserve_space_3", values(4)),
    },
    "_FusedBatchNormEx": {
        "x": _IMAGE,
        **_each("scale offset", values(4)),
        "mean": [],
        "variance": [],
        "side_input": (),
        "num_side_inputs": 0,
        "activation_mode": "Relu",
    },
    "AvgPool": {"value": _IMAGE, **_POOL},
    "MaxPool": {"input": _IMAGE, **_POOL},
    "AvgPoolGrad": {"orig_input_shape": [2, 6, 5, 4], "grad": values(2, 3, 2, 4), **_POOL},
    "AvgPool3D MaxPool3D": {"input": _VOLUME, **_POOL_3D},
    "AvgPool3DGrad": {
        "orig_input_shape": [1, 4, 4, 4, 2],
        "grad": values(1, 2, 2, 2, 2),
        **_POOL_3D,
    },
    "MaxPoolV2": {"input": _IMAGE, **_POOL},
    "MaxPoolWithArgmax": {"input": _IMAGE, **_POOL},
    # The gradients take the pooled numbers, which have to be those of the input.
    "MaxPoolGrad": Program(
        lambda x, g: raw.MaxPoolGrad(orig_input=x, orig_output=_max_pool(x), grad=g, **_POOL),
        (_IMAGE, values(2, 3, 2, 4)),
    ),
    "MaxPoolGradV2": Program(
        lambda x, g: raw.MaxPoolGradV2(orig_input=x, orig_output=_max_pool(x), grad=g, **_POOL),
        (_IMAGE, values(2, 3, 2, 4)),
    ),
    "MaxPoolGradGrad": Program(
        lambda x, g: raw.MaxPoolGradGrad(orig_input=x, orig_output=_max_pool(x), grad=g, **_POOL),
        (_IMAGE, _IMAGE),
    ),
    "MaxPoolGradGradV2": Program(
        lambda x, g: raw.MaxPoolGradGradV2(orig_input=x, orig_output=_max_pool(x), grad=g, **_POOL),
        (_IMAGE, _IMAGE),
    ),
    "MaxPoolGradWithArgmax": Program(
        lambda x, g: raw.MaxPoolGradWithArgmax(input=x, grad=g, argmax=_arg_pool(x), **_POOL),
        (_IMAGE, values(2, 3, 2, 4)),
    ),
    "MaxPoolGradGradWithArgmax": Program(
        lambda x, g: raw.MaxPoolGradGradWithArgmax(input=x, grad=g, argmax=_arg_pool(x), **_POOL),
        (_IMAGE, _IMAGE),
    ),
    "MaxPool3DGrad": Program(
        lambda x, g: raw.MaxPool3DGrad(
            orig_input=x, orig_output=_max_pool_3d(x), grad=g, **_POOL_3D
        ),
        (_VOLUME, values(1, 2, 2, 2, 2)),
    ),
    "MaxPool3DGradGrad": Program(
        lambda x, g: raw.MaxPool3DGradGrad(
            orig_input=x, orig_output=_max_pool_3d(x), grad=g, **_POOL_3D
        ),
        (_VOLUME, _VOLUME),
    ),
    "LRN": {"input": values(1, 2, 3, 8)},
    "LRNGrad": _each("input_grads input_image output_image", values(1, 2, 3, 8)),
    "Conv": {"input": _IMAGE, "filter": values(3, 3, 4, 2), **_CONVOLUTION},
    "Conv2D": {"input": _IMAGE, "filter": values(3, 3, 4, 2), **_CONVOLUTION},
    "Conv2DBackpropFilter": {
        "input": _IMAGE,
        "filter_sizes": [3, 3, 4, 2],
        "out_backprop": values(2, 3, 3, 2),
        **_CONVOLUTION,
    },
    "Conv2DBackpropInput": {
        "input_sizes": [2, 6, 5, 4],
        "filter": values(3, 3, 4, 2),
        "out_backprop": values(2, 3, 3, 2),
        **_CONVOLUTION,
    },
    "Conv3D": {"input": _VOLUME, "filter": values(2, 2, 2, 2, 3), **_CONVOLUTION_3D},
    "Conv3DBackpropFilterV2": {
        "input": _VOLUME,
        "filter_sizes": [2, 2, 2, 2, 3],
        "out_backprop": values(1, 3, 3, 3, 3),
        **_CONVOLUTION_3D,
    },
    "Conv3DBackpropInputV2": {
        "input_sizes": [1, 4, 4, 4, 2],
        "filter": values(2, 2, 2, 2, 3),
        "out_backprop": values(1, 3, 3, 3, 3),
        **_CONVOLUTION_3D,
    },
    "DepthwiseConv2dNative": {
        "input": _IMAGE,
        "filter": values(3, 3, 4, 2),
        "strides": [1, 1, 1, 1],
        "padding": "SAME",
    },
    "DepthwiseConv2dNativeBackpropFilter": {
        "input": _IMAGE,
        "filter_sizes": [3, 3, 4, 2],
        "out_backprop": values(2, 6, 5, 8),
        "strides": [1, 1, 1, 1],
        "padding": "SAME",
    },
    "DepthwiseConv2dNativeBackpropInput": {
        "input_sizes": [2, 6, 5, 4],
        "filter": values(3, 3, 4, 2),
        "out_backprop": values(2, 6, 5, 8),
        "strides": [1, 1, 1, 1],
        "padding": "SAME",
    },
    "Dilation2D": {
        "input": _IMAGE,
        "filter": values(3, 3, 4),
        "strides": [1, 1, 1, 1],
        "rates": [1, 1, 1, 1],
        "padding": "SAME",
    },
    "Dilation2DBackpropFilter Dilation2DBackpropInput": {
        **_each("input out_backprop", _IMAGE),
        "filter": values(3, 3, 4),
        "strides": [1, 1, 1, 1],
        "rates": [1, 1, 1, 1],
        "padding": "SAME",
    },
    "LSTMBlockCell": {"x": values(2, 3), **_each("cs_prev h_prev", values(2, 5)), **_CELL},
    "LSTMBlockCellGrad": {
        "x": values(2, 3),
        **_each("cs_prev h_prev i cs f o ci co cs_grad h_grad", values(2, 5)),
        **_CELL,
        "use_peephole": False,
    },
    "BlockLSTM BlockLSTMV2": {
        "seq_len_max": 4,
        "x": values(4, 2, 3),
        **_each("cs_prev h_prev", values(2, 5)),
        **_CELL,
    },
    "BlockLSTMGrad BlockLSTMGradV2": {
        "seq_len_max": 4,
        "x": values(4, 2, 3),
        **_each("cs_prev h_prev", values(2, 5)),
        **_CELL,
        **_each("i cs f o ci co h cs_grad h_grad", values(4, 2, 5)),
        "use_peephole": False,
    },
    "GRUBlockCell": {**_GRU, "b_c": values(5)},
    "GRUBlockCellGrad": {**_GRU, "b_c": values(5), **_each("r u c d_h", values(2, 5))},
    "XlaConv": Program(
        lambda x, w: xla.conv(x, w, [1], [[1, 1]], [1], [1], _line_of_channels()),
        (values(2, 7, 3), values(3, 3, 4)),
    ),
    "XlaConvV2": Program(
        lambda x, w: xla.conv(
            x, w, [1], [[1, 1]], [1], [1], _line_of_channels(), preferred_element_type=tf.float32
        ),
        (values(2, 7, 3), values(3, 3, 4)),
    ),
    # Images.
    "AdjustContrastv2": {"images": _IMAGE, "contrast_factor": 1.5},
    "AdjustHue": {"images": values(2, 4, 5, 3), "delta": 0.2},
    "AdjustSaturation": {"images": values(2, 4, 5, 3), "scale": 0.5},
    "HSVToRGB RGBToHSV": {"images": values(2, 4, 5, 3)},
    "CropAndResize": {"image": _IMAGE, "boxes": _BOXES, "box_ind": [0, 1], "crop_size": [4, 4]},
    "CropAndResizeGradBoxes": {
        "grads": values(2, 4, 4, 4),
        "image": _IMAGE,
        "boxes": _BOXES,
        "box_ind": [0, 1],
    },
    "CropAndResizeGradImage": {
        "grads": values(2, 4, 4, 4),
        "boxes": _BOXES,
        "box_ind": [0, 1],
        "image_size": [2, 6, 5, 4],
    },
    "ExtractImagePatches": {
        "images": _IMAGE,
        "ksizes": [1, 2, 2, 1],
        "strides": [1, 2, 1, 1],
        "rates": [1, 1, 1, 1],
        "padding": "VALID",
    },
    "ExtractVolumePatches": {
        "input": _VOLUME,
        "ksizes": [1, 2, 2, 2, 1],
        "strides": [1, 2, 1, 1, 1],
        "padding": "VALID",
    },
    "ImageProjectiveTransformV2": {
        "images": _IMAGE,
        "transforms": _TRANSFORM,
        "output_shape": [4, 4],
        "interpolation": "BILINEAR",
    },
    "ImageProjectiveTransformV3": {
        "images": _IMAGE,
        "transforms": _TRANSFORM,
        "output_shape": [4, 4],
        "fill_value": 0.25,
        "interpolation": "BILINEAR",
    },
    "ResizeBilinear ResizeNearestNeighbor": {"images": _IMAGE, "size": [3, 7]},
    "ResizeBilinearGrad": {"grads": values(2, 3, 7, 4), "original_image": _IMAGE},
    "ResizeNearestNeighborGrad": {"grads": _IMAGE, "size": [3, 4]},
    "GenerateBoundingBoxProposals": {
        "scores": values(1, 2, 2, 1),
        "bbox_deltas": values(1, 2, 2, 4),
        "image_info": [[9.0, 9.0, 1.0, 0.0, 0.0]],
        "anchors": values(2, 2, 4),
        "nms_threshold": 0.5,
        "pre_nms_topn": 3,
        "min_size": 0.1,
        "post_nms_topn": 2,
    },
    "NonMaxSuppressionV2": {**_NMS_BOXES, "max_output_size": 2, "iou_threshold": 0.5},
    "NonMaxSuppressionV3 NonMaxSuppressionV4": {
        **_NMS_BOXES,
        "max_output_size": 2,
        "iou_threshold": 0.5,
        "score_threshold": 0.1,
    },
    # Random numbers without a state.
    (
        "StatelessRandomUniform StatelessRandomNormal StatelessTruncatedNormal "
        "StatelessRandomUniformFullInt"
    ): _SEED,
    "StatelessRandomUniformInt": {**_SEED, "minval": 0, "maxval": 10},
    (
        "StatelessRandomUniformV2 StatelessRandomNormalV2 StatelessTruncatedNormalV2 "
        "StatelessRandomUniformFullIntV2"
    ): _KEY,
    "StatelessRandomUniformIntV2": {**_KEY, "minval": 0, "maxval": 10},
    "StatelessRandomGammaV2": {**_SEED, "alpha": values(4, high=3)},
    "StatelessRandomGammaV3": {**_KEY, "alpha": values(4, high=3)},
    "StatelessRandomBinomial": {**_SEED, "counts": [5, 50, 9, 20], "probs": [0.3, 0.5, 0.9, 0.01]},
    "StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg": {"seed": [1, 2]},
    "StatelessMultinomial": {"logits": values(3, 5), "num_samples": 10, "seed": [1, 2]},
    "StatelessParameterizedTruncatedNormal": {
        **_SEED,
        "means": 0,
        "stddevs": 1,
        "minvals": -1,
        "maxvals": 2,
    },
    "RandomUniform RandomStandardNormal TruncatedNormal": {"shape": [3, 4]},
    "RandomUniformInt": {"shape": [3, 4], "minval": 0, "maxval": 10},
    "ParameterizedTruncatedNormal": {
        "shape": [3, 4],
        "means": 0,
        "stdevs": 1,
        "minvals": -1,
        "maxvals": 2,
    },
    "Multinomial": {"logits": values(3, 5), "num_samples": 10},
    "StochasticCastToInt": {"input": values(3, 4, high=9), "key": [3], "counter": [1, 2], "alg": 1},
    "XlaRngBitGenerator": {"algorithm": 1, "initial_state": [1, 2], "shape": [3, 4]},
}
