"""The interpreters for which the wheel holds an extension module."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator

from tools import version as project_version

_QUESTION = """
import sysconfig
print(sysconfig.get_python_version())
print(sysconfig.get_path('include'))
print(sysconfig.get_config_var('EXT_SUFFIX'))
"""


@dataclasses.dataclass(frozen=True)
class Python:
    """An interpreter that extension modules can be compiled for.

    Attributes
    ----------
    executable : str
        Its path.
    version : str
        Such as "3.12".
    suffix : str
        What the name of an extension module ends with, such as ".cpython-312-x86_64-linux-gnu.so".
        Another version of Python does not import such a file.
    """

    executable: str
    version: str
    suffix: str


def supported() -> list[str]:
    """Returns the versions that pyproject.toml names, oldest first."""
    prefix = "Programming Language :: Python :: "
    classifiers = project_version.project()["classifiers"]
    versions = [c.removeprefix(prefix) for c in classifiers if c.startswith(prefix)]
    return sorted(versions, key=lambda version: [int(part) for part in version.split(".")])


def find() -> list[Python]:
    """Returns the interpreters of supported versions that have their headers here, oldest first.

    For each version it is the first of: the interpreter that runs this program, those of
    ONEXPU_PYTHONS (paths, separated by colons), `python3.N` on PATH, and those that pyenv
    installed.
    """
    found = []
    for version in supported():
        candidates = (describe(candidate) for candidate in _candidates(version))
        match = next(
            (python for python in candidates if python and python.version == version), None
        )
        if match:
            found.append(match)
    return found


def _candidates(version: str) -> Iterator[str]:
    yield sys.executable
    yield from filter(None, os.environ.get("ONEXPU_PYTHONS", "").split(os.pathsep))
    on_path = shutil.which(f"python{version}")
    if on_path:
        yield on_path
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT") or pathlib.Path.home() / ".pyenv")
    yield from map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/python")))


def describe(executable: str) -> Python | None:
    """Asks an interpreter; None if it does not run (such as pyenv's shims) or lacks its headers."""
    try:
        answer = subprocess.run(
            [executable, "-I", "-c", _QUESTION], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    version, include, suffix = answer.stdout.split("\n")[:3]
    if not (pathlib.Path(include) / "Python.h").exists():
        return None
    return Python(executable, version, suffix)
