"""Execution plans: what a serialized program does, as data that needs no package of ours.

A plan is a dict that JSON holds:

`allocations`
    `[size, content]` each; `content` is "nothing", "zeros", the name of a constant, or the number
    of a parameter.
`results`
    `[allocation, offset, size]` each.
`steps`
    `["kernel", name, grid, block, arguments]`, `["copy", source, destination, size]`,
    `["while", trip count, predicate, condition, body]`,
    `["conditional", selector, whether it is a pred, branches]`, `["call", steps]`. `grid` and
    `block` are CUDA's, fastest dimension first. Operands are `[allocation, offset]`. A trip count
    of -1 means that the predicate decides.
"""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tests.fuzz import program_file
from tests.gpu_execution.layout import Array

_DTYPES = {
    "Pred": np.bool_,
    "S8": np.int8,
    "S16": np.int16,
    "S32": np.int32,
    "S64": np.int64,
    "U8": np.uint8,
    "U16": np.uint16,
    "U32": np.uint32,
    "U64": np.uint64,
    "F16": np.float16,
    "F32": np.float32,
    "F64": np.float64,
    "C64": np.complex64,
    "C128": np.complex128,
    "BF16": ml_dtypes.bfloat16,
    "F8E5M2": ml_dtypes.float8_e5m2,
    "F8E4M3FN": ml_dtypes.float8_e4m3fn,
}


class NotRunnable(Exception):
    """The program needs something that an NVIDIA GPU cannot run, such as a oneDNN call."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """A program's steps, and the data around them.

    Attributes
    ----------
    steps : dict
        Allocations, results and steps, see the module's docstring.
    parameters, results : list of Array
        The memory layouts of arguments and results.
    constants : dict of str to bytes
        The constants that `steps` names.
    work_items : dict of str to int
        The work-group size of each kernel.
    """

    steps: dict[str, Any]
    parameters: list[Array]
    results: list[Array]
    constants: dict[str, bytes]
    work_items: dict[str, int]


def read(serialized: bytes, schema_directory: pathlib.Path) -> Plan:
    """Returns the plan of an executable that a PJRT client has serialized.

    Raises
    ------
    NotRunnable
    """
    program_file.generate_schema(schema_directory)
    program, blobs = program_file.read(serialized[serialized.index(program_file.MAGIC) :])
    if program.hasSizeResult:
        raise NotRunnable("results of dynamic size")
    if program.numReplicas * program.numPartitions > 1:
        raise NotRunnable("several devices")
    reader = _Reader(program)
    constants: dict[str, bytes] = {}
    allocations = []
    kinds = program_file.schema("AllocationKind").AllocationKind
    for i, allocation in enumerate(program.allocations):
        content: str | int = "nothing"
        if allocation.kind == kinds.Parameter:
            content = allocation.parameter
        elif allocation.constant is not None and allocation.constant.size:
            content = f"constant {i}"
            begin = allocation.constant.offset
            constants[content] = blobs[begin : begin + allocation.constant.size]
        elif allocation.kind == kinds.State:
            content = "zeros"
        allocations.append([allocation.size, content])
    steps = {
        "allocations": allocations,
        "results": [[*_operand(one.slice), one.slice.size] for one in program.results],
        "steps": reader.sequence(program.thunks),
    }
    return Plan(
        steps,
        [_array(one.shape) for one in program.parameters],
        [_array(one.shape) for one in program.results],
        constants,
        reader.work_items,
    )


class _Reader:
    def __init__(self, program: Any) -> None:
        self._kernels = program.kernels
        kinds = vars(program_file.schema("ThunkKind").ThunkKind)
        self._kinds = {value: name for name, value in kinds.items() if isinstance(value, int)}
        self.work_items: dict[str, int] = {}

    def sequence(self, sequence: Any) -> list[Any]:
        return [self._step(thunk) for thunk in sequence.thunks]

    def _step(self, thunk: Any) -> list[Any]:
        name, one = self._kinds[thunk.kindType], thunk.kind
        match name:
            case "KernelThunk":
                return self._kernel(self._kernels[one.kernel], one.arguments)
            case "CopyThunk":
                return ["copy", _operand(one.source), _operand(one.destination), one.source.size]
            case "WhileThunk":
                condition = self.sequence(one.condition) if one.condition is not None else []
                predicate = _operand(one.predicate) if one.predicate is not None else None
                return ["while", one.tripCount, predicate, condition, self.sequence(one.body)]
            case "ConditionalThunk":
                branches = [self.sequence(branch) for branch in one.branches]
                return ["conditional", _operand(one.selector), one.selectorIsPred, branches]
            case "CallThunk":
                return ["call", self.sequence(one.body)]
        raise NotRunnable(name.removesuffix("Thunk"))

    def _kernel(self, kernel: Any, arguments: Any) -> list[Any]:
        name = kernel.entryPoint.decode()
        if kernel.takesExtents:
            raise NotRunnable("kernels that take their sizes as arguments")
        if kernel.localSize is None or not len(kernel.localSize):
            raise NotRunnable("kernels without a fixed work-group size")
        grid = [
            size // local for size, local in zip(kernel.globalSize, kernel.localSize, strict=True)
        ]
        block = [int(size) for size in kernel.localSize]
        self.work_items[name] = int(np.prod(block))
        operands = [_operand(one) for one in arguments]
        return ["kernel", name, _fastest_first(grid), _fastest_first(block), operands]


def _fastest_first(sizes: Sequence[int]) -> list[int]:
    return [*(int(size) for size in reversed(sizes)), *[1] * (3 - len(sizes))]


def _operand(slice_: Any) -> list[int]:
    return [slice_.allocation, slice_.offset]


def _array(shape: Any) -> Array:
    kinds = vars(program_file.schema("ElementType").ElementType)
    name = next(name for name, value in kinds.items() if value == shape.elementType)
    if name not in _DTYPES:
        raise NotRunnable(f"arrays of {name}")
    dimensions = tuple(int(size) for size in shape.dimensions)
    minor_to_major = [int(i) for i in shape.minorToMajor] or [*reversed(range(len(dimensions)))]
    return Array(np.dtype(_DTYPES[name]), dimensions, tuple(reversed(minor_to_major)))
