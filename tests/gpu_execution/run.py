"""Runs kernels for an Intel GPU on an NVIDIA GPU: `make check-gpu-execution`.

    python -m tests.gpu_execution.run build BUNDLE [--target pvc] [--random 400]
    python -m tests.gpu_execution.execute BUNDLE RESULTS        # on the machine with the GPU
    python -m tests.gpu_execution.run judge BUNDLE RESULTS
    python -m tests.gpu_execution.run all

Programs are compiled for the target. The LLVM IR of their kernels, as it goes to the SPIR-V back
end, is translated to PTX, and their steps (launches, copies, loops, branches) are run with CUDA.
Programs that call a library are left out. Without a GPU, `all` prints what it would run.
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator

import jax
from jax.experimental import topologies

from tests.gpu_execution import cuda, damage, nvptx, plan
from tests.gpu_execution.bundle import Bundle, Writer
from tests.gpu_execution.layout import Array
from tests.gpu_execution.programs import (
    Program,
    large_programs,
    random_programs,
    size_programs,
)


def programs(count: int, first: int) -> Iterator[Program]:
    """Yields all programs, of the random ones `count` from seed `first`.

    Seeds that do not begin with 0 come alone: the other programs are the same.
    """
    if first == 0:
        yield from large_programs()
        yield from size_programs()
    yield from random_programs(first, count)


def compile_program(program: Program, target: str, schema: pathlib.Path) -> tuple[plan.Plan, str]:
    """Returns a program's plan and the PTX of its kernels. Raises plan.NotRunnable."""
    device = topologies.get_topology_desc(target, "xpu").devices[0]
    sharding = jax.sharding.SingleDeviceSharding(device)
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding) for x in program.arguments]
    with tempfile.TemporaryDirectory() as dump:
        try:
            compiled = (
                jax.jit(program.function, keep_unused=True)
                .lower(*shapes)
                .compile(compiler_options={"xla_dump_to": dump})
            )
        except jax.errors.JaxRuntimeError as error:
            if "UNIMPLEMENTED" not in str(error):
                raise
            raise plan.NotRunnable(str(error).splitlines()[0]) from error
        read = plan.read(compiled.runtime_executable().serialize(), schema)
        files = sorted(pathlib.Path(dump).glob("*ir-with-opt.ll"))
        ir = "".join(file.read_text() for file in files)
    return read, nvptx.translate(ir, read.work_items) if ir else ""


def build(path: pathlib.Path, target: str, chosen: Iterable[Program]) -> collections.Counter[str]:
    """Writes a bundle; returns the number of programs that were left out, by reason."""
    left_out: collections.Counter[str] = collections.Counter()
    writer = Writer(path)
    with tempfile.TemporaryDirectory() as schema:
        for program in chosen:
            try:
                read, ptx = compile_program(program, target, pathlib.Path(schema))
            except plan.NotRunnable as reason:
                left_out[str(reason)] += 1
                continue
            if not read.work_items:
                left_out["no kernel"] += 1
                continue
            arguments = [] if program.is_large else program.arguments
            parameters = [
                layout.to_bytes(values)
                for layout, values in zip(read.parameters, arguments, strict=bool(arguments))
            ]
            layouts = [one.to_json() for one in read.results]
            writer.add(
                program.name,
                read.steps,
                ptx,
                parameters,
                read.constants,
                layouts,
                is_large=program.is_large,
            )
            jax.clear_caches()
    writer.close()
    return left_out


def judge(bundle: Bundle, results: pathlib.Path, chosen: Iterable[Program]) -> int:
    """Compares results with references; prints the faults and returns their number."""
    outcomes = json.loads((results / "results.json").read_text())["outcomes"]
    files = [zipfile.ZipFile(path) for path in sorted(results.glob("results-*.zip"))]
    archive_of = {name: file for file in files for name in file.namelist()}
    numbers = {program["name"]: i for i, program in enumerate(bundle.programs)}
    wrong = right = 0
    for program in chosen:
        number = numbers.get(program.name)
        if number is None or str(number) not in outcomes:
            continue
        outcome = outcomes[str(number)]
        problem = outcome.get("error") or outcome.get("fault", "")
        if outcome.get("runs that differ"):
            problem += f"; {outcome['runs that differ']} runs differ"
        if not problem and not program.is_large:
            arrays = []
            for i, fields in enumerate(bundle.programs[number]["results"]):
                name = f"{number}.{i}"
                arrays.append(Array.from_json(fields).from_bytes(archive_of[name].read(name)))
            problem = program.fault(arrays)
            jax.clear_caches()
        if problem:
            wrong += 1
            print(f"{program.name}: {problem}", flush=True)
        else:
            right += 1
    print(f"{right} programs are right, {wrong} are not")
    return wrong


def _chosen(arguments: argparse.Namespace) -> Iterator[Program]:
    return programs(arguments.random, arguments.first)


def _run_all(arguments: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as directory:
        bundle, results = pathlib.Path(directory, "bundle.zip"), pathlib.Path(directory, "results")
        left_out = build(bundle, arguments.target, _chosen(arguments))
        _describe(bundle, left_out)
        if not cuda.device_count():
            print("There is no NVIDIA GPU, so nothing ran.")
            return 0
        program = [sys.executable, "-m", "tests.gpu_execution.execute"]
        failed = 0
        for tool in (None, "racecheck", "synccheck", "memcheck"):
            options = ["--tool", tool, "--runs", "1"] if tool else []
            command = [*program, bundle, results, *options]
            failed |= subprocess.run(command, check=False).returncode
        failed |= judge(Bundle(bundle), results, _chosen(arguments)) > 0
        damaged = pathlib.Path(directory, "damaged.zip")
        damage.write(bundle, damaged)
        for tool, name in damage.FAULTS.items():
            command = [*program, damaged, results, "--tool", tool, "--runs", "1", "--only", name]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            # Another failure, such as a missing tool, does not count.
            if f"{tool} reports" not in done.stdout:
                print(f"{tool} does not report the planted fault of the program {name}")
                failed = 1
        return failed


def _describe(path: pathlib.Path, left_out: collections.Counter[str]) -> None:
    bundle = Bundle(path)
    kernels = sum(bundle.ptx(i).count(".entry") for i in range(len(bundle.programs)))
    print(f"{len(bundle.programs)} programs with {kernels} kernels; left out:")
    for reason, count in left_out.most_common():
        print(f"  {count:4}  {reason[:160]}")


def main() -> None:
    """Runs a command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("build", "judge", "all"))
    parser.add_argument("paths", nargs="*", type=pathlib.Path, help="BUNDLE [RESULTS]")
    parser.add_argument("--target", default="pvc", help="the Intel GPU")
    parser.add_argument("--random", type=int, default=400, help="the number of random programs")
    parser.add_argument("--first", type=int, default=0, help="the first seed of the random ones")
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    if arguments.command == "build":
        (bundle,) = arguments.paths
        _describe(bundle, build(bundle, arguments.target, _chosen(arguments)))
    elif arguments.command == "judge":
        bundle, results = arguments.paths
        sys.exit(1 if judge(Bundle(bundle), results, _chosen(arguments)) else 0)
    else:
        sys.exit(_run_all(arguments))


if __name__ == "__main__":
    main()
