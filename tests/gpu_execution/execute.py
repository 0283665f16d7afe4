"""Runs the programs of a bundle on an NVIDIA GPU, in child processes.

A child that hangs, or whose GPU context is lost, is replaced.

    python -m tests.gpu_execution.execute BUNDLE RESULTS [--runs 5] [--jobs 8] [--tool racecheck]

It needs an NVIDIA driver and nvcc, and NumPy and JAX for the large programs. The exit status is 1
if a program failed. RESULTS is a folder for `results.json` and ZIP files of results.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from typing import Any

from tests.gpu_execution.bundle import Bundle
from tests.gpu_execution.cuda import CudaError, Device
from tests.gpu_execution.layout import Array
from tests.gpu_execution.runner import Fault, Runner

_BUILTINS = pathlib.Path(__file__).with_name("opencl_builtins.cu")
_SECONDS_PER_PROGRAM = 120
# The size limit of one file of results.
_BYTES_PER_FILE = 12 << 20
# After such an error, the process cannot use the GPU any more.
_LOST = "CudaError"
_SUMMARY = re.compile(r"SUMMARY: (\d+) (?:hazard|error)")


def compile_builtins(architecture: str, nvcc: str) -> bytes:
    """Returns relocatable machine code of `opencl_builtins.cu`."""
    with tempfile.TemporaryDirectory() as directory:
        output = pathlib.Path(directory, "builtins.cubin")
        subprocess.run(
            [nvcc, "-rdc=true", "-cubin", f"-arch={architecture}", _BUILTINS, "-o", output],
            check=True,
        )
        return output.read_bytes()


def run_program(
    device: Device, builtins: bytes, bundle: Bundle, number: int, runs: int, *, is_exact: bool
) -> tuple[dict[str, Any], list[bytes]]:
    """Returns the outcome and the results of the first run. `Runner` explains `is_exact`."""
    program = bundle.programs[number]
    large, arguments = None, []
    parameters = bundle.parameters(number)
    if program["is_large"]:
        from tests.gpu_execution.large import PROGRAMS

        large = PROGRAMS[program["name"]]
        arguments = large.arguments(program["name"])
        parameters = [x.tobytes() for x in arguments]
    module = device.link(bundle.ptx(number), builtins)
    constants = bundle.constants(number)
    runner = Runner(device, program["plan"], module, parameters, constants, is_exact=is_exact)
    results = runner.run()
    what = {"launches": runner.launches}
    what["runs that differ"] = sum(runner.run() != results for _ in range(runs - 1))
    runner.free()
    if large is not None:
        layouts = map(Array.from_json, program["results"])
        arrays = [one.from_bytes(data) for one, data in zip(layouts, results, strict=True)]
        what["fault"] = large.fault(arguments, arrays)
        results = []
    return what, results


def _child(arguments: argparse.Namespace) -> None:
    """Answers each program number on stdin with a line of JSON; results go to files."""
    device = Device()
    bundle = Bundle(arguments.bundle)
    builtins = arguments.builtins.read_bytes()
    for line in sys.stdin:
        number = int(line)
        try:
            what, results = run_program(
                device, builtins, bundle, number, arguments.runs, is_exact=bool(arguments.tool)
            )
        except (CudaError, Fault) as error:
            what, results = {"error": f"{type(error).__name__}: {error}"}, []
        for i, data in enumerate(results):
            pathlib.Path(arguments.results, f"{number}.{i}").write_bytes(data)
        print(json.dumps(what), flush=True)
        if _LOST in what.get("error", ""):
            os._exit(1)


class _Worker:
    """A child process that is replaced if it ends."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._process: subprocess.Popen[str] | None = None

    def run(self, number: int) -> dict[str, Any]:
        if self._process is None or self._process.poll() is not None:
            # JAX computes the references of large programs.
            environment = {**os.environ, "JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu"}
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
                text=True,
            )
        process = self._process
        timer = threading.Timer(_SECONDS_PER_PROGRAM, process.kill)
        timer.start()
        try:
            process.stdin.write(f"{number}\n")
            process.stdin.flush()
            line = process.stdout.readline()
        finally:
            timer.cancel()
        if line.strip():
            what = json.loads(line)
            if _LOST in what.get("error", ""):
                process.wait()
            return what
        status = process.wait()
        return {"error": f"the process ended with status {status}, or hung"}

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.stdin.close()
            self._process.wait()


