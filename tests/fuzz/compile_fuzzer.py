"""Fuzzes the compiler: mutated StableHLO text and bytes, mutated HloModuleProtos.

    python -m tests.fuzz.compile_fuzzer --seconds 600 [--seed N] [--out DIRECTORY]
    python -m tests.fuzz.compile_fuzzer --replay FILE...

Compiles run in a forked child, one after the other until one ends it. What a child did last is
decided by numbers that the parent knows as well, so a crash is made again from them. Each that is
new (by its CHECK, or by where it crashed) is written to the directory. Exit status 1 if there are
any.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import random
import re
import subprocess
import sys
import types
from collections.abc import Callable

from tests.fuzz.compiler import Compiler
from tests.fuzz.forked import Finding, Work, find
from tests.fuzz.mutate_proto import ProtoMutator
from tests.fuzz.mutate_text import mutate_bytes, mutate_text, words_of
from tests.fuzz.report import report_all, report_new, write_out

ROOT = pathlib.Path(__file__).resolve().parents[2]
FORMATS = {".mlir": "mlir", ".vhlo": "mlir", ".hlo": "hlo", ".textproto": "hlo"}
# Larger modules say no more, and take longer.
_LARGEST_SEED = 8000
# absl::StatusCode: what a bad module may be answered with.
EXPECTED = {0: "OK", 3: "INVALID_ARGUMENT", 8: "RESOURCE_EXHAUSTED", 12: "UNIMPLEMENTED"}


def hlo_module_proto():
    """Returns the class HloModuleProto of TensorFlow's wheel, without TensorFlow in the process."""
    if "tensorflow" not in sys.modules:
        import importlib.util

        spec = importlib.util.find_spec("tensorflow")
        for name in (
            "tensorflow",
            "tensorflow.compiler",
            "tensorflow.compiler.xla",
            "tensorflow.compiler.xla.service",
        ):
            package = types.ModuleType(name)
            package.__path__ = [
                str(pathlib.Path(spec.submodule_search_locations[0], *name.split(".")[1:]))
            ]
            sys.modules[name] = package
    from tensorflow.compiler.xla.service import hlo_pb2

    return hlo_pb2.HloModuleProto


def read_module(path: pathlib.Path) -> tuple[bytes, str]:
    """Returns the bytes of a kept module and their format."""
    if path.suffix != ".textproto":
        return path.read_bytes(), FORMATS[path.suffix]
    from google.protobuf import text_format

    return text_format.Parse(path.read_text(), hlo_module_proto()()).SerializeToString(), "hlo"


@dataclasses.dataclass
class Mutant:
    """A module to be compiled."""

    seed: str
    code: bytes
    suffix: str
    gpu_schedules: bool


class Mutants:
    """The sequence of all mutants, any of which can be made at any time."""

    def __init__(self, seed: int, directories: list[pathlib.Path], forms: set[str]) -> None:
        self._seed = seed
        files = [
            path
            for directory in directories
            for path in sorted(directory.iterdir())
            if path.suffix in FORMATS
            and path.suffix in forms
            and path.stat().st_size < _LARGEST_SEED
        ]
        self._seeds = [(path.stem, path.suffix, path.read_bytes()) for path in files]
        # The seeds by their form, so that each form is tried as often as the others.
        self._forms = [
            [seed for seed in self._seeds if seed[1] == suffix]
            for suffix in sorted({suffix for _, suffix, _ in self._seeds})
        ]
        self._words = words_of(
            [code.decode() for _, suffix, code in self._seeds if suffix == ".mlir"]
        )
        self._proto = hlo_module_proto()

    def __getitem__(self, number: int) -> Mutant:
        r = random.Random(f"{self._seed}/{number}")
        form = r.choice(self._forms)
        name, suffix, code = r.choice(form)
        steps = r.choice((1, 1, 1, 2, 2, 3, 5))
        if suffix == ".hlo":
            proto = self._proto.FromString(code)
            mutator = ProtoMutator(r)
            for _ in range(steps):
                mutator.mutate(proto)
            code = proto.SerializeToString()
            if r.random() < 0.03:
                code = mutate_bytes(code, r)
        elif suffix == ".mlir":
            text = code.decode()
            for _ in range(steps):
                text = mutate_text(text, r, self._words)
            code = text.encode()
        else:
            code = mutate_bytes(code, r)
        return Mutant(name, code, suffix, r.random() < 0.2)


