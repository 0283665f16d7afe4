"""The main job, as `make demo` runs it."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def report() -> str:
    """What the example prints, in wide lines."""
    process = subprocess.run(
        [sys.executable, ROOT / "examples" / "mixed_execution.py"],
        capture_output=True,
        text=True,
        timeout=1200,
        env={**os.environ, "COLUMNS": "300"},
    )
    assert process.returncode == 0, process.stderr[-6000:]
    return process.stdout


def _row(report: str, name: str) -> list[str]:
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in report.splitlines()]
    (first,) = [i for i, row in enumerate(rows) if row[0] == name]
    row = list(rows[first])
    for more in rows[first + 1 :]:  # lines of the same row, of which some cells are long
        if more[0] or len(more) != len(row):
            break
        row = [f"{cell} {next_line}".strip() for cell, next_line in zip(row, more, strict=True)]
    return row


def test_accuracy_on_both_routes_is_the_cpus(report: str) -> None:
    cpu = float(_row(report, "TensorFlow's CPU device")[1])
    for run in ("xpu, jit_compile=True", "xpu, jit_compile=False"):
        _, accuracy, milliseconds = _row(report, run)
        assert float(accuracy) >= 0.97
        assert abs(float(accuracy) - cpu) <= 0.005
        assert float(milliseconds) > 0
    assert float(_row(report, "JAX head on the shared features")[1]) >= 0.97


def test_every_route_did_its_part_and_nothing_ran_on_the_host(report: str) -> None:
    ops = {route: set() for route in ("XLA cluster", "on-demand program", "SYCL kernel", "host")}
    for line in report.splitlines():
        row = [cell.strip() for cell in line.strip("│").split("│")]
        if len(row) == 4 and row[1] in ops:
            ops[row[1]].add(row[0])
    assert "Mul" in ops["XLA cluster"] and ops["on-demand program"]
    assert "CropAndResize" in ops["SYCL kernel"]
    assert any(op.startswith("swish<float32>") for op in ops["SYCL kernel"])
    assert not ops["host"] and "host: 0" in report


def test_one_buffer_has_one_address_and_is_not_copied(report: str) -> None:
    addresses = {
        _row(report, view)[1]
        for view in ("TensorFlow tensor", "custom kernel's argument", "JAX array")
    }
    assert len(addresses) == 1
    assert re.fullmatch("0x[0-9a-f]+", addresses.pop())
    assert re.search(r"^Bytes copied by the hand-over to JAX: 0$", report, re.MULTILINE)


def test_transfers_are_listed_by_direction(report: str) -> None:
    for direction in ("host to device", "device to host"):
        assert re.search(rf"^│ {direction} +│ TensorFlow ", report, re.MULTILINE)
