"""Options that modules are built with."""

from __future__ import annotations

import pytest

from tests.exhaustive import every
from tests.level_zero.lab import Lab

_DIVIDE = """
import jax, jax.numpy as jnp
jax.jit(lambda x, y: jnp.sqrt(x / y))(jnp.ones(100), jnp.ones(100)).block_until_ready()
"""
_EXACT = "-cl-fp32-correctly-rounded-divide-sqrt"


@pytest.mark.parametrize("device", every(2, ("dg2", "bmg")))
def test_exact_division(lab: Lab, device: str) -> None:
    plain = lab.run(device, _DIVIDE).check().of("module")
    assert plain and not [one for one in plain if _EXACT in one["flags"]]
    exact = lab.run(device, _DIVIDE, env={"ONEXPU_EXACT_DIVISION": "1"}).check().of("module")
    assert exact and all(_EXACT in one["flags"] for one in exact)
