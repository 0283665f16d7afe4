"""Launches take no event slots that they do not give back."""

from __future__ import annotations

import pytest

from tests.level_zero.lab import Lab

# 12 launches and a copy a run; what is used from the start is there after some of them.
_PROGRAM = """
import jax, jax.numpy as jnp
x = jnp.ones((64, 64))
@jax.jit
def step(x):
    for i in range(6):
        x = jnp.sort(x * 1.5, i % 2)
    return x
def resident():
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmRSS"))
def run(times):
    for _ in range(times):
        for _ in range(100):
            y = step(x)
        y.block_until_ready()
run(17)
before = resident()
run(17)
print("KiB:", resident() - before)
"""


@pytest.mark.parametrize("adapter", (1, 2))
@pytest.mark.parametrize("device", ("dg2", "pvc", "bmg"))
def test_event_pools_and_memory_do_not_grow(lab: Lab, device: str, adapter: int) -> None:
    environment = {"SYCL_UR_USE_LEVEL_ZERO_V2": str(adapter - 1)}
    run = lab.run(device, _PROGRAM, env=environment, record=adapter == 1).check()
    if adapter == 1:
        assert len(run.of("launch")) > 40_000
        assert len(run.of("event pool")) < 10
    grown = int(run.stdout.split("KiB: ")[1])
    assert grown < 1_000, f"{grown} KiB in 20,400 launches"
