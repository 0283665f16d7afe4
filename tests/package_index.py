"""Installs packages that only some tests need, from pip's package index."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

# What pip says if the index cannot be reached, or has no such version.
_UNAVAILABLE = ("No matching distribution found", "Failed to establish a new connection")


def pip_install(*arguments: str | pathlib.Path, python: pathlib.Path | None = None) -> None:
    """Runs `pip install` for an environment, by default this one's.

    Skips the test if the index does not have the packages, with pip's reason. Other failures fail
    the test.
    """
    pip: list[str | pathlib.Path] = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    if python is not None:
        pip += ["--python", python]
    done = subprocess.run(
        [*pip, "install", "--quiet", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return
    reasons = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    if any(reason in done.stderr for reason in _UNAVAILABLE):
        pytest.skip(f"pip's index: {reasons[-1] if reasons else 'unreachable'}")
    raise AssertionError(done.stderr)
