"""The doctor's sections as checks: those that start a device can crash in the driver."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from onexpu._diagnostics import doctor
from onexpu._report.checks import Check, Note


def prepare() -> tuple[Note, ...]:
    """Starts nothing."""
    return ()


def _look(section: str) -> Iterator[Note]:
    for finding in doctor.look(section):
        advice = f"\n    -> {finding.advice}" if finding.advice else ""
        yield Note(f"{finding.name}: {finding.value}{advice}")


# Known faults are those of the version, on every machine.
CHECKS = tuple(
    Check(section, functools.partial(_look, section))
    for section in doctor.SECTIONS
    if section != "Known faults"
)
