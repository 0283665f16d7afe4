"""What ops are called with that take variables, generators, lists and arrays of tensors, or
functions.

Entries are as in tensor_calls.py.
"""

from __future__ import annotations

import itertools
from typing import Any

import tensorflow as tf

from tests.tensorflow.registered_ops.calls import Function, Program, TensorList, Variable, values

raw = tf.raw_ops

_NUMBERS = itertools.count()
_VARIABLE = {"resource": Variable(values(4, 3), "dtype"), "indices": [0, 2]}
_VARIABLE_ND = {"ref": Variable(values(4, 3), "T"), "indices": [[0], [2]], "updates": values(2, 3)}
_GENERATOR = {
    "resource": Variable([1, 2, 3], tf.int64),
    "algorithm": 1,
    "shape": [3, 4],
    "shape_dtype": tf.int64,
}
_LIST = TensorList(values(3, 4))
_LIST_OF_FLOATS = TensorList(values(3, 4), tf.float32)


def _slots(names: str, gradient: str = "grad") -> dict[str, Any]:
    """A variable and what an optimiser keeps of it."""
    return {**dict.fromkeys(names.split(), Variable(values(4, 3), "T")), gradient: values(4, 3)}


def _sparse_slots(names: str) -> dict[str, Any]:
    return {**_slots(names), "grad": values(2, 3), "indices": [2, 0]}


def _numbers(names: str) -> dict[str, float]:
    """Numbers as optimisers have them, each another."""
    return {name: 0.1 + 0.05 * place for place, name in enumerate(names.split())}


_CELLS = [[0, 0], [1, 2], [2, 1], [2, 3]]


def _matrix(x: tf.Tensor) -> tf.Tensor:
    """A sparse matrix of some of x's numbers."""
    return raw.DenseToCSRSparseMatrix(dense_input=x, indices=tf.constant(_CELLS, tf.int64))


def _full(matrix: tf.Tensor) -> tf.Tensor:
    return raw.CSRSparseMatrixToDense(sparse_input=matrix, type=tf.float32)


def _matrix_of_cells(x: tf.Tensor) -> tf.Tensor:
    shape = tf.constant([3, 4], tf.int64)
    cells = tf.constant(_CELLS, tf.int64)
    return _full(raw.SparseTensorToCSRSparseMatrix(indices=cells, values=x[0], dense_shape=shape))


def _of_matrix(op: Any) -> Program:
    return Program(lambda x: op(_matrix(x)), (values(3, 4),))


def _list_stack(handle: tf.Tensor) -> tf.Tensor:
    return raw.TensorListStack(input_handle=handle, element_shape=[4], element_dtype=tf.float32)


def _pushed(x: tf.Tensor) -> tf.Tensor:
    handle = raw.EmptyTensorList(element_shape=[4], max_num_elements=-1, element_dtype=tf.float32)
    handle = raw.TensorListPushBack(input_handle=handle, tensor=x[0])
    return _list_stack(raw.TensorListPushBack(input_handle=handle, tensor=x[1]))


def _pushed_batch(x: tf.Tensor) -> list[tf.Tensor]:
    handles = [raw.TensorListFromTensor(tensor=x, element_shape=[4]) for _ in range(2)]
    with tf.device("/CPU:0"):
        handles = tf.stack(handles)
    pushed = raw.TensorListPushBackBatch(input_handles=handles, tensor=x[:2])
    with tf.device("/CPU:0"):
        return [_list_stack(handle) for handle in tf.unstack(pushed, 2)]


def _reserved(x: tf.Tensor) -> list[tf.Tensor]:
    handle = raw.TensorListReserve(element_shape=[4], num_elements=3, element_dtype=tf.float32)
    handle = raw.TensorListSetItem(input_handle=handle, index=1, item=x[0])
    return [_list_stack(handle), raw.TensorListLength(input_handle=handle)]


def _popped(x: tf.Tensor) -> list[tf.Tensor]:
    handle = raw.TensorListFromTensor(tensor=x, element_shape=[4])
    handle, last = raw.TensorListPopBack(
        input_handle=handle, element_shape=[4], element_dtype=tf.float32
    )
    return [_list_stack(handle), last]


