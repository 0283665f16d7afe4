"""How random programs grow from families of operations, whatever the framework."""

from __future__ import annotations

import collections
from collections.abc import Callable, Mapping
from types import ModuleType

from tests.fuzz.values.builder import Builder, Rejected
from tests.fuzz.values.program import uses

MOST_OUTPUTS = 8
Operation = Callable[[Builder], object]


def weights_of(families: Mapping[ModuleType, float]) -> dict[Operation, float]:
    """Returns the weight of each operation: its share of its family's weight."""
    return {
        op: weight * share / sum(family.FAMILY.values())
        for family, share in families.items()
        for op, weight in family.FAMILY.items()
    }


def grow(b: Builder, count: int, weights: Mapping[Operation, float]) -> None:
    """Adds about `count` statements to the innermost scope."""
    limit = b.count + count
    ops, chances = list(weights), list(weights.values())
    for _ in range(4 * count + 4):
        if b.count >= limit:
            return
        try:
            b.rng.choices(ops, chances)[0](b)
        except Rejected:
            continue


def draw_outputs(b: Builder) -> tuple[str, ...]:
    """Returns the names of a program's outputs: unused values, and a few that others use."""
    used = collections.Counter(name for one in b.statements for name in uses(one))
    leaves = [one.name for one in b.statements if not used[one.name]]
    others = [one.name for one in b.statements if used[one.name]]
    if len(leaves) > MOST_OUTPUTS:
        leaves = sorted(b.rng.sample(leaves, MOST_OUTPUTS), key=leaves.index)
    return tuple(leaves + b.rng.sample(others, min(len(others), b.rng.choice((0, 0, 1, 2)))))
