"""Stamp files: a step is skipped while the hash of its inputs is the one that it last ran with."""

from __future__ import annotations

import hashlib
import pathlib


def fingerprint(*parts: str | bytes | pathlib.Path) -> str:
    """Returns a hash of strings, bytes and the contents of files."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, pathlib.Path):
            part = part.read_bytes()
        elif isinstance(part, str):
            part = part.encode()
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


class Stamp:
    """The record of one step's last successful run."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path

    def matches(self, value: str) -> bool:
        """Tells whether the step last succeeded with the inputs behind `value`."""
        return self._path.is_file() and self._path.read_text() == value

    def write(self, value: str) -> None:
        """Records success with the inputs behind `value`."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(value)
