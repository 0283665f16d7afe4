"""The models of models/ as cases: each on xpu and on XLA:CPU, over the same arguments."""

from __future__ import annotations

import functools

from cases import Case, jax_contenders

import models


def _case(program: models.Program, _) -> Case:
    contenders = jax_contenders(program.function, program.arguments())
    return Case(program.name.replace("_", " "), contenders, rounds=21, seconds=6.0)


MODEL_CASES = {
    name: functools.partial(_case, program)
    for name, program in models.programs(models.Size.MEDIUM).items()
}
