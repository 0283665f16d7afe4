"""A profile can be taken on a GPU, and programs go on after memory ran out."""

from __future__ import annotations

import pytest

from tests.exhaustive import exhaustive
from tests.level_zero.lab import Lab

_PROFILE = """
import glob, tempfile
import jax, jax.numpy as jnp

step = jax.jit(lambda x: jax.nn.softmax(x @ x, axis=1))
x = step(jnp.ones((300, 300)))
folder = tempfile.mkdtemp()
with jax.profiler.trace(folder):
    step(x).block_until_ready()
[path] = glob.glob(f"{folder}/**/*.xplane.pb", recursive=True)
print([plane.name for plane in jax.profiler.ProfileData.from_file(path).planes])
step(x).block_until_ready()
"""


@pytest.mark.parametrize("device", ["dg2", pytest.param("bmg", marks=exhaustive)])
def test_a_profile_has_the_gpu(lab: Lab, device: str) -> None:
    # Software devices take no times, so the plane has no events.
    run = lab.run(device, _PROFILE).check()
    assert "/device:GPU:0" in run.stdout
    assert [one["name"] for one in run.of("launch")].count("gemm_kernel") == 3
    assert not run.failed_calls()


_OUT_OF_MEMORY = """
import jax, jax.numpy as jnp

held = []
try:
    while len(held) < 100:
        held.append(jax.device_put(jnp.zeros((1 << 24,), "uint8")).block_until_ready())
except Exception as error:
    print(error)
in_use = jax.devices()[0].memory_stats()["bytes_in_use"]
print(len(held), "held", in_use)
held.clear()
print(jax.jit(lambda x: x @ x)(jnp.ones((1000, 1000))).block_until_ready().shape)
assert jax.devices()[0].memory_stats()["bytes_in_use"] < in_use / 4
"""


@pytest.mark.parametrize("device", [pytest.param("dg2", marks=exhaustive), "bmg"])
def test_memory_runs_out_and_comes_back(lab: Lab, device: str) -> None:
    run = lab.run(device, _OUT_OF_MEMORY, env={"ONEXPU_MEMORY_LIMIT": "256M"}).check()
    assert "RESOURCE_EXHAUSTED: onexpu: out of memory on xpu:0" in run.stdout
    assert "15 held" in run.stdout or "16 held" in run.stdout
    assert "(1000, 1000)" in run.stdout
