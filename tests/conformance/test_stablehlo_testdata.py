"""The StableHLO project's own test data, judged by the runner beside the repository, on the files
that pass already.

`stablehlo_testdata.txt` lists them, one name a line. A file on the list that fails is a regression;
`update.py` rewrites the list after the core has learnt more. The data and the runner are not part
of this repository.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

from tests.exhaustive import exhaustive

HERE = pathlib.Path(__file__).resolve().parent
SHARED = HERE.parents[2] / "shared"
JUDGE = SHARED / "judges" / "stablehlo_testdata.py"
DATA = SHARED / "data" / "stablehlo_testdata"


@pytest.mark.parametrize(
    ("schedules", "step"),
    [
        ("cpu", 2),
        ("gpu", 3),
        pytest.param("cpu", 1, marks=exhaustive),
        pytest.param("gpu", 1, marks=exhaustive),
    ],
)
@pytest.mark.skipif(
    not (JUDGE.exists() and DATA.is_dir()),
    reason="the StableHLO test data is not beside the repository",
)
def test_listed_files_pass(tmp_path, schedules, step):
    names = (HERE / "stablehlo_testdata.txt").read_text().split()[::step]
    assert names, "the list is empty"
    files = tmp_path / "files"
    files.mkdir()
    for name in names:
        (files / name).symlink_to(DATA / name)
    report = tmp_path / "failures.json"
    process = subprocess.run(
        [sys.executable, str(JUDGE), "--platform", "xpu", "--json", str(report), str(files)],
        capture_output=True,
        text=True,
        timeout=1800,
        env={**os.environ, "ONEXPU_SCHEDULES": schedules},
    )
    assert report.exists(), (
        f"the judge did not finish (exit status {process.returncode}):\n{process.stderr[-4000:]}"
    )
    failures = json.loads(report.read_text())
    assert not failures, "\n".join(f"{name}: {reason}" for name, reason in failures.items())
    assert f"{len(names)} of {len(names)} passed" in process.stdout
