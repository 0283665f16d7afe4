"""How many modules are built at once, and what is said while it takes long."""

from __future__ import annotations

import re

import pytest

from tests.level_zero.lab import Lab

_MANY_MODULES = """
import jax, jax.numpy as jnp
x = jnp.ones((32, 48))
parts = [lambda x, i=i: jnp.sort(x * i, i % 2).sum(i % 2) for i in range(20)]
jax.block_until_ready(jax.jit(lambda x: [part(x) for part in parts])(x))
"""


@pytest.mark.parametrize("threads", (1, 3))
def test_builds_are_bounded(lab: Lab, threads: int) -> None:
    env = {"ONEXPU_BUILD_THREADS": str(threads), "ONEXPU_SHIM_BUILD_MS": "20"}
    modules = lab.run("dg2", _MANY_MODULES, env=env).check().of("module")
    assert len(modules) > 4
    assert max(one["at_once"] for one in modules) == threads


def test_a_long_build_reports_its_progress(lab: Lab) -> None:
    env = {
        "ONEXPU_BUILD_PROGRESS_SECONDS": "0.1",
        "ONEXPU_BUILD_THREADS": "1",
        "ONEXPU_SHIM_BUILD_MS": "100",
    }
    run = lab.run("bmg", _MANY_MODULES, env=env).check()
    line = r"onexpu: building kernels for the device: \d+ of \d+ modules after \d"
    assert len(re.findall(line, run.stderr)) >= 2, run.stderr
