"""Writes the report."""

from __future__ import annotations

import contextlib
import pathlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from onexpu._report import system
from onexpu._report.checks import Outcome
from onexpu._report.child import START_UP
from onexpu._report.processes import Group, run_group

DOCTOR = Group("Doctor", "onexpu._report.doctor_checks")
GROUPS = (
    Group("JAX", "onexpu._report.jax_checks"),
    Group("TensorFlow", "onexpu._report.tensorflow_checks"),
)
FULL_GROUPS = (
    *GROUPS,
    Group("JAX, types and sizes", "onexpu._report.jax_type_checks"),
    Group("Keras", "onexpu._report.keras_checks"),
    Group("JAX, long runs and large arrays", "onexpu._report.jax_load_checks"),
    Group("JAX, all of the memory", "onexpu._report.jax_memory_checks"),
)


def _doctor(seconds: float | None) -> Iterator[str]:
    for outcome in run_group(DOCTOR, seconds=seconds):
        if outcome.name == START_UP and outcome.ok:
            continue
        yield ""
        yield f"## {outcome.name}"
        if outcome.notes:
            yield outcome.notes
        if not outcome.ok:
            yield f"{outcome.status}: {outcome.text}"
            yield outcome.details


def _line(outcome: Outcome) -> str:
    text = f" {outcome.text}" if outcome.text else ""
    return f"{outcome.name:<36} {outcome.status:<9} {outcome.seconds:7.1f} s {text}".rstrip()


def _checks(
    group: Group, seconds: float | None, say: Callable[[str], None]
) -> Iterator[tuple[str, bool]]:
    """Yields lines, and whether each is about a failure."""
    yield f"\n## Self-test: {group.title}", False
    details = []
    for outcome in run_group(group, seconds=seconds):
        say(f"{group.title}: {outcome.name}: {outcome.status}")
        yield _line(outcome), not outcome.ok
        if outcome.notes:
            yield "\n".join(f"    {line}" for line in outcome.notes.splitlines()), False
        if outcome.details:
            details.append(f"\n### {outcome.name}: {outcome.status}\n{outcome.details.rstrip()}")
    yield from ((detail, False) for detail in details)


def write(
    file: str,
    *,
    full: bool = False,
    seconds: float | None = None,
    groups: Sequence[Group] | None = None,
) -> int:
    """Writes a report, line by line as the checks end.

    Parameters
    ----------
    file : str
        Where to; ``-`` prints it.
    full : bool
        Whether the long checks run as well.
    seconds : float, optional
        A time limit for each check instead of its own.
    groups : sequence of Group, optional
        The groups of checks to run instead of all.

    Returns
    -------
    int
        The exit status: 1 if a check failed.
    """
    if groups is None:
        groups = FULL_GROUPS if full else GROUPS
    target = contextlib.nullcontext(sys.stdout) if file == "-" else pathlib.Path(file).open("w")
    with target as out:

        def put(text: str) -> None:
            out.write(system.redact(text) + "\n")
            out.flush()

        def say(text: str) -> None:
            print(system.redact(text), file=sys.stderr, flush=True)

        put(f"# onexpu report, {time.strftime('%Y-%m-%d')}{', full' if full else ''}")
        put("\n## System")
        for line in system.describe():
            put(line)
        for line in _doctor(seconds):
            put(line)
        failed = 0
        for group in groups:
            for line, is_failure in _checks(group, seconds, say):
                failed += is_failure
                put(line)
        put("\n## Result")
        result = f"{failed} checks failed." if failed else "All checks passed."
        put(result)
    if file != "-":
        say(f"The report is in {file}. {result}")
    return 1 if failed else 0
