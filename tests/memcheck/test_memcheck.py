"""`make check-memory` finds mistakes of a library that Python loads, and fails because of them."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys

import pytest

from tests.memcheck import run, valgrind

pytestmark = pytest.mark.skipif(
    shutil.which("valgrind") is None, reason="Valgrind is not installed"
)

_SOURCE = """
#include <stdlib.h>
int right(void) { int* p = calloc(4, 4); int x = p[3]; free(p); return x; }
int beyond(void) { int* volatile p = calloc(4, 4); int x = p[4]; free(p); return x; }
int released(void) { int* volatile p = calloc(4, 4); free(p); return p[0]; }
int twice(void) { int* volatile p = calloc(4, 4); free(p); free(p); return 0; }
int uninitialised(void) {
  int* volatile p = malloc(16);
  if (p[1] == 3) abort();
  free(p);
  return 0;
}
int lost(void) { void* volatile p = malloc(16); p = NULL; return p != NULL; }
"""
_PROGRAM = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
for _ in range(int(sys.argv[3])):
    getattr(library, sys.argv[2])()
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A library with mistakes, under a name of ours."""
    directory = tmp_path_factory.mktemp("mistakes")
    source, path = directory / "mistakes.c", directory / "libonexpu_mistakes.so"
    source.write_text(_SOURCE)
    options = ["-O1", "-gdwarf-4", "-shared", "-fPIC"]
    # There, because clang names a file from what its directory and the current one share.
    subprocess.run(["clang-22", *options, source.name, "-o", path.name], check=True, cwd=directory)
    return path


def _program(library: pathlib.Path, function: str) -> run.Program:
    command = (sys.executable, "-S", "-c", _PROGRAM, str(library), function)
    return run.Program(command, limit=300.0, has_rounds=True)


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        ("beyond", "InvalidRead"),
        ("released", "InvalidRead"),
        ("twice", "InvalidFree"),
        ("uninitialised", "UninitCondition"),
    ],
)
def test_a_mistake_is_found(library, tmp_path, capsys, function, kind) -> None:
    assert not run.check(function, _program(library, function), tmp_path, with_leaks=False)
    output = capsys.readouterr().out
    assert f"{function}: 1 reports, " in output
    assert f"{kind}: " in output
    assert f"{function} [libonexpu_mistakes.so mistakes.c:" in output


def test_memory_that_is_lost_in_each_round_is_found(library, tmp_path, capsys) -> None:
    assert not run.check("lost", _program(library, "lost"), tmp_path, with_leaks=True)
    assert "lost [libonexpu_mistakes.so mistakes.c:" in capsys.readouterr().out


def test_a_right_library_is_clean(library, tmp_path) -> None:
    assert run.check("right", _program(library, "right"), tmp_path, with_leaks=True)


def test_a_program_that_fails_is_a_failure(library, tmp_path, capsys) -> None:
    assert not run.check("absent", _program(library, "absent"), tmp_path, with_leaks=False)
    assert "exit status 1" in capsys.readouterr().out


def test_a_program_that_takes_too_long_is_a_failure(tmp_path, capsys) -> None:
    program = run.Program((sys.executable, "-S", "-c", "while True: pass"), limit=5.0)
    assert not run.check("endless", program, tmp_path, with_leaks=False)
    assert "the time limit passed" in capsys.readouterr().out


def test_a_list_that_was_cut_off_is_not_complete(tmp_path) -> None:
    path = tmp_path / "reports.xml"
    path.write_text("<valgrindoutput><error><kind>InvalidRead</kind><what>x</what></error>")
    reports, is_complete = valgrind.read(path)
    assert [report.kind for report in reports] == ["InvalidRead"] and not is_complete
