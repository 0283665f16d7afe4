"""The random TensorFlow program of a seed. Runs TensorFlow on the CPU, and needs no other
device.
"""

from __future__ import annotations

import collections
import random

import tensorflow as tf

from tests.fuzz.values import growth
from tests.fuzz.values.program import Program, walk, without_dead_code
from tests.fuzz.values.tensorflow_framework import namespace
from tests.fuzz.values.tensorflow_programs import (
    contractions,
    control_flow,
    elementwise,
    helpers,
    indexing,
    reductions,
    shapes,
)
from tests.fuzz.values.tensorflow_programs.builder import Builder

_FAMILIES = {
    elementwise: 34,
    shapes: 22,
    indexing: 12,
    reductions: 14,
    contractions: 8,
    control_flow: 10,
}
_WEIGHTS = growth.weights_of(_FAMILIES)
_SMALL, _LARGE = 12_000, 300_000


def generate(seed: int) -> Program:
    """Returns the program of a seed; the same on every machine with the same TensorFlow."""
    rng = random.Random(seed)
    b = Builder(rng, namespace(), _LARGE if rng.random() < 0.01 else _SMALL)
    control_flow.use(grow)
    # An op that the CPU has no kernel for would go to the device that is tested.
    tf.config.set_soft_device_placement(False)
    try:
        for _ in range(rng.randint(1, 3)):
            b.new_input(shape=b.shape(rng.choice((1, 2, 2, 2, 3, 3, 4))))
        target = min(40, max(5, int(rng.expovariate(1 / 9)) + 4))
        for _ in range(6):  # a scope's statements count when it closes without being rejected
            if b.count >= target:
                break
            grow(b, target - b.count)
    finally:
        tf.config.set_soft_device_placement(True)
        helpers.forget()
    return _finish(b, seed)


def grow(b: Builder, count: int) -> None:
    """Adds about `count` statements to the innermost scope."""
    growth.grow(b, count, _WEIGHTS)


def _finish(b: Builder, seed: int) -> Program:
    outputs = growth.draw_outputs(b)
    if not b.statements:  # no op fitted the inputs
        outputs = tuple(one.name for one in b.inputs)
    return without_dead_code(
        Program("tensorflow", tuple(b.inputs), tuple(b.statements), outputs, "all", seed)
    )


def statistics(seeds: range) -> collections.Counter[str]:
    """Returns how often each op occurs in the programs of some seeds."""
    return collections.Counter(one.op for seed in seeds for one in walk(generate(seed).statements))
