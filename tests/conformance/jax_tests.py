#!/usr/bin/env python3
"""Runs JAX's own tests on xpu and on JAX's CPU backend, case by case, and compares.

Usage: jax_tests.py --tests DIR [--cases N] [--seconds S] [--records DIR] [--platform NAME] FILE ...

DIR holds JAX's `tests/` at the tag of the installed version; FILE is a name such as `lax_test`. A
case counts when it passes on the CPU; on xpu it then passes or is listed, with the first line of
its error. Records of a former run are taken up where it ended. pytest-timeout and hypothesis must
be importable.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PLATFORMS = {"cpu": "cpu", "xpu": "xpu,cpu"}
_BEGUN = "begun"
_MAX_CRASHES = 50


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a case ended (passed, failed, skipped or crashed), with the error's text."""

    name: str
    text: str

    @property
    def error(self) -> str:
        """The line that says what went wrong."""
        lines = [line[2:].strip() for line in self.text.splitlines() if line.startswith("E ")]
        said = [line for line in lines if line not in ("", "AssertionError:")]
        return (said or [self.text.strip()[-200:]])[0][:200]


def read(record: pathlib.Path) -> dict[str, Outcome]:
    """Returns the outcomes of a record; a case that only began has none."""
    if not record.exists():
        return {}
    entries = map(json.loads, record.read_text().splitlines())
    return {e["case"]: Outcome(e["outcome"], e["text"]) for e in entries if e["outcome"] != _BEGUN}


def _unfinished(record: pathlib.Path) -> str | None:
    lines = record.read_text().splitlines() if record.exists() else []
    last = json.loads(lines[-1]) if lines else {"outcome": ""}
    return last["case"] if last["outcome"] == _BEGUN else None


def run(
    tests: pathlib.Path,
    file: str,
    platform: str,
    record: pathlib.Path,
    cases: int,
    seconds: int,
) -> None:
    """Runs a file to its end, in as many processes as it takes: a case may end its own."""
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {
        "JAX_PLATFORMS": PLATFORMS[platform],
        "JAX_NUM_GENERATED_CASES": str(cases),
        "ONEXPU_JAX_RECORD": str(record),
        "PYTHONPATH": os.pathsep.join(paths),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "jax_record", "-p", "no:cacheprovider"]
    # Not captured: some cases look at the standard output themselves.
    command += ["-s", f"--timeout={seconds}", "--timeout-method=thread", "--tb=short"]
    command.append(str(tests / f"{file}.py"))
    for _ in range(_MAX_CRASHES):
        with record.with_suffix(".txt").open("a") as output:
            status = subprocess.run(
                command,
                cwd=tests.parent,
                env=environment,
                stdout=output,
                stderr=output,
                check=False,
            ).returncode
        case = _unfinished(record)
        if case is None:
            return
        with record.open("a") as entries:
            text = f"ended the process with status {status}"
            entries.write(json.dumps({"case": case, "outcome": "crashed", "text": text}) + "\n")


def compare(records: pathlib.Path, files: list[str]) -> tuple[int, int]:
    """Prints a table and what fails on xpu alone.

    Returns how many cases pass on the CPU, and how many of those on xpu.
    """
    total = held = 0
    failures = []
    print("| file | passes on cpu | of those on xpu |\n|---|---|---|")
    for file in files:
        outcomes = {name: read(records / f"{file}.{name}.jsonl") for name in PLATFORMS}
        wanted = [case for case, outcome in outcomes["cpu"].items() if outcome.name == "passed"]
        missing = Outcome("missing", "not run")
        lost = {case: outcomes["xpu"].get(case, missing) for case in wanted}
        lost = {case: outcome for case, outcome in lost.items() if outcome.name != "passed"}
        failures += lost.items()
        total += len(wanted)
        held += len(wanted) - len(lost)
        print(f"| {file} | {len(wanted)} | {len(wanted) - len(lost)} |")
    print(f"| all | {total} | {held} ({held / max(1, total):.2%}) |\n")
    for case, outcome in failures:
        print(f"- `{case.partition('::')[2]}` {outcome.name}: {outcome.error}")
    return total, held


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--tests", type=pathlib.Path, required=True)
    parser.add_argument("--records", type=pathlib.Path, default=pathlib.Path("jax_records"))
    parser.add_argument("--cases", type=int, default=10, help="of each parametrised test")
    parser.add_argument("--seconds", type=int, default=120, help="after which a case hangs")
    parser.add_argument(
        "--platform", choices=[*PLATFORMS, "none"], help="only this one; none only compares"
    )
    arguments = parser.parse_args()
    arguments.records.mkdir(parents=True, exist_ok=True)
    records = arguments.records.resolve()
    for file in arguments.files:
        for platform in PLATFORMS:
            if arguments.platform in (None, platform):
                record = records / f"{file}.{platform}.jsonl"
                tests = arguments.tests.resolve()
                run(tests, file, platform, record, arguments.cases, arguments.seconds)
    total, held = compare(records, arguments.files)
    return 0 if held == total else 1


if __name__ == "__main__":
    sys.exit(main())