def _tensor_array(x: tf.Tensor, gradient: str | None = None) -> list[tf.Tensor]:
    """Every op of the third version of tensor arrays, on an array or on its gradient."""
    handle, flow = raw.TensorArrayV3(size=5, dtype=tf.float32, clear_after_read=False)
    if gradient == "TensorArrayGradV3":
        flow = raw.TensorArrayScatterV3(
            handle=handle, indices=[0, 1, 2, 3, 4], value=tf.stack([x[0]] * 5), flow_in=flow
        )
        handle, flow = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="gradients")
    if gradient == "TensorArrayGradWithShape":
        flow = raw.TensorArrayScatterV3(
            handle=handle, indices=[0, 1, 2, 3, 4], value=tf.ones([5]), flow_in=flow
        )
        handle, flow = raw.TensorArrayGradWithShape(
            handle=handle, flow_in=flow, shape_to_prepend=[4], source="gradients"
        )
    flow = raw.TensorArrayScatterV3(handle=handle, indices=[0, 3, 1], value=x, flow_in=flow)
    flow = raw.TensorArrayWriteV3(handle=handle, index=2, value=x[0], flow_in=flow)
    flow = raw.TensorArrayWriteV3(handle=handle, index=4, value=x[1], flow_in=flow)
    gathered = raw.TensorArrayGatherV3(
        handle=handle, indices=[3, 0, 2], flow_in=flow, dtype=tf.float32
    )
    read = raw.TensorArrayReadV3(handle=handle, index=1, flow_in=flow, dtype=tf.float32)
    return [gathered, read, raw.TensorArraySizeV3(handle=handle, flow_in=flow)]


def _split_array(x: tf.Tensor) -> list[tf.Tensor]:
    """What splits a tensor into an array, and joins it again."""
    handle, flow = raw.TensorArrayV3(size=2, dtype=tf.float32, clear_after_read=False)
    flow = raw.TensorArraySplitV3(handle=handle, value=x, lengths=[1, 2], flow_in=flow)
    joined = list(raw.TensorArrayConcatV3(handle=handle, flow_in=flow, dtype=tf.float32))
    with tf.control_dependencies(joined):
        raw.TensorArrayCloseV3(handle=handle)
    return joined


def _old_loop(x: tf.Tensor) -> tf.Tensor:
    """A loop and a condition as TensorFlow 1 has them, of Enter, Merge, Switch, NextIteration,
    LoopCond and Exit.
    """

    def loop(x: tf.Tensor) -> tf.Tensor:
        return tf.compat.v1.while_loop(lambda i, x: i < 3, lambda i, x: [i + 1, x * 2.0], [0, x])[1]

    enabled = tf.compat.v1.control_flow_v2_enabled()
    tf.compat.v1.disable_control_flow_v2()
    try:
        return tf.compat.v1.wrap_function(loop, [tf.TensorSpec(x.shape, x.dtype)])(x)
    finally:
        if enabled:
            tf.compat.v1.enable_control_flow_v2()


def _new_variable(x: tf.Tensor) -> tf.Tensor:
    return raw.VarHandleOp(dtype=x.dtype, shape=x.shape, shared_name=f"swept{next(_NUMBERS)}")


def _handle(x: tf.Tensor) -> tf.Tensor:
    handle = _new_variable(x)
    with tf.control_dependencies([raw.AssignVariableOp(resource=handle, value=x)]):
        return raw.ReadVariableOp(resource=handle, dtype=x.dtype)


def _optional(x: tf.Tensor) -> list[tf.Tensor]:
    filled, nothing = raw.OptionalFromValue(components=[x]), raw.OptionalNone()
    got = raw.OptionalGetValue(optional=filled, output_types=[x.dtype], output_shapes=[x.shape])
    return [*got, raw.OptionalHasValue(optional=filled), raw.OptionalHasValue(optional=nothing)]


def _queue(x: tf.Tensor) -> list[tf.Tensor]:
    # Each time another: it is closed in the end.
    queue = raw.FIFOQueueV2(
        component_types=[tf.float32], capacity=4, shared_name=f"swept{next(_NUMBERS)}"
    )
    with tf.control_dependencies([raw.QueueEnqueueV2(handle=queue, components=[x])]):
        size = raw.QueueSizeV2(handle=queue)
    with tf.control_dependencies([size]):
        taken = raw.QueueDequeueV2(handle=queue, component_types=[tf.float32])
    with tf.control_dependencies(taken):
        raw.QueueCloseV2(handle=queue)
    return [*taken, size, raw.QueueIsClosedV2(handle=queue)]


def _stack(x: tf.Tensor) -> list[tf.Tensor]:
    handle = raw.StackV2(max_size=4, elem_type=tf.float32, stack_name="swept")
    pushed = raw.StackPushV2(handle=handle, elem=x)
    with tf.control_dependencies([pushed]):
        popped = raw.StackPopV2(handle=handle, elem_type=tf.float32)
    with tf.control_dependencies([popped]):
        raw.StackCloseV2(handle=handle)
    return [pushed, popped]


