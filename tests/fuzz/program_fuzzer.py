"""Fuzzes stored programs: what a program says is changed, and the result is loaded and run.

    python -m tests.fuzz.program_fuzzer --seconds 300 [--seed N] [--out DIRECTORY]
    python -m tests.fuzz.program_fuzzer --replay FILE...

The seeds are the compiler's programs. A mutant has right checksums; its tables are changed as
objects of the schema. What the verifier takes is loaded on the CPU device, and executed when no
kernel is in it: a kernel trusts its arguments, and no verifier can know what it reads.
"""

from __future__ import annotations

import argparse
import collections
import copy
import ctypes
import importlib
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from typing import Any

import flatbuffers
import numpy as np

from tests.fuzz.compile_fuzzer import ROOT, prepare_seeds
from tests.fuzz.compiler import Compiler
from tests.fuzz.forked import Finding, Work, find

MAGIC, HEADER_BYTES, ALIGNMENT = b"ONEXPUPG", 64, 64
_VERSION = int(
    re.search(
        r"kProgramFormatVersion = (\d+)",
        (ROOT / "pjrt_core" / "program" / "container.h").read_text(),
    ).group(1)
)
# More is refused by the machine, which is right and takes long.
_LARGEST_ARGUMENTS = 64 << 20
_INTEGERS = (
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    16,
    63,
    64,
    65,
    255,
    256,
    1 << 16,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    1 << 40,
    1 << 60,
    (1 << 62),
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 64,
    (1 << 64) - 1,
    -1,
    -2,
    -(1 << 31),
    -(1 << 63),
)
# Not worth a mutation.
_DULL = {"compilerVersion", "fingerprint", "opName", "source", "name"}


def generate_schema(directory: pathlib.Path) -> None:
    """Writes the schema's classes as Python below `directory`, and makes them importable."""
    if not (directory / "onexpu").is_dir():
        directory.mkdir(parents=True, exist_ok=True)
        schema = ROOT / "pjrt_core" / "program" / "program.fbs"
        subprocess.run(
            ["flatc", "--python", "--gen-object-api", "-o", str(directory), str(schema)], check=True
        )
        # Beside the package that users import, which has the same name.
        (directory / "onexpu").rename(directory / "onexpu_schema")
        for file in (directory / "onexpu_schema").rglob("*.py"):
            file.write_text(file.read_text().replace("onexpu.program", "onexpu_schema.program"))
        (directory / "onexpu").mkdir()  # says that it is done
    if str(directory) not in sys.path:
        sys.path.insert(0, str(directory))


def _schema(name: str) -> Any:
    return importlib.import_module(f"onexpu_schema.program.{name}")


def flatbuffer(data: bytes) -> bytes:
    """Returns the FlatBuffer of a container."""
    (size,) = struct.unpack_from("<Q", data, 16)
    return data[HEADER_BYTES : HEADER_BYTES + size]


def read(data: bytes) -> tuple[Any, bytes]:
    """Returns a container's program as an object, and its blobs."""
    offset, length = struct.unpack_from("<QQ", data, 24)
    schema = _schema("Program")
    root = schema.Program.GetRootAs(flatbuffer(data), 0)
    return schema.ProgramT.InitFromObj(root), data[offset : offset + length]


def pack(program: Any, blobs: bytes) -> bytes:
    """Returns the container of a program, with checksums that fit."""
    builder = flatbuffers.Builder(4096)
    builder.Finish(program.Pack(builder), b"OXPU")
    return seal(bytes(builder.Output()), blobs)


