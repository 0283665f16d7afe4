"""`make benchmark` on its shortest cases: that it measures, not how fast anything is."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _run(*arguments: str | pathlib.Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "run.py", *arguments],
        capture_output=True,
        text=True,
        timeout=600,
    )


def test_a_name_of_nothing_is_refused() -> None:
    process = _run("tiny", "kernel")
    assert process.returncode == 2
    assert "kernel is no case or group; is kernels meant?" in process.stderr


def test_cases_are_measured_and_drawn(tmp_path: pathlib.Path) -> None:
    process = _run("--output", tmp_path, "tiny", "matmul_f32", "custom_kernel")
    assert process.returncode == 0, process.stderr[-4000:]
    rows = {row["case"]: row for row in json.loads((tmp_path / "benchmarks.json").read_text())}
    assert {"XLA:CPU", "TF CPU"} <= rows["tiny"]["ratios"].keys()
    assert {"XLA:CPU", "TF CPU", "limit"} <= rows["matmul_f32"]["ratios"].keys()
    assert all(row["medians"]["xpu"] > 0 for row in rows.values())
    assert (tmp_path / "benchmarks.png").stat().st_size > 10_000
