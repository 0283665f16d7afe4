"""The StableHLO project's test data loads on a GPU and launches; the data is beside the
repository.
"""

from __future__ import annotations

import json

import pytest

from tests.conformance import test_stablehlo_testdata as conformance
from tests.exhaustive import exhaustive
from tests.level_zero.lab import Lab

_PROGRAM = """
import json, pathlib, sys
sys.path.append(JUDGES)
import jax
import stablehlo_testdata as judge
from jax._src import xla_bridge

jax.config.update("jax_enable_x64", True)
judge.agree = lambda *_: True
backend = xla_bridge.get_backend("xpu")
for name in sys.argv[1:]:
    print(json.dumps({"name": name}), flush=True)
    try:
        judge.run_file(pathlib.Path(DATA, name), backend, backend.local_devices()[0])
    except Exception as error:
        text = f"{type(error).__name__}: {error}"[:400]
        print(json.dumps({"name": name, "error": text}), flush=True)
print(json.dumps({"name": "end"}))
"""


def _run(lab: Lab, device: str, names: list[str]) -> dict[str, str]:
    """Returns what each file that failed said."""
    code = _PROGRAM.replace("JUDGES", repr(str(conformance.JUDGE.parent)))
    code = code.replace("DATA", repr(str(conformance.DATA)))
    run = lab.run(device, code, arguments=names, seconds=900, shown=[conformance.SHARED])
    lines = [json.loads(line) for line in run.stdout.splitlines() if line.startswith('{"name"')]
    failures = {line["name"]: line["error"] for line in lines if "error" in line}
    if not lines or lines[-1]["name"] != "end":
        name = lines[-1]["name"] if lines else "start"
        failures[name] = f"ended the process with {run.returncode}: {run.stderr[-3000:]}"
    assert len(run.of("launch")) > len(names) // 4
    return failures


@pytest.mark.skipif(
    not (conformance.JUDGE.exists() and conformance.DATA.is_dir()),
    reason="the StableHLO test data is not beside the repository",
)
@pytest.mark.parametrize(
    ("device", "step"),
    [("pvc", 80), *(pytest.param(device, 1, marks=exhaustive) for device in ("pvc", "dg2"))],
)
def test_listed_files_launch(lab: Lab, device: str, step: int) -> None:
    names = (conformance.HERE / "stablehlo_testdata.txt").read_text().split()
    assert _run(lab, device, names[::step]) == {}
