"""Calls of ops, made from an op's definition and from what the table says of its inputs."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable, Iterator, Set
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import op_def_pb2

from tests.tensorflow.registered_ops import registry


@dataclasses.dataclass(frozen=True)
class Values:
    """Random numbers of the argument's type: floating ones in [low, high), integers in [floor,
    ceiling).
    """

    shape: tuple[int, ...]
    low: float = 0.1
    high: float = 0.9
    floor: int = 1
    ceiling: int = 5

    def array(self, dtype: tf.DType, random: np.random.RandomState) -> np.ndarray:
        if dtype == tf.string:
            return random.choice(np.array([b"ab", b"", b"xpu"], object), self.shape)
        if dtype == tf.bool:
            return np.asarray(random.rand(*self.shape) < 0.5)
        if dtype.is_integer:
            return np.asarray(random.randint(self.floor, self.ceiling, self.shape)).astype(
                dtype.as_numpy_dtype
            )
        numbers = random.uniform(self.low, self.high, self.shape)
        if dtype.is_complex:
            numbers = numbers + 1j * random.uniform(self.low, self.high, self.shape)
        return np.asarray(numbers).astype(dtype.as_numpy_dtype)


def values(*shape: int, **bounds: float) -> Values:
    return Values(shape, **bounds)


def indices(*shape: int, below: int) -> Values:
    """Integers from 0 on."""
    return Values(shape, floor=0, ceiling=below)


@dataclasses.dataclass(frozen=True)
class Definite:
    """Symmetric (Hermitian) matrices whose eigenvalues are apart from each other and from zero."""

    shape: tuple[int, ...]

    def array(self, dtype: tf.DType, random: np.random.RandomState) -> np.ndarray:
        n = self.shape[-1]
        wide = tf.complex128 if dtype.is_complex else tf.float64
        rotation = np.linalg.qr(Values(self.shape, low=-1, high=1).array(wide, random))[0]
        matrices = (rotation * np.arange(1, n + 1)) @ np.conj(np.swapaxes(rotation, -1, -2))
        return matrices.astype(dtype.as_numpy_dtype)


@dataclasses.dataclass(frozen=True)
class Variable:
    """A resource: a variable of these values, which is read after the op and compared, too.

    `type` is the name of a type attribute, or a type.
    """

    value: Any
    type: str | tf.DType


@dataclasses.dataclass(frozen=True)
class TensorList:
    """A variant: a list of the rows of these values."""

    value: Any
    type: str | tf.DType = "element_dtype"


@dataclasses.dataclass(frozen=True)
class Function:
    """An attribute: a function of tensors of these types and shapes."""

    python: Callable
    arguments: tuple[tuple[str | tf.DType, tuple[int, ...]], ...]


@dataclasses.dataclass(frozen=True)
class Program:
    """What calls the op along with others, where no single call of it means anything; takes
    `inputs` as tensors.
    """

    python: Callable
    inputs: tuple[Any, ...] = ()
    type: tf.DType = tf.float32


@dataclasses.dataclass
class Call:
    """One call: arrays by argument, `Variable`s and `TensorList`s of arrays, tuples of them; and
    attributes.
    """

    op: str
    types: registry.Types
    inputs: dict[str, Any]
    attributes: dict[str, Any]
    program: Program | None = None

    def __str__(self) -> str:
        def text(value: Any) -> str:
            if isinstance(value, tuple):
                return "(" + ", ".join(map(text, value)) + ")"
            if isinstance(value, np.ndarray):
                return f"{value.dtype}{list(value.shape)}"
            if isinstance(value, Variable | TensorList):
                return f"{type(value).__name__}({text(value.value)})"
            return value.name if isinstance(value, tf.DType) else str(value)

        named = {**self.inputs, **self.attributes} or self.types
        return f"{self.op}({', '.join(f'{name}={text(value)}' for name, value in named.items())})"


def _array(value: Any, dtype: tf.DType, random: np.random.RandomState) -> np.ndarray:
    if hasattr(value, "array"):
        return value.array(dtype, random)
    return np.asarray(value, object if dtype == tf.string else dtype.as_numpy_dtype)


class _Builder:
    def __init__(self, op: str, types: registry.Types, entry: dict[str, Any]) -> None:
        self.definition = registry.op_def(op)
        self.types = types
        self.entry = entry
        # Every call of an op with the same types has the same numbers, on each device.
        self.random = np.random.RandomState(zlib.crc32(op.encode()))

    def build(self) -> Call:
        op = self.definition.name
        self.attributes = {
            name: value for name, value in self.entry.items() if name not in self._arguments()
        }
        unknown = set(self.attributes) - {attribute.name for attribute in self.definition.attr}
        if unknown:
            raise KeyError(f"{op} has no {', '.join(sorted(unknown))}")
        self.attributes = {**self.types, **self.attributes}
        inputs = {argument.name: self._input(argument) for argument in self.definition.input_arg}
        for attribute in self.definition.attr:
            if attribute.name not in self.attributes and not attribute.HasField("default_value"):
                raise KeyError(f"the table has to name {attribute.name} of {op}")
        return Call(op, self.types, inputs, self.attributes)

    def _arguments(self) -> set[str]:
        return {argument.name for argument in self.definition.input_arg}

    def _type(self, named: str | int | tf.DType) -> tf.DType:
        return self.attributes[named] if isinstance(named, str) else tf.as_dtype(named)

    def _input(self, argument: op_def_pb2.OpDef.ArgDef) -> Any:
        named = argument.type_attr or argument.type
        if argument.type_list_attr:
            given = self.entry.get(argument.name, (values(3, 4), values(2)))
            types = self.attributes.setdefault(
                argument.type_list_attr, [tf.float32, tf.int64][: len(given)]
            )
            return tuple(self._one(value, dtype) for value, dtype in zip(given, types, strict=True))
        if argument.number_attr:
            given = self.entry.get(argument.name, (values(3, 4), values(3, 4)))
            self.attributes[argument.number_attr] = len(given)
            return tuple(self._one(value, self._type(named)) for value in given)
        return self._one(self.entry.get(argument.name, values(3, 4)), self._type(named))

    def _one(self, value: Any, dtype: tf.DType) -> Any:
        if isinstance(value, Variable | TensorList):
            inner = self._type(value.type)
            return dataclasses.replace(
                value, value=_array(value.value, inner, self.random), type=inner
            )
        if dtype in (tf.resource, tf.variant):
            raise KeyError(
                f"the table has to say what {self.definition.name} takes as a {dtype.name}"
            )
        return _array(value, dtype, self.random)


# What an op is called with that the table says nothing of: numbers, a number, nothing.
_SHAPES = ((3, 4), (), (0, 4))


def entries(op: str, table: dict[str, Any]) -> list[Any]:
    """What the table says of an op's calls, or what its definition does."""
    if op in table:
        return table[op] if isinstance(table[op], list) else [table[op]]
    arguments = registry.op_def(op).input_arg
    if not arguments:
        return [{}]
    return [
        {
            argument.name: (values(*shape),) * 2 if argument.number_attr else values(*shape)
            for argument in arguments
            if not argument.type_list_attr
        }
        for shape in _SHAPES
    ]


