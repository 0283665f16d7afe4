"""Several devices: the oneAPI CPU device counts as eight, in a process of its own."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests.exhaustive import every
from tests.jax import process

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("peer_copies", "names"),
    every(
        2,
        [("auto", ("collectives", "narrow_floats", "programs")), ("never", ("collectives",))],
        unpack=True,
    ),
)
def test_programs_of_eight_devices(peer_copies: str, names: tuple[str, ...]) -> None:
    """The other files of this folder, which are not collected by themselves.

    With `never`, the devices exchange data through staging memory, as GPUs without peer access do.
    """
    files = [f"tests/jax/several_devices/{name}.py" for name in names]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files],
        cwd=ROOT, env={**os.environ, "JAX_PLATFORMS": "xpu,cpu", "JAX_NUM_CPU_DEVICES": "8",
                       "ONEXPU_PEER_COPIES": peer_copies},
        capture_output=True, text=True, check=False, timeout=1200,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert re.search(r"^\d+ passed in ", done.stdout, re.MULTILINE), done.stdout[-2000:]


@pytest.mark.parametrize(
    ("devices", "given", "expected"),
    [(20, None, "20"), (20, "2", "20"), (20, "64", "64"), (1, None, "unset"), (1, "2", "2")],
)
def test_host_tasks_have_a_thread_for_each_device(devices, given, expected) -> None:
    """Also where a plugin was asked what it has before JAX told it the number. One device leaves
    SYCL's number alone.
    """
    script = (
        "import ctypes, jax; jax.devices('xpu'); getenv = ctypes.CDLL(None).getenv; "
        "getenv.restype = ctypes.c_char_p\n"
    )
    script += "print((getenv(b'SYCL_QUEUE_THREAD_POOL_SIZE') or b'unset').decode())"
    environment = {**os.environ, "JAX_PLATFORMS": "xpu", "JAX_NUM_CPU_DEVICES": str(devices)}
    environment.pop("SYCL_QUEUE_THREAD_POOL_SIZE", None)
    if given is not None:
        environment["SYCL_QUEUE_THREAD_POOL_SIZE"] = given
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[-1] == expected


def test_the_variable_comes_before_jaxs_option() -> None:
    count = "import jax; print(len(jax.devices('xpu')))"
    assert process.run(count, JAX_NUM_CPU_DEVICES="3").output.strip() == "3"
    assert (
        process.run(count, JAX_NUM_CPU_DEVICES="3", ONEXPU_NUM_CPU_DEVICES="2").output.strip()
        == "2"
    )
    assert process.run(count).output.strip() == "1"


def test_too_many_devices_are_refused() -> None:
    failed = process.run(
        "import jax; jax.devices('xpu')",
        check=False,
        ONEXPU_NUM_CPU_DEVICES="5000",
        JAX_PLATFORMS="xpu",
    )
    assert failed.status != 0
    assert "5000 CPU devices were asked for" in failed.errors


# Arrays of several chunks of staging memory, whose size no chunk divides.
_STAGED = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import PartitionSpec as P
one, two, three = jax.devices("xpu")
a = np.arange((5 << 20) + 12345, dtype=np.float32)
x = jax.device_put(a, one)
y = jax.device_put(x, two)
np.testing.assert_array_equal(jax.device_put(y, three), a)
np.testing.assert_array_equal(jax.device_put(y * 2, one) + x, 3 * a)
empty = jax.device_put(jax.device_put(np.zeros((0, 3), np.float32), one), two)
assert empty.shape == (0, 3) and empty.devices() == {two}

mesh = jax.sharding.Mesh(np.array([one, two, three]), ("d",))
rows = jax.sharding.NamedSharding(mesh, P("d"))
b = np.random.default_rng(0).standard_normal((9, 999_999), dtype=np.float32)
turn = jax.shard_map(
    lambda v: jax.lax.all_to_all(v, "d", 1, 0, tiled=True),
    mesh=mesh, in_specs=P("d"), out_specs=P(None, "d"),
)
np.testing.assert_array_equal(jax.jit(turn)(jax.device_put(b, rows)), b)
"""


def test_staged_copies_of_several_chunks() -> None:
    process.run(_STAGED, JAX_NUM_CPU_DEVICES="3", ONEXPU_PEER_COPIES="never")


def test_unknown_choices_of_peer_copies_are_rejected() -> None:
    failed = process.run(
        "import jax; jax.devices('xpu')", check=False, ONEXPU_PEER_COPIES="yes", JAX_PLATFORMS="xpu"
    )
    assert failed.status != 0
    assert "ONEXPU_PEER_COPIES=yes is not understood: it takes auto or never" in failed.errors
