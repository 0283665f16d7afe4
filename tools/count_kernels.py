#!/usr/bin/env python3
"""Counts what a compiled program launches on xpu, beside XLA:CPU's count and memory.

Usage: count_kernels.py [PROGRAM ...] [--size small|medium] [--moves] [--hlo DIR]

A program is one of models/, with its arguments donated. The body of a loop counts once. For xpu the
launches are those of the Program (a small loop is one kernel, a sort several); for XLA:CPU every
instruction of the optimised module that is not free is one.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import pathlib
import re
import sys
import tempfile

import jax

# At the end: the tree's onexpu/ must not hide the installed package.
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))

import models
from tools import hlo_text

_THUNK = re.compile(r"^\s*(\w+)Thunk ([\w.\-]+)", re.MULTILINE)
_LIBRARY_OPCODES = frozenset({"dot", "convolution", "custom-call", "fft"})
_LIBRARY_THUNKS = (
    "Gemm",
    "Convolution",
    "Fft",
    "Cholesky",
    "TriangularSolve",
    "Lu",
    "Qr",
    "HouseholderProduct",
    "Eigh",
    "Svd",
)
# What changes where elements stand, or how they are typed, and computes nothing.
_MOVES = hlo_text.FREE | {"copy", "transpose", "reshape", "convert"}


@dataclasses.dataclass(frozen=True)
class Counts:
    """What one run of a program launches.

    Attributes
    ----------
    kernels : int
        Of our own; for XLA:CPU, fusions and what stands outside of them.
    library_calls : int
        Products of matrices, convolutions, transforms and factorisations, and what XLA:CPU hands to
        its library besides.
    copies : int
        Memory to memory, such as of a donated argument that is read after it is replaced.
    peak_bytes : int
        Arguments, results and temporaries, donated memory once.
    """

    kernels: int
    library_calls: int
    copies: int
    peak_bytes: int

    @property
    def launches(self) -> int:
        """All of them."""
        return self.kernels + self.library_calls + self.copies


def _is_library_call(instruction: hlo_text.Instruction) -> bool:
    return instruction.opcode == "custom-call" and instruction.target.startswith(
        ("onednn-", "onemkl-")
    )


def _is_library_call_on_cpu(instruction: hlo_text.Instruction) -> bool:
    opcode = instruction.opcode
    return opcode in _LIBRARY_OPCODES or (opcode == "fusion" and "kind=kCustom" in instruction.text)


def count_on_xpu(lowered: jax.stages.Lowered) -> tuple[Counts, jax.stages.Compiled]:
    """Compiles a program for xpu and counts the thunks of its Program."""
    with tempfile.TemporaryDirectory() as directory:
        compiled = lowered.compile(compiler_options={"xla_dump_to": directory})
        (sequence,) = pathlib.Path(directory).glob("*.thunk_sequence.txt")
        thunks = collections.Counter(kind for kind, _ in _THUNK.findall(sequence.read_text()))
    library = sum(thunks[kind] for kind in _LIBRARY_THUNKS)
    counts = Counts(
        thunks["Kernel"], library, thunks["Copy"], compiled.memory_analysis().peak_memory_in_bytes
    )
    return counts, compiled


def count_on_cpu(compiled: jax.stages.Compiled) -> Counts:
    """Counts the instructions of a module that XLA:CPU has optimised."""
    kernels = library = copies = 0
    for instruction in hlo_text.parse(compiled.as_text()).executed():
        if instruction.opcode in hlo_text.FREE | {"while", "conditional", "call"}:
            continue
        if _is_library_call_on_cpu(instruction):
            library += 1
        elif instruction.opcode == "copy":
            copies += 1
        else:
            kernels += 1
    memory = compiled.memory_analysis()
    peak = (
        memory.argument_size_in_bytes
        + memory.output_size_in_bytes
        + memory.temp_size_in_bytes
        - memory.alias_size_in_bytes
    )
    return Counts(kernels, library, copies, peak)


def moves_beside_library_calls(text: str) -> list[tuple[hlo_text.Instruction, str]]:
    """Finds kernels that only move elements and that a library call reads or follows.

    Parameters
    ----------
    text : str
        Of a module compiled for xpu.

    Returns
    -------
    list
        (the kernel, the library call beside it), each kernel once.
    """
    module = hlo_text.parse(text)
    found = []
    for computation in module.computations.values():
        users = collections.defaultdict(list)
        for instruction in computation.values():
            for operand in instruction.operands:
                users[operand].append(instruction)
        for instruction in computation.values():
            if not _only_moves(module, instruction):
                continue
            neighbours = _neighbours(instruction, computation, users)
            beside = next((n for n in neighbours if _is_library_call(n)), None)
            if beside is not None:
                found.append((instruction, beside.name))
    return found


def _only_moves(module: hlo_text.Module, instruction: hlo_text.Instruction) -> bool:
    # A copy that stands alone keeps the layout: it is memory to memory, and counted as such.
    if instruction.opcode != "fusion":
        return False
    inner = [i.opcode for i in module.fused(instruction)]
    return all(opcode in _MOVES for opcode in inner) and ("copy" in inner or "transpose" in inner)


def _neighbours(instruction, computation, users) -> list[hlo_text.Instruction]:
    """What reads or makes the instruction's arrays, beyond what is free."""
    found, seen = [], set()
    open_ends = [(computation[o], "up") for o in instruction.operands]
    open_ends += [(u, "down") for u in users[instruction.name]]
    while open_ends:
        current, way = open_ends.pop()
        if (current.name, way) in seen:
            continue
        seen.add((current.name, way))
        if current.opcode not in ("bitcast", "get-tuple-element"):
            found.append(current)
        elif way == "up":
            open_ends += [(computation[o], way) for o in current.operands]
        else:
            open_ends += [(u, way) for u in users[current.name]]
    return found


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="*", default=["gpt_training", "resnet50_training"])
    parser.add_argument("--size", type=models.Size, default=models.Size.MEDIUM)
    parser.add_argument("--moves", action="store_true", help="print the kernels that only move")
    parser.add_argument("--hlo", type=pathlib.Path, help="write the optimised modules there")
    arguments = parser.parse_args()
    programs = models.programs(arguments.size)
    for name in arguments.program:
        ours, xpu = count_on_xpu(programs[name].lower(jax.devices("xpu")[0]))
        cpu = programs[name].lower(jax.devices("cpu")[0]).compile()
        theirs = count_on_cpu(cpu)
        moves = moves_beside_library_calls(xpu.as_text())
        print(f"{name} ({arguments.size.value})")
        for label, counts in (("xpu", ours), ("XLA:CPU", theirs)):
            print(
                f"  {label:8} {counts.launches:5} launches: {counts.kernels} kernels, "
                f"{counts.library_calls} library calls, {counts.copies} copies; "
                f"peak {counts.peak_bytes / 2**20:.2f} MiB"
            )
        print(
            f"  ratio    {ours.launches / theirs.launches:.2f} launches, "
            f"{ours.peak_bytes / theirs.peak_bytes:.3f} peak memory; "
            f"{len(moves)} kernels only move beside a library call"
        )
        for kernel, call in moves if arguments.moves else ():
            print(f"    {kernel.name} {kernel.shape} beside {call}")
        if arguments.hlo is not None:
            arguments.hlo.mkdir(parents=True, exist_ok=True)
            for platform, compiled in (("xpu", xpu), ("cpu", cpu)):
                (arguments.hlo / f"{name}.{platform}.txt").write_text(compiled.as_text())


if __name__ == "__main__":
    main()
