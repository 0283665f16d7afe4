"""Kernels in TensorFlow: the ops OnexpuKernel and OnexpuDynamicKernel of the device plugin."""

from __future__ import annotations

import functools
import types
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import tensorflow as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.framework import _pywrap_python_op_gen

from onexpu._definition import Definition, Launch
from onexpu._shapes import Operand

if TYPE_CHECKING:
    from onexpu._kernel import SyclKernel


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


def _run(operands: Sequence[tf.Tensor], launch: Launch) -> Sequence[tf.Tensor]:
    common = {
        "kernel": launch.kernel.key,
        "scalars": launch.scalars,
        "local_size": list(launch.local_size),
        "in_place": list(launch.in_place),
        "output_types": [tf.as_dtype(dtype) for _, dtype in launch.results],
    }
    sizes = [*launch.global_size, *(d for shape, _ in launch.results for d in shape)]
    sizes += [value for _, _, value in launch.late_scalars]
    if not any(isinstance(size, tf.Tensor) for size in sizes):
        results = ops().onexpu_kernel(
            inputs=list(operands),
            global_size=list(launch.global_size),
            output_shapes=[list(shape) for shape, _ in launch.results],
            **common,
        )
        return results[: launch.num_outputs]
    results = ops().onexpu_dynamic_kernel(
        inputs=list(operands),
        output_shapes=[_size_tensor(shape) for shape, _ in launch.results],
        global_size=_size_tensor(launch.global_size),
        scalar_values=_size_tensor([value for _, _, value in launch.late_scalars]),
        scalar_offsets=[offset for offset, _, _ in launch.late_scalars],
        scalar_widths=[width for _, width, _ in launch.late_scalars],
        **common,
    )
    for result, (shape, _) in zip(results, launch.results, strict=True):
        result.set_shape([None if isinstance(d, tf.Tensor) else d for d in shape])
    return results[: launch.num_outputs]


def _size_tensor(sizes: Sequence[Any]) -> tf.Tensor:
    if not sizes:
        return tf.zeros([0], tf.int64)
    return tf.stack([tf.cast(size, tf.int64) for size in sizes])


class TensorFlowCalls:
    """Calls of one kernel with TensorFlow tensors."""

    def __init__(self, kernel: SyclKernel, definition: Definition) -> None:
        self._kernel = kernel
        self._definition = definition
        self._launches: dict[Any, Launch] = {}  # of known shapes, by signature

    def __call__(self, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Sequence[tf.Tensor]:
        """Calls the kernel; see `SyclKernel.__call__`."""
        tensors = [tf.convert_to_tensor(x) for x in inputs]
        if not self._kernel.has_gradient:
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
        if not all(x.shape.is_fully_defined() for x in operands):
            return _run(operands, self._launch(operands, attributes))
        key = (tuple((x.shape, x.dtype) for x in operands), tuple(attributes.items()))
        launch = self._launches.get(key)
        if launch is None:
            launch = self._launches[key] = self._launch(operands, attributes)
        return _run(operands, launch)

    def _launch(self, operands: Sequence[tf.Tensor], attributes: Mapping[str, Any]) -> Launch:
        described = [
            _describe(name, x) for name, x in zip(self._definition.inputs, operands, strict=True)
        ]
        return self._definition.launch(described, attributes)
