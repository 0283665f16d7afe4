"""Runs a Python program in a process of its own, as a user's would be."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap


def run(
    program: str, timeout: int = 180, **environment: str | None
) -> subprocess.CompletedProcess[str]:
    """Runs `program` with variables set, or removed where they are None; returns its status, output
    and errors.
    """
    variables = dict(os.environ)
    for name, value in environment.items():
        variables.pop(name, None)
        if value is not None:
            variables[name] = value
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=variables, cwd="/", capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip


def output_of(program: str, **environment: str | None) -> str:
    """Runs `program`; fails the test unless it ends well. Returns what it printed."""
    done = run(program, **environment)
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
