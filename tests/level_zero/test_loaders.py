"""Level Zero loaders of older distributions: no crash, and a message that helps."""

from __future__ import annotations

import pytest

from tests.level_zero.lab import Lab

_STEP = """
import jax, jax.numpy as jnp
print(jax.devices("xpu"))
jax.jit(lambda x: jnp.tanh(x) @ x)(jnp.ones((32, 32))).block_until_ready()
print("launched")
"""


@pytest.mark.parametrize("device", ("dg2", "bmg"))
def test_debian_12_has_a_loader_without_gpus(lab: Lab, device: str) -> None:
    """Loader 1.8: SYCL's query for devices would abort the process."""
    env = {"LD_LIBRARY_PATH": lab.loader("bookworm"), "JAX_PLATFORMS": "xpu"}
    run = lab.run(device, _STEP, env=env)
    assert run.returncode == 1
    assert "libze_loader 1.8" in run.stderr
    assert "Install libze1 1.20 or newer" in run.stderr


@pytest.mark.parametrize("choice", ("auto", "cpu"))
def test_the_cpu_device_runs_beside_an_old_loader(lab: Lab, choice: str) -> None:
    env = {"LD_LIBRARY_PATH": lab.loader("bookworm"), "ONEXPU_DEVICE": choice}
    run = lab.run("dg2", _STEP, env=env).check()
    assert "launched" in run.stdout
    # The lab has no device node, so there is no GPU to warn about.
    assert "onexpu:" not in run.stderr


@pytest.mark.parametrize("env", ({}, {"SYCL_UR_USE_LEVEL_ZERO_V2": "1"}), ids=("default", "v2"))
@pytest.mark.parametrize("device", ("dg2", "bmg"))
def test_debian_13_has_a_loader_for_adapter_v1(lab: Lab, device: str, env: dict[str, str]) -> None:
    """Loader 1.20 lacks what adapter v2 launches kernels with."""
    run = lab.run(device, _STEP, env={"LD_LIBRARY_PATH": lab.loader("trixie")} | env).check()
    assert run.of("launch", result=0)
    assert ("is ignored" in run.stderr) == bool(env)


def test_the_doctor_names_the_loader(lab: Lab) -> None:
    code = "import onexpu\nfor one in onexpu.doctor().findings: print(one.name, one.value)"
    run = lab.run("bmg", code, env={"LD_LIBRARY_PATH": lab.loader("trixie")}).check()
    assert "Level Zero loader libze_loader 1.20" in run.stdout
    assert "SYCL adapters that it supports v1\n" in run.stdout
