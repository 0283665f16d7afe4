"""Kernels in TensorFlow: the ops OnexpuKernel and OnexpuDynamicKernel of the device plugin."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, op_def_pb2
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.eager import record
from tensorflow.python.framework import _pywrap_python_op_gen

from onexpu._launch import KernelDefinition, KernelLaunch, Launch
from onexpu._shapes import Operand

if TYPE_CHECKING:
    from onexpu._kernel import SyclKernel

_Call = Callable[[Sequence[tf.Tensor]], Sequence[tf.Tensor]]


@functools.cache
def ops() -> types.ModuleType:
    """Returns the Python functions of the plugin's ops.

    TensorFlow has loaded the plugin when it was imported, so its ops are in the registry; only
    their Python
    functions have to be generated.
    """
    every = op_def_pb2.OpList()
    every.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    ours = op_def_pb2.OpList(op=[op for op in every.op if op.name.startswith("Onexpu")])
    attributes = [{a.name for a in op.attr} for op in ours.op if op.name == "OnexpuImport"]
    if attributes != [{"dtype", "shape", "slot"}]:
        raise RuntimeError(
            "onexpu: TensorFlow has not loaded the plugin tensorflow-plugins/libonexpu_tf.so, or "
            "one of another version; reinstall onexpu into the environment that holds TensorFlow"
        )
    module = types.ModuleType("onexpu._tensorflow_ops")
    exec(_pywrap_python_op_gen.GetPythonWrappers(ours.SerializeToString()), module.__dict__)
    return module


def _describe(name: str, tensor: tf.Tensor) -> Operand:
    """Describes a tensor; dimensions that are not known are scalar tensors."""
    shape = tensor.shape
    if shape.rank is None:
        raise ValueError(f"onexpu: '{name}' is a tensor of unknown rank")
    if shape.is_fully_defined():
        return Operand(name, tuple(shape.as_list()), tensor.dtype.name)
    known = tf.shape(tensor, out_type=tf.int64)
    dimensions = tuple(known[i] if d is None else d for i, d in enumerate(shape.as_list()))
    return Operand(name, dimensions, tensor.dtype.name)


def _handler(launch: Launch) -> bytes:
    """The target and its attributes as the op takes them; nothing for a SPIR-V kernel."""
    if isinstance(launch, KernelLaunch):
        return b""
    call = attr_value_pb2.NameAttrList(name=launch.target)
    for name, value in launch.attributes.items():
        call.attr[name].tensor.CopyFrom(tf.make_tensor_proto(value))
    return call.SerializeToString(deterministic=True)


def _operation(launch: Launch) -> _Call:
    """Returns the function of the operands that a launch is."""
    kernel = launch if isinstance(launch, KernelLaunch) else KernelLaunch("", "", (), 0)
    common: dict[str, Any] = {
        "kernel": kernel.kernel.key,
        "kernel_name": launch.name,
        "handler": _handler(launch),
        "scalars": kernel.scalars,
        "local_size": list(kernel.local_size),
        "in_place": list(launch.in_place),
        "zeroed": list(kernel.zeroed),
        "output_types": [tf.as_dtype(dtype) for _, dtype in launch.results],
    }
    if not tf.executing_eagerly():
        # A graph may be saved, and loaded where nobody has defined the kernel.
        common |= {
            "spirv": kernel.kernel.spirv,
            "entry_point": kernel.kernel.entry_point,
            "scalar_sizes": list(kernel.kernel.scalar_sizes),
        }
    if launch.is_known:
        run = functools.partial(
            ops().onexpu_kernel,
            global_size=list(kernel.global_size),
            output_shapes=[tf.TensorShape(shape) for shape, _ in launch.results],
            **common,
        )
        return lambda operands: _outputs(launch, run(inputs=operands))

    def call(operands: Sequence[tf.Tensor]) -> Sequence[tf.Tensor]:
        results = ops().onexpu_dynamic_kernel(
            inputs=list(operands),
            output_shapes=[_size_tensor(shape) for shape, _ in launch.results],
            global_size=_size_tensor(kernel.global_size),
            scalar_values=_size_tensor([value for _, _, value in kernel.late_scalars]),
            scalar_offsets=[offset for offset, _, _ in kernel.late_scalars],
            scalar_widths=[width for _, width, _ in kernel.late_scalars],
            operand_names=list(launch.unchecked.operands),
            operand_shapes=list(launch.unchecked.declared),
            shape_conditions=[n for condition in launch.unchecked.conditions for n in condition],
            **common,
        )
        for result, (shape, _) in zip(results, launch.results, strict=True):
            result.set_shape([None if isinstance(d, tf.Tensor) else d for d in shape])
        return _outputs(launch, results)

    return call


def _outputs(launch: Launch, results: Sequence[tf.Tensor]) -> Sequence[tf.Tensor]:
    """Leaves scratch memory out, and rows that the kernel has not counted."""
    outputs = list(results[: launch.num_outputs])
    for i, count in enumerate(launch.rows):
        if count >= 0:
            outputs[i] = ops().onexpu_leading_rows(
                tensor=results[i], count=results[count], kernel_name=launch.name
            )
    return outputs


def _size_tensor(sizes: Sequence[Any]) -> tf.Tensor:
    if not sizes:
        return tf.zeros([0], tf.int64)
    return tf.stack([tf.cast(size, tf.int64) for size in sizes])


def _as_tensor(x: Any) -> tf.Tensor:
    return x if isinstance(x, tf.Tensor) else tf.convert_to_tensor(x)


class TensorFlowCalls:
    """Calls of one kernel with TensorFlow tensors."""

    def __init__(self, kernel: SyclKernel, definition: KernelDefinition) -> None:
        self._kernel = kernel
        self._definition = definition
        self._operations: dict[Any, _Call] = {}  # of known shapes, by signature

    def __call__(self, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Sequence[tf.Tensor]:
        """Calls the kernel; see `SyclKernel.__call__`."""
        tensors = list(map(_as_tensor, inputs))
        # Without a tape there is nobody to ask for the gradient; a graph may be differentiated later.
        if not self._kernel.has_gradient or (
            tf.executing_eagerly() and not record.could_possibly_record()
        ):
            return self._call(tensors, attributes)

        @tf.custom_gradient
        def call(*operands: tf.Tensor) -> tuple[list[tf.Tensor], Any]:
            outputs = list(self._call(operands, attributes))

            def backward(*cotangents: tf.Tensor) -> list[Any]:
                return self._kernel.gradient(operands, outputs, cotangents, attributes)

            return outputs, backward

        return call(*tensors)

    def _call(
        self, operands: Sequence[tf.Tensor], attributes: Mapping[str, Any]
    ) -> Sequence[tf.Tensor]:
        operand_types = ((x._shape_tuple(), x.dtype) for x in operands)
        key = (tf.executing_eagerly(), *operand_types, *attributes.items())
        operation = self._operations.get(key)
        if operation is None:
            operation = _operation(self._launch(operands, attributes))
            if all(x.shape.is_fully_defined() for x in operands):
                self._operations[key] = operation
        return operation(operands)

    def _launch(self, operands: Sequence[tf.Tensor], attributes: Mapping[str, Any]) -> Launch:
        described = [
            _describe(name, x) for name, x in zip(self._definition.inputs, operands, strict=True)
        ]
        return self._definition.launch(described, attributes)