def judge(word: str, message: str) -> Finding | None:
    """Returns what is wrong with an answer: only some codes, and only our words, may be one."""
    if word == "OK" or word == "died":
        return None
    if word not in EXPECTED.values():
        # One finding for one cause: names and numbers differ.
        where = re.sub(r"%?[\w.-]*\d[\w.-]*|\{[^}]*\}|\[[^]]*\]", "#", message)
        return Finding(word, where[:90], message)
    return None if message.startswith("onexpu:") else Finding("no prefix", message[:80], message)


def worker(compiler: Compiler, mutants) -> Callable[[], Work]:
    """Returns what `find` wants of mutants, or of files, by number."""

    def work(number: int) -> tuple[str, str]:
        mutant = mutants[number]
        done = compiler.compile(
            mutant.code, FORMATS[mutant.suffix], gpu_schedules=mutant.gpu_schedules
        )
        return EXPECTED.get(done.code, f"status {done.code}"), done.message

    return lambda: work


def prepare_seeds(directory: pathlib.Path) -> None:
    """Fills `directory` with the seeds unless they are there."""
    directory.mkdir(parents=True, exist_ok=True)
    if not any(directory.iterdir()):
        subprocess.run(
            [sys.executable, "-m", "tests.fuzz.seeds", str(directory)], check=True, cwd=ROOT
        )


def _fuzz(arguments: argparse.Namespace) -> int:
    out = arguments.out
    prepare_seeds(out / "seeds")
    directories = [out / "seeds", *arguments.more]
    mutants = Mutants(arguments.seed, directories, set(arguments.forms.split(",")))

    def tell(number: int, finding: Finding) -> None:
        mutant = mutants[number]
        name = f"{arguments.seed}-{number}-{mutant.seed}{mutant.suffix}"
        write_out(out / name, mutant.code, finding, f"gpu schedules: {mutant.gpu_schedules}")

    results = find(
        worker(Compiler(), mutants),
        first=arguments.first,
        count=arguments.count,
        seconds=arguments.seconds,
    )
    return report_new(results, judge, tell, "compiles")


class Files:
    """Modules in files, in the place of mutants."""

    def __init__(self, paths: list[pathlib.Path], gpu_schedules: bool = False) -> None:
        self._paths, self._gpu = paths, gpu_schedules

    def __getitem__(self, number: int) -> Mutant:
        path = self._paths[number]
        code, form = read_module(path)
        return Mutant(path.name, code, f".{'hlo' if form == 'hlo' else 'mlir'}", self._gpu)


def _replay(paths: list[pathlib.Path], gpu_schedules: bool) -> int:
    work = worker(Compiler(), Files(paths, gpu_schedules))
    return report_all(find(work, count=len(paths)), judge, [path.name for path in paths])


def main() -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--count", type=int, help="how many mutants")
    # Not .vhlo, portable artifacts: MLIR's reader of bytes trusts them (docs/conformance.md).
    parser.add_argument("--forms", default=".mlir,.hlo", help="out of .mlir, .hlo and .vhlo")
    parser.add_argument(
        "--more", type=pathlib.Path, nargs="*", default=[], help="directories of more seeds"
    )
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "fuzz" / "compile")
    parser.add_argument("--replay", type=pathlib.Path, nargs="+")
    parser.add_argument("--gpu-schedules", action="store_true")
    arguments = parser.parse_args()
    # The modules' dumps and another XLA's flags have no part in it.
    os.environ.pop("XLA_FLAGS", None)
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    if arguments.replay:
        return _replay(arguments.replay, arguments.gpu_schedules)
    return _fuzz(arguments)


if __name__ == "__main__":
    sys.exit(main())
