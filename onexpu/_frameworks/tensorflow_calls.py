"""Kernels in TensorFlow: the ops OnexpuKernel and OnexpuDynamicKernel of the device plugin."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.eager import context, record

from onexpu._bounded_cache import BoundedCache
from onexpu._interop.tensorflow_ops import ops
from onexpu._launch.launch import KernelLaunch, Launch
from onexpu._launch.protocols import KernelDefinition, KernelRules, KnownCall
from onexpu._launch.scalars import ScalarOperands, ScalarPacker, identity, is_number, words
from onexpu._launch.shapes import Operand

_Call = Callable[[Sequence[tf.Tensor]], Sequence[tf.Tensor]]


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
    serialized: bytes = call.SerializeToString(deterministic=True)
    return serialized


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
        # A graph may be saved, and loaded in a process that does not define the kernel.
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
            scalar_values=_size_tensor([value for _, _, value in kernel.runtime_scalars]),
            scalar_offsets=[offset for offset, _, _ in kernel.runtime_scalars],
            scalar_widths=[width for _, width, _ in kernel.runtime_scalars],
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


# Of one kernel: calls of known shapes, and numbers that devices have.
_KEPT_OPERATIONS = 256
_KEPT_NUMBERS = 64


def _as_scalar(tensor: tf.Tensor, dtype: str) -> tf.Tensor:
    """Returns the operand that a kernel reads a scalar of that type from."""
    # TensorFlow keeps int32 on the host. The kernel reads the bits.
    type_ = tf.uint32 if dtype == "int32" else tf.as_dtype(dtype)
    return tensor if tensor.dtype == type_ else tf.cast(tensor, type_)


@dataclasses.dataclass(frozen=True, eq=False)
class _Plan:
    """How a kernel gets attributes of certain types."""

    operands: ScalarOperands
    constants: tuple[str, ...]
    pack: ScalarPacker


class TensorFlowCalls:
    """Calls of one kernel with TensorFlow tensors.

    TensorFlow keeps an eager operation for each set of an op's attributes. So numbers are packed
    into one operand there; in graphs they are constants.
    """

    def __init__(self, kernel: KernelRules, definition: KernelDefinition) -> None:
        self._kernel = kernel
        self._definition = definition
        self._types = definition.scalar_attributes
        self._plans: BoundedCache[_Plan] = BoundedCache(_KEPT_OPERATIONS)
        self._operations: BoundedCache[_Call] = BoundedCache(_KEPT_OPERATIONS)
        self._packed: BoundedCache[tf.Tensor] = BoundedCache(_KEPT_NUMBERS)

    def __call__(self, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Sequence[tf.Tensor]:
        """Calls the kernel; see `SyclKernel.__call__`."""
        tensors = list(map(_as_tensor, inputs))
        key = (tf.executing_eagerly(), *attributes, *map(type, attributes.values()))
        plan = self._plans.get(key, lambda: self._plan(attributes))
        if plan.operands.single:
            # Outside of what `tf.custom_gradient` watches: variables are read here.
            values = {name: tf.convert_to_tensor(attributes[name]) for name in plan.operands.single}
            attributes = {**attributes, **values}
        # Without a tape no gradient is computed; a graph may be differentiated
        # later.
        if not self._kernel.has_gradient or (
            tf.executing_eagerly() and not record.could_possibly_record()
        ):
            return self._call(tensors, attributes, plan)

        def call(*operands: tf.Tensor) -> tuple[list[tf.Tensor], Any]:
            outputs = list(self._call(operands, attributes, plan))

            def backward(*cotangents: tf.Tensor) -> list[Any]:
                return self._kernel.gradient(operands, outputs, cotangents, attributes)

            return outputs, backward

        results: Sequence[tf.Tensor] = tf.custom_gradient(call)(*tensors)
        return results

    def known_call(self, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> KnownCall:
        """Returns the function for calls with inputs and numbers of these types."""
        return self

    def _plan(self, attributes: Mapping[str, Any]) -> _Plan:
        """Works out how attributes of these types are given to the kernel."""
        single = tuple(name for name in self._types if not is_number(attributes[name]))
        for name in single:
            if not isinstance(attributes[name], tf.Tensor | tf.Variable):
                raise TypeError(
                    f"onexpu: '{name}' of kernel '{self._definition.name}' is a "
                    f"{type(attributes[name]).__name__}; the inputs are tensors of TensorFlow"
                )
        packed: tuple[str, ...] = ()
        if tf.executing_eagerly():
            packed = tuple(name for name in self._types if name not in single)
        return _Plan(
            operands=ScalarOperands(packed, single),
            constants=tuple(name for name in attributes if name not in (*packed, *single)),
            pack=self._definition.packer(packed),
        )

    def _call(
        self, operands: Sequence[tf.Tensor], attributes: Mapping[str, Any], plan: _Plan
    ) -> Sequence[tf.Tensor]:
        constants = {name: attributes[name] for name in plan.constants}
        scalars = [_as_scalar(attributes[n], self._types[n]) for n in plan.operands.single]
        if plan.operands.packed:
            scalars.insert(0, self._numbers(plan.pack(attributes)))
        operand_types = tuple((x._shape_tuple(), x.dtype) for x in operands)
        key = (plan, operand_types, identity(constants) if constants else ())
        operation = self._operations.find(key)
        if operation is None:
            operation = _operation(self._launch(operands, constants, plan.operands))
            if all(x.shape.is_fully_defined() for x in operands):
                made = operation
                operation = self._operations.get(key, lambda: made)
        return operation([*operands, *scalars])

    def _numbers(self, packed: bytes) -> tf.Tensor:
        key = (packed, context.context().device_name)
        tensor = self._packed.find(key)
        if tensor is None:
            tensor = self._packed.get(key, lambda: tf.constant(words(packed)))
        return tensor

    def _launch(
        self,
        operands: Sequence[tf.Tensor],
        constants: Mapping[str, Any],
        scalar_operands: ScalarOperands,
    ) -> Launch:
        described = [
            _describe(name, x) for name, x in zip(self._definition.inputs, operands, strict=True)
        ]
        return self._definition.launch(described, constants, scalar_operands)
