"""docs/ops.md says what TensorFlow's kernel registry says."""

from __future__ import annotations

import pathlib
import subprocess
import sys

_ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_table_is_that_of_the_registry() -> None:
    checked = subprocess.run(
        [sys.executable, "-m", "tools.ops_table", "--check"], cwd=_ROOT, check=False
    )
    assert checked.returncode == 0, "docs/ops.md is another: run python -m tools.ops_table"
