#!/usr/bin/env python3
"""Cold compile times of everyday programs of JAX on xpu and on XLA:CPU, in turn in one process.

Usage: compile_times.py NAME ... > seconds.json

A time is that of `jax.jit(function).lower(...).compile()`: tracing, XLA's passes, code generation,
and the build by the device's driver. Caches are off: JAX's persistent one, and onexpu's for
programs. The native binaries of kernels, which onexpu keeps on disk, are removed before each
compile. What a process starts once (the compiler's library, child processes) is not in it.

`cold_compile_times` runs this file as a child process for a batch of programs.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator

_REPEATS = 3
# Programs of one child process; its start costs some seconds.
_BATCH = 40

Seconds = dict[str, list[float]]


def cold_compile_times(names: Iterable[str]) -> Iterator[tuple[str, Seconds]]:
    """Yields the name of each program that compiles, and its seconds on "xpu" and "XLA:CPU"."""
    pending = list(names)
    while pending:
        batch = pending[:_BATCH]
        for name, seconds in _child(batch):
            pending.remove(name)
            if seconds:
                yield name, seconds
        if pending and pending[0] in batch:
            print(f"{pending[0]}: compile: the process ended", file=sys.stderr)
            del pending[0]


def _child(names: list[str]) -> Iterator[tuple[str, Seconds]]:
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"ONEXPU_CACHE_DIR": cache, "ONEXPU_PROGRAM_CACHE": "0"}
        environment.pop("JAX_COMPILATION_CACHE_DIR", None)
        command = [sys.executable, __file__, *names]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
            for line in child.stdout:
                yield tuple(json.loads(line))


def _seconds(program, device, cache: pathlib.Path) -> float:
    import jax

    arguments = jax.block_until_ready(jax.device_put(program.arguments(), device))
    for entry in cache.iterdir():
        # An entry may be on its way to the disk, or removed by a limit.
        shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink(True)
    # A new function, because JAX finds the program of a known one.
    begin = time.perf_counter()
    jax.jit(lambda *arguments: program.function(*arguments)).lower(*arguments).compile()
    return time.perf_counter() - begin


def main() -> None:
    """Prints a line of JSON for each program: its name and its seconds."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
    import jax

    from everyday import PROGRAMS

    cache = pathlib.Path(os.environ["ONEXPU_CACHE_DIR"])
    devices = {"xpu": jax.devices("xpu")[0], "XLA:CPU": jax.devices("cpu")[0]}
    for device in devices.values():
        jax.block_until_ready(jax.jit(lambda x: x + 1)(jax.device_put(1.0, device)))
    for name in sys.argv[1:]:
        seconds: Seconds = {label: [] for label in devices}
        try:
            for _ in range(_REPEATS):
                for label, device in devices.items():
                    seconds[label].append(_seconds(PROGRAMS[name], device, cache))
        except Exception as error:  # the other programs' figures are not lost for it
            print(f"{name}: compile: {type(error).__name__}: {error}", file=sys.stderr)
            seconds = {}
        print(json.dumps([name, seconds]), flush=True)


if __name__ == "__main__":
    main()
