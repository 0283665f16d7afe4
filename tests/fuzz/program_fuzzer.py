"""Fuzzes stored programs: what a program says is changed, and the result is loaded and run.

    python -m tests.fuzz.program_fuzzer --seconds 300 [--seed N] [--out DIRECTORY]
    python -m tests.fuzz.program_fuzzer --replay FILE...

The seeds are the compiler's programs. A mutant has right checksums; its tables are changed as
objects of the schema. What the verifier takes is loaded on the CPU device, and executed when no
kernel is in it: a kernel trusts its arguments, and no verifier can know what it reads.
"""

from __future__ import annotations

import argparse
import copy
import ctypes
import os
import pathlib
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzz.compile_fuzzer import ROOT, prepare_seeds
from tests.fuzz.compiler import Compiler
from tests.fuzz.forked import Finding, Work, find
from tests.fuzz.mutate_program import ProgramMutator, clip
from tests.fuzz.program_file import generate_schema, pack, read, schema
from tests.fuzz.report import report_all, report_new, write_out

# More is refused by the machine, which is right and takes long.
_LARGEST_ARGUMENTS = 64 << 20
# What trusts its arguments.
_KERNELS = ("KernelThunkT", "CustomCallThunkT")


def _inner_sequences(kind: Any) -> list[Any]:
    parts = (getattr(kind, "condition", None), getattr(kind, "body", None))
    return [part for part in (*parts, *(getattr(kind, "branches", None) or [])) if part is not None]


def strip_kernels(sequence: Any) -> None:
    """Takes out what trusts its arguments, and has every loop end."""
    sequence.thunks = [
        thunk for thunk in sequence.thunks or [] if type(thunk.kind).__name__ not in _KERNELS
    ]
    for thunk in sequence.thunks:
        if type(thunk.kind).__name__ == "WhileThunkT":
            thunk.kind.tripCount = 2
        for inner in _inner_sequences(thunk.kind):
            strip_kernels(inner)


def has_kernels(sequence: Any) -> bool:
    """Whether a kernel or a custom call may run."""
    return any(
        thunk.kind is None
        or type(thunk.kind).__name__ in _KERNELS
        or any(has_kernels(inner) for inner in _inner_sequences(thunk.kind))
        for thunk in sequence.thunks or []
    )


def loops_for_long(sequence: Any, times: int = 1) -> bool:
    """Whether a loop runs more often than a fuzzer waits for."""
    for thunk in sequence.thunks or []:
        kind = thunk.kind
        count = getattr(kind, "tripCount", 1)
        if count < 0 or count * times > 100:
            return True
        for part in (getattr(kind, "body", None), *(getattr(kind, "branches", None) or [])):
            if part is not None and loops_for_long(part, max(1, times * count)):
                return True
    return False


class Mutants:
    """The sequence of all mutants, any of which can be made at any time."""

    def __init__(self, seed: int, seeds: list[tuple[str, bytes]]) -> None:
        self._seed = seed
        self._seeds = [(name, *read(data)) for name, data in seeds]

    def __getitem__(self, number: int) -> tuple[str, bytes]:
        r = random.Random(f"{self._seed}/{number}")
        name, program, blobs = r.choice(self._seeds)
        program = copy.deepcopy(program)
        if r.random() < 0.7:
            strip_kernels(program.thunks)
        mutator = ProgramMutator(r)
        for _ in range(r.choice((1, 1, 1, 2, 3, 5))):
            mutator.mutate(program)
        clip(program)
        return name, pack(program, blobs)


def prepare_worker(mutants) -> Callable[[], Work]:
    """Returns what `find` wants of mutants by number."""

    def prepare() -> Work:
        from tests.c_api.pjrt import Api, Client

        api = Api()
        api.call("PJRT_Plugin_Initialize")
        client = Client(api)
        return lambda number: _load_and_run(client, mutants[number][1])

    return prepare


def _load_and_run(client, data: bytes) -> tuple[str, str]:
    from tests.c_api.pjrt import CONSTANTS, PjrtError

    codes = {
        value: name for name, value in CONSTANTS.items() if name.startswith("PJRT_Error_Code_")
    }
    api, stored = client.api, ctypes.create_string_buffer(data, len(data))
    word = "refused"
    try:
        loaded = api.call(
            "PJRT_Executable_DeserializeAndLoad",
            client=client.handle,
            serialized_executable=ctypes.addressof(stored),
            serialized_executable_size=len(data),
        ).loaded_executable
        word = "loaded"
        try:
            _describe(api, loaded)
            program, _ = read(data)
            if not has_kernels(program.thunks) and not loops_for_long(program.thunks):
                _execute(client, loaded, program)
                word = "executed"
        finally:
            api.call("PJRT_LoadedExecutable_Destroy", executable=loaded)
    except PjrtError as error:
        return f"{word}, {codes[error.code].removeprefix('PJRT_Error_Code_')}", str(error)
    return word, ""


