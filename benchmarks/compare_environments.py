#!/usr/bin/env python3
r"""Compares xpu with itself under other environment variables or builds: driver options, schedules,
instruction sets.

Usage: compare_environments.py [CASE or GROUP ...] [--clock wall|processor]
                               --environment NAME [VARIABLE=VALUE ...] ...

The first environment is the baseline. Each environment is one child process, and the children run a
case in turn, so drift of the machine reaches all of them alike. A ratio above 1 means that the
environment is faster than the baseline. The last line is the geometric mean over cases.

The variable PYTHON is the interpreter of an environment, so that another build can be the baseline.
All environments run this file's cases. On a busy machine, `--clock processor` compares processor
time of all threads instead of wall time.

Example, the cost of a pass of the CPU driver:

    compare_environments.py models --environment as_is \
        --environment without_gvn CL_CONFIG_LLVM_OPTIONS=-opt-disable=gvn
"""

from __future__ import annotations

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import rich.console
import rich.table
from measure import CLOCKS, alternate, ratio

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))  # models/

_GROUPS = ("operations", "models", "library", "compilation", "kernels")
_SERVE = "--serve"


def _cases(with_kernels: bool) -> dict[str, dict]:
    from attention_cases import ATTENTION_CASES
    from cases import CASES
    from compile_cases import COMPILE_CASES
    from inference_cases import INFERENCE_CASES
    from library_cases import LIBRARY_CASES
    from model_cases import MODEL_CASES

    library = LIBRARY_CASES | ATTENTION_CASES | INFERENCE_CASES
    kernels: dict = {}
    if with_kernels:  # these start TensorFlow
        from kernel_cases import KERNEL_CASES as kernels
    return dict(zip(_GROUPS, (CASES, MODEL_CASES, library, COMPILE_CASES, kernels), strict=True))


class _NoLimits:
    """Stands for run.py's Limits: what the device could do at best is not measured here."""

    def has(self, request: str) -> bool:
        return False

    def seconds(self, request: str) -> float:
        raise ValueError(f"not measured here: {request}")


def _serve(clock: str, with_kernels: bool) -> None:
    """Answers requests on stdin, one a line: the name of a case prepares it, an empty line runs it;
    "names" lists cases.
    """
    now = CLOCKS[clock]
    import jax

    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # libraries print to stdout
    groups = _cases(with_kernels)
    cases = {name: case for group in groups.values() for name, case in group.items()}
    jax.block_until_ready(jax.jit(lambda x: x + 1)(1.0))
    run: Callable[[], float | None]
    for line in sys.stdin:
        request = line.strip()
        if request == "names":
            print(
                " ".join(f"{group}/{name}" for group in groups for name in groups[group]),
                file=answers,
            )
            continue
        if request:
            try:
                run = cases[request](_NoLimits()).contenders["xpu"]
            except Exception as error:
                print(f"{type(error).__name__}: {str(error).splitlines()[0]}", file=answers)
                continue
        begin = now()
        own = run()
        print(now() - begin if own is None else own, file=answers)


class _Child:
    """A process with variables of its own, and a cache that is empty at first."""

    def __init__(self, variables: dict[str, str], *options: str) -> None:
        self._cache = tempfile.TemporaryDirectory()
        python = variables.get("PYTHON", sys.executable)
        self._process = subprocess.Popen(
            [python, __file__, _SERVE, *options],
            env={
                **os.environ,
                "ONEXPU_CACHE_DIR": self._cache.name,
                "ONEXPU_PROGRAM_CACHE": "0",  # compile times are compared, too
                **variables,
            },
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def ask(self, request: str) -> str:
        """Returns the answer to one line."""
        self._process.stdin.write(request + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def run(self) -> float:
        """Runs the case that was prepared last; returns its seconds."""
        return float(self.ask(""))

    def close(self) -> None:
        """Ends the process."""
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._cache.cleanup()


def _parse(arguments: list[str]) -> tuple[list[str], str, dict[str, dict[str, str]]]:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "case",
        nargs="*",
        metavar="NAME",
        help=f"of a case, or of the groups {', '.join(_GROUPS)}; default: all but kernels",
    )
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--environment", nargs="+", action="append", metavar="NAME", required=True)
    parsed = parser.parse_args(arguments)
    environments: dict[str, dict[str, str]] = {}
    for name, *settings in parsed.environment:
        if any("=" not in setting for setting in settings):
            parser.error(f"--environment {name}: expected VARIABLE=VALUE")
        environments[name] = dict(setting.split("=", 1) for setting in settings)
    if len(environments) < 2:
        parser.error("--environment: expected two or more, each with a name of its own")
    return parsed.case, parsed.clock, environments


def _selected(child: _Child, wanted: list[str]) -> Iterator[str]:
    for path in child.ask("names").split():
        group, name = path.split("/")
        if not wanted or group in wanted or name in wanted:
            yield name


def main() -> None:
    """Runs the command line."""
    if sys.argv[1:2] == [_SERVE]:
        _serve(sys.argv[2], sys.argv[3:] == ["kernels"])
        return
    wanted, clock, environments = _parse(sys.argv[1:])
    baseline, *others = environments
    options = [clock, *(["kernels"] if "kernels" in wanted else [])]
    children = {name: _Child(variables, *options) for name, variables in environments.items()}
    table = rich.table.Table(title=f"times faster than {baseline}: medians of alternating runs")
    for column in ("case", baseline, *others):
        table.add_column(column, justify="left" if column == "case" else "right")
    ratios: dict[str, list[float]] = {other: [] for other in others}
    for case in _selected(children[baseline], wanted):
        try:
            for child in children.values():
                float(child.ask(case))
        except ValueError as error:  # the answer is a message
            print(f"{case}: {error}", file=sys.stderr, flush=True)
            continue
        samples = alternate({name: child.run for name, child in children.items()})
        row = [ratio(samples[baseline], samples[other]) for other in others]
        for other, value in zip(others, row, strict=True):
            ratios[other].append(value.median)
        table.add_row(case, f"{samples[baseline].median * 1e3:.3f} ms", *map(str, row))
        print(case, *map(str, row), file=sys.stderr, flush=True)
    for child in children.values():
        child.close()
    if not ratios[others[0]]:
        sys.exit(f"no case was measured: {' '.join(wanted)}")
    table.add_row(
        "geometric mean",
        "",
        *(f"{statistics.geometric_mean(values):.3f}" for values in ratios.values()),
    )
    rich.console.Console(width=160).print(table)


if __name__ == "__main__":
    main()