def _staged(x: tf.Tensor) -> list[tf.Tensor]:
    area = {"dtypes": [tf.float32], "shared_name": "swept"}
    with tf.control_dependencies([raw.Stage(values=[x], shared_name="swept")]):
        peeked, size = raw.StagePeek(index=0, **area), raw.StageSize(**area)
    with tf.control_dependencies([*peeked, size]):
        taken = raw.Unstage(**area)
    with tf.control_dependencies(taken):
        raw.StageClear(**area)
    return [*peeked, size, *taken]


def _staged_by_key(x: tf.Tensor, ordered: bool) -> list[tf.Tensor]:
    kind = "OrderedMap" if ordered else "Map"

    def op(name):
        return getattr(raw, kind + name)

    area = {"dtypes": [tf.float32], "shared_name": "swept" + kind}
    indices = tf.constant([0])
    for key in (3, 5):
        op("Stage")(
            key=tf.constant(key, tf.int64), indices=indices, values=[x * float(key)], **area
        )
    peeked = op("Peek")(key=tf.constant(5, tf.int64), indices=indices, **area)
    sizes = [op("Size")(**area), op("IncompleteSize")(**area)]
    with tf.control_dependencies([*peeked, *sizes]):
        taken = op("Unstage")(key=tf.constant(5, tf.int64), indices=indices, **area)
    with tf.control_dependencies(taken):
        key, rest = op("UnstageNoKey")(indices=indices, **area)
    with tf.control_dependencies([key]):
        op("Clear")(**area)
    return [*peeked, *sizes, *taken, key, *rest]


def _critical_section(x: tf.Tensor) -> tf.Tensor:
    return tf.CriticalSection(shared_name="swept").execute(lambda: x * 2.0)


def _destroyed(x: tf.Tensor) -> tf.Tensor:
    handle = _new_variable(x)
    with tf.control_dependencies([raw.AssignVariableOp(resource=handle, value=x)]):
        destroyed = raw.DestroyResourceOp(resource=handle)
    with tf.control_dependencies([destroyed]):
        return raw.VarIsInitializedOp(resource=handle)


def _double(x: tf.Tensor) -> tf.Tensor:
    return x * 2.0


def _doubles(x: tf.Tensor, i: tf.Tensor) -> list[tf.Tensor]:
    return [x + x, i + i]


def _negatives(x: tf.Tensor, i: tf.Tensor) -> list[tf.Tensor]:
    return [-x, -i]


_BRANCHES = {
    "input": (values(3, 4), values(2)), "Tin": [tf.float32, tf.int32],
    "Tout": [tf.float32, tf.int32],
}  # fmt: skip
_BRANCH_ARGUMENTS = ((tf.float32, (3, 4)), (tf.int32, (2,)))
_IN_GRAPHS = Program(_old_loop, (values(3, 4),))

