"""The random JAX program of a seed. Needs JAX for the types of results, but no device."""

from __future__ import annotations

import collections
import dataclasses
import random

from tests.fuzz.values import growth
from tests.fuzz.values.jax_framework import MODES, namespace
from tests.fuzz.values.jax_programs import (
    contractions,
    control_flow,
    elementwise,
    idioms,
    indexing,
    reductions,
    shapes,
)
from tests.fuzz.values.jax_programs.builder import Builder
from tests.fuzz.values.program import Program, walk, without_dead_code

_FAMILIES = {
    elementwise: 36,
    shapes: 22,
    indexing: 12,
    reductions: 16,
    contractions: 6,
    control_flow: 9,
    idioms: 5,
}
_WEIGHTS = growth.weights_of(_FAMILIES)
_SMALL, _LARGE = 20_000, 1_000_000


def generate(seed: int) -> Program:
    """Returns the program of a seed; the same on every machine with the same version of JAX."""
    rng = random.Random(seed)
    b = Builder(rng, namespace(), _LARGE if rng.random() < 0.01 else _SMALL)
    control_flow.use(grow)
    for _ in range(rng.randint(1, 3)):
        b.new_input(shape=b.shape(rng.choice((1, 2, 2, 2, 3, 3, 4))))
    target = min(40, max(5, int(rng.expovariate(1 / 9)) + 4))
    # Ops that are rejected leave fewer statements than were asked for, perhaps none.
    while b.count < target or not b.statements:
        grow(b, max(1, target - b.count))
        b.new_input(shape=b.shape(2, minimum=1))
    return _finish(b, seed)


def grow(b: Builder, count: int) -> None:
    """Adds about `count` statements to the innermost scope."""
    growth.grow(b, count, _WEIGHTS)


def _finish(b: Builder, seed: int) -> Program:
    outputs = growth.draw_outputs(b)
    mode = b.rng.choices(MODES, (70, 10, 6, 14))[0]
    program = without_dead_code(
        Program("jax", tuple(b.inputs), tuple(b.statements), outputs, mode, seed)
    )
    if mode == "donate":
        inputs = tuple(
            dataclasses.replace(one, donated=b.rng.random() < 0.6) for one in program.inputs
        )
        program = dataclasses.replace(program, inputs=inputs)
    return program


def statistics(seeds: range) -> collections.Counter[str]:
    """Returns how often each op occurs in the programs of some seeds."""
    return collections.Counter(one.op for seed in seeds for one in walk(generate(seed).statements))
