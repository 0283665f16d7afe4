"""Runs a call on a device: by itself, in a graph, or compiled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context, execute
from tensorflow.python.framework import op_def_library

from tests.tensorflow.registered_ops import calls, registry

MODES = ("eager", "graph", "jit")


def run(call: calls.Call, device: str, mode: str, known_shapes: bool = True) -> list[np.ndarray]:
    """What the op gives, and after it the values of the variables that it was given."""
    with tf.device(f"/{device}:0"):
        operands = Operands(call)
        if mode == "eager":
            return [
                _numbers(tensor)
                for tensor in operands.results(map(tf.constant, *operands.parameters()))
            ]
        specs = [
            tf.TensorSpec(array.shape if known_shapes else None, dtype)
            for array, dtype in zip(*operands.parameters(), strict=True)
        ]
        function = tf.function(
            lambda *tensors: operands.results(iter(tensors)), autograph=False,
            jit_compile=mode == "jit" or None, input_signature=specs,
        )  # fmt: skip
        # Arguments and not constants, which TensorFlow would fold on the CPU.
        return [_numbers(tensor) for tensor in function(*map(tf.constant, *operands.parameters()))]


def _numbers(tensor: tf.Tensor) -> np.ndarray:
    # A bfloat16 scalar is no array to np.asarray, its value is.
    return np.asarray(tensor.numpy())


class Operands:
    """The tensors of a call: its arrays as parameters, in order, and what is made of them."""

    def __init__(self, call: calls.Call) -> None:
        self._call = call
        # Made once, outside of functions.
        self._variables = [
            tf.Variable(_initial(leaf, call))
            for leaf in _leaves(call)
            if isinstance(leaf, calls.Variable)
        ]

    def parameters(self) -> tuple[list[np.ndarray], list[tf.DType]]:
        """Arrays and their types."""
        arrays = [leaf for leaf in _leaves(self._call) if not isinstance(leaf, calls.Variable)]
        arrays = [leaf.value if isinstance(leaf, calls.TensorList) else leaf for leaf in arrays]
        return arrays, [
            tf.string if array.dtype == object else tf.as_dtype(array.dtype) for array in arrays
        ]

    def results(self, tensors: Iterator[tf.Tensor]) -> list[tf.Tensor]:
        """Calls the op; variants come back as what is in them."""
        call = self._call
        if call.program:
            return tf.nest.flatten(call.program.python(*tensors))
        self._tensors, self._handles = tensors, iter(self._variables)
        inputs = {name: self._operand(value) for name, value in call.inputs.items()}
        outputs = _execute(call, inputs) if tf.executing_eagerly() else _node(call, inputs)
        outputs = [
            _opened(output, call) if output.dtype == tf.variant else output for output in outputs
        ]
        return outputs + [variable.read_value() for variable in self._variables]

    def _operand(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return [self._operand(item) for item in value]
        if isinstance(value, calls.Variable):
            return next(self._handles).handle
        tensor = next(self._tensors)
        if isinstance(value, calls.TensorList):
            return tf.raw_ops.TensorListFromTensor(
                tensor=tensor, element_shape=list(value.value.shape[1:])
            )
        return tensor


def _initial(variable: calls.Variable, call: calls.Call) -> tf.Tensor:
    value = tf.constant(variable.value, variable.type)
    # The CPU's kernel writes the state to memory that a variable shares with a constant, and not to
    # the variable's.
    return value + 0 if call.op == "StatefulRandomBinomial" else value


def _leaves(call: calls.Call) -> list[Any]:
    if call.program:
        return list(call.program.inputs)
    return [
        leaf
        for value in call.inputs.values()
        for leaf in (value if isinstance(value, tuple) else (value,))
    ]


def _opened(variant: tf.Tensor, call: calls.Call) -> tf.Tensor:
    lists = [leaf.type for leaf in _leaves(call) if isinstance(leaf, calls.TensorList)]
    dtype = lists[0] if lists else call.attributes["element_dtype"]
    return tf.raw_ops.TensorListStack(input_handle=variant, element_shape=-1, element_dtype=dtype)


def _concrete(call: calls.Call, function: calls.Function) -> Any:
    specs = [
        tf.TensorSpec(shape, call.attributes[dtype] if isinstance(dtype, str) else dtype)
        for dtype, shape in function.arguments
    ]
    return tf.function(function.python, input_signature=specs).get_concrete_function()


def _attributes(call: calls.Call) -> dict[str, Any]:
    def of(value: Any) -> Any:
        if isinstance(value, list):
            return [of(item) for item in value]
        return _concrete(call, value) if isinstance(value, calls.Function) else value

    return {name: of(value) for name, value in call.attributes.items()}


def _node(call: calls.Call, inputs: dict[str, Any]) -> list[tf.Tensor]:
    # What the library infers from the inputs must not be given.
    inferred = {
        attribute
        for argument in registry.op_def(call.op).input_arg
        for attribute in (argument.type_attr, argument.number_attr, argument.type_list_attr)
    }
    attributes = {
        attribute.name: None for attribute in registry.op_def(call.op).attr
    } | _attributes(call)
    attributes = {name: value for name, value in attributes.items() if name not in inferred}
    results = op_def_library.apply_op(call.op, name=call.op.lstrip("_"), **inputs, **attributes)
    if isinstance(results, tf.Operation):
        return list(results.outputs)
    return tf.nest.flatten(results)


def _execute(call: calls.Call, inputs: dict[str, Any]) -> list[tf.Tensor]:
    attributes = {}
    for name, value in _attributes(call).items():
        if isinstance(value, list):
            value = [
                item.as_datatype_enum if isinstance(item, tf.DType) else item for item in value
            ]
        attributes[name] = value.as_datatype_enum if isinstance(value, tf.DType) else value
    count = 0
    for output in registry.op_def(call.op).output_arg:
        if output.type_list_attr:
            count += len(attributes[output.type_list_attr])
        else:
            count += attributes[output.number_attr] if output.number_attr else 1
    flat = [item for pair in attributes.items() for item in pair]
    tensors = [
        tensor
        for value in inputs.values()
        for tensor in (value if isinstance(value, list) else (value,))
    ]
    return list(execute.execute(call.op, count, tensors, tuple(flat), context.context()))
