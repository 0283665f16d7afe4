"""The product starts on every device and asks the driver for the right things."""

from __future__ import annotations

import pytest

from tests.level_zero.lab import ADAPTERS, DEVICES, Lab

_STEP = """
import jax, jax.numpy as jnp, numpy as np
print(jax.devices())
x = jax.device_put(np.ones((64, 96), np.float32))
step = jax.jit(jax.value_and_grad(lambda w: jnp.tanh(x @ w).sum()))
value, gradient = step(jnp.ones((96, 32)))
print(gradient.shape, gradient.block_until_ready() is not None)
"""


@pytest.mark.parametrize("device", DEVICES)
def test_a_training_step_launches(lab: Lab, device: str) -> None:
    run = lab.run(device, _STEP).check()
    assert "[xpu(id=0)]" in run.stdout
    assert "(96, 32)" in run.stdout
    assert run.of("launch") and not run.failed_calls()
    # Only SYCL's first adapter creates event pools.
    assert bool(run.of("event pool")) == (ADAPTERS[device] == 1)


@pytest.mark.parametrize("adapter", (1, 2))
@pytest.mark.parametrize("device", ("dg2", "bmg"))
def test_both_adapters(lab: Lab, device: str, adapter: int) -> None:
    run = lab.run(device, _STEP, env={"SYCL_UR_USE_LEVEL_ZERO_V2": str(adapter - 1)}).check()
    assert run.of("launch")
