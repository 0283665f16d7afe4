"""Every model gives on xpu what it gives on JAX's CPU backend: outputs, gradients, new weights."""

from __future__ import annotations

from typing import Any

import jax
import models
import pytest

from tests.models.agreement import TOLERANCES, errors

PROGRAMS = models.programs(models.Size.SMALL)


def _run(program: models.Program, device: jax.Device) -> Any:
    arguments = jax.device_put(program.arguments(), device)
    result = jax.jit(program.function)(*arguments)
    assert all(leaf.devices() == {device} for leaf in jax.tree.leaves(result))
    return result


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_model_agrees_with_the_cpu_backend(xpu, cpu, name) -> None:
    program = PROGRAMS[name]
    found = errors(_run(program, xpu), _run(program, cpu))
    tolerance = TOLERANCES[program.precision]
    assert {path: error for path, error in found.items() if error > tolerance} == {}
