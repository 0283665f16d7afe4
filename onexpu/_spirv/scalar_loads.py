"""Rewrites a kernel's SPIR-V so that it loads scalar arguments from memory.

A scalar argument is part of the launch, so the host has to know its value. A scalar that a program
computes is in device memory, where the host cannot read it without waiting for the device. This
module replaces such a parameter by a pointer and loads the value at the beginning of the kernel.
"""

from __future__ import annotations

import array
import dataclasses
import sys
from collections.abc import Sequence

from onexpu._spirv.description import HEADER_WORDS, KERNEL_MODEL, text_of, words_of

_OP_STRING = 7
_OP_LINE, _OP_NO_LINE = 8, 317
_OP_ENTRY_POINT = 15
_OP_TYPE_INT = 21
_OP_TYPE_POINTER = 32
_OP_TYPE_FUNCTION = 33
_OP_CONSTANT = 43
_OP_FUNCTION = 54
_OP_FUNCTION_PARAMETER = 55
_OP_FUNCTION_END = 56
_OP_VARIABLE = 59
_OP_LOAD = 61
_OP_STORE = 62
_OP_IN_BOUNDS_PTR_ACCESS_CHAIN = 70
_OP_DECORATE = 71
_OP_GROUP_DECORATE = 74
_OP_BITCAST = 124
_OP_LABEL = 248
_OP_DECORATE_ID = 332
_OP_DECORATE_STRING = 5632

_CROSS_WORKGROUP, _FUNCTION_STORAGE = 5, 7
_ALIGNED = 2  # a memory operand
_WIDEST_ALIGNMENT = 8

Instruction = list[int]  # operation and word count, then operands


@dataclasses.dataclass(frozen=True)
class ScalarLoad:
    """Where the kernel finds one scalar.

    Attributes
    ----------
    parameter : int
        Index of the kernel's parameter that is passed by value.
    operand : int
        Index of the pointer to load from. Pointers are new parameters after the inputs.
    offset : int
        In bytes; a multiple of `size`.
    size : int
        In bytes.
    """

    parameter: int
    operand: int
    offset: int
    size: int


def _instruction(opcode: int, *operands: int) -> Instruction:
    return [(len(operands) + 1) << 16 | opcode, *operands]


class _Module:
    """The instructions of a module, and what is declared in it."""

    def __init__(self, spirv: bytes) -> None:
        words = words_of(spirv)
        self._header = list(words[:HEADER_WORDS])
        self.instructions: list[Instruction] = []
        position = HEADER_WORDS
        while position < len(words):
            length = words[position] >> 16
            self.instructions.append(list(words[position : position + length]))
            position += length
        # SPIR-V forbids a second declaration of a type that is not an aggregate.
        self._types: dict[tuple[int, ...], int] = {}
        self.definitions: dict[int, Instruction] = {}
        self.declared: list[Instruction] = []  # goes before the first function
        for instruction in self.instructions:
            opcode = instruction[0] & 0xFFFF
            if opcode in (_OP_TYPE_INT, _OP_TYPE_POINTER, _OP_TYPE_FUNCTION):
                self._types[opcode, *instruction[2:]] = instruction[1]
                self.definitions[instruction[1]] = instruction

    def new_id(self) -> int:
        self._header[3] += 1
        return self._header[3] - 1

    def type(self, opcode: int, *operands: int) -> int:
        """Returns the id of a type, which is declared if the module lacks it."""
        known = self._types.get((opcode, *operands))
        if known is not None:
            return known
        made = self._types[opcode, *operands] = self.new_id()
        self.declared.append(_instruction(opcode, made, *operands))
        self.definitions[made] = self.declared[-1]
        return made

    def index(self, value: int) -> int:
        """Returns the id of an integer constant of 32 bits."""
        made = self.new_id()
        type_ = self.type(_OP_TYPE_INT, 32, 0)
        self.declared.append(_instruction(_OP_CONSTANT, type_, made, value))
        return made

    def entry_function(self, entry_point: str) -> int:
        """Returns the id of a kernel's function."""
        for instruction in self.instructions:
            if instruction[0] & 0xFFFF != _OP_ENTRY_POINT or instruction[1] != KERNEL_MODEL:
                continue
            if text_of(instruction[3:]) == entry_point:
                return instruction[2]
        raise ValueError(f"the SPIR-V module has no entry point '{entry_point}'")

    def function_at(self, function: int) -> tuple[int, int]:
        """Returns the index of a function's first instruction, and of that after its last one."""
        start = next(
            i
            for i, instruction in enumerate(self.instructions)
            if instruction[0] & 0xFFFF == _OP_FUNCTION and instruction[2] == function
        )
        end = start
        while self.instructions[end][0] & 0xFFFF != _OP_FUNCTION_END:
            end += 1
        return start, end + 1

    def to_bytes(self) -> bytes:
        words = array.array("I", self._header)
        for instruction in self.instructions:
            words.extend(instruction)
        if sys.byteorder != "little":
            words.byteswap()
        return words.tobytes()


