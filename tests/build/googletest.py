"""Runs the GoogleTest programs through Bazel, and reads their results."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence

from tools import bazel

ROOT = pathlib.Path(__file__).resolve().parents[2]

_STATUS = re.compile(r"^(//\S+)\s+(?:\(cached\) )?([A-Z][A-Z ]+[A-Z])\b", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class ProgramResult:
    """How one program ended.

    Attributes
    ----------
    status : str
        Bazel's word: PASSED, FAILED, TIMEOUT, FAILED TO BUILD...
    log : str
        What the program printed.
    cases, failures, skipped : int
        The counts of its test cases.
    """

    status: str
    log: str
    cases: int = 0
    failures: int = 0
    skipped: int = 0


def programs() -> list[str]:
    """Returns the labels of all GoogleTest programs in the tree."""
    answer = _bazel(["query", "--keep_going", "--noshow_progress", "kind(cc_test, //...)"])
    if not answer.stdout.strip():
        raise RuntimeError(f"bazel query found no tests:\n{answer.stderr}")
    return sorted(answer.stdout.split())


def run(labels: Sequence[str]) -> dict[str, ProgramResult]:
    """Builds and runs the programs, one at a time; returns the result of each."""
    flags = [
        "--keep_going",
        "--nocache_test_results",
        "--local_test_jobs=1",
        "--test_summary=short",
    ]
    answer = _bazel(["test", *bazel.build_flags(), *flags, "--noshow_progress", "--", *labels])
    statuses = dict(_STATUS.findall(answer.stdout + answer.stderr))
    logs = bazel.bin_directory().parent / "testlogs"
    return {
        label: _read(
            statuses.get(label, "NO STATUS"),
            logs / label.removeprefix("//").replace(":", "/"),
            answer.stderr,
        )
        for label in labels
    }


def _bazel(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        bazel.command(arguments),
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )


def _read(status: str, directory: pathlib.Path, build_log: str) -> ProgramResult:
    if status not in ("PASSED", "FAILED"):
        return ProgramResult(status, build_log[-8000:])
    log = (directory / "test.log").read_text(errors="replace")
    try:
        suites = ElementTree.parse(directory / "test.xml").getroot()
    except (OSError, ElementTree.ParseError):
        return ProgramResult(status, log)
    return ProgramResult(
        status,
        log,
        int(suites.get("tests", 0)),
        int(suites.get("failures", 0)) + int(suites.get("errors", 0)),
        sum(case.find("skipped") is not None for case in suites.iter("testcase")),
    )
