#!/usr/bin/env python3
"""Measures xpu, XLA:CPU in JAX and TensorFlow's CPU device in turn; prints ratios and writes a
picture.

Usage: run.py [CASE or GROUP ...] [--output DIR] [--limits PATH]

Groups are "operations" (cases.py), "models" (model_cases.py), "tensorflow" (tensorflow_cases.py),
"kernels" (kernel_cases.py), "library" (library_cases.py, attention_cases.py, inference_cases.py),
"kernel_call_overhead" (overhead_cases.py), "compilation" (compile_cases.py) and "everyday"
(everyday/, small programs of many kinds; report.py there writes their table into
docs/performance.md). Without a name, all cases run.

A ratio above 1 means that xpu is faster. The spread in brackets is the quartiles over rounds. "of
limit" is the share of what the same device reaches in a plain copy or in raw oneDNN (limits.cc),
where that is the bound.
"""

from __future__ import annotations

import argparse
import difflib
import gc
import json
import os
import pathlib
import statistics
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import rich.console
import rich.table
from everyday.report import time_text
from measure import CLOCKS, Ratio, alternate, ratio

import onexpu

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))

from tools import bazel

if TYPE_CHECKING:
    from cases import Case

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Limits:
    """The child process of limits.cc, which the first request starts; one request a line.

    Parameters
    ----------
    program
        The built //benchmarks:limits; None for the one in Bazel's directory.
    """

    def __init__(self, program: pathlib.Path | None):
        self._program = program
        self._child: subprocess.Popen | None = None

    def _start(self) -> subprocess.Popen:
        environment = dict(os.environ)
        runtime = onexpu.library_directory("oneapi") / "libintelocl.so"
        if runtime.exists():
            environment.setdefault("OCL_ICD_FILENAMES", str(runtime))
        program = self._program or bazel.bin_directory() / "benchmarks" / "limits"
        return subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def _ask(self, request: str) -> float:
        self._child = self._child or self._start()
        self._child.stdin.write(request + "\n")
        self._child.stdin.flush()
        return float(self._child.stdout.readline())

    def has(self, request: str) -> bool:
        """Whether this machine's libraries can do it: raw oneDNN has no bf16 product on every
        processor.
        """
        return self._ask(request) >= 0

    def seconds(self, request: str) -> float:
        """Returns the seconds that the limit of `request` takes."""
        seconds = self._ask(request)
        if seconds < 0:
            raise ValueError(f"limits: cannot measure {request!r}")
        return seconds

    def close(self) -> None:
        """Ends the child process."""
        if self._child:
            self._child.stdin.close()
            self._child.wait(timeout=10)


