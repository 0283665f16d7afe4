"""How much memory is used, and what the error says when it is not enough."""

from __future__ import annotations

import pytest

from tests.exhaustive import every, exhaustive
from tests.level_zero.lab import Lab

_GIB = 1 << 30

# More than any limit here.
_TOO_MUCH = """
import jax, jax.numpy as jnp
print(jax.devices()[0].memory_stats()["bytes_limit"])
try:
    jnp.zeros(100 << 30, jnp.int8).block_until_ready()
except Exception as error:
    print(error)
"""

# As on a machine whose memory other processes hold. The lab's mounts are the program's own.
_FULL_HOST = """
import ctypes, os, re
text = open("/proc/meminfo").read()
path = os.environ["TMPDIR"] + "/meminfo"
open(path, "w").write(re.sub(r"MemAvailable: .*", "MemAvailable: 1048576 kB", text))
libc = ctypes.CDLL(None, use_errno=True)
MS_BIND = 4096
assert libc.mount(path.encode(), b"/proc/meminfo", None, MS_BIND, None) == 0, ctypes.get_errno()
assert "MemAvailable: 1048576 kB" in open("/proc/meminfo").read()
import jax, jax.numpy as jnp
jnp.zeros(100 << 20, jnp.int8).block_until_ready()
try:
    jnp.zeros(2 << 30, jnp.int8).block_until_ready()
    print("allocated")
except Exception as error:
    print(error)
"""


def _limit_and_error(lab: Lab, device: str, **env: str) -> tuple[int, str]:
    limit, error = lab.run(device, _TOO_MUCH, env=env).check().stdout.split("\n", 1)
    return int(limit), error


def test_the_limit_is_of_the_memory_that_is_free(lab: Lab) -> None:
    limit, error = _limit_and_error(lab, "dg2", ONEXPU_SHIM_FREE_MEMORY=str(4 * _GIB))
    assert limit == int(4 * _GIB * 0.92)
    assert f"limit {limit}. The limit is 92 % of the {4 * _GIB} of " in error
    assert "that were free at start-up. " in error
    assert "or end other processes that use the device" in error


def test_the_limit_is_of_all_memory_if_the_driver_does_not_say(lab: Lab) -> None:
    limit, error = _limit_and_error(lab, "bmg", ONEXPU_SHIM_FREE_MEMORY="0")
    assert limit > 4 * _GIB
    assert "The limit is 92 % of the device's memory. " in error


@exhaustive
def test_variables_choose_the_limit(lab: Lab) -> None:
    whole, _ = _limit_and_error(lab, "bmg")
    for variable in ("XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION"):
        limit, error = _limit_and_error(lab, "bmg", **{variable: "0.23"})
        assert abs(limit - whole / 4) < 8
        assert f"23 % of the device's memory ({variable})" in error
    limit, error = _limit_and_error(
        lab, "bmg", XLA_PYTHON_CLIENT_MEM_FRACTION="0.23", ONEXPU_MEMORY_LIMIT="1G"
    )
    assert limit == _GIB
    assert "The limit is set by ONEXPU_MEMORY_LIMIT." in error
    assert "or raise ONEXPU_MEMORY_LIMIT." in error


@pytest.mark.parametrize("device", every(2, ("mtl", "lnl")))
def test_integrated_gpus_have_the_memory_of_the_host(lab: Lab, device: str) -> None:
    _, error = _limit_and_error(lab, device)
    assert "The limit is 85 % of the host's memory. " in error
    run = lab.run(device, _FULL_HOST).check()
    assert "the host has 1073741824 bytes available" in run.stdout
    assert "2147483648 bytes requested" in run.stdout


def test_discrete_gpus_do_not_depend_on_the_host(lab: Lab) -> None:
    assert lab.run("bmg", _FULL_HOST).check().stdout == "allocated\n"