def _describe(api, loaded: int) -> None:
    """Asks a program all that it may be asked without being run."""
    from tests.c_api.pjrt import PjrtError

    executable = api.call(
        "PJRT_LoadedExecutable_GetExecutable", loaded_executable=loaded
    ).executable
    for function in (
        "Name",
        "NumReplicas",
        "NumPartitions",
        "NumOutputs",
        "SizeOfGeneratedCodeInBytes",
        "GetCostAnalysis",
        "OutputMemoryKinds",
        "OutputElementTypes",
        "OutputDimensions",
        "Fingerprint",
        "GetCompiledMemoryStats",
    ):
        try:
            args = api.call(f"PJRT_Executable_{function}", executable=executable)
        except PjrtError as error:
            if "onexpu" not in str(error):
                raise
            continue
        if function == "OutputDimensions":
            ranks = (
                (ctypes.c_size_t * args.num_outputs).from_address(args.dim_sizes)
                if args.num_outputs
                else []
            )
            if sum(ranks):
                list((ctypes.c_int64 * sum(ranks)).from_address(args.dims))
    api.call("PJRT_Executable_Destroy", executable=executable)


def _execute(client, loaded: int, program: Any) -> None:
    from tests.c_api.pjrt import HEADER, int64s
    from tests.c_api.programs import execute

    api, arguments, results = client.api, [], []
    try:
        for parameter in program.parameters or []:
            shape = parameter.shape
            dimensions = [int(d) for d in shape.dimensions] if shape.dimensions is not None else []
            elements = int(np.prod(dimensions, dtype=object)) if dimensions else 1
            if elements * 16 > _LARGEST_ARGUMENTS:
                return
            order = int64s(
                [int(d) for d in shape.minorToMajor]
                if shape.minorToMajor is not None and len(shape.minorToMajor)
                else list(range(len(dimensions)))[::-1]
            )
            layout = HEADER.structs["PJRT_Buffer_MemoryLayout"]()
            layout.struct_size = ctypes.sizeof(layout)
            layout.tiled.struct_size = ctypes.sizeof(layout.tiled)
            layout.tiled.minor_to_major = ctypes.addressof(order)
            layout.tiled.minor_to_major_size = len(dimensions)
            host, dims = np.zeros(elements * 16 + 16, np.uint8), int64s(dimensions)
            args = api.call(
                "PJRT_Client_BufferFromHostBuffer",
                client=client.handle,
                data=host.ctypes.data,
                type=_buffer_type(shape.elementType),
                dims=ctypes.addressof(dims),
                num_dims=len(dimensions),
                device=client.device,
                device_layout=ctypes.addressof(layout),
            )
            api.await_event(args.done_with_host_buffer)
            arguments.append(args.buffer)
        # Filled in by the call itself, so that they are there to be destroyed.
        count = len(program.results or [])
        *results, event = execute(client, loaded, arguments, count, want_event=True)
        api.await_event(event)
    finally:
        client.destroy(*arguments, *(result for result in results if result))


def _buffer_type(element_type: int) -> int:
    from tests.c_api.pjrt import CONSTANTS

    names = {
        value: name
        for name, value in vars(schema("ElementType").ElementType).items()
        if isinstance(value, int)
    }
    return CONSTANTS.get("PJRT_Buffer_Type_" + names.get(element_type, "").upper(), 0)


def _compile_seeds(directory: pathlib.Path) -> list[tuple[str, bytes]]:
    """Returns the programs of the compiler's seeds; a child makes them where there are none."""
    prepare_seeds(directory)
    modules = sorted(directory.glob("*.mlir"))

    def prepare() -> Work:
        compiler = Compiler()

        def work(number: int) -> tuple[str, str]:
            done = compiler.compile(modules[number].read_bytes(), "mlir")
            modules[number].with_suffix(".program").write_bytes(done.program)
            return "OK" if done.code == 0 else "error", done.message

        return work

    if not any(directory.glob("*.program")):
        for number, word, message, _ in find(prepare, count=len(modules), hang=120):
            if word != "OK":
                raise RuntimeError(f"{modules[number]}: {word} {message}")
    return [(path.stem, path.read_bytes()) for path in sorted(directory.glob("*.program"))]


class Files:
    """Containers in files, in the place of mutants."""

    def __init__(self, paths: list[pathlib.Path]) -> None:
        self._paths = paths

    def __getitem__(self, number: int) -> tuple[str, bytes]:
        return self._paths[number].name, self._paths[number].read_bytes()


# A damaged module is found by who compiles it for the device: in a process of its own, which dies
# often, and whose words are passed on.
_OF_THE_DEVICE = ("onexpu: a module does not build", "onexpu: the SPIR-V module does not build")


def judge(word: str, message: str) -> Finding | None:
    """Returns what is wrong with an answer: nothing with an error but for INTERNAL."""
    if message.startswith(_OF_THE_DEVICE):
        return None
    if "INTERNAL" in word or "UNKNOWN" in word:
        return Finding(word, message[:90], message)
    return (
        Finding("no prefix", message[:80], message)
        if message and "onexpu:" not in message
        else None
    )


def main() -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--count", type=int, help="how many mutants")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "fuzz" / "program")
    parser.add_argument("--replay", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    os.environ["ONEXPU_DEVICE"] = "cpu"
    out = arguments.out.resolve()
    generate_schema(out / "schema")
    if arguments.replay:
        results = find(prepare_worker(Files(arguments.replay)), count=len(arguments.replay))
        return report_all(results, judge, [path.name for path in arguments.replay])
    mutants = Mutants(arguments.seed, _compile_seeds(out / "seeds"))

    def tell(number: int, finding: Finding) -> None:
        seed, data = mutants[number]
        write_out(out / f"{arguments.seed}-{number}-{seed}.program", data, finding)

    results = find(
        prepare_worker(mutants),
        first=arguments.first,
        count=arguments.count,
        seconds=arguments.seconds,
    )
    return report_new(results, judge, tell, "programs")


if __name__ == "__main__":
    sys.exit(main())
