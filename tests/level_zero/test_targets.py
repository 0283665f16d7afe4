"""Programs compiled ahead of time load on the device that they were compiled for."""

from __future__ import annotations

import pytest

from tests.level_zero.lab import DEVICES, Lab

# The name of a device's target, where it is not the driver's.
_TARGETS = {"tgllp": "tgl"}
_COMPILE_AND_LOAD = """
import sys
import jax, jax.numpy as jnp
from jax.experimental import topologies
from jax.experimental import serialize_executable as stored
devices = topologies.get_topology_desc(sys.argv[1], "xpu").devices
sharding = jax.sharding.SingleDeviceSharding(devices[0])
x = jax.ShapeDtypeStruct((64, 64), jnp.float32, sharding=sharding)
step = jax.jit(lambda x: (jax.nn.softmax(x @ x, axis=1).sum(axis=0), jnp.sort(x, axis=1)))
payload, inputs, outputs = stored.serialize(step.lower(x).compile())
loaded = stored.deserialize_and_load(
    payload, inputs, outputs, backend="xpu", execution_devices=jax.devices()[:1]
)
jax.block_until_ready(loaded(jnp.ones((64, 64), jnp.float32)))
print("launched")
"""


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_accepts_programs_for_its_target(lab: Lab, device: str) -> None:
    target = _TARGETS.get(device, device)
    run = lab.run(device, _COMPILE_AND_LOAD, arguments=[target]).check()
    assert "launched" in run.stdout


@pytest.mark.parametrize(("target", "device"), (("bmg", "dg2"), ("dg2", "bmg")))
def test_another_device_rejects_them(lab: Lab, target: str, device: str) -> None:
    run = lab.run(device, _COMPILE_AND_LOAD, arguments=[target])
    assert run.returncode == 1
    assert f"for target '{target}' and cannot run on this device ('{device}')" in run.stderr
