"""`--further-cases-minutes` leaves the first case of each test, and says what it leaves out."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

_TESTS = """
import pytest

@pytest.mark.parametrize("y", (1, 2))
@pytest.mark.parametrize("x", (1, 2, 3))
def test_cases(x, y):
    pass

class TestClass:
    @pytest.mark.parametrize("x", (1, 2))
    def test_cases(self, x):
        pass

def test_alone():
    pass
"""
_ROOT = pathlib.Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("options", "summary"),
    [
        (["--further-cases-minutes", "0"], "3 passed, 6 skipped"),
        (["--further-cases-minutes", "60"], "9 passed"),
        ([], "9 passed"),
        (
            ["--further-cases-minutes", "0", "-k", "TestClass or alone"],
            "2 passed, 1 skipped, 6 deselected",
        ),
        (["--further-cases-minutes", "0", "--numprocesses", "2"], "3 passed, 6 skipped"),
    ],
)
def test_first_cases_run(tmp_path: pathlib.Path, options: list[str], summary: str) -> None:
    (tmp_path / "conftest.py").write_text((_ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "test_it.py").write_text(_TESTS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider", *options, tmp_path],
        capture_output=True,
        text=True,
        cwd=_ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert summary in done.stdout
    if "skipped" in summary:
        assert "make test-all runs further cases" in done.stdout
