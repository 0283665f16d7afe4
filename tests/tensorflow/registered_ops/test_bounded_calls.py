"""Every op of the registered ops, compiled, with operands whose sizes are known only at run time:
each gives what it gives for operands of known sizes, or is rejected.

The calls run in processes of their own, as those of `test_registered_ops.py`.
"""

from __future__ import annotations

import collections

import pytest

from tests.exhaustive import every
from tests.tensorflow.registered_ops import bounded, calls, registry, sweep, table

OPS = [op for op in registry.ops() if op not in table.UNSWEPT]


@pytest.fixture(scope="session")
def records(request: pytest.FixtureRequest) -> dict[str, list[sweep.Record]]:
    """How the calls of each op went whose test is selected."""
    ops = {
        item.callspec.params["op"]
        for item in request.session.items
        if item.originalname == test_bounded_op.__name__
    }
    by_op = collections.defaultdict(list)
    for record in sweep.sweep("--bounded", "--ops", *sorted(ops)):
        by_op[record["op"]].append(record)
    return by_op


# Neighbors in the alphabet are mostly implemented alike.
@pytest.mark.parametrize("op", every(10, OPS))
def test_bounded_op(records: dict[str, list[sweep.Record]], op: str) -> None:
    failures = [
        f"{record['call']} {record['word']}: {record['message']}"
        for record in sweep.failures(records[op])
    ]
    assert not failures, "\n".join(failures)


def test_every_dimension_is_unknown_in_a_call() -> None:
    call = next(calls.calls("MatMul", table.CALLS, full=False))
    dimensions = [each.dimensions for each in bounded.bounded_calls(call)]
    assert dimensions == [
        ((0, 0),), ((0, 1),), ((1, 0),), ((1, 1),), ((0, 1), (1, 0)),
    ]  # fmt: skip


def test_a_bound_that_is_taken_for_the_size_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    call = next(calls.calls("ReverseSequence", table.CALLS, full=False))
    one = next(bounded.bounded_calls(call))
    monkeypatch.setattr(bounded.tf, "boolean_mask", lambda tensor, mask, axis: tensor)
    assert bounded.judge_bounded(one, "jit", lambda text: None)[0] in ("differs", "rejected")
    call = next(calls.calls("Abs", table.CALLS, full=False))
    one = next(bounded.bounded_calls(call))
    assert bounded.judge_bounded(one, "jit", lambda text: None)[0] == "differs"