class _Loads:
    """The instructions that load scalars, and the pointers that they load from."""

    def __init__(self, module: _Module) -> None:
        self._module = module
        self.pointers: list[tuple[int, int]] = []  # type and id, by operand
        self.variables: list[Instruction] = []
        self.code: list[Instruction] = []

    def _address(self, load: ScalarLoad, pointer_type: int) -> int:
        if load.operand == len(self.pointers):
            self.pointers.append((pointer_type, self._module.new_id()))
        type_, address = self.pointers[load.operand]
        if type_ != pointer_type:
            address = self._add(_OP_BITCAST, pointer_type, address)
        if load.offset:
            element = self._module.index(load.offset // load.size)
            address = self._add(_OP_IN_BOUNDS_PTR_ACCESS_CHAIN, pointer_type, address, element)
        return address

    def _add(self, opcode: int, type_: int, *operands: int) -> int:
        result = self._module.new_id()
        self.code.append(_instruction(opcode, type_, result, *operands))
        return result

    def add(self, load: ScalarLoad, type_: int, parameter: int) -> None:
        """Has `parameter` of type `type_` loaded: its id becomes that of the loaded value."""
        definition = self._module.definitions.get(type_, [0])
        # A struct (half precision, complex numbers) is passed as a pointer to a private copy.
        is_pointer = definition[0] & 0xFFFF == _OP_TYPE_POINTER
        is_struct = is_pointer and definition[2] == _FUNCTION_STORAGE
        value_type = definition[3] if is_struct else type_
        pointer_type = self._module.type(_OP_TYPE_POINTER, _CROSS_WORKGROUP, value_type)
        address = self._address(load, pointer_type)
        alignment = min(load.size, _WIDEST_ALIGNMENT)
        value = self._module.new_id() if is_struct else parameter
        self.code.append(_instruction(_OP_LOAD, value_type, value, address, _ALIGNED, alignment))
        if is_struct:
            variable = _instruction(_OP_VARIABLE, type_, parameter, _FUNCTION_STORAGE)
            self.variables.append(variable)
            self.code.append(_instruction(_OP_STORE, parameter, value, _ALIGNED, alignment))


def _is_about(instruction: Instruction, removed: set[int], entry_point: str) -> bool:
    """Whether an instruction decorates a removed parameter, or lists the kernel's parameters."""
    opcode = instruction[0] & 0xFFFF
    if opcode in (_OP_DECORATE, _OP_DECORATE_ID, _OP_DECORATE_STRING):
        return instruction[1] in removed
    if opcode == _OP_STRING:
        kind, _, rest = text_of(instruction[2:]).partition(".")
        is_list = kind in ("kernel_arg_type", "kernel_arg_type_qual")
        return is_list and rest.startswith(f"{entry_point}.")
    return False


def load_scalars(spirv: bytes, entry_point: str, inputs: int, loads: Sequence[ScalarLoad]) -> bytes:
    """Returns the module with a kernel that loads some of its scalars from memory.

    Parameters
    ----------
    spirv : bytes
        A valid module.
    entry_point : str
        Of the kernel. Others stay as they are.
    inputs : int
        The new pointers go after so many parameters.
    loads : sequence of ScalarLoad
        Ordered by operand.

    Returns
    -------
    bytes

    Raises
    ------
    ValueError
        There is no such entry point.
    """
    module = _Module(spirv)
    function = module.entry_function(entry_point)
    start, end = module.function_at(function)
    body = module.instructions[start:end]
    label = next(i for i, x in enumerate(body) if x[0] & 0xFFFF == _OP_LABEL)
    parameters = [x for x in body[1:label] if x[0] & 0xFFFF == _OP_FUNCTION_PARAMETER]
    code = _Loads(module)
    for load in loads:
        code.add(load, *parameters[load.parameter][1:3])
    loaded = {load.parameter for load in loads}
    new = [_instruction(_OP_FUNCTION_PARAMETER, *pointer) for pointer in code.pointers]
    kept = [x for i, x in enumerate(parameters) if i >= inputs and i not in loaded]
    taken = [*parameters[:inputs], *new, *kept]
    return_type, control = body[0][1], body[0][3]
    type_ = module.type(_OP_TYPE_FUNCTION, return_type, *(x[1] for x in taken))
    first = label + 1
    while body[first][0] & 0xFFFF in (_OP_VARIABLE, _OP_LINE, _OP_NO_LINE):
        first += 1
    body = [
        _instruction(_OP_FUNCTION, return_type, function, control, type_),
        *taken,
        body[label],
        *code.variables,
        *body[label + 1 : first],
        *code.code,
        *body[first:],
    ]
    removed = {parameters[i][2] for i in loaded}
    before = [x for x in module.instructions[:start] if not _is_about(x, removed, entry_point)]
    for i, x in enumerate(before):
        if x[0] & 0xFFFF == _OP_GROUP_DECORATE:
            targets = [target for target in x[2:] if target not in removed]
            before[i] = _instruction(_OP_GROUP_DECORATE, x[1], *targets)
    functions = [i for i, x in enumerate(before) if x[0] & 0xFFFF == _OP_FUNCTION]
    first = functions[0] if functions else len(before)
    module.instructions = [
        *before[:first],
        *module.declared,
        *before[first:],
        *body,
        *module.instructions[end:],
    ]
    return module.to_bytes()
