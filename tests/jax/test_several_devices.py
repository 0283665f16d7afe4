"""Several devices: the oneAPI CPU device counts as eight, in a process of its own."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests.jax import process

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_programs_of_eight_devices() -> None:
    """Everything in several_devices/, whose files are not collected by themselves."""
    files = [f"tests/jax/several_devices/{name}.py" for name in ("collectives", "narrow_floats", "programs")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files],
        cwd=ROOT, env={**os.environ, "JAX_PLATFORMS": "xpu,cpu", "JAX_NUM_CPU_DEVICES": "8"},
        capture_output=True, text=True, check=False, timeout=1200,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert re.search(r"^\d+ passed in ", done.stdout, re.MULTILINE), done.stdout[-2000:]


@pytest.mark.parametrize(
    ("devices", "given", "expected"), [(20, None, "20"), (20, "2", "20"), (20, "64", "64"), (1, None, "unset"), (1, "2", "2")]
)
def test_host_tasks_have_a_thread_for_each_device(devices, given, expected) -> None:
    """Also where a plugin was asked what it has before JAX told it the number. One device leaves SYCL's number alone."""
    script = "import ctypes, jax; jax.devices('xpu'); getenv = ctypes.CDLL(None).getenv; getenv.restype = ctypes.c_char_p\n"
    script += "print((getenv(b'SYCL_QUEUE_THREAD_POOL_SIZE') or b'unset').decode())"
    environment = {**os.environ, "JAX_PLATFORMS": "xpu", "JAX_NUM_CPU_DEVICES": str(devices)}
    environment.pop("SYCL_QUEUE_THREAD_POOL_SIZE", None)
    if given is not None:
        environment["SYCL_QUEUE_THREAD_POOL_SIZE"] = given
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == expected


def test_the_variable_comes_before_jaxs_option() -> None:
    count = "import jax; print(len(jax.devices('xpu')))"
    assert process.run(count, JAX_NUM_CPU_DEVICES="3").output.strip() == "3"
    assert process.run(count, JAX_NUM_CPU_DEVICES="3", ONEXPU_NUM_CPU_DEVICES="2").output.strip() == "2"
    assert process.run(count).output.strip() == "1"


def test_too_many_devices_are_refused() -> None:
    failed = process.run(
        "import jax; jax.devices('xpu')", check=False, ONEXPU_NUM_CPU_DEVICES="5000", JAX_PLATFORMS="xpu"
    )
    assert failed.status != 0
    assert "5000 CPU devices were asked for" in failed.errors
