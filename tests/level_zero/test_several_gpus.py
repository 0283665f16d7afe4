"""Machines with several GPUs: alike, of different kinds, and of several tiles."""

from __future__ import annotations

import pytest

from tests.level_zero.lab import Lab

_LIST = """
import jax, jax.numpy as jnp
print(len(jax.devices()), "devices")
jnp.ones(1000).block_until_ready()
"""
# What makes the second GPU differ, as an integrated GPU does beside a discrete one.
_SMALLER = {"ONEXPU_SHIM_OTHER_NO_FP64": "1", "ONEXPU_SHIM_OTHER_SUB_GROUP_8": "1"}


@pytest.mark.parametrize("device", ("dg2", "bmg"))
def test_gpus_of_one_kind_are_all_devices(lab: Lab, device: str) -> None:
    run = lab.run(device, _LIST, roots=2).check()
    assert "2 devices" in run.stdout
    assert "is not used" not in run.stderr


@pytest.mark.parametrize("device", ("dg2", "bmg"))
def test_a_gpu_of_another_kind_is_left_out(lab: Lab, device: str) -> None:
    env = _SMALLER | {"ONEXPU_SHIM_OTHER_INTEGRATED": "1"}
    run = lab.run(device, _LIST, env=env, roots=2).check()
    assert "1 devices" in run.stdout
    assert "is not used beside" in run.stderr and "ONEAPI_DEVICE_SELECTOR" in run.stderr
    assert {call["device"] for call in run.of("module")} == {0}


def test_a_discrete_gpu_comes_before_an_integrated_one(lab: Lab) -> None:
    env = _SMALLER | {"ONEXPU_SHIM_FIRST_INTEGRATED": "1"}
    run = lab.run("bmg", _LIST, env=env, roots=2).check()
    assert "1 devices" in run.stdout
    assert {call["device"] for call in run.of("module")} == {1}


def test_the_selector_overrides_the_choice(lab: Lab) -> None:
    env = _SMALLER | {"ONEAPI_DEVICE_SELECTOR": "level_zero:1"}
    run = lab.run("bmg", _LIST, env=env, roots=2).check()
    assert "1 devices" in run.stdout
    assert "is not used" not in run.stderr


_EACH = """
import jax, jax.numpy as jnp, numpy as np
devices = jax.devices()
print(len(devices), "devices")
for device in devices:
    x = jax.device_put(np.ones((64, 64), np.float32), device)
    jax.block_until_ready(jax.jit(lambda x: jnp.tanh(x @ x).sum())(x))
moved = jax.device_put(x, devices[0])
moved.block_until_ready()
"""


def test_ordinals_select_gpus_of_two_kinds(lab: Lab) -> None:
    env = _SMALLER | {"ONEAPI_DEVICE_SELECTOR": "level_zero:0,1"}
    run = lab.run("bmg", _EACH, env=env, roots=2).check()
    assert "2 devices" in run.stdout
    assert "is not used" not in run.stderr
    # Each device builds its own modules and launches kernels.
    assert {call["device"] for call in run.of("module")} == {0, 1}


def test_a_filter_of_kinds_does_not_mix_gpus(lab: Lab) -> None:
    env = _SMALLER | {"ONEAPI_DEVICE_SELECTOR": "level_zero:gpu"}
    run = lab.run("bmg", _LIST, env=env, roots=2).check()
    assert "1 devices" in run.stdout
    assert "is not used beside" in run.stderr


def test_a_program_for_gpus_of_two_kinds_names_both(lab: Lab) -> None:
    code = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import NamedSharding, PartitionSpec
mesh = jax.make_mesh((2,), ("x",))
try:
    x = jax.device_put(np.ones(64, np.float32), NamedSharding(mesh, PartitionSpec("x")))
    jax.block_until_ready(jax.jit(jnp.sin)(x))
except Exception as error:
    print(type(error).__name__, error)
"""
    env = _SMALLER | {"ONEAPI_DEVICE_SELECTOR": "level_zero:0,1"}
    run = lab.run("bmg", code, env=env, roots=2).check()
    assert "JaxRuntimeError" in run.stdout and "the device has no fp64" in run.stdout
    assert "The device is xpu:1" in run.stdout and "the Program runs on xpu:0" in run.stdout


def test_tensorflow_runs_on_gpus_of_two_kinds(lab: Lab) -> None:
    code = """
import tensorflow as tf
for index in range(2):
    with tf.device(f"XPU:{index}"):
        x = tf.random.normal([64, 64])
        print(tf.linalg.matmul(x, x).device)
        print(tf.function(lambda x: tf.nn.tanh(x) * 2, jit_compile=True)(x).device)
"""
    env = _SMALLER | {"ONEAPI_DEVICE_SELECTOR": "level_zero:0,1"}
    run = lab.run("bmg", code, env=env, roots=2).check()
    assert run.stdout.count("XPU:0") == 2 and run.stdout.count("XPU:1") == 2
    assert {call["device"] for call in run.of("module")} == {0, 1}


def test_tensorflow_runs_beside_a_gpu_of_another_kind(lab: Lab) -> None:
    code = """
import tensorflow as tf
print(tf.config.list_logical_devices("XPU"))
x = tf.random.normal([64, 64])
print(tf.linalg.matmul(x, x).device)
"""
    run = lab.run("bmg", code, env=_SMALLER, roots=2).check()
    assert "XPU:0" in run.stdout and "XPU:1" not in run.stdout
    assert run.of("launch")
