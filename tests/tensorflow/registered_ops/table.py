"""Every op's calls, why some have none, and how what they give is compared."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tests.tensorflow.registered_ops import network_calls, registry, state_calls, tensor_calls


def _by_op(*tables: dict[str, Any]) -> dict[str, Any]:
    by_op: dict[str, Any] = {}
    for table in tables:
        for names, entry in table.items():
            for op in names.split():
                assert op not in by_op, f"two entries for {op}"
                by_op[op] = entry
    return by_op


CALLS = _by_op(tensor_calls.CALLS, network_calls.CALLS, state_calls.CALLS)

# Ops without calls, by reason.
_UNSWEPT = {
    (
        "AnonymousIterator AnonymousIteratorV2 AnonymousIteratorV3 DeleteIterator FinalizeDataset "
        "GeneratorDataset IteratorFromStringHandleV2 IteratorGetNext IteratorGetNextAsOptional "
        "IteratorGetNextSync IteratorToStringHandle IteratorV2 MakeIterator OptionsDataset "
        "PrefetchDataset"
    ): "tf.data's own, which test_data.py runs",
    (
        "CollectiveAllToAllV2 CollectiveAssignGroupV2 CollectiveBcastRecv CollectiveBcastRecvV2 "
        "CollectiveBcastSend CollectiveBcastSendV2 CollectiveGatherV2 CollectiveReduceScatterV2 "
        "CollectiveReduceV2"
    ): "several participants meet in it",
    "Recv Send _HostRecv _HostSend _Recv _Send XlaRecv XlaSend": (
        "one half of a transfer waits for the other"
    ),
    "_Arg _Retval _DeviceArg _DeviceRetval Placeholder PlaceholderV2": (
        "where a function begins and ends: every graph of the sweep has them"
    ),
    "_XlaCompile _XlaMerge _XlaRun": "made by clustering, which test_op_sweep.py turns on",
    "_ScopedAllocator _ScopedAllocatorConcat _ScopedAllocatorSplit": (
        "made by TensorFlow's optimiser for collectives"
    ),
    "_SwitchN": "made of Case in graphs, where one output lives; the sweep of Case runs it",
    (
        "Variable VariableV2 TemporaryVariable DestroyTemporaryVariable IsVariableInitialized "
        "RefEnter RefExit RefIdentity RefMerge RefNextIteration RefSwitch Stack StackClose "
        "StackPop StackPush"
    ): "references of TensorFlow 1: what assigns to one has no kernel for XPU",
    "DeleteSessionTensor GetSessionHandle GetSessionHandleV2 GetSessionTensor": (
        "needs a Session of TensorFlow 1"
    ),
    "BatchFunction": "waits for calls from elsewhere to make a batch of",
    "DevicePlacementOp": "tells its device, which is another on purpose",
    "RemoteCall": "runs a function on a device that it is told: test_remote_calls.py",
    "SymbolicGradient": "gradients are made in Python since TensorFlow 1",
    "UniformQuantizedConvolution": "as UniformQuantizedDot, with twenty attributes more",
    "XlaCustomCall XlaCustomCallV2": (
        "calls what the user registered, test_op_sweep.py one that is not registered"
    ),
    "XlaCallModule": "takes a serialised StableHLO module: test_jax2tf.py",
    "_FusedConv2D": "made by TensorFlow's optimiser of convolutions that follow each other",
    "_VarHandlesOp": "several VarHandleOps, made by TensorFlow's optimiser",
    "XlaIf": "its translation reads an attribute that the op does not have",
    "Fact": "tells one of several facts",
    (
        "AdjustContrast BatchFFT BatchFFT2D BatchFFT3D BatchIFFT BatchIFFT2D BatchIFFT3D "
        "BatchMatrixBandPart BatchMatrixDeterminant BatchMatrixDiag BatchMatrixDiagPart "
        "BatchMatrixSetDiag BatchMatrixTriangularSolve BatchNormWithGlobalNormalization "
        "BatchNormWithGlobalNormalizationGrad BatchSvd Conv3DBackpropFilter Conv3DBackpropInput"
    ): "only graphs of TensorFlow's first versions may have it; test_old_ops.py imports some",
    "HostConst": "a Const that TensorFlow's own passes put on the host",
    "MakeWeakResourceHandle": "gives a resource that nothing reads",
    (
        "OnexpuBufferAddress OnexpuCompilerIr OnexpuDynamicKernel OnexpuExport OnexpuImport "
        "OnexpuKernel OnexpuLeadingRows _OnexpuCountRun"
    ): "onexpu's own, which tests/onexpu and test_compiler_ir.py run",
}
UNSWEPT = {op: reason for ops, reason in _UNSWEPT.items() for op in ops.split()}

# Numbers that differ from call to call, or come from another generator than the CPU's: shapes and
# types are compared.
RANDOM = {
    "Multinomial", "ParameterizedTruncatedNormal", "RandomStandardNormal", "RandomUniform",
    "RandomUniformInt", "StatelessParameterizedTruncatedNormal", "StochasticCastToInt",
    "TruncatedNormal",
}  # fmt: skip

# Programs of TensorFlow's choose another generator, on every device, and their lists keep all of
# their places.
OTHER_IN_PROGRAMS = {
    "StatelessRandomGetAlg", "StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg",
    "TensorListPopBack",
}  # fmt: skip

_ALL = frozenset(registry.TYPES)
_UNSIGNED = {tf.uint8, tf.uint16, tf.uint32, tf.uint64}

# Ops on bounds and sizes of dynamic dimensions themselves.
SIZES_BY_DEFINITION = {"XlaRemoveDynamicDimensionSize", "XlaSetDynamicDimensionSize"}

# The same of ops that are programs on XPU when they run alone, too, by type: halves are rounded
# otherwise; the CPU's kernel of Tile, which is registered for all types, refuses this one.
AS_PROGRAMS = {"Tile": {tf.uint16}, "UniformQuantizedDot": _ALL, "UniformRequantize": _ALL}

# What the CPU can run in no way, by type: XPU's graphs and programs are compared with XPU's ops
# that run alone.
WITHOUT_REFERENCE = {
    **dict.fromkeys(
        (
            "FFTND", "IFFTND", "IRFFTND", "RFFTND", "MaxPoolGradGradWithArgmax", "XlaReduceScatter",
            "XlaReplicaId", "SparseMatrixAdd", "_FusedBatchNormEx",
        ),
        _ALL,
    ),
    "StatefulUniformInt": _UNSIGNED,
    "Where": {tf.float16},
    "_TensorToHashBucketFast": _UNSIGNED,
}  # fmt: skip

# What TensorFlow's graph optimiser makes something else of, on every device: zeros of ones, here.
AS_GRAPHS = {"OnesLike": {tf.uint32, tf.uint64}}

# Numbers that are as exact as another type than theirs, and in how many of its rounding errors: the
# CPU's kernel has its statistics in the second type, and factors of interpolation in single
# precision.
AS_EXACT_AS = {
    ("FusedBatchNormV3", tf.float32, tf.bfloat16): (tf.bfloat16, 8),
    ("ResizeBilinearGrad", tf.float64): (tf.float32, 16),
}

# How many results are compared, where the others stand for nothing and have other shapes.
RESULTS = {
    "FusedBatchNormGrad": 3,
    "FusedBatchNormGradV2": 3,
    "FusedBatchNormGradV3": 3,
    "FusedBatchNormV3": 5,
}

# Vectors of decompositions, which are right with either sign.
UP_TO_SIGNS = {"Qr", "SelfAdjointEigV2", "Svd", "XlaSelfAdjointEig", "XlaSvd"}

# Rounding errors, where compare.ULPS is too few.
ULPS: dict[str, float] = {}

# Types that the full form leaves out: complex numbers have no order, or one that each library
# chooses, also of pivots; oneMKL factorises no halves, and TensorFlow's translations of LRN mix
# types. XLA's own iterations for eigenvalues and singular values, which the CPU has to run the two
# ops that are named after it, are wrong for complex numbers, give zeros for halves (also of Svd,
# which the CPU's kernel does not take) and stop at 1e-6 for doubles. The CPU subtracts truth values
# as if they were numbers, or ends the process over them, and rounds integers to zero (tf.round
# leaves them alone).
_COMPLEX = {tf.complex64, tf.complex128}
_HALVES = {tf.float16, tf.bfloat16}
ODD_TYPES = {
    **dict.fromkeys(("ClipByValue", "FloorDiv", "LowerBound", "Lu", "UpperBound"), _COMPLEX),
    **dict.fromkeys(("LRN", "LRNGrad", "LogMatrixDeterminant", "MatrixDeterminant"), _HALVES),
}
ODD_TYPES["Lu"] = _COMPLEX | _HALVES
ODD_TYPES["ResourceScatterNdSub"] = ODD_TYPES["TensorScatterSub"] = {tf.bool}
ODD_TYPES["Round"] = {tf.int8, tf.int16, tf.int32, tf.int64}
ODD_TYPES["Svd"] = {tf.float16}
ODD_TYPES["XlaSelfAdjointEig"] = ODD_TYPES["XlaSvd"] = {*_COMPLEX, tf.float16, tf.float64}

# What is not there in a mode, and why: UNIMPLEMENTED.
GAPS = {
    ("Bitcast", "eager"): "XLA has no Bitcast of complex numbers",
    ("Bitcast", "graph"): "XLA has no Bitcast of complex numbers",
    ("_While", "eager"): "obsolete, While has a kernel",
    ("_While", "graph"): "obsolete, While has a kernel",
}
