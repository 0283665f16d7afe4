"""`make lint`: the tree is clean, findings and missing tools are reported."""

from __future__ import annotations

import dataclasses
import pathlib
import subprocess
import sys

import pytest

from tools import environment, lint, report

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _lint(*arguments: str | pathlib.Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "tools" / "lint.py", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_tree_is_clean() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout, so which files belong to the project is unknown")
    done = _lint()
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split(",")[0] for line in done.stdout.splitlines()] == [
        "ruff check: passed",
        "ruff format: passed",
        "mypy: passed",
        "clang-format: passed",
    ]


def test_missing_files_are_errors() -> None:
    done = _lint("lint")
    assert done.returncode != 0
    assert "no such file: lint" in done.stdout + done.stderr


def test_findings_fail_and_are_fixed(tmp_path: pathlib.Path) -> None:
    python, cpp = tmp_path / "module.py", tmp_path / "unit.cc"
    python.write_text('"""A module."""\nimport os\n\nx = [1,2]\n')
    cpp.write_text("int  main( ) { }\n")
    done = _lint(python, cpp)
    assert done.returncode == 1
    for finding in (
        f"{python}:2:8: F401",
        "ruff check: FAILED, 1 file.",
        "ruff format: FAILED, 1 file.",
        f"{cpp}:1:4: error: code should be clang-formatted",
        "clang-format: FAILED, 1 file.",
        "make lint LINT=--fix",
    ):
        assert finding in done.stdout
    assert _lint("--fix", python, cpp).returncode == 0
    assert python.read_text() == '"""A module."""\n\nx = [1, 2]\n'
    assert cpp.read_text() == "int main() {}\n"
    assert _lint(python, cpp).returncode == 0


def test_only_the_tools_of_the_files_run(tmp_path: pathlib.Path) -> None:
    cpp, text = tmp_path / "unit.h", tmp_path / "notes.md"
    cpp.write_text("int f();\n")
    text.write_text("# Notes\n")
    assert _lint(cpp, text).stdout == "clang-format: passed, 1 file\n"


@pytest.mark.parametrize(
    ("tool", "command"),
    [
        ("ruff", r"pip install ruff==[\d.]+"),
        ("mypy", r"pip install mypy==[\d.]+"),
        ("clang-format-22", "sudo apt-get install .*-22"),
    ],
)
def test_a_missing_tool_is_named_with_its_installation(
    monkeypatch: pytest.MonkeyPatch, tool: str, command: str
) -> None:
    find = lint.shutil.which
    monkeypatch.setattr(
        lint.shutil, "which", lambda name, **more: None if name == tool else find(name, **more)
    )
    with pytest.raises(report.SetupError, match=f"{tool} was not found. Install it: {command}"):
        lint.tools()


@pytest.mark.parametrize("tool", ["ruff", "mypy"])
def test_another_version_is_rejected(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, tool: str
) -> None:
    program = tmp_path / "bin" / tool
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho {tool} 0.0.1\n")
    program.chmod(0o755)
    monkeypatch.setattr(environment, "VENV", tmp_path)
    with pytest.raises(report.SetupError, match=rf"{tool} 0\.0\.1, and another version is needed"):
        lint.tools()


def _mypy() -> lint.Tool:
    return next(tool for tool in lint.tools() if tool.name == "mypy")


def test_types_are_checked_for_the_files_of_the_package() -> None:
    mypy = _mypy()
    assert mypy.selects("onexpu/_types.py")
    assert mypy.selects(str(ROOT / "onexpu" / "_native.pyi"))
    assert not mypy.selects("onexpu/native/core.cc")
    assert not mypy.selects("tools/lint.py")


def test_types_pass_without_the_libraries(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    # CI has a .venv, a fresh checkout has none.
    monkeypatch.setattr(environment, "VENV", tmp_path)
    mypy = _mypy()
    assert "--no-site-packages" in mypy.check
    assert lint.run(mypy, ["onexpu/_types.py"])


def test_missing_types_fail_and_are_not_called_fixable(
    capfd: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    module = tmp_path / "module.py"
    module.write_text("def double(x):\n    return 2 * x\n")
    command = (*_mypy().check, f"--cache-dir={tmp_path / 'cache'}", str(module))
    mypy = dataclasses.replace(_mypy(), check=command, fix=command)
    assert not lint.run(mypy, ["onexpu/_types.py"])
    output = capfd.readouterr().out
    assert f"{module}:1: error: Function is missing a type annotation" in output
    assert output.endswith("mypy: FAILED, the package onexpu\n")
