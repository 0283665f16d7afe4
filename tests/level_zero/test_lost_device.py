"""A device that is lost, and one that hangs."""

from __future__ import annotations

import re

import pytest

from tests.exhaustive import every
from tests.level_zero.lab import Lab

_LOST = """
import jax, jax.numpy as jnp
x = jnp.ones(100)
step = jax.jit(lambda x: x * 2 + 1)
other = jax.jit(lambda x: jnp.sort(x))
other.lower(x).compile()
try:
    for _ in range(20):
        x = jax.block_until_ready(step(x))
    print("no error")
except jax.errors.JaxRuntimeError as error:
    print("first:", error)
for again in (lambda: step(jnp.zeros(100)), lambda: other(jnp.ones(100)), lambda: jnp.ones(7) + 1):
    try:
        jax.block_until_ready(again())
        print("no error")
    except jax.errors.JaxRuntimeError as error:
        print("again:", error)
"""


@pytest.mark.parametrize("device", every(2, ("dg2", "bmg")))
def test_a_submission_that_finds_the_device_lost_marks_it(lab: Lab, device: str) -> None:
    run = lab.run(device, _LOST, env={"ONEXPU_SHIM_LOST_AT_LAUNCH": "6"}).check()
    assert "no error" not in run.stdout, run.stdout
    assert re.search("first: ABORTED: .*device lost: ", run.stdout), run.stdout
    assert run.stdout.count("again: ABORTED: onexpu: the device is lost: ") == 3, run.stdout
    # Nothing is submitted to a device that is known to be lost.
    assert len(run.of("launch")) - len(run.of("launch", result=0)) == 1


_LOSES_ONE = """
import jax, jax.numpy as jnp
first, second = jax.devices()
x, y = jax.device_put(jnp.ones(100), first), jax.device_put(jnp.ones(100), second)
step = jax.jit(lambda x: x * 2 + 1)
for _ in range(3):
    jax.block_until_ready([step(x), step(y)])
failed = None
for _ in range(8):
    try:
        failed = step(x)
        jax.block_until_ready(jax.device_put(failed, second))
    except jax.errors.JaxRuntimeError as error:
        print("failed:", error)
        break
try:
    jax.block_until_ready(step(jax.device_put(failed, second)))
except jax.errors.JaxRuntimeError as error:
    print("dependent:", error)
jax.block_until_ready(step(y))
print("the other device works")
"""


@pytest.mark.parametrize("device", every(2, ("dg2", "bmg")))
def test_a_lost_device_does_not_take_others_with_it(lab: Lab, device: str) -> None:
    env = {"ONEXPU_SHIM_LOST_AT_LAUNCH": "10", "ONEXPU_SHIM_LOST_DEVICE": "0"}
    run = lab.run(device, _LOSES_ONE, env=env, roots=2).check()
    assert re.search("failed: ABORTED: onexpu: .*device is lost: ", run.stdout), run.stdout
    assert "the other device works" in run.stdout


_HANGS = """
import os, threading, time, jax, jax.numpy as jnp
x = jnp.ones(100)
def endless_step(x):
    return x * 2 + 1
step = jax.jit(endless_step)
def work():
    for _ in range(20):
        jax.block_until_ready(step(x))
threading.Thread(target=work, daemon=True).start()
time.sleep(4)
os._exit(0)
"""


@pytest.mark.parametrize("device", every(2, ("dg2", "bmg")))
def test_a_long_wait_says_for_what(lab: Lab, device: str) -> None:
    environment = {"ONEXPU_SHIM_HANGS_AT_LAUNCH": "6", "ONEXPU_WAIT_REPORT_SECONDS": "1"}
    stderr = lab.run(device, _HANGS, env=environment).check().stderr
    lines = [line for line in stderr.splitlines() if line.startswith("onexpu: waiting for ")]
    assert 2 <= len(lines) <= 4, stderr
    assert re.match(
        r"onexpu: waiting for \d s for program 'jit_endless_step' on xpu:0 .* \(queue compute\)\.",
        lines[0],
    )


_HANGS_IN_A_LOOP = """
import os, threading, time, jax, jax.numpy as jnp, numpy as np
def search(x):
    return jax.lax.while_loop(lambda c: c.sum() < 1e9, lambda c: c @ c, x)
x = jax.device_put(np.ones((512, 512), np.float32))
threading.Thread(target=lambda: jax.jit(search)(x).block_until_ready(), daemon=True).start()
time.sleep(4)
os._exit(0)
"""


def test_a_long_wait_inside_a_program_says_for_which_op(lab: Lab) -> None:
    environment = {"ONEXPU_SHIM_HANGS_AT_LAUNCH": "0", "ONEXPU_WAIT_REPORT_SECONDS": "1"}
    stderr = lab.run("dg2", _HANGS_IN_A_LOOP, env=environment).check().stderr
    program = r"onexpu: waiting for \d s for program 'jit_search' on xpu:0 .* "
    assert re.search(program + r"\(queue compute, submitted up to op '\S+'\)\.", stderr), stderr


def test_an_ordinary_wait_says_nothing(lab: Lab) -> None:
    program = "import jax.numpy as jnp, time\n(jnp.ones(9) + 1).block_until_ready(); time.sleep(1)"
    environment = {"ONEXPU_WAIT_REPORT_SECONDS": "0.1"}
    assert "onexpu: waiting" not in lab.run("dg2", program, env=environment).check().stderr
