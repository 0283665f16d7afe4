"""A sourced setvars.sh puts another oneAPI's libraries and driver before ours.

Libraries of the same names without any function stand for it: a process that loads one fails.
"""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys

import pytest

import onexpu

# What oneAPI 2025.3's compiler, umf, tbb, tcm and dnnl directories hold under names that our
# libraries have, too.
_NAMES = (
    *("libur_loader.so.0", "libur_adapter_opencl.so.0", "libur_adapter_level_zero.so.0"),
    *("libur_adapter_level_zero_v2.so.0", "libumf.so.1", "libhwloc.so.15", "libtcm.so.1"),
    *("libimf.so", "libsvml.so", "libirng.so", "libintlc.so.5", "libiomp5.so", "libirc.so"),
    *("libOpenCL.so.1", "libintelocl.so", "libtbb.so.12", "libtbbmalloc.so.2", "libdnnl.so.3"),
)
_JAX = """
import jax, jax.numpy as jnp
assert jax.devices()[0].platform == "xpu", jax.devices()
x = jnp.ones((16, 16)) + 16 * jnp.eye(16)
print(float((jnp.linalg.cholesky(x) @ x)[0, 0] > 0), float(jnp.sin(x).sum()))
"""
_TENSORFLOW = """
import tensorflow as tf
with tf.device("XPU:0"):
    x = tf.ones([16, 16]) + 16 * tf.eye(16)
    print(float(tf.reduce_sum(tf.linalg.matmul(x, x))))
"""


@pytest.fixture(scope="module")
def other_oneapi(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    directory = tmp_path_factory.mktemp("oneapi")
    source = directory / "empty.c"
    source.write_text("int onexpu_test_empty;\n")
    empty = directory / "empty.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", empty, source], check=True)
    ours = onexpu.library_directory("oneapi")
    for name in _NAMES:
        assert (ours / name).exists(), f"{name} is not ours any more"
        shutil.copy(empty, directory / name)
    return directory


@pytest.mark.parametrize("code", (_JAX, _TENSORFLOW), ids=("jax", "tensorflow"))
def test_another_oneapi_comes_first_in_the_library_path(
    other_oneapi: pathlib.Path, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(other_oneapi))
    monkeypatch.setenv("OCL_ICD_FILENAMES", f"{other_oneapi}/libintelocl.so")
    monkeypatch.delenv("UR_ADAPTERS_SEARCH_PATH", raising=False)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "goes on without" not in done.stderr
