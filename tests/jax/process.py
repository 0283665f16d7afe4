"""Runs a Python program in a process of its own, as a user's would be."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import textwrap


@dataclasses.dataclass(frozen=True)
class Result:
    """What a process left.

    Attributes
    ----------
    status : int
    output, errors : str
    """

    status: int
    output: str
    errors: str


def run(
    program: str, *arguments: str, check: bool = True, timeout: int = 120, **environment: str | None
) -> Result:
    """Runs `program` with variables set, or removed where they are None; fails the test on a
    non-zero status.
    """
    variables = dict(os.environ)
    for name, value in environment.items():
        variables.pop(name, None)
        if value is not None:
            variables[name] = value
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        env=variables, cwd="/", capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip
    if check:
        assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return Result(done.returncode, done.stdout, done.stderr)
