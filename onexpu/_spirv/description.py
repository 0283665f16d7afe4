"""What a SPIR-V module says of itself: entry points, their parameters, what it needs of a device.

Reads the words of the binary form (SPIR-V Specification, section 2.3); no SPIR-V library is needed.
"""

from __future__ import annotations

import array
import dataclasses
import sys
from collections.abc import Sequence

_MAGIC = 0x07230203
_MAGIC_SWAPPED = 0x03022307
HEADER_WORDS = 5

_OP_MEMORY_MODEL = 14
_OP_ENTRY_POINT = 15
_OP_TYPE_VOID = 19
_OP_TYPE_INT = 21
_OP_TYPE_FLOAT = 22
_OP_TYPE_VECTOR = 23
_OP_TYPE_ARRAY = 28
_OP_TYPE_STRUCT = 30
_OP_TYPE_POINTER = 32
_OP_CONSTANT = 43
_OP_FUNCTION = 54
_OP_FUNCTION_PARAMETER = 55
_OP_FUNCTION_END = 56

_MODELS = {
    0: "vertex",
    1: "tessellation",
    2: "tessellation",
    3: "geometry",
    4: "fragment",
    5: "compute",
}
KERNEL_MODEL = 6
_ADDRESSING = {0: "Logical", 1: "Physical32", 2: "Physical64"}
_STORAGE = {0: "constant", 4: "local", 5: "global", 7: "by value", 8: "generic"}


@dataclasses.dataclass(frozen=True)
class SpirvParameter:
    """A parameter of an entry point.

    Attributes
    ----------
    kind : str
        "pointer" to global memory, "integer", "float", "struct" by value, or what else it is.
    bytes : int
        The size of what is passed by value; 8 for pointers.
    """

    kind: str
    bytes: int

    def __str__(self) -> str:
        return self.kind if self.kind == "pointer" else f"{self.kind} of {8 * self.bytes} bits"


@dataclasses.dataclass(frozen=True)
class SpirvDescription:
    """A module's kernels.

    Attributes
    ----------
    addressing : str
    entry_points : dict
        From names to parameters.
    other_models : tuple of str
        Of entry points that are no kernels.
    """

    addressing: str
    entry_points: dict[str, tuple[SpirvParameter, ...]]
    other_models: tuple[str, ...]


def text_of(words: Sequence[int]) -> str:
    """Returns the literal string that `words` begin with."""
    return array.array("I", words).tobytes().partition(b"\0")[0].decode(errors="replace")


def words_of(spirv: bytes) -> array.array[int]:
    """Returns the words of a module."""
    words = array.array("I", spirv[: len(spirv) // 4 * 4])
    if sys.byteorder != "little":
        words.byteswap()
    return words


class _Reader:
    """Collects what types and functions say while instructions pass by."""

    def __init__(self) -> None:
        self.addressing = "none"
        self.kernels: list[tuple[int, str]] = []
        self.other_models: list[str] = []
        self._types: dict[int, tuple[int, tuple[int, ...]]] = {}
        self._constants: dict[int, int] = {}
        self.parameters: dict[int, list[int]] = {}
        self._function = 0

    def read(self, opcode: int, words: array.array[int]) -> None:
        if opcode == _OP_MEMORY_MODEL:
            self.addressing = _ADDRESSING.get(words[0], f"addressing model {words[0]}")
        elif opcode == _OP_ENTRY_POINT:
            if words[0] == KERNEL_MODEL:
                self.kernels.append((words[1], text_of(words[2:])))
            else:
                self.other_models.append(_MODELS.get(words[0], f"execution model {words[0]}"))
        elif _OP_TYPE_VOID <= opcode <= _OP_TYPE_POINTER:
            self._types[words[0]] = (opcode, tuple(words[1:]))
        elif opcode == _OP_CONSTANT:
            self._constants[words[1]] = words[2]
        elif opcode == _OP_FUNCTION:
            self._function = words[1]
            self.parameters[self._function] = []
        elif opcode == _OP_FUNCTION_PARAMETER:
            self.parameters[self._function].append(words[0])

    def describe(self, type_id: int) -> SpirvParameter:
        opcode, words = self._types.get(type_id, (0, ()))
        if opcode == _OP_TYPE_INT:
            return SpirvParameter("integer", words[0] // 8)
        if opcode == _OP_TYPE_FLOAT:
            return SpirvParameter("float", words[0] // 8)
        if opcode == _OP_TYPE_POINTER:
            storage = _STORAGE.get(words[0], "other")
            if storage == "by value":
                return SpirvParameter("struct", self._layout(words[1])[0])
            return SpirvParameter(
                "pointer" if storage == "global" else f"pointer to {storage} memory", 8
            )
        return SpirvParameter(
            f"a type that kernels do not take ({opcode})", self._layout(type_id)[0]
        )

    def _layout(self, type_id: int) -> tuple[int, int]:
        """Size and alignment in bytes, as C lays it out."""
        opcode, words = self._types.get(type_id, (0, ()))
        if opcode in (_OP_TYPE_INT, _OP_TYPE_FLOAT):
            return words[0] // 8, words[0] // 8
        if opcode == _OP_TYPE_POINTER:
            return 8, 8
        if opcode in (_OP_TYPE_VECTOR, _OP_TYPE_ARRAY):
            size, alignment = self._layout(words[0])
            count = words[1] if opcode == _OP_TYPE_VECTOR else self._constants.get(words[1], 0)
            return size * count, alignment
        if opcode == _OP_TYPE_STRUCT:
            end, widest = 0, 1
            for member in words:
                size, alignment = self._layout(member)
                end = -(-end // max(alignment, 1)) * max(alignment, 1) + size
                widest = max(widest, alignment)
            return -(-end // widest) * widest, widest
        return 0, 1


def describe(spirv: bytes) -> SpirvDescription:
    """Reads a module.

    Parameters
    ----------
    spirv : bytes

    Returns
    -------
    SpirvDescription

    Raises
    ------
    ValueError
        The bytes are no module, of another byte order, or end in the middle.
    """
    if len(spirv) < 4 * HEADER_WORDS:
        raise ValueError(f"{len(spirv)} bytes are no SPIR-V module")
    words = words_of(spirv)
    if words[0] == _MAGIC_SWAPPED:
        raise ValueError("a SPIR-V module of the other byte order")
    if words[0] != _MAGIC:
        raise ValueError(f"no SPIR-V module: it begins with {spirv[:4].hex()}, not 03022307")
    if len(spirv) % 4:
        raise ValueError(
            f"a SPIR-V module is made of words; this one ends after {len(spirv)} bytes"
        )
    reader, position, opcode = _Reader(), HEADER_WORDS, 0
    try:
        while position < len(words):
            length, opcode = words[position] >> 16, words[position] & 0xFFFF
            if length == 0 or position + length > len(words):
                raise ValueError(
                    f"the SPIR-V module is damaged at word {position}, or ends in the middle"
                )
            reader.read(opcode, words[position + 1 : position + length])
            position += length
        entry_points = {
            name: tuple(map(reader.describe, reader.parameters[function]))
            for function, name in reader.kernels
        }
    except (IndexError, KeyError, RecursionError):
        raise ValueError(f"the SPIR-V module is damaged at word {position}") from None
    if opcode != _OP_FUNCTION_END:
        raise ValueError("the SPIR-V module ends in the middle")
    return SpirvDescription(reader.addressing, entry_points, tuple(reader.other_models))
