"""Runs groups of checks in child processes, which may crash or hang."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import IO, Any

from onexpu._report.checks import Check, Outcome
from onexpu._report.child import START_UP

_START_UP_SECONDS = 300.0
# After so many crashes and time-outs of a group the remaining checks are not run: a device that is
# lost would cost the time limit of each of them.
_MAX_RESTARTS = 4
_DETAIL_LINES = 30


@dataclasses.dataclass(frozen=True)
class Group:
    """Checks that share a process.

    Attributes
    ----------
    title : str
        The section's.
    module : str
        The module with `prepare`, which imports the framework and returns nothing to compare or
        what it found, and `CHECKS`, a tuple of `Check`. The parent imports it, too.
    """

    title: str
    module: str


def run_group(group: Group, *, seconds: float | None = None) -> Iterator[Outcome]:
    """Runs all checks of a group.

    Parameters
    ----------
    group : Group
        What to run.
    seconds : float, optional
        A time limit for each check instead of its own.

    Yields
    ------
    Outcome
        Of the start-up, then of each check, in their order.
    """
    checks = list(importlib.import_module(group.module).CHECKS)
    is_started = False
    restarts = 0
    while checks and restarts <= _MAX_RESTARTS:
        for outcome in _run_child(group.module, checks, seconds):
            if outcome.name != START_UP:
                checks = [check for check in checks if check.name != outcome.name]
            elif is_started and outcome.ok:
                continue
            yield outcome
            if outcome.name == START_UP:
                is_started = True
                if outcome.status == "skipped":
                    return
                if not outcome.ok:
                    restarts = _MAX_RESTARTS
        restarts += 1
    for check in checks:
        yield Outcome(check.name, "NOT RUN", "the group was stopped after the failures above")


def _run_child(module: str, checks: Sequence[Check], seconds: float | None) -> Iterator[Outcome]:
    """Runs checks until the first crash or time-out."""
    limits = {check.name: seconds or check.seconds for check in checks}
    names = list(limits)
    limits[START_UP] = seconds or _START_UP_SECONDS
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as output, os.fdopen(reading, "rb", buffering=0) as events:
        process = subprocess.Popen(
            [sys.executable, "-m", "onexpu._report.child", module, str(writing), *names],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=[writing],
            start_new_session=True,
        )
        os.close(writing)
        try:
            yield from _follow(process, events, output, limits)
        finally:
            _kill(process)


def _follow(
    process: subprocess.Popen[bytes],
    events: IO[bytes],
    output: IO[bytes],
    limits: dict[str, float],
) -> Iterator[Outcome]:
    """Turns a child's events into outcomes."""
    running, start, pending = START_UP, time.monotonic(), b""
    while True:
        left = start + limits[running] - time.monotonic()
        if left <= 0 or not select.select([events], [], [], left)[0]:
            # The abort makes the child write the stacks of its threads.
            process.send_signal(signal.SIGABRT)
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                pass
            taken = time.monotonic() - start
            yield Outcome(
                running, "TIMED OUT", f"not finished in {limits[running]:g} s", taken, _tail(output)
            )
            return
        data = os.read(events.fileno(), 1 << 16)
        if not data:
            code = process.wait()
            yield Outcome(
                running, "CRASHED", _describe_end(code), time.monotonic() - start, _tail(output)
            )
            return
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            event: dict[str, Any] = json.loads(line)
            if "done" in event:
                return
            if "started" in event:
                running, start = event["started"], time.monotonic()
            else:
                yield Outcome(**event)


def _describe_end(code: int) -> str:
    if code >= 0:
        return f"the process ended with status {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def _tail(output: IO[bytes]) -> str:
    output.seek(0)
    lines = [
        line
        for line in output.read().decode(errors="replace").splitlines()
        if not line.startswith("Extension modules:")
    ]
    # faulthandler's stacks, if there are any, from the thread that crashed on.
    for index, line in enumerate(lines):
        if line.startswith("Fatal Python error:"):
            return "\n".join(lines[max(0, index - 5) : index + _DETAIL_LINES])
    return "\n".join(lines[-_DETAIL_LINES:])


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends the child and what it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