CALLS = {
    # Variables.
    "AssignAddVariableOp AssignSubVariableOp AssignVariableOp": {
        "resource": Variable(values(3, 4), "dtype"),
        "value": values(3, 4),
    },
    "ReadVariableOp": {"resource": Variable(values(3, 4), "dtype")},
    "_ReadVariablesOp": {
        "resources": (Variable(values(3, 4), tf.float32),) * 2,
        "dtypes": [tf.float32] * 2,
    },
    "VariableShape": {"input": Variable(values(3, 4), tf.float32)},
    "VarIsInitializedOp": {"resource": Variable(values(3, 4), tf.float32)},
    "ResourceGather": _VARIABLE,
    "ResourceGatherNd": {**_VARIABLE, "indices": [[0, 1], [3, 2]]},
    "ResourceScatterAdd ResourceScatterDiv ResourceScatterMax ResourceScatterMin "
    "ResourceScatterMul ResourceScatterSub"
    " ResourceScatterUpdate": {**_VARIABLE, "updates": values(2, 3)},
    (
        "ResourceScatterNdAdd ResourceScatterNdMax ResourceScatterNdMin ResourceScatterNdSub "
        "ResourceScatterNdUpdate"
    ): _VARIABLE_ND,
    "ResourceStridedSliceAssign": {
        "ref": Variable(values(4, 3), "T"),
        "begin": [1, 0],
        "end": [3, 2],
        "strides": [1, 1],
        "value": values(2, 2),
    },
    "ReadVariableXlaSplitND": {
        "resource": Variable(values(4, 4), "T"),
        "N": 4,
        "num_splits": [2, 2],
    },
    "AssignVariableXlaConcatND": {
        "resource": Variable(values(4, 4), "T"),
        "inputs": (values(2, 2),) * 4,
        "num_concats": [2, 2],
    },
    # Optimisers.
    "ResourceApplyGradientDescent": {**_slots("var", "delta"), "alpha": 0.1},
    "ResourceApplyMomentum ResourceApplyKerasMomentum": {
        **_slots("var accum"),
        **_numbers("lr momentum"),
    },
    "ResourceApplyAdagrad": {**_slots("var accum"), "lr": 0.1},
    "ResourceApplyAdagradV2": {**_slots("var accum"), **_numbers("lr epsilon")},
    "ResourceApplyAdagradDA": {
        **_slots("var gradient_accumulator gradient_squared_accumulator"),
        **_numbers("lr l1 l2"),
        "global_step": 3,
    },
    "ResourceApplyProximalAdagrad": {**_slots("var accum"), **_numbers("lr l1 l2")},
    "ResourceApplyProximalGradientDescent": {**_slots("var", "delta"), **_numbers("alpha l1 l2")},
    "ResourceApplyAdadelta": {**_slots("var accum accum_update"), **_numbers("lr rho epsilon")},
    "ResourceApplyAdam": {
        **_slots("var m v"),
        **_numbers("beta1_power beta2_power lr beta1 beta2 epsilon"),
    },
    "ResourceApplyAdamWithAmsgrad": {
        **_slots("var m v vhat"),
        **_numbers("beta1_power beta2_power lr beta1 beta2 epsilon"),
    },
    "ResourceApplyAdaMax": {**_slots("var m v"), **_numbers("beta1_power lr beta1 beta2 epsilon")},
    "ResourceApplyAddSign": {**_slots("var m"), **_numbers("lr alpha sign_decay beta")},
    "ResourceApplyPowerSign": {**_slots("var m"), **_numbers("lr logbase sign_decay beta")},
    "ResourceApplyRMSProp": {**_slots("var ms mom"), **_numbers("lr rho momentum epsilon")},
    "ResourceApplyCenteredRMSProp": {
        # The mean of squares has to be above the square of the mean.
        **_slots("var mg ms mom"),
        "mg": Variable(values(4, 3, low=0, high=0.2), "T"),
        "ms": Variable(values(4, 3, low=0.5), "T"),
        **_numbers("lr rho momentum epsilon"),
    },
    "ResourceApplyFtrl": {**_slots("var accum linear"), **_numbers("lr l1 l2"), "lr_power": -0.5},
    "ResourceApplyFtrlV2": {
        **_slots("var accum linear"),
        **_numbers("lr l1 l2 l2_shrinkage"),
        "lr_power": -0.5,
    },
    "ResourceSparseApplyAdadelta": {
        **_sparse_slots("var accum accum_update"),
        **_numbers("lr rho epsilon"),
    },
    "ResourceSparseApplyAdagrad": {**_sparse_slots("var accum"), "lr": 0.1},
    "ResourceSparseApplyAdagradV2": {**_sparse_slots("var accum"), **_numbers("lr epsilon")},
    "ResourceSparseApplyProximalAdagrad": {**_sparse_slots("var accum"), **_numbers("lr l1 l2")},
    "ResourceSparseApplyKerasMomentum ResourceSparseApplyMomentum": {
        **_sparse_slots("var accum"),
        **_numbers("lr momentum"),
    },
    "ResourceSparseApplyFtrl": {
        **_sparse_slots("var accum linear"),
        **_numbers("lr l1 l2"),
        "lr_power": -0.5,
    },
    "ResourceSparseApplyFtrlV2": {
        **_sparse_slots("var accum linear"),
        **_numbers("lr l1 l2 l2_shrinkage"),
        "lr_power": -0.5,
    },
    # Random numbers of a generator's state.
    "StatefulStandardNormalV2 StatefulTruncatedNormal StatefulUniform StatefulUniformFullInt": (
        _GENERATOR
    ),
    "StatefulUniformInt": {**_GENERATOR, "minval": 0, "maxval": 10},
    "StatefulRandomBinomial": {
        "resource": Variable([1, 2, 3], tf.int64),
        "algorithm": 1,
        "shape": [3, 4],
        # The CPU's kernel ends the process over a shape in int64.
        "S": tf.int32,
        "counts": [5, 50, 9, 20],
        "probs": [0.3, 0.5, 0.9, 0.01],
    },
    "RngReadAndSkip": {"resource": Variable([1, 2, 3], tf.int64), "alg": 1, "delta": 7},
    "RngSkip": {"resource": Variable([1, 2, 3], tf.int64), "algorithm": 1, "delta": 7},
    # Lists of tensors.
    "EmptyTensorList TensorListPushBack": Program(_pushed, (values(2, 4),)),
    "TensorListPushBackBatch": Program(_pushed_batch, (values(3, 4),)),
    "TensorListReserve TensorListSetItem": Program(_reserved, (values(2, 4),)),
    "TensorListPopBack": Program(_popped, (values(3, 4),)),
    "TensorListFromTensor": {"tensor": values(3, 4), "element_shape": [4]},
    "TensorListStack": {"input_handle": _LIST, "element_shape": [4]},
    "TensorListConcat": {"input_handle": TensorList(values(3, 2, 4)), "element_shape": [None, 4]},
    "TensorListConcatV2": {
        "input_handle": TensorList(values(3, 2, 4)),
        "element_shape": [-1, 4],
        "leading_dims": [],
    },
    "TensorListConcatLists": {"input_a": _LIST, "input_b": _LIST},
    "TensorListElementShape": {"input_handle": _LIST_OF_FLOATS},
    "TensorListGather": {"input_handle": _LIST, "indices": [0, 2], "element_shape": [4]},
    "TensorListGetItem": {"input_handle": _LIST, "index": 1, "element_shape": [4]},
    "TensorListLength": {"input_handle": _LIST_OF_FLOATS},
    "TensorListResize": {"input_handle": _LIST_OF_FLOATS, "size": 2},
    "TensorListScatter": {"tensor": values(3, 4), "indices": [2, 0, 1], "element_shape": [4]},
    "TensorListScatterV2": {
        "tensor": values(3, 4),
        "indices": [2, 0, 1],
        "element_shape": [4],
        "num_elements": 3,
    },
    "TensorListScatterIntoExistingList": {
        "input_handle": _LIST,
        "tensor": values(1, 4),
        "indices": [1],
    },
    "TensorListSplit": {"tensor": values(3, 4), "element_shape": [-1, 4], "lengths": [1, 1, 1]},
    (
        "TensorArrayV3 TensorArrayWriteV3 TensorArrayReadV3 TensorArrayGatherV3 "
        "TensorArrayScatterV3 TensorArraySizeV3"
    ): Program(_tensor_array, (values(3, 4),)),
    "TensorArraySplitV3 TensorArrayConcatV3 TensorArrayCloseV3": Program(
        _split_array, (values(3, 4),)
    ),
    "TensorArrayGradV3": Program(lambda x: _tensor_array(x, "TensorArrayGradV3"), (values(3, 4),)),
    "TensorArrayGradWithShape": Program(
        lambda x: _tensor_array(x, "TensorArrayGradWithShape"), (values(3, 4),)
    ),
    # Sparse matrices.
    "CSRSparseMatrixToDense DenseToCSRSparseMatrix": _of_matrix(_full),
    "SparseTensorToCSRSparseMatrix": Program(_matrix_of_cells, (values(3, 4),)),
    "CSRSparseMatrixComponents": _of_matrix(
        lambda m: raw.CSRSparseMatrixComponents(csr_sparse_matrix=m, index=0, type=tf.float32)
    ),
    "CSRSparseMatrixToSparseTensor": _of_matrix(
        lambda m: raw.CSRSparseMatrixToSparseTensor(sparse_matrix=m, type=tf.float32)
    ),
    "SparseMatrixAdd": _of_matrix(
        lambda m: _full(raw.SparseMatrixAdd(a=m, b=m, alpha=1.0, beta=2.0))
    ),
    "SparseMatrixMatMul": _of_matrix(lambda m: raw.SparseMatrixMatMul(a=m, b=tf.ones([4, 2]))),
    "SparseMatrixMul": _of_matrix(lambda m: _full(raw.SparseMatrixMul(a=m, b=2.0))),
    "SparseMatrixNNZ": _of_matrix(lambda m: raw.SparseMatrixNNZ(sparse_matrix=m)),
    "SparseMatrixSoftmax": _of_matrix(
        lambda m: _full(raw.SparseMatrixSoftmax(logits=m, type=tf.float32))
    ),
    "SparseMatrixSoftmaxGrad": _of_matrix(
        lambda m: _full(raw.SparseMatrixSoftmaxGrad(softmax=m, grad_softmax=m, type=tf.float32))
    ),
    "SparseMatrixSparseMatMul": _of_matrix(
        lambda m: _full(raw.SparseMatrixSparseMatMul(a=m, b=m, type=tf.float32, transpose_b=True))
    ),
    "SparseMatrixTranspose": _of_matrix(
        lambda m: _full(raw.SparseMatrixTranspose(input=m, type=tf.float32))
    ),
    "SparseMatrixZeros": Program(
        lambda: _full(raw.SparseMatrixZeros(dense_shape=[3, 4], type=tf.float32))
    ),
    # Other state, and what is neither a number nor a variable.
    "VarHandleOp": Program(_handle, (values(3, 4),)),
    "DestroyResourceOp": Program(_destroyed, (values(3, 4),)),
    "DisableCopyOnRead": {"resource": Variable(values(3, 4), tf.float32)},
    "OptionalFromValue OptionalNone OptionalGetValue OptionalHasValue": Program(
        _optional, (values(3, 4),)
    ),
    "FIFOQueueV2 QueueEnqueueV2 QueueDequeueV2 QueueSizeV2 QueueIsClosedV2 QueueCloseV2": Program(
        _queue, (values(3, 4),)
    ),
    "StackV2 StackPushV2 StackPopV2 StackCloseV2": Program(_stack, (values(3, 4),)),
    "Stage StagePeek StageSize Unstage StageClear": Program(_staged, (values(3, 4),)),
    "MapStage MapPeek MapSize MapIncompleteSize MapUnstage MapUnstageNoKey MapClear": Program(
        lambda x: _staged_by_key(x, False), (values(3, 4),)
    ),
    "OrderedMapStage OrderedMapPeek OrderedMapSize OrderedMapIncompleteSize OrderedMapUnstage "
    "OrderedMapUnstageNoKey"
    " OrderedMapClear": Program(lambda x: _staged_by_key(x, True), (values(3, 4),)),
    "MutexV2 MutexLock ConsumeMutexLock": Program(_critical_section, (values(3, 4),)),
    "Const": Program(lambda x: x + tf.constant([1.0, 2.0, 3.0, 4.0]), (values(3, 4),)),
    "EagerPyFunc": Program(lambda x: tf.py_function(_double, [x], tf.float32), (values(3, 4),)),
    "FakeParam": Program(lambda: tf.shape(raw.FakeParam(dtype=tf.float32, shape=[3, 4]))),
    # Functions.
    # Of int32, too, which functions have on the host.
    "If StatelessIf _If": {
        "cond": True,
        **_BRANCHES,
        "Tcond": tf.bool,
        "then_branch": Function(_doubles, _BRANCH_ARGUMENTS),
        "else_branch": Function(_negatives, _BRANCH_ARGUMENTS),
    },
    "Case StatelessCase": {
        "branch_index": 1,
        **_BRANCHES,
        "branches": [
            Function(_negatives, _BRANCH_ARGUMENTS),
            Function(_doubles, _BRANCH_ARGUMENTS),
        ],
    },
    "While StatelessWhile _While": {
        "input": (0, values(3, 4)),
        "T": [tf.int32, tf.float32],
        "cond": Function(lambda i, x: i < 3, ((tf.int32, ()), (tf.float32, (3, 4)))),
        "body": Function(lambda i, x: (i + 1, x * 2.0), ((tf.int32, ()), (tf.float32, (3, 4)))),
    },
    "For": {
        "start": 0,
        "limit": 3,
        "delta": 1,
        "input": (values(3, 4),),
        "T": [tf.float32],
        "body": Function(lambda i, x: x * 2.0, ((tf.int32, ()), (tf.float32, (3, 4)))),
    },
    "PartitionedCall StatefulPartitionedCall": {
        "args": (values(3, 4),),
        "Tin": [tf.float32],
        "Tout": [tf.float32],
        "f": Function(_double, ((tf.float32, (3, 4)),)),
    },
    "XlaWhile": {
        "input": (0, values(3, 4)),
        "T": [tf.int32, tf.float32],
        "cond": Function(lambda i, x: i < 3, ((tf.int32, ()), (tf.float32, (3, 4)))),
        "body": Function(lambda i, x: (i + 1, x * 2.0), ((tf.int32, ()), (tf.float32, (3, 4)))),
    },
    "Enter Exit LoopCond Merge NextIteration Switch": _IN_GRAPHS,
}
