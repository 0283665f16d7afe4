"""``python -m onexpu --report``: what it writes, and what becomes of checks that go wrong."""

from __future__ import annotations

import getpass
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from onexpu._report import report, system
from onexpu._report.checks import Outcome, Value, judge
from onexpu._report.processes import Group, run_group

# A group whose checks end in every way. The parent imports it, too.
_CHECKS = """
import os, signal, time
from onexpu._report.checks import Check, Note, Skip, Value

def prepare():
    yield Note("prepared")

def wrong():
    yield Value("right", [1.0], [1.0])
    yield Value("x", [1.0, 2.5, 3.0], [1.0, 2.0, 3.0], 0.25, "a reason")

def crash():
    os.kill(os.getpid(), signal.SIGSEGV)

def hang():
    time.sleep(1000)

def fail():
    raise ValueError("first line\\nsecond line")

def skip():
    raise Skip("not here")

CHECKS = (
    Check("good", lambda: [Value("y", [1, 2], [1, 2])]),
    Check("wrong", wrong),
    Check("crash", crash),
    Check("hang", hang, 1),
    Check("fail", fail),
    Check("quit", lambda: os._exit(3)),
    Check("skip", skip),
)
"""


@pytest.fixture
def make_group(tmp_path, monkeypatch):
    """Makes a group of checks from source text; children find it as well."""

    def make(source: str) -> Group:
        name = f"report_group_{len(list(tmp_path.iterdir()))}_{tmp_path.name}"
        (tmp_path / f"{name}.py").write_text(source)
        return Group("A group", name)

    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return make


def _run(group: Group) -> dict[str, Outcome]:
    return {outcome.name: outcome for outcome in run_group(group)}


def test_every_end_of_a_check_is_a_line(make_group) -> None:
    outcomes = _run(make_group(_CHECKS))
    assert {name: outcome.status for name, outcome in outcomes.items()} == {
        "start-up": "ok",
        "good": "ok",
        "wrong": "WRONG",
        "crash": "CRASHED",
        "hang": "TIMED OUT",
        "fail": "ERROR",
        "quit": "CRASHED",
        "skip": "skipped",
    }
    assert outcomes["start-up"].notes == "prepared"
    assert outcomes["wrong"].text == (
        "x: largest error 0.5, tolerance 0.25 (a reason), at [1] of [3]: 2.5 instead of 2.0; "
        "1 of 3 elements are wrong"
    )
    assert outcomes["crash"].text == "signal SIGSEGV"
    assert "in crash" in outcomes["crash"].details
    assert outcomes["hang"].text == "not finished in 1 s"
    assert "in hang" in outcomes["hang"].details
    assert outcomes["fail"].text == "ValueError: first line"
    assert "second line" in outcomes["fail"].details
    assert outcomes["quit"].text == "the process ended with status 3"


def test_a_group_that_does_not_start_is_not_run(make_group) -> None:
    source = _CHECKS.replace('yield Note("prepared")', "os.kill(os.getpid(), signal.SIGABRT)")
    outcomes = _run(make_group(source))
    assert outcomes["start-up"].status == "CRASHED"
    assert {one.status for name, one in outcomes.items() if name != "start-up"} == {"NOT RUN"}


def test_a_group_that_does_not_apply_is_skipped(make_group) -> None:
    outcomes = _run(
        make_group(_CHECKS.replace('yield Note("prepared")', 'raise Skip("no framework")'))
    )
    assert [(one.status, one.text) for one in outcomes.values()] == [("skipped", "no framework")]


def test_a_group_stops_after_several_crashes(make_group) -> None:
    crash = "Check(f'{i}', lambda: os.abort())"
    source = _CHECKS[: _CHECKS.index("CHECKS =")] + f"CHECKS = tuple({crash} for i in range(9))"
    statuses = [outcome.status for outcome in _run(make_group(source)).values()]
    assert statuses == ["ok", *["CRASHED"] * 5, *["NOT RUN"] * 4]


