"""A pytest plugin for JAX's own tests: one line of JSON per case, as soon as its outcome is known.

`jax_tests.py` loads it (``pytest -p jax_record``) into a process that may end at any case, or be
ended: what was recorded before stays, cases that the record holds are left out of the next run, and
the case that had begun is known.

JAX's tests decide by the platform's name what to skip. Here they decide as for "cpu" on every
platform, so that a skip never hides a failure; computations run on the default device all the same.
"""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

import jax._src.test_util as jtu

RECORD = pathlib.Path(os.environ["ONEXPU_JAX_RECORD"])
BEGUN = "begun"

jtu.device_under_test = lambda: "cpu"

_outcomes: dict[str, tuple[str, str]] = {}


def _write(case: str, outcome: str, text: str = "") -> None:
    with RECORD.open("a") as record:
        record.write(json.dumps({"case": case, "outcome": outcome, "text": text}) + "\n")


def pytest_collection_modifyitems(items: list[Any]) -> None:
    if not RECORD.exists():
        return
    entries = map(json.loads, RECORD.read_text().splitlines())
    known = {entry["case"] for entry in entries if entry["outcome"] != BEGUN}
    items[:] = [item for item in items if item.nodeid not in known]


def pytest_runtest_logstart(nodeid: str) -> None:
    _write(nodeid, BEGUN)


def pytest_runtest_logreport(report: Any) -> None:
    if report.failed:  # of the case, of one of its subtests, of setting up or tearing down
        _outcomes[report.nodeid] = ("failed", str(report.longrepr)[-4000:])
    elif report.skipped and not hasattr(report, "context"):
        _outcomes.setdefault(report.nodeid, ("skipped", str(report.longrepr)[-400:]))
    if report.when == "teardown" and not hasattr(report, "context"):
        _write(report.nodeid, *_outcomes.pop(report.nodeid, ("passed", "")))
