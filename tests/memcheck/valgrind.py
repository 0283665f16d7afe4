"""Runs a command under Valgrind's memcheck, and reads its reports.

Memcheck reports reads and writes outside of allocated memory, wrong frees, and branches that depend
on uninitialised memory. It sees no bounds inside of a block, so the arrays that share a block of
the device's pool have none of their own.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUPPRESSIONS = pathlib.Path(__file__).with_name("suppressions.txt")
# What has symbols of ours.
OWN_LIBRARIES = re.compile(r"/(pjrt_plugin_xpu\.so|libonexpu_\w+\.so|_native\.[^/]*\.so)$")
_FRAMES = 40
# Valgrind's processor has AVX2, but no AVX-512. oneDNN and oneMKL ask it, the CPU device's driver
# and the children that compile for it do not all.
_INSTRUCTIONS = {
    "CL_CONFIG_CPU_TARGET_ARCH": "core-avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
}


@dataclasses.dataclass(frozen=True)
class Frame:
    """One function of a stack.

    Attributes
    ----------
    function, library, line : str
        Demangled; the path of the file; `file:line`. Each is empty if it is unknown.
    """

    function: str
    library: str
    line: str

    def __str__(self) -> str:
        where = " ".join(filter(None, (pathlib.PurePath(self.library).name, self.line)))
        return f"{self.function[:160] or '?'} [{where}]"


@dataclasses.dataclass(frozen=True)
class Report:
    """What memcheck reports once for each different stack.

    Attributes
    ----------
    kind : str
        Valgrind's name, such as InvalidRead or Leak_DefinitelyLost.
    what : str
        A sentence.
    stack : tuple of Frame
        Where it happened, or what allocated the memory that is lost.
    origin : str
        A sentence about the address, empty if there is none.
    origin_stack : tuple of Frame
        What allocated or released the memory.
    blocks : int
        Of a leak, how many; otherwise 0.
    """

    kind: str
    what: str
    stack: tuple[Frame, ...]
    origin: str
    origin_stack: tuple[Frame, ...]
    blocks: int

    @property
    def is_leak(self) -> bool:
        """Whether it is about memory that was never released."""
        return self.kind.startswith("Leak_")

    @property
    def has_own_frame(self) -> bool:
        """Whether one of our libraries takes part."""
        return any(OWN_LIBRARIES.search(frame.library) for frame in self.stack)

    def text(self, frames: int = 16) -> str:
        """Formats the report, with the innermost frames of each stack."""
        lines = [f"{self.kind}: {self.what}", *(f"    {frame}" for frame in self.stack[:frames])]
        if self.origin:
            lines += [f"  {self.origin}", *(f"    {frame}" for frame in self.origin_stack[:frames])]
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a command ended under Valgrind.

    Attributes
    ----------
    status : int or None
        The exit status, None if the time limit passed.
    output : str
        Standard output and standard error.
    reports : tuple of Report
        What no entry of the suppressions matches.
    is_complete : bool
        Whether Valgrind wrote its reports to the end.
    seconds : float
        Of the processor, in user and system mode.
    """

    status: int | None
    output: str
    reports: tuple[Report, ...]
    is_complete: bool
    seconds: float


def run(
    command: Sequence[str],
    directory: pathlib.Path,
    *,
    limit: float,
    with_leaks: bool = False,
    environment: dict[str, str] | None = None,
    suppressions: pathlib.Path = SUPPRESSIONS,
) -> Outcome:
    """Runs `command` under memcheck for at most `limit` seconds; its reports go to `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    xml, log = directory / "reports.xml", directory / "output.txt"
    xml.unlink(missing_ok=True)
    valgrind = [
        "valgrind",
        "--tool=memcheck",
        f"--suppressions={suppressions}",
        "--error-limit=no",
        f"--num-callers={_FRAMES}",
        "--keep-debuginfo=yes",  # of libraries that are closed before the report
        "--child-silent-after-fork=yes",
        f"--leak-check={'full' if with_leaks else 'no'}",
        "--show-leak-kinds=definite",
        "--xml=yes",
        f"--xml-file={xml}",
    ]
    variables = {
        **os.environ,
        **_INSTRUCTIONS,
        # Each object of Python's is a block with bounds.
        "PYTHONMALLOC": "malloc",
        # Kernels are kept: Valgrind's processor has another name than the one that the children see
        # that build them, so the driver builds them in this process. Programs are compiled.
        "ONEXPU_CACHE_DIR": str(directory.parent / "cache"),
        "ONEXPU_PROGRAM_CACHE": "0",
        **(environment or {}),
    }
    start = os.times()
    status: int | None
    with open(log, "w") as output:
        try:
            status = subprocess.run(
                [*valgrind, *command],
                cwd=ROOT,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=limit,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            status = None
    end = os.times()
    seconds = sum(end[2:4]) - sum(start[2:4])  # children's, which have been waited for
    reports, is_complete = read(xml)
    return Outcome(status, log.read_text(errors="replace"), reports, is_complete, seconds)


def read(xml: pathlib.Path) -> tuple[tuple[Report, ...], bool]:
    """Returns the reports of a file, and whether the file is complete."""
    reports: list[Report] = []
    try:
        for _, element in ElementTree.iterparse(xml):
            if element.tag == "error":
                reports.append(_report(element))
                element.clear()
    except (OSError, ElementTree.ParseError):
        return tuple(reports), False
    return tuple(reports), True


def _report(error: ElementTree.Element) -> Report:
    stacks = [tuple(_frames(stack)) for stack in error.findall("stack")] or [()]
    return Report(
        kind=error.findtext("kind", ""),
        what=error.findtext("what") or error.findtext("xwhat/text", ""),
        stack=stacks[0],
        origin=error.findtext("auxwhat") or error.findtext("xauxwhat/text", ""),
        origin_stack=stacks[1] if len(stacks) > 1 else (),
        blocks=int(error.findtext("xwhat/leakedblocks", "0")),
    )


def _frames(stack: ElementTree.Element) -> Iterator[Frame]:
    for frame in stack.findall("frame"):
        line = frame.findtext("line")
        file = frame.findtext("file", "")
        yield Frame(
            frame.findtext("fn", ""), frame.findtext("obj", ""), f"{file}:{line}" if line else ""
        )


def growing_leaks(few: Sequence[Report], many: Sequence[Report], rounds: int) -> list[Report]:
    """Returns leaks with a frame of ours that grew by a block for each of `rounds` more rounds."""

    def key(report: Report) -> tuple[str, ...]:
        return tuple(frame.function for frame in report.stack[:12])

    def total(reports: Sequence[Report]) -> dict[tuple[str, ...], int]:
        blocks: dict[tuple[str, ...], int] = {}
        for report in reports:
            if report.is_leak:
                blocks[key(report)] = blocks.get(key(report), 0) + report.blocks
        return blocks

    before, after = total(few), total(many)
    examples = {key(report): report for report in many if report.is_leak and report.has_own_frame}
    return [
        example
        for stack, example in examples.items()
        if after[stack] - before.get(stack, 0) >= rounds
    ]
