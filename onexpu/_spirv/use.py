"""What a kernel of a SPIR-V module does with its parameters and with the ids of its work-items.

Follows pointers through the words of one function (SPIR-V Specification, section 3.52), not through
calls and integers: what it finds is certain, and what it does not find may be there.
"""

from __future__ import annotations

import array
import dataclasses
import re
import sys

_HEADER_WORDS = 5
_OP_NAME = 5
_OP_ENTRY_POINT = 15
_OP_FUNCTION = 54
_OP_FUNCTION_PARAMETER = 55
_OP_FUNCTION_END = 56
_OP_FUNCTION_CALL = 57
_OP_VARIABLE = 59
_OP_LOAD = 61
_OP_STORE = 62
_OP_COPY_MEMORY = 63
_OP_COPY_MEMORY_SIZED = 64
_OP_DECORATE = 71
_OP_COMPOSITE_EXTRACT = 81
_OP_SELECT = 169
_OP_ATOMIC_STORE = 228
_OP_PHI = 245
_BUILT_IN = 11
_CROSS_WORKGROUP = 5

# With a result that points to where the first operand does: access chains, copies, casts.
_DERIVES = {65, 66, 67, 70, 83, 121, 122, 123, 124}
# With a result, a pointer first, and a write: atomic operations, exchange to xor, and of floats.
_ATOMIC_WRITES = {*range(229, 243), 5614, 5615, 6035}
# Built-in variables with a component for each dimension, and those of all dimensions at once: of
# the group, of the range, of sub-groups.
_IDS, _LINEAR_IDS = {26, 27, 28}, {29, 34, 40, 41}


@dataclasses.dataclass(frozen=True)
class SpirvUse:
    """How an entry point uses what it gets.

    Attributes
    ----------
    written : frozenset of int
        Parameters, from 0, that some instruction writes through.
    id_components : frozenset of int, optional
        Which components of its work-item's ids are read, 0 for the fastest dimension; None if that
        is not known.
    kept : tuple of str
        Variables that the kernel writes and that outlive the launch (static, or of a namespace).
    """

    written: frozenset[int]
    id_components: frozenset[int] | None
    kept: tuple[str, ...] = ()


class _Function:
    """The instructions of one function."""

    def __init__(self, built_ins: dict[int, int], variables: dict[int, str]) -> None:
        self._instructions: list[tuple[int, array.array[int]]] = []
        self.parameters: list[int] = []
        self._built_ins = built_ins
        self._variables = variables  # of the module, which outlive a launch

    def add(self, opcode: int, words: array.array[int]) -> None:
        if opcode == _OP_FUNCTION_PARAMETER:
            self.parameters.append(words[1])
        else:
            self._instructions.append((opcode, words))

    def use(self) -> SpirvUse:
        written = self._written()
        numbers = {parameter: i for i, parameter in enumerate(self.parameters)}
        return SpirvUse(
            written=frozenset(numbers[p] for p in written & numbers.keys()),
            id_components=self._ids(),
            kept=tuple(self._variables[v] for v in sorted(written & self._variables.keys())),
        )

    def _written(self) -> set[int]:
        """Returns the parameters and variables that are written through."""
        origins = {each: {each} for each in (*self.parameters, *self._variables)}
        written: set[int] = set()
        before = -1
        while (now := sum(map(len, origins.values()))) != before:  # loops lead back
            before = now
            for opcode, words in self._instructions:
                if origins.keys().isdisjoint(words):
                    continue
                if opcode in _DERIVES or opcode in (_OP_SELECT, _OP_PHI):
                    sources = words[2:3] if opcode in _DERIVES else words[2:]
                    found = set().union(*(origins.get(word, set()) for word in sources))
                    if found:
                        origins.setdefault(words[1], set()).update(found)
                else:
                    written |= origins.get(self._target(opcode, words), set())
        return written

    @staticmethod
    def _target(opcode: int, words: array.array[int]) -> int:
        """Returns what an instruction writes through, or -1."""
        if opcode in (_OP_STORE, _OP_COPY_MEMORY, _OP_COPY_MEMORY_SIZED, _OP_ATOMIC_STORE):
            return words[0]
        return words[2] if opcode in _ATOMIC_WRITES else -1

    def _ids(self) -> frozenset[int] | None:
        components: set[int] = set()
        vectors: set[int] = set()
        for opcode, words in self._instructions:
            kinds = {self._built_ins[word] for word in words if word in self._built_ins}
            if opcode == _OP_FUNCTION_CALL or kinds & _LINEAR_IDS:
                return None
            if kinds & _IDS:
                if opcode != _OP_LOAD:
                    return None
                vectors.add(words[1])
            elif not vectors.isdisjoint(words):
                if opcode != _OP_COMPOSITE_EXTRACT or words[2] not in vectors or len(words) != 4:
                    return None
                components.add(words[3])
        return frozenset(components)


def _identifier(name: str) -> str:
    """Returns the last name of a mangled one: "tile" of "_ZZ1fPfE4tile"."""
    for match in reversed(list(re.finditer(r"\d+", name))) if name.startswith("_Z") else ():
        end = match.end() + int(match[0])
        if name[end:] in ("", "E", "_0"):
            return name[match.end() : end]
    return name


def _text(words: array.array[int]) -> str:
    return words.tobytes().partition(b"\0")[0].decode(errors="replace")


def use_of(spirv: bytes, entry_point: str) -> SpirvUse:
    """Returns how a kernel uses its parameters and ids.

    Parameters
    ----------
    spirv : bytes
        A valid module.
    entry_point : str

    Returns
    -------
    SpirvUse
    """
    words = array.array("I", spirv)
    if sys.byteorder != "little":
        words.byteswap()
    built_ins: dict[int, int] = {}
    names: dict[int, str] = {}
    variables: dict[int, str] = {}
    wanted, function = -1, None
    position = _HEADER_WORDS
    while position < len(words):
        length, opcode = words[position] >> 16, words[position] & 0xFFFF
        operands = words[position + 1 : position + length]
        position += length
        if opcode == _OP_ENTRY_POINT:
            wanted = operands[1] if _text(operands[2:]) == entry_point else wanted
        elif opcode == _OP_NAME:
            names[operands[0]] = _identifier(_text(operands[1:]))
        elif opcode == _OP_VARIABLE and function is None and operands[2] == _CROSS_WORKGROUP:
            variables[operands[1]] = names.get(operands[1], "a variable without a name")
        elif opcode == _OP_DECORATE and operands[1] == _BUILT_IN:
            built_ins[operands[0]] = operands[2]
        elif opcode == _OP_FUNCTION and operands[1] == wanted:
            function = _Function(built_ins, variables)
        elif function is not None:
            if opcode == _OP_FUNCTION_END:
                return function.use()
            function.add(opcode, operands)
    raise ValueError(f"onexpu: the SPIR-V module has no entry point '{entry_point}'")
