"""Convolutions of every form, and both of their gradients, against a reference in float64.

Usage: python -m tests.convolutions.sweep [--forms N] [--first-seed N] [--isa ISA]...
                                           [--schedules auto|gpu]...

Every form is drawn from its seed: one to three spatial dimensions, strides, groups, kernel and base
dilations, padding that is negative or all that a window sees, outputs of one element, epilogues,
and operands of f32, bf16, f16 and s8. The operands are small integers, so that sums are exact in
every type and only the rounding of a result is tolerated.

oneDNN picks another implementation for each instruction set (`--isa`: `ALL` is the processor's
own). The programs run in child processes, because a fault of a library may end one; each program
holds many forms. The sweep prints the implementations that it reached, and every form that is
wrong, raises or ends its process. It exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from tests.convolutions.forms import KNOWN, form_of
from tests.convolutions.programs import run_forms

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_FORMS_PER_PROGRAM = 16
_FORMS_PER_PROCESS = 512
_SECONDS_PER_PROCESS = 600


def _child(seeds: list[int], per_program: int, path: str) -> None:
    """Writes what it does and finds to `path`, as lines of JSON."""
    import jax

    with open(path, "w", buffering=1) as out:
        for begin in range(0, len(seeds), per_program):
            part = seeds[begin : begin + per_program]
            print(json.dumps({"begin": part}), file=out)
            try:
                found = run_forms(part)
            except Exception as raised:
                if len(part) > 1:
                    found = [finding for seed in part for finding in _one(seed)]
                else:
                    found = [_failure(part[0], f"{type(raised).__name__}: {str(raised)[:400]}")]
            for finding in found:
                print(json.dumps(finding), file=out)
            print(json.dumps({"end": part}), file=out)
            jax.clear_caches()  # no program is used again


def _one(seed: int) -> list[dict]:
    try:
        return run_forms([seed])
    except Exception as raised:
        return [_failure(seed, f"{type(raised).__name__}: {str(raised)[:400]}")]


def _failure(seed: int, what: str) -> dict:
    return {"seed": seed, "result": "program", "what": what, "form": str(form_of(seed))}


@dataclasses.dataclass
class Outcome:
    """What a sweep found.

    Attributes
    ----------
    findings : list of dict
        `seed`, `result`, `what` and `form` of each form that is wrong.
    implementations : Counter
        Runs of each of oneDNN's implementations, by (direction, implementation).
    forms : int
        Forms that ran.
    """

    findings: list[dict] = dataclasses.field(default_factory=list)
    implementations: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    forms: int = 0


def _spawn(
    seeds: list[int], per_program: int, environment: dict[str, str], outcome: Outcome
) -> list[int]:
    """Runs a child over `seeds`; returns those of the program that ended it, and of those
    behind.
    """
    with (
        tempfile.NamedTemporaryFile("w+") as lines,
        tempfile.TemporaryFile("w+", errors="replace") as log,
    ):
        command = [sys.executable, "-m", "tests.convolutions.sweep", "--output", lines.name]
        command += ["--child", str(per_program), *map(str, seeds)]
        process = subprocess.Popen(
            command, cwd=_ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            status = str(process.wait(timeout=_SECONDS_PER_PROCESS))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            status = "a timeout"
        done: set[int] = set()
        for line in pathlib.Path(lines.name).read_text().splitlines():
            entry = json.loads(line)
            if "end" in entry:
                done |= set(entry["end"])
            elif "begin" not in entry:
                outcome.findings.append(entry)
        log.seek(0)
        text = log.readlines()
    for line in text:
        parts = line.split(",")
        if line.startswith("onednn_verbose") and "exec" in parts and "convolution" in parts:
            at = parts.index("convolution")
            outcome.implementations[parts[at + 2], parts[at + 1]] += 1
    left = [seed for seed in seeds if seed not in done]
    outcome.forms += len(done)
    if left and (len(left) == len(seeds) == 1):
        tail = " ".join(line.strip() for line in text if not line.startswith("onednn_verbose"))[
            -300:
        ]
        outcome.findings.append(_failure(left[0], f"the process ended with {status}: {tail}"))
        outcome.forms += 1
        return []
    return left


def sweep(seeds: list[int], isa: str = "ALL", schedules: str = "auto") -> Outcome:
    """Runs the forms of `seeds` in child processes.

    Parameters
    ----------
    isa : str
        ONEDNN_MAX_CPU_ISA.
    schedules : str
        ONEXPU_SCHEDULES.
    """
    outcome = Outcome()
    environment = os.environ | {
        "ONEDNN_MAX_CPU_ISA": isa,
        "ONEDNN_VERBOSE": "1",
        "ONEXPU_SCHEDULES": schedules,
        "PYTHONPATH": os.pathsep.join([str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    for begin in range(0, len(seeds), _FORMS_PER_PROCESS):
        left = _spawn(
            seeds[begin : begin + _FORMS_PER_PROCESS], _FORMS_PER_PROGRAM, environment, outcome
        )
        while left:
            # The first program of these ended its process: its forms run alone.
            for seed in left[:_FORMS_PER_PROGRAM]:
                _spawn([seed], 1, environment, outcome)
            left = left[_FORMS_PER_PROGRAM:]
            left = _spawn(left, _FORMS_PER_PROGRAM, environment, outcome) if left else []
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--forms", type=int, default=5000, help="drawn forms for each instruction set"
    )
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument(
        "--isa", action="append", help="ONEDNN_MAX_CPU_ISA; default: ALL, AVX2 and AVX512_CORE"
    )
    parser.add_argument(
        "--schedules",
        action="append",
        choices=("auto", "gpu"),
        help="default: auto, and gpu with ALL",
    )
    parser.add_argument("--output", help=argparse.SUPPRESS)
    parser.add_argument("--child", nargs="+", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        _child(arguments.child[1:], arguments.child[0], arguments.output)
        return
    isas = arguments.isa or ["ALL", "AVX2", "AVX512_CORE"]
    pairs = [(isa, schedules) for isa in isas for schedules in arguments.schedules or ["auto"]]
    if not arguments.schedules:
        pairs.insert(1, (isas[0], "gpu"))
    seeds = [-1 - i for i in range(len(KNOWN))]
    seeds += range(arguments.first_seed, arguments.first_seed + arguments.forms)
    bad = 0
    for isa, schedules in pairs:
        outcome = sweep(seeds, isa, schedules)
        bad += len(outcome.findings)
        print(
            f"{isa}, schedules {schedules}: {outcome.forms} forms, {len(outcome.findings)} "
            "findings",
            flush=True,
        )
        for (direction, implementation), runs in sorted(outcome.implementations.items()):
            print(f"  {runs:6} {direction:17} {implementation}")
        for finding in outcome.findings:
            print(
                f"  seed {finding['seed']}, {finding['result']}: {finding['what']}\n"
                f"    {finding['form']}",
                flush=True,
            )
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