def picture(rows: list[dict], path: pathlib.Path) -> None:
    """One bar a case and competitor: how many times faster xpu is."""
    competitors = [c for c in ("XLA:CPU", "TF CPU") if any(c in row["ratios"] for row in rows)]
    figure, axes = plt.subplots(figsize=(9, 0.55 * len(rows) + 1.6))
    for offset, competitor in enumerate(competitors):
        positions, values, errors = [], [], [[], []]
        for position, row in enumerate(rows):
            if competitor in row["ratios"]:
                r = row["ratios"][competitor]
                positions.append(position + 0.38 * (offset - (len(competitors) - 1) / 2))
                values.append(r["median"])
                errors[0].append(max(0.0, r["median"] - r["low"]))
                errors[1].append(max(0.0, r["high"] - r["median"]))
        axes.barh(positions, values, height=0.36, xerr=errors, label=f"against {competitor}")
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), [row["name"] for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel("times faster on xpu (median of alternating runs; bars: quartiles)")
    axes.legend(loc="best")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def _names(groups: dict[str, dict]) -> str:
    """The groups with their cases, for people."""
    lines = ["cases:"]
    for group, cases in groups.items():
        lines.append(
            textwrap.fill(
                " ".join(cases), 118, initial_indent=f"  {group}: ", subsequent_indent="    "
            )
        )
    return "\n".join(lines)


def _groups() -> dict[str, dict[str, Callable[[Limits], Case]]]:
    # These start both frameworks.
    from attention_cases import ATTENTION_CASES
    from cases import CASES
    from compile_cases import COMPILE_CASES
    from everyday.contenders import EVERYDAY_CASES
    from inference_cases import INFERENCE_CASES
    from kernel_cases import KERNEL_CASES
    from library_cases import LIBRARY_CASES
    from model_cases import MODEL_CASES
    from overhead_cases import OVERHEAD_CASES
    from tensorflow_cases import TENSORFLOW_CASES

    return {
        "operations": CASES,
        "models": MODEL_CASES,
        "tensorflow": TENSORFLOW_CASES,
        "kernels": KERNEL_CASES,
        "library": LIBRARY_CASES | ATTENTION_CASES | INFERENCE_CASES,
        "kernel_call_overhead": OVERHEAD_CASES,
        "compilation": COMPILE_CASES,
        "everyday": EVERYDAY_CASES,
    }


def _measured(name: str, case: Case, clock: Callable[[], float]) -> dict:
    """Times the contenders of a case and returns its row of the results."""
    samples = alternate(
        case.contenders, seconds=case.seconds, rounds=case.rounds, warmup=case.warmup, clock=clock
    )
    ratios = {other: ratio(samples[other], samples["xpu"]) for other in samples if other != "xpu"}
    # A run takes long: what is known is shown.
    print(
        f"{name}: {time_text(samples['xpu'].median)};",
        ", ".join(f"{other} / xpu {r}" for other, r in ratios.items()),
        file=sys.stderr,
        flush=True,
    )
    return {
        "case": name,
        "name": case.name,
        "note": case.note,
        "medians": {key: sample.median for key, sample in samples.items()},
        "ratios": {key: vars(r) for key, r in ratios.items()},
        "rounds": len(samples["xpu"].seconds),
    }


def _add_compile_times(rows: list[dict]) -> None:
    """Adds the cold compile times of the everyday programs of JAX among the rows."""
    from everyday import PROGRAMS, Mode
    from everyday.compile_times import cold_compile_times

    by_name = {
        row["case"]: row
        for row in rows
        if row["case"] in PROGRAMS and PROGRAMS[row["case"]].mode is Mode.JAX_JIT
    }
    for name, seconds in cold_compile_times(by_name):
        medians = {label: statistics.median(values) for label, values in seconds.items()}
        by_name[name]["compile"] = {
            "medians": medians, "ratio": medians["XLA:CPU"] / medians["xpu"]
        }  # fmt: skip
        texts = ", ".join(f"{label} {time_text(median)}" for label, median in medians.items())
        print(f"{name}: compile: {texts}", file=sys.stderr, flush=True)


def _print_table(rows: list[dict]) -> None:
    table = rich.table.Table(title="onexpu: medians of alternating runs")
    columns = ("XLA:CPU", "TF CPU", "limit")
    titles = ("case", "xpu", "XLA:CPU / xpu", "TF CPU / xpu", "of limit", "rounds", "compile")
    for column in titles:
        table.add_column(column, justify="left" if column == "case" else "right")
    for row in rows:
        ratios = {other: str(Ratio(**values)) for other, values in row["ratios"].items()}
        compiled = f"{row['compile']['ratio']:.2f}" if "compile" in row else ""
        table.add_row(
            row["name"],
            time_text(row["medians"]["xpu"]),
            *(ratios.get(other, "") for other in columns),
            str(row["rounds"]),
            compiled,
        )
        for other in sorted(set(ratios) - set(columns)):
            table.add_row(f"  {other} / xpu", "", ratios[other], "", "", "", "")
    rich.console.Console(width=140).print(table)


def main() -> None:
    """Runs the command line."""
    from everyday import attributes

    groups = _groups()
    cases = {name: case for group in groups.values() for name, case in group.items()}

    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=_names(groups),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("case", nargs="*", metavar="NAME", help="of a case or group; default: all")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--limits", type=pathlib.Path, help="the built //benchmarks:limits")
    parser.add_argument(
        "--clock", choices=CLOCKS, default="wall", help="processor: for a busy machine"
    )
    parser.add_argument(
        "--without-compile-times", action="store_true", help="of the everyday programs of JAX"
    )
    arguments = parser.parse_args()
    for name in arguments.case:
        if name not in groups and name not in cases:
            near = difflib.get_close_matches(name, [*groups, *cases], 1)
            meant = f"; is {near[0]} meant?" if near else ";"
            parser.error(f"{name} is no case or group{meant} --help has their names")

    arguments.output.mkdir(parents=True, exist_ok=True)
    results = arguments.output / "benchmarks.json"
    limits = Limits(arguments.limits)
    rows: list[dict] = []
    selected = [case for name in arguments.case or groups for case in groups.get(name, [name])]
    for name in dict.fromkeys(selected):
        try:
            row = _measured(name, cases[name](limits), CLOCKS[arguments.clock])
        except Exception as error:  # the other cases' figures are not lost for it
            row = {"case": name, "name": name, "failure": f"{type(error).__name__}: {error}"}
            print(f"{name}: {row['failure']}", file=sys.stderr, flush=True)
        rows.append(row | attributes(name))
        results.write_text(json.dumps(rows, indent=1))  # kept if a later case ends the process
        gc.collect()
    limits.close()
    measured = [row for row in rows if "failure" not in row]
    if not arguments.without_compile_times:
        _add_compile_times(measured)
        results.write_text(json.dumps(rows, indent=1))
    _print_table(measured)
    picture(measured, arguments.output / "benchmarks.png")
    print(f"written: {results} and benchmarks.png")
    if len(measured) < len(rows):
        sys.exit(f"not measured: {', '.join(row['case'] for row in rows if 'failure' in row)}")


if __name__ == "__main__":
    main()