def _checked(command: list[str], tool: str, number: int, log: pathlib.Path) -> dict[str, Any]:
    """Runs one program in a child process under a tool of compute-sanitizer."""
    sanitizer = ["compute-sanitizer", "--tool", tool, "--log-file", str(log)]
    worker = _Worker([*sanitizer, *command])
    what = worker.run(number)
    worker.close()
    text = log.read_text(errors="replace") if log.exists() else ""
    counts = [int(count) for count in _SUMMARY.findall(text)]
    problem = what.get("error", "")
    if not counts:
        what["error"] = f"{problem} compute-sanitizer printed no summary: {text[:300]}"
    elif sum(counts):
        what["error"] = f"{problem} {tool} reports: {text[:1500]}"
    return what


def execute(arguments: argparse.Namespace) -> int:
    """Runs all programs; returns how many failed."""
    bundle = Bundle(arguments.bundle)
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    device = Device()
    arguments.results.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        builtins = pathlib.Path(directory, "builtins.cubin")
        builtins.write_bytes(compile_builtins(device.architecture, nvcc))
        command = [sys.executable, "-m", "tests.gpu_execution.execute"]
        command += [str(arguments.bundle), directory, "--builtins", str(builtins)]
        command += ["--runs", str(arguments.runs), "--child"]
        command += ["--tool", arguments.tool] if arguments.tool else []
        workers: queue.Queue[_Worker] = queue.Queue()
        for _ in range(arguments.jobs):
            workers.put(_Worker(command))

        def run(number: int) -> dict[str, Any]:
            if arguments.tool:
                log = pathlib.Path(directory, f"{number}.log")
                return _checked(command, arguments.tool, number, log)
            worker = workers.get()
            try:
                return worker.run(number)
            finally:
                workers.put(worker)

        chosen = [
            number
            for number, program in enumerate(bundle.programs)
            if arguments.only in program["name"]
        ]
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            outcomes = dict(zip(chosen, pool.map(run, chosen), strict=True))
        while not workers.empty():
            workers.get().close()
        if not arguments.tool:
            _pack(pathlib.Path(directory), arguments.results)
    report = {"device": device.name, "tool": arguments.tool, "outcomes": outcomes}
    name = f"{arguments.tool or 'results'}.json"
    pathlib.Path(arguments.results, name).write_text(json.dumps(report))
    return _print(bundle, report)


def _pack(directory: pathlib.Path, results: pathlib.Path) -> None:
    part, file, size = 0, None, 0
    for path in sorted(directory.glob("*.*")):
        if not path.stem.isdecimal() or not path.suffix[1:].isdecimal():
            continue
        if file is None or size > _BYTES_PER_FILE:
            if file is not None:
                file.close()
            file = zipfile.ZipFile(results / f"results-{part}.zip", "w", zipfile.ZIP_DEFLATED)
            part, size = part + 1, 0
        file.write(path, path.name)
        size += file.getinfo(path.name).compress_size
    if file is not None:
        file.close()


def _print(bundle: Bundle, report: dict[str, Any]) -> int:
    bad = 0
    for number, what in report["outcomes"].items():
        problems = [what.get("error", ""), what.get("fault", "")]
        if what.get("runs that differ"):
            problems.append(f"{what['runs that differ']} runs differ from the first")
        if text := "; ".join(one for one in problems if one):
            bad += 1
            print(f"{bundle.programs[number]['name']}: {text}", flush=True)
    launches = sum(what.get("launches", 0) for what in report["outcomes"].values())
    print(
        f"{report['device']}{', ' + report['tool'] if report['tool'] else ''}:"
        f" {len(report['outcomes'])} programs, {launches} launches in a run of each, {bad} failed"
    )
    return bad


def main() -> None:
    """Runs a bundle, or serves as a child process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle", type=pathlib.Path)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--tool", choices=("racecheck", "synccheck", "memcheck"))
    parser.add_argument("--only", default="", help="a part of the names of programs")
    parser.add_argument("--builtins", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        _child(arguments)
    else:
        sys.exit(1 if execute(arguments) else 0)


if __name__ == "__main__":
    main()
