"""Every op that TensorFlow's registry has a kernel of for XPU gives what the CPU gives: alone, in a
graph, compiled.

The calls run in processes of their own (sweep.py), because what is looked for may end a process.
`make sweep` runs the full form: every type of every op, and calls that are wrong.
"""

from __future__ import annotations

import collections
import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from tests.exhaustive import every
from tests.tensorflow.registered_ops import registry, run_call, sweep, table

OPS = registry.ops()
# What the tables say something of, and what is no tensor's value: their neighbours cannot stand for
# them.
_APART = {
    *table.RANDOM, *table.OTHER_IN_PROGRAMS, *table.AS_PROGRAMS, *table.WITHOUT_REFERENCE,
    *table.RESULTS, *table.UP_TO_SIGNS,
    *table.AS_GRAPHS, *(op for op, *_ in table.AS_EXACT_AS), *(op for op, _ in table.GAPS),
}  # fmt: skip


def _cases() -> list[Any]:
    """All ops with calls; neighbours in the alphabet are mostly implemented alike, and every eighth
    of them is enough.
    """
    swept = [op for op in OPS if op not in table.UNSWEPT]
    alike = iter(every(8, [op for op in swept if op not in _APART]))
    return [op if op in _APART else next(alike) for op in swept]


@pytest.fixture(scope="session")
def records(request: pytest.FixtureRequest) -> dict[str, list[sweep.Record]]:
    """How all calls of each op went whose test is selected, and of those with gaps."""
    ops = {
        item.callspec.params["op"]
        for item in request.session.items
        if item.originalname == test_op.__name__
    }
    by_op = collections.defaultdict(list)
    for record in sweep.sweep("--ops", *sorted(ops | {op for op, _ in table.GAPS})):
        by_op[record["op"]].append(record)
    return by_op


@pytest.mark.parametrize("op", _cases())
def test_op(records: dict[str, list[sweep.Record]], op: str) -> None:
    failures = [
        f"{record['mode']} {record['call']} {record['word']}: {record['message']}"
        for record in sweep.failures(records[op])
    ]
    assert not failures, "\n".join(failures)
    assert {record["mode"] for record in records[op]} == set(run_call.MODES)


def test_gaps_are_still_there(records: dict[str, list[sweep.Record]]) -> None:
    missing = {
        (op, r["mode"]) for op, found in records.items() for r in found if r["word"] == "missing"
    }
    assert missing == set(table.GAPS)


def test_tables_are_of_ops_that_exist() -> None:
    assert set(table.UNSWEPT) <= set(OPS)
    assert not set(table.UNSWEPT) & set(table.CALLS)
    assert all(registry.op_def(op) for op in table.CALLS)
    for names in (
        table.RANDOM, table.OTHER_IN_PROGRAMS, table.AS_PROGRAMS, table.WITHOUT_REFERENCE,
        table.RESULTS, table.UP_TO_SIGNS,
        table.AS_GRAPHS, {op for op, *_ in table.AS_EXACT_AS}, table.ODD_TYPES,
    ):  # fmt: skip
        assert set(names) <= set(OPS) - set(table.UNSWEPT)


_ABORTS_IN_GRAPHS = """
import os, sys
from tests.tensorflow.registered_ops import sweep

prepare = sweep._prepare

def with_an_abort(options):
    do = prepare(options)
    from tests.tensorflow.registered_ops import judge
    judge.judge = lambda call, mode, note: os.abort() if mode == "graph" else ("same", "")
    return do

sweep._prepare = with_an_abort
options = sweep.parser().parse_args(["--part", "0/1", "--ops", "Cast", "--results", sys.argv[1]])
sweep._run(options)
"""


def test_an_abort_is_its_ops(tmp_path: pathlib.Path) -> None:
    results = tmp_path / "results"
    subprocess.run(
        [sys.executable, "-c", _ABORTS_IN_GRAPHS, results], cwd=sweep.ROOT, timeout=300, check=True
    )
    records = [json.loads(line) for line in results.read_text().splitlines()]
    assert [(record["op"], record["mode"], record["word"]) for record in records] == [
        ("Cast", "eager", "same"), ("Cast", "graph", "ended"), ("Cast", "jit", "same"),
    ]  # fmt: skip
    assert "signal 6" in records[1]["message"]