def test_the_exit_status_and_the_failures_are_in_the_file(make_group, tmp_path) -> None:
    file = tmp_path / "report.txt"
    assert report.write(str(file), groups=[make_group(_CHECKS)]) == 1
    text = file.read_text()
    assert "5 checks failed." in text
    assert "### hang: TIMED OUT" in text
    good = make_group("from onexpu._report.checks import Check\nprepare = tuple\nCHECKS = ()")
    assert report.write(str(file), groups=[good]) == 0
    assert "All checks passed." in file.read_text()


def test_the_command_checks_every_route(tmp_path) -> None:
    command = [sys.executable, "-m", "onexpu", "--report"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    text = (tmp_path / "onexpu-report.txt").read_text()
    assert done.returncode == 0, text
    sections = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert sections == [
        "System",
        "Versions",
        "Libraries",
        "Devices",
        "GPU support",
        "Environment",
        "Self-test: JAX",
        "Self-test: TensorFlow",
        "Result",
    ]
    assert "xpu:0: oneAPI CPU" in text and "kernel: Linux" in text and "Level Zero loader:" in text
    for check in (
        "jit: dot (oneDNN)",
        "jit: eigh (oneMKL)",
        "custom SYCL kernel",
        "pinned_host",
        "tf.function, jit_compile=True",
    ):
        assert f"\n{check:<36} ok " in text, check
    assert str(pathlib.Path.home()) + "/" not in text


def test_full_checks_are_found_and_one_runs() -> None:
    names = [check for group in report.FULL_GROUPS for check in _names(group)]
    assert {"20,000 launches", "two threads", "type bfloat16", "Keras fit"} <= set(names)
    assert all(len(_names(group)) == len(set(_names(group))) for group in report.FULL_GROUPS)


def _names(group: Group) -> list[str]:
    import importlib

    return [check.name for check in importlib.import_module(group.module).CHECKS]


@pytest.mark.exhaustive
def test_all_full_checks_pass(tmp_path) -> None:
    file = tmp_path / "report.txt"
    assert report.write(str(file), full=True) == 0, file.read_text()


def test_options_need_the_report() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "onexpu", "--full"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "--full and --seconds need --report" in done.stderr


def test_a_file_that_cannot_be_written_is_named(tmp_path) -> None:
    command = [sys.executable, "-m", "onexpu", "--report", str(tmp_path / "none" / "report.txt")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "onexpu: cannot write the report: " in done.stderr
    assert "none/report.txt" in done.stderr and "--report FILE" in done.stderr


@pytest.mark.parametrize(
    ("got", "want", "tolerance", "wrong"),
    [
        ([np.nan, 1.0], [np.nan, 1.0], 0.0, ""),
        ([np.inf], [np.inf], 0.0, ""),
        ([np.nan], [1.0], 10.0, "nan instead of 1.0"),
        ([1.0], [np.nan], 10.0, "1.0 instead of nan"),
        ([np.inf], [1.0], 10.0, "inf instead of 1.0"),
        ([2**60 + 1], [2**60], 0.0, f"{2**60 + 1} instead of {2**60}"),
        ([[1.0]], [1.0], 0.0, "shape (1, 1) instead of (1,)"),
        ([1 + 1j], [1 + 1.5j], 0.6, ""),
        ([], [], 0.0, ""),
    ],
)
def test_values_are_compared(got, want, tolerance: float, wrong: str) -> None:
    status, text = judge([Value("x", np.array(got), np.array(want), tolerance, "because")])
    assert (status == "WRONG") == bool(wrong)
    assert wrong in text


def test_personal_data_is_replaced(monkeypatch) -> None:
    monkeypatch.setenv("HOME", "/home/alice")
    monkeypatch.setenv("LOGNAME", "alice")
    assert getpass.getuser() == "alice"
    text = "/home/alice/.venv /scratch/alice/x:/home/alice\n/home/alicesmith user alice"
    assert system.redact(text) == "~/.venv /scratch/USER/x:~\n/home/alicesmith user alice"
