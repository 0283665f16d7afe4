"""What a GPU would run gives the same on the CPU device, and the other way round when this run is
under a GPU's schedules.

No exhaustive cases of them: `make check-schedules` runs all tests under a GPU's schedules.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from tests.exhaustive import exhaustive

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "module",
    # StableHLO's test data, of which every run has both schedules, meets most of these kernels.
    [
        "jax/test_driver_passes.py",
        "jax/numerics/test_relu_zeros.py",
        pytest.param("jax/numerics/test_shared_narrow_values.py", marks=exhaustive),
        "jax/numerics/test_tiles_read_elsewhere.py",
        "jax/numerics/test_sum_accuracy.py",
        pytest.param("jax/test_top_k.py", marks=exhaustive),
        pytest.param("jax/test_transformations.py", marks=exhaustive),
        pytest.param("jax/test_library_calls.py", marks=exhaustive),
        "sizes/test_sizes.py",
        pytest.param("jax/test_gathers_and_scatters.py", marks=exhaustive),
        pytest.param("jax/test_schedules.py", marks=exhaustive),
        pytest.param("jax/test_transposes.py", marks=exhaustive),
    ],
)
def test_the_other_schedules(module) -> None:
    process = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-m",
            "not exhaustive",
            "-p",
            "no:cacheprovider",
            f"tests/{module}",
        ],
        cwd=ROOT,
        env={
            **os.environ,
            "ONEXPU_SCHEDULES": "cpu" if os.environ.get("ONEXPU_SCHEDULES") == "gpu" else "gpu",
        },
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert process.returncode == 0, process.stdout[-6000:]