def seal(flatbuffer: bytes, blobs: bytes) -> bytes:
    """Returns the container of a FlatBuffer."""
    offset = -(-(HEADER_BYTES + len(flatbuffer)) // ALIGNMENT) * ALIGNMENT
    header = MAGIC + struct.pack(
        "<IIQQQII12x",
        _VERSION,
        HEADER_BYTES,
        len(flatbuffer),
        offset,
        len(blobs),
        zlib.crc32(flatbuffer),
        zlib.crc32(blobs),
    )
    header += struct.pack("<I", zlib.crc32(header))
    return (header + flatbuffer).ljust(offset, b"\0") + blobs


class ProgramMutator:
    """Changes fields, elements and tables of a program."""

    def __init__(self, generator: random.Random) -> None:
        self._random = generator

    def mutate(self, program: Any) -> None:
        """Changes one thing, in place."""
        tables = _tables(program)
        for _ in range(20):
            table = self._random.choice(tables)
            names = [name for name in vars(table) if name not in _DULL]
            if names and self._change(table, self._random.choice(names), tables):
                return

    def _change(self, table: Any, name: str, tables: list[Any]) -> bool:
        r, value = self._random, getattr(table, name)
        same = [getattr(t, name) for t in tables if type(t) is type(table)]
        if name.endswith("Type") and name[:-4] in vars(table):
            return False  # a union's: it changes with the table
        if isinstance(value, bool):
            setattr(table, name, not value)
        elif isinstance(value, int):
            near = value + r.choice((-1, 1, -16, 16, value))
            setattr(
                table, name, r.choice((near, r.choice(same), r.choice(_INTEGERS), r.randrange(20)))
            )
        elif isinstance(value, float):
            setattr(table, name, r.choice((0.0, -1.0, float("nan"), 1e30, value * 2)))
        elif isinstance(value, (bytes, str)):
            setattr(table, name, r.choice((value[:-1], value * 2, r.choice(same))))
        elif value is None or hasattr(value, "__dict__"):
            donor = r.choice([t for t in tables if type(t) is type(table)])
            setattr(table, name, copy.deepcopy(getattr(donor, name)))
            if name + "Type" in vars(table):
                setattr(table, name + "Type", getattr(donor, name + "Type"))
        else:
            setattr(table, name, self._change_list(list(value), same))
        return True

    def _change_list(self, values: list[Any], same: list[Any]) -> list[Any]:
        r = self._random
        action = r.choice(("delete", "duplicate", "swap", "set", "set", "set", "other", "clear"))
        if action == "other":
            other = r.choice(same)
            return copy.deepcopy(list(other)) if other is not None else []
        if not values or action == "clear":
            return []
        place = r.randrange(len(values))
        if action == "delete":
            del values[place]
        elif action == "duplicate":
            values.insert(r.randrange(len(values) + 1), copy.deepcopy(values[place]))
        elif action == "swap" or hasattr(values[place], "__dict__"):
            second = r.randrange(len(values))
            values[place], values[second] = values[second], values[place]
        else:
            values[place] = r.choice((int(values[place]) + r.choice((-1, 1)), r.choice(_INTEGERS)))
        return values


def _tables(table: Any) -> list[Any]:
    found = [table]
    for value in vars(table).values():
        for part in value if isinstance(value, list) else [value]:
            if hasattr(part, "__dict__"):
                found += _tables(part)
    return found


def _clip(table: Any) -> None:
    """Has every number fit its field, as a caller's would."""
    for part in _tables(table):
        for name, value in vars(part).items():
            width = _WIDTHS.get((type(part).__name__, name))
            if width is None:
                continue
            if isinstance(value, list) or isinstance(value, np.ndarray):
                setattr(part, name, [_wrap(int(v), width) for v in value])
            elif isinstance(value, int) and not isinstance(value, bool):
                setattr(part, name, _wrap(value, width))


def _wrap(value: int, width: tuple[int, bool]) -> int:
    bits, signed = width
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def _read_widths() -> dict[tuple[str, str], tuple[int, bool]]:
    """Returns, by class and attribute, the bits and the sign of the schema's integers."""
    text = re.sub(r"//[^\n]*", "", (ROOT / "pjrt_core" / "program" / "program.fbs").read_text())
    enums = set(re.findall(r"\benum (\w+)", text)) | set(re.findall(r"\bunion (\w+)", text))
    types = {
        "ubyte": (8, False),
        "int32": (32, True),
        "uint32": (32, False),
        "int64": (64, True),
        "uint64": (64, False),
    }
    types.update({name: (8, False) for name in enums})
    widths = {}
    for table, body in re.findall(r"\b(?:table|struct) (\w+) \{(.*?)\}", text, re.DOTALL):
        for field, kind in re.findall(r"(\w+)\s*:\s*\[?(\w+)\]?", body):
            if kind in types:
                first, *rest = field.split("_")
                camel = first + "".join(word.capitalize() for word in rest)
                widths[f"{table}T", camel] = types[kind]
    return widths


_WIDTHS = _read_widths()


def strip_kernels(sequence: Any) -> None:
    """Takes out what trusts its arguments, and has every loop end."""
    kept = []
    for thunk in sequence.thunks or []:
        kind = thunk.kind
        name = type(kind).__name__
        if name in ("KernelThunkT", "CustomCallThunkT"):
            continue
        if name == "WhileThunkT":
            kind.tripCount = 2
        for inner in (
            getattr(kind, "condition", None),
            getattr(kind, "body", None),
            *(getattr(kind, "branches", None) or []),
        ):
            if inner is not None:
                strip_kernels(inner)
        kept.append(thunk)
    sequence.thunks = kept


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
        _clip(program)
        return name, pack(program, blobs)


def has_kernels(sequence: Any) -> bool:
    """Whether a kernel or a custom call may run."""
    for thunk in sequence.thunks or []:
        kind = thunk.kind
        if type(kind).__name__ in ("KernelThunkT", "CustomCallThunkT", "NoneType"):
            return True
        inner = [
            getattr(kind, "condition", None),
            getattr(kind, "body", None),
            *(getattr(kind, "branches", None) or []),
        ]
        if any(has_kernels(part) for part in inner if part is not None):
            return True
    return False


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
        for name, value in vars(_schema("ElementType").ElementType).items()
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
_OF_THE_DEVICE = ("onexpu: the device's compiler", "onexpu: the SPIR-V module does not build")


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
        mutants, arguments.count = Files(arguments.replay), len(arguments.replay)
    else:
        mutants = Mutants(arguments.seed, _compile_seeds(out / "seeds"))
    words: collections.Counter[str] = collections.Counter()
    found: collections.Counter[str] = collections.Counter()
    start = time.monotonic()
    for number, word, message, finding in find(
        prepare_worker(mutants),
        first=arguments.first,
        count=arguments.count,
        seconds=arguments.seconds,
    ):
        words[word] += 1
        finding = finding or judge(word, message)
        if arguments.replay:
            print(
                f"{mutants[number][0]}: {finding.key if finding else f'{word}: {message}'}",
                flush=True,
            )
        if finding is None:
            continue
        found[finding.key] += 1
        if found[finding.key] > 1 or arguments.replay:
            continue
        seed, data = mutants[number]
        name = f"{arguments.seed}-{number}-{seed}.program"
        (out / name).write_bytes(data)
        (out / f"{name}.log").write_text(f"{finding.key}\n{finding.log}")
        print(f"{name}: {finding.key}", flush=True)
    print(f"{sum(words.values())} programs in {time.monotonic() - start:.0f} s: {dict(words)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
