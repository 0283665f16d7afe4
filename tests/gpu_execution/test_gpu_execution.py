"""Kernels for an Intel GPU become PTX, and plans do what programs say. No GPU is needed; `make
check-gpu-execution` runs the programs on one.
"""

from __future__ import annotations

import itertools
import pathlib
import re

import jax
import ml_dtypes
import numpy as np
import pytest

from tests.gpu_execution import large, nvptx, plan, programs, run
from tests.gpu_execution.layout import Array
from tests.gpu_execution.runner import Fault, Runner

_BUILTINS = pathlib.Path(run.__file__).with_name("opencl_builtins.cu").read_text()
_CALLED = re.compile(r"\.extern \.func\s+(?:\([^)]*\)\s*)?(\w+)")


class _Memory:
    """Stands in for a GPU: addresses are offsets in a bytearray."""

    def __init__(self) -> None:
        self.bytes = bytearray()

    def allocate(self, size: int) -> int:
        self.bytes = bytearray(size)
        return 0

    def fill(self, address: int, byte: int, size: int) -> None:
        self.bytes[address : address + size] = bytes([byte]) * size

    def upload(self, address: int, data: bytes) -> None:
        self.bytes[address : address + len(data)] = data

    def download(self, address: int, size: int) -> bytes:
        return bytes(self.bytes[address : address + size])

    def copy(self, source: int, destination: int, size: int) -> None:
        self.upload(destination, self.download(source, size))

    def synchronize(self) -> None:
        pass


class _Kernels:
    """Kernels in Python: `increment(x)`, `below_five(x, predicate)`, `overrun(x)`."""

    def __init__(self, memory: _Memory) -> None:
        self._memory = memory

    def launch(self, name: str, grid: list[int], block: list[int], addresses: list[int]) -> None:
        assert grid == [1, 1, 1] and block == [1, 1, 1]
        value = self._memory.download(addresses[0], 1)[0]
        if name == "increment":
            self._memory.upload(addresses[0], bytes([value + 1]))
        elif name == "below_five":
            self._memory.upload(addresses[1], bytes([value < 5]))
        else:
            self._memory.upload(addresses[0] + 4, b"\0")


def _runner(steps: list[object], argument: int, selector: int = 0) -> Runner:
    memory = _Memory()
    # A parameter of four bytes, a predicate, a result.
    steps_of_plan = {
        "allocations": [[4, 0], [1, "nothing"], [4, "nothing"], [4, "selector"]],
        "results": [[2, 0, 4]],
        "steps": steps,
    }
    constants = {"selector": selector.to_bytes(4, "little", signed=True)}
    parameters = [argument.to_bytes(4, "little")]
    return Runner(memory, steps_of_plan, _Kernels(memory), parameters, constants)


def _launch(name: str, *offsets: list[int]) -> list[object]:
    return ["kernel", name, [1, 1, 1], [1, 1, 1], list(offsets)]


_X, _PREDICATE, _RESULT, _SELECTOR = [0, 0], [1, 0], [2, 0], [3, 0]
_INCREMENT = _launch("increment", _X)
_RETURN = ["copy", _X, _RESULT, 4]


def _value(runner: Runner) -> int:
    return int.from_bytes(runner.run()[0], "little")


def test_runs_of_a_plan_are_independent() -> None:
    runner = _runner([_INCREMENT, _RETURN], 7)
    assert [_value(runner), _value(runner)] == [8, 8]
    assert runner.launches == 2


@pytest.mark.parametrize("argument, result", [(0, 5), (4, 5), (9, 9)])
def test_a_loop_ends_when_its_predicate_says_so(argument, result) -> None:
    condition = [_launch("below_five", _X, _PREDICATE)]
    loop = ["while", -1, _PREDICATE, condition, [_INCREMENT]]
    assert _value(_runner([loop, _RETURN], argument)) == result


def test_a_loop_of_known_length_asks_for_no_predicate() -> None:
    assert _value(_runner([["while", 3, None, [], [_INCREMENT]], _RETURN], 1)) == 4


@pytest.mark.parametrize(
    "selector, is_pred, result",
    [(0, False, 1), (1, False, 2), (-1, False, 2), (9, False, 2), (1, True, 1), (0, True, 2)],
)
def test_a_selector_chooses_a_branch(selector, is_pred, result) -> None:
    branches = [[["call", [_INCREMENT]]], [_INCREMENT, _INCREMENT]]
    steps = [["conditional", _SELECTOR, is_pred, branches], _RETURN]
    assert _value(_runner(steps, 0, selector)) == result


def test_a_write_beyond_an_allocation_is_a_fault() -> None:
    with pytest.raises(Fault, match="after allocation 0"):
        _runner([_launch("overrun", _X)], 0).run()


def test_what_no_kernel_writes_is_seen() -> None:
    assert _runner([], 0).run() == [b"\xff" * 4]


@pytest.mark.parametrize("dtype", [np.int8, np.float64, ml_dtypes.bfloat16])
def test_arrays_keep_their_values_in_any_layout(dtype) -> None:
    values = np.arange(24).reshape(2, 3, 4).astype(dtype)
    layout = Array.from_json(Array(np.dtype(dtype), (2, 3, 4), (2, 0, 1)).to_json())
    data = layout.to_bytes(values)
    assert np.frombuffer(data, dtype)[1] == values[0, 1, 0]
    np.testing.assert_array_equal(layout.from_bytes(data), values)
    with pytest.raises(ValueError, match="for"):
        layout.to_bytes(values[0])


@pytest.mark.parametrize("name", ["softmax of rows", "sort", "add to rows, repeated", "life"])
def test_large_programs_become_ptx(name, tmp_path) -> None:
    _check_ptx(next(one for one in programs.large_programs() if one.name == name), tmp_path)


def test_programs_of_many_sizes_become_ptx(tmp_path) -> None:
    for program in itertools.islice(programs.size_programs(), 2):
        _check_ptx(program, tmp_path)


def test_large_programs_can_be_traced() -> None:
    for name, one in large.PROGRAMS.items():
        assert jax.tree.leaves(jax.eval_shape(one.function, *one.arguments(name)))


def test_a_library_call_is_left_out_by_name(tmp_path) -> None:
    x = np.ones((64, 64), np.float32)
    program = programs.Program("product", lambda a, b: a @ b, [x, x], lambda results: "")
    with pytest.raises(plan.NotRunnable, match="^Gemm$"):
        run.compile_program(program, "pvc", tmp_path)


def test_rejected_code_is_an_error() -> None:
    with pytest.raises(nvptx.TranslationError, match="llvm-link"):
        nvptx.translate("; ModuleID = 'broken'\ndefine spir_kernel void @f(", {"f": 1})


def _check_ptx(program: programs.Program, schema: pathlib.Path) -> None:
    read, ptx = run.compile_program(program, "pvc", schema)
    assert set(read.work_items) == set(re.findall(r"\.entry (\w+)\(", ptx))
    assert 1 <= min(read.work_items.values()) <= max(read.work_items.values()) <= 1024
    for function in set(_CALLED.findall(ptx)):
        length, name = re.fullmatch(r"_Z(\d+)(\w+)", function).groups()
        base = name[: int(length)]
        assert f" {function}(" in _BUILTINS or f"({length}, {base})" in _BUILTINS, function