def build(op: str, types: registry.Types, entry: Any) -> Call:
    """A call with numbers of these types."""
    if isinstance(entry, Program):
        random = np.random.RandomState(zlib.crc32(op.encode()))
        arrays = tuple(_array(value, entry.type, random) for value in entry.inputs)
        return Call(op, types, {}, {}, dataclasses.replace(entry, inputs=arrays))
    return _Builder(op, types, entry).build()


def calls(
    op: str, table: dict[str, Any], full: bool, odd: Set[tf.DType] = frozenset()
) -> Iterator[Call]:
    """Calls with each entry, and in the full form the first entry with every type but those that
    are `odd`.
    """
    for number, entry in enumerate(entries(op, table)):
        if isinstance(entry, Program):
            yield build(op, {}, entry)
            continue
        inside = any(isinstance(value, Variable | TensorList) for value in entry.values())
        for types in registry.type_combinations(op, _fixed_types(op, entry)):
            # A variable or a list of strings has no place on a device.
            if odd & set(types.values()) or (inside and tf.string in types.values()):
                continue
            yield build(op, types, entry)
            if number or not full:
                break


def _fixed_types(op: str, entry: dict[str, Any]) -> registry.Types:
    return {
        attribute.name: entry[attribute.name]
        for attribute in registry.op_def(op).attr
        if attribute.type == "type" and attribute.name in entry
    }
