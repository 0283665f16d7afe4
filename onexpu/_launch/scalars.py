"""Scalar attributes of a kernel that a launch reads from memory, and how numbers are packed."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from onexpu._types import numpy_dtype

# Packed numbers are uint32: TensorFlow keeps int32 on the host, and JAX has no 64-bit types by
# default.
_WORD = 4
# What `struct` calls types, if it is as strict with their values as `OperandsDefinition.number`.
_FORMATS = {
    **{"int8": "b", "int16": "h", "int32": "i", "int64": "q"},
    **{"uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q"},
    **{"float16": "e", "float32": "f", "float64": "d"},
}
_PYTHON_NUMBERS = (int, float, complex)
# Values of an earlier kind convert to types of a later one.
_KINDS = ("bool", "int", "float", "complex")


@dataclasses.dataclass(frozen=True)
class ScalarOperands:
    """The attributes that a launch reads from operands, which follow the inputs.

    Attributes
    ----------
    packed : tuple of str
        Known to the host. Together they are one operand, a vector of uint32; see `offsets`.
    single : tuple of str
        Values of the computation: an operand without dimensions for each.
    """

    packed: tuple[str, ...] = ()
    single: tuple[str, ...] = ()


NO_SCALAR_OPERANDS = ScalarOperands()


def is_number(value: Any) -> bool:
    """Whether the host knows the value: a number, or an array of numpy without dimensions."""
    if isinstance(value, _PYTHON_NUMBERS):
        return True
    is_array = isinstance(value, np.ndarray) and value.ndim == 0
    is_numpy = is_array or isinstance(value, np.generic)
    return is_numpy and kind_of(value.dtype.name) is not None


def identity(numbers: Mapping[str, Any]) -> tuple[Any, ...]:
    """Returns a key that tells 0.0 from -0.0, and finds NaN again."""
    return tuple((name, type(value), repr(value)) for name, value in numbers.items())


def kind_of(dtype: str) -> str | None:
    """Returns what the values of a type are: "bool", "int", "float", "complex" or None."""
    if dtype == "bool":
        return "bool"
    for prefix, kind in (("int", "int"), ("uint", "int"), ("complex", "complex")):
        if dtype.startswith(prefix):
            return kind
    return "float" if dtype.startswith(("float", "bfloat")) else None


def converts(dtype: str, to: str) -> bool:
    """Whether arrays of one type are accepted for a scalar of another: a kind is never narrowed."""
    kind, wanted = kind_of(dtype), kind_of(to)
    if kind is None or wanted is None:
        return False
    return _KINDS.index(kind) <= _KINDS.index(wanted) and (wanted != "bool" or kind == "bool")


def offsets(dtypes: Sequence[str]) -> list[int]:
    """Returns where each packed number begins, in bytes: each is aligned to its size."""
    result, end = [], 0
    for dtype in dtypes:
        size = numpy_dtype(dtype).itemsize
        result.append(-(-end // size) * size)
        end = result[-1] + size
    return result


class ScalarPacker:
    """Packs attributes into the bytes of a `ScalarOperands.packed` operand.

    Parameters
    ----------
    dtypes : mapping
        From the attributes' names to their types.
    number : callable
        ``number(name, dtype, value)`` converts a value, or raises for one that does not fit.
    """

    def __init__(
        self, dtypes: Mapping[str, str], number: Callable[[str, str, Any], np.generic]
    ) -> None:
        self._dtypes = dtypes
        self._number = number
        self._offsets = offsets(list(dtypes.values()))
        sizes = [numpy_dtype(dtype).itemsize for dtype in dtypes.values()]
        end = self._offsets[-1] + sizes[-1] if sizes else 0
        self._bytes = -(-end // _WORD) * _WORD
        self._struct = self._format(sizes)

    @property
    def words(self) -> int:
        """How many uint32 the operand has."""
        return self._bytes // _WORD

    def _format(self, sizes: Sequence[int]) -> struct.Struct | None:
        if any(dtype not in _FORMATS for dtype in self._dtypes.values()):
            return None
        text, end = "<", 0
        for offset, size, dtype in zip(self._offsets, sizes, self._dtypes.values(), strict=True):
            text += "x" * (offset - end) + _FORMATS[dtype]
            end = offset + size
        return struct.Struct(text + "x" * (self._bytes - end))

    def __call__(self, attributes: Mapping[str, Any]) -> bytes:
        """Returns the packed numbers. Raises TypeError and ValueError for what does not fit."""
        if self._struct is not None:
            try:
                return self._struct.pack(*[attributes[name] for name in self._dtypes])
            except (struct.error, TypeError, OverflowError):
                pass  # `number` converts it, or says what is wrong
        packed = bytearray(self._bytes)
        for (name, dtype), offset in zip(self._dtypes.items(), self._offsets, strict=True):
            number = self._number(name, dtype, attributes[name]).tobytes()
            packed[offset : offset + len(number)] = number
        return bytes(packed)


def words(packed: bytes) -> np.ndarray:
    """Returns packed numbers as the operand that a launch reads."""
    return np.frombuffer(packed, "<u4")
