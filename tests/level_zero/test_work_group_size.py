"""Kernels for GPUs say how large their work-groups are (SPIR-V's LocalSize)."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests.level_zero.lab import Lab

_PROGRAM = """
import jax, jax.numpy as jnp
x = jnp.ones((512, 384))
programs = [
    lambda x: jnp.tanh(x) + 1, lambda x: x.sum(0), lambda x: x.sum(1), lambda x: x.sum(),
    lambda x: x.T * 2, lambda x: jnp.sort(x, 0), lambda x: jax.nn.softmax(x),
    lambda x: jnp.concatenate([x, x + 1], 1), lambda x: x.at[jnp.arange(9) % 3].add(1.0),
    lambda x: jax.lax.fori_loop(0, 9, lambda i, c: c * 2 + i, x[0, :5]),
    lambda x: jnp.cumsum(x, 1), lambda x: jnp.fft.rfft(x[:, :100]).real,
]
for program in programs:
    jax.block_until_ready(jax.jit(program)(x))
"""


@pytest.mark.parametrize("device", ("pvc", "dg2", "bmg", "ptl"))
def test_the_driver_launches_groups_of_that_size(lab: Lab, device: str) -> None:
    launches = lab.run(device, _PROGRAM).check().of("launch", result=0)
    assert len(launches) > 12


@pytest.mark.parametrize("schedules", ("gpu", "cpu"))
def test_modules_have_it_for_gpus(tmp_path: pathlib.Path, schedules: str) -> None:
    environment = {
        **os.environ,
        "ONEXPU_DEVICE": "cpu",
        "ONEXPU_SCHEDULES": schedules,
        "XLA_FLAGS": f"--xla_dump_to={tmp_path}",
    }
    subprocess.run([sys.executable, "-c", _PROGRAM], env=environment, check=True, timeout=300)
    kernels = sizes = 0
    for module in tmp_path.glob("*.spvasm"):
        text = module.read_text()
        kernels += len(re.findall(r"OpEntryPoint Kernel", text))
        sizes += len(re.findall(r"OpExecutionMode %\S+ LocalSize \d+ \d+ \d+", text))
    assert kernels > 12
    assert sizes == (kernels if schedules == "gpu" else 0)
