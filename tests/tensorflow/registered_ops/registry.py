"""The ops that TensorFlow's registry has kernels of for XPU, and the types that they take there."""

from __future__ import annotations

import collections
import functools
import itertools
from collections.abc import Iterator

import tensorflow as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.framework import kernels, op_def_registry

# What a kernel is registered for: the device itself, or every device that has none of its own.
DEVICES = ("XPU", "DEFAULT")

# The types of tensors that a test can make numbers of, those first that an op is best shown with.
# Quantised types are the integers of their size with another name: no op computes with them alone,
# and numpy has none.
TYPES = (
    tf.float32, tf.int64, tf.complex64, tf.bool, tf.int32, tf.float64, tf.float16, tf.bfloat16,
    tf.complex128, tf.uint64, tf.uint32, tf.uint8, tf.int8, tf.int16, tf.uint16, tf.string,
)  # fmt: skip

# By type attribute.
Types = dict[str, tf.DType]


@functools.cache
def _kernels() -> dict[str, list]:
    by_op = collections.defaultdict(list)
    for kernel in kernels.get_all_registered_kernels().kernel:
        # A kernel with a label runs only where a program names the label.
        if not kernel.label:
            by_op[kernel.op].append(kernel)
    return by_op


def op_def(op: str) -> op_def_pb2.OpDef | None:
    """The op's definition; None where nothing registers one."""
    return op_def_registry.get(op)


def ops() -> list[str]:
    """Every op with a kernel for XPU or for any device, by name."""
    return sorted(
        op
        for op, found in _kernels().items()
        if any(kernel.device_type in DEVICES for kernel in found) and op_def(op)
    )


def _constraints(op: str, devices: tuple[str, ...]) -> list[dict[str, frozenset[int]]]:
    return [
        {
            constraint.name: frozenset(constraint.allowed_values.list.type)
            for constraint in kernel.constraint
            if constraint.HasField("allowed_values")
        }
        for kernel in _kernels()[op]
        if kernel.device_type in devices
    ]


def _takes(constraints: list[dict[str, frozenset[int]]], types: Types) -> bool:
    return any(
        all(
            dtype.as_datatype_enum in constraint.get(name, (dtype.as_datatype_enum,))
            for name, dtype in types.items()
        )
        for constraint in constraints
    )


def runs_on(op: str, types: Types, device: str) -> bool:
    """Whether the op has a kernel for `types` on `device`, "XPU" or "CPU"."""
    return _takes(_constraints(op, DEVICES if device == "XPU" else (device, "DEFAULT")), types)


def _choices(op: str, attribute: op_def_pb2.OpDef.AttrDef) -> list[tf.DType]:
    """The types that some kernel takes for one attribute."""
    permitted = frozenset(attribute.allowed_values.list.type)
    found = _constraints(op, DEVICES)
    return [
        dtype
        for dtype in TYPES
        if not permitted or dtype.as_datatype_enum in permitted
        if any(
            dtype.as_datatype_enum in kernel.get(attribute.name, (dtype.as_datatype_enum,))
            for kernel in found
        )
    ]


def type_combinations(op: str, fixed: Types) -> Iterator[Types]:
    """Types for all of the op's attributes, `fixed` among them, until each has had each of its
    types once.

    First come those that the CPU has a kernel of, too.
    """
    names, choices = [], []
    for attribute in op_def(op).attr:
        if attribute.type == "type":
            names.append(attribute.name)
            choices.append(
                [fixed[attribute.name]] if attribute.name in fixed else _choices(op, attribute)
            )
    every = [dict(zip(names, types, strict=True)) for types in itertools.product(*choices)]
    every = [types for types in every if runs_on(op, types, "XPU")]
    seen = set()
    for types in sorted(every, key=lambda types: not runs_on(op, types, "CPU")):
        pairs = set(types.items())
        if not pairs or pairs - seen:
            seen |= pairs
            yield types
