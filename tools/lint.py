#!/usr/bin/env python3
"""Checks the style and the types of the sources with ruff, mypy and clang-format: `make lint`.

    python tools/lint.py [--fix] [FILE ...]

Without FILE, all files that git tracks are checked. With --fix, the tools change what they can.
ruff and mypy have the versions that requirements.txt pins.
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
        Command lines, without files, that report findings and that fix them; the same for a tool
        that fixes nothing.
    processes : int
        How many processes share the files; 1 for a tool that uses all processors itself.
    package : str
        A directory that the tool checks as a whole if one of the files is in it; empty for a tool
        that checks the files one by one.
    """

    name: str
    suffixes: tuple[str, ...]
    check: tuple[str, ...]
    fix: tuple[str, ...]
    processes: int = 1
    package: str = ""

    def selects(self, file: str) -> bool:
        """Returns whether the tool checks a file, absolute or relative to the root."""
        if not file.endswith(self.suffixes):
            return False
        return not self.package or (ROOT / file).is_relative_to(ROOT / self.package)


def _pin(name: str) -> str:
    """Returns the requirement of a wheel, such as ruff==1.2.3."""
    return re.search(rf"^{name}==.*$", environment.REQUIREMENTS.read_text(), re.MULTILINE)[0]


def _find_pinned(name: str) -> str:
    """Returns a program's path: from .venv, from this interpreter's environment, or from PATH."""
    directories = (environment.VENV / "bin", pathlib.Path(sys.executable).parent)
    search = os.pathsep.join((*map(str, directories), os.environ.get("PATH", "")))
    pin = _pin(name)
    path = shutil.which(name, path=search)
    if path is None:
        raise report.SetupError(f"{name} was not found. Install it: pip install {pin}")
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


def _mypy_options() -> tuple[str, ...]:
    """Returns the options of mypy that depend on whether there is a .venv.

    Without .venv, mypy ignores installed libraries, so that every checkout gives the same result.
    Everything from a library has the type Any, and the checks that report uses of Any are off.
    """
    if environment.venv_python().exists():
        return (f"--python-executable={environment.venv_python()}",)
    return (
        f"--cache-dir={ROOT / 'build' / 'mypy_cache_without_venv'}",  # other options, other cache
        "--no-site-packages",
        "--ignore-missing-imports",
        "--allow-subclassing-any",
        "--allow-untyped-decorators",
        "--no-warn-return-any",
        "--no-warn-unused-ignores",
    )


def tools() -> tuple[Tool, ...]:
    """Returns the tools; raises `SetupError` if one is not installed."""
    ruff, mypy, clang_format = _find_pinned("ruff"), _find_pinned("mypy"), _find_clang_format()
    config = f"--config={ROOT / 'pyproject.toml'}"
    types = (
        mypy,
        f"--config-file={ROOT / 'pyproject.toml'}",
        "--no-error-summary",
        *_mypy_options(),
    )
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
        Tool("mypy", _PYTHON, types, types, package="onexpu"),
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
    """Runs a command with files, if there are any; returns its exit status and its output."""
    done = subprocess.run(
        [*command, "--", *files] if files else command,
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
    files = [file for file in files if tool.selects(file)]
    if not files:
        return True
    command = tool.fix if fix else tool.check
    if tool.package:
        files, what = [], f"the package {tool.package}"
    else:
        what = f"{len(files)} file{'s' * (len(files) != 1)}"
    # Several parts for each process, because files differ in size.
    parts = 1 if tool.processes == 1 else min(len(files), 4 * tool.processes)
    with concurrent.futures.ThreadPoolExecutor(tool.processes) as pool:
        results = list(pool.map(lambda part: _run(command, files[part::parts]), range(parts)))
    passed = not any(status for status, _ in results)
    if not passed:
        sys.stdout.writelines(output for _, output in results)
    way_out = ". `make lint LINT=--fix` fixes what the tool can fix"
    if passed or fix or tool.fix == tool.check:
        way_out = ""
    print(f"{tool.name}: {'passed' if passed else 'FAILED'}, {what}{way_out}")
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
