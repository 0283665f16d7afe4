#!/usr/bin/env python3
"""Checks the style of the sources with ruff and clang-format: `make lint`.

    python tools/lint.py [--fix] [FILE ...]

Without FILE, all files that git tracks are checked. With --fix, the tools change what they can.
ruff has the version that requirements.txt pins.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from tools import environment, report

ROOT = environment.ROOT

_PYTHON = (".py", ".pyi")
_CPP = (".h", ".hpp", ".cc", ".cpp")
_CLANG_FORMAT = "clang-format-22"


@dataclasses.dataclass(frozen=True)
class Tool:
    """A program that checks files of some kinds.

    Attributes
    ----------
    name : str
        The name in the report.
    suffixes : tuple of str
        Suffixes of the files that it checks.
    check, fix : tuple of str
        Command lines, without files, that report findings and that fix them.
    processes : int
        How many processes share the files; 1 for a tool that uses all processors itself.
    """

    name: str
    suffixes: tuple[str, ...]
    check: tuple[str, ...]
    fix: tuple[str, ...]
    processes: int = 1


def _ruff_pin() -> str:
    """Returns the requirement of ruff, such as ruff==1.2.3."""
    return re.search(r"^ruff==.*$", environment.REQUIREMENTS.read_text(), re.MULTILINE)[0]


def _find_ruff() -> str:
    """Returns ruff's path: from .venv, from this interpreter's environment, or from PATH."""
    directories = (environment.VENV / "bin", pathlib.Path(sys.executable).parent)
    search = os.pathsep.join((*map(str, directories), os.environ.get("PATH", "")))
    pin = _ruff_pin()
    path = shutil.which("ruff", path=search)
    if path is None:
        raise report.SetupError(f"ruff was not found. Install it: pip install {pin}")
    answer = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    if answer.stdout.split()[1] != pin.partition("==")[2]:
        raise report.SetupError(
            f"{path} is {answer.stdout.strip()}, and another version is needed. "
            f"Install it: pip install {pin}"
        )
    return path


def _find_clang_format() -> str:
    path = shutil.which(_CLANG_FORMAT)
    if path is None:
        raise report.SetupError(
            f"{_CLANG_FORMAT} was not found. Install it: sudo apt-get install {_CLANG_FORMAT}"
        )
    return path


def tools() -> tuple[Tool, ...]:
    """Returns the tools; raises `SetupError` if one is not installed."""
    ruff, clang_format = _find_ruff(), _find_clang_format()
    config = f"--config={ROOT / 'pyproject.toml'}"
    style = f"--style=file:{ROOT / '.clang-format'}"
    return (
        Tool(
            "ruff check",
            _PYTHON,
            (ruff, "check", "--quiet", "--output-format=concise", config),
            (ruff, "check", "--quiet", "--output-format=concise", "--fix", config),
        ),
        Tool(
            "ruff format",
            _PYTHON,
            (ruff, "format", "--quiet", "--check", "--output-format=concise", config),
            (ruff, "format", "--quiet", config),
        ),
        Tool(
            "clang-format",
            _CPP,
            (clang_format, style, "--dry-run", "--Werror", "--ferror-limit=1"),
            (clang_format, style, "-i"),
            processes=os.cpu_count() or 1,
        ),
    )


def tracked_files() -> list[str]:
    """Returns the paths of the files that git tracks and that exist, relative to the root."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise report.SetupError(
            f"git does not list the files of {ROOT} ({error}). Name the files to check."
        ) from error
    return [path for path in listed.split("\0") if path and (ROOT / path).is_file()]


def _run(command: Sequence[str], files: Sequence[str]) -> tuple[int, str]:
    """Runs a command with files; returns its exit status and its output."""
    done = subprocess.run(
        [*command, "--", *files],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def run(tool: Tool, files: Iterable[str], *, fix: bool = False) -> bool:
    """Runs a tool on those of `files` that it checks, prints its report; returns whether it passes.

    Parameters
    ----------
    tool : Tool
        The tool.
    files : iterable of str
        Paths, absolute or relative to the root of the repository.
    fix : bool
        Whether to fix findings instead of reporting them.
    """
    files = [file for file in files if file.endswith(tool.suffixes)]
    if not files:
        return True
    command = tool.fix if fix else tool.check
    # Several parts for each process, because files differ in size.
    parts = 1 if tool.processes == 1 else min(len(files), 4 * tool.processes)
    with concurrent.futures.ThreadPoolExecutor(tool.processes) as pool:
        results = list(pool.map(lambda part: _run(command, files[part::parts]), range(parts)))
    passed = not any(status for status, _ in results)
    if not passed:
        sys.stdout.writelines(output for _, output in results)
    way_out = "" if passed or fix else ". `make lint LINT=--fix` fixes what the tool can fix"
    count = f"{len(files)} file{'s' * (len(files) != 1)}"
    print(f"{tool.name}: {'passed' if passed else 'FAILED'}, {count}{way_out}")
    return passed


def main() -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fix", action="store_true", help="fix what the tools can fix")
    parser.add_argument("files", nargs="*", metavar="FILE", help="default: all that git tracks")
    arguments = parser.parse_args()
    try:
        if missing := [file for file in arguments.files if not os.path.exists(file)]:
            raise report.SetupError(f"no such file: {', '.join(missing)}")
        files = [os.path.abspath(file) for file in arguments.files] or tracked_files()
        passed = [run(tool, files, fix=arguments.fix) for tool in tools()]
    except report.SetupError as error:
        return report.fail(error)
    return int(not all(passed))


if __name__ == "__main__":
    sys.exit(main())
