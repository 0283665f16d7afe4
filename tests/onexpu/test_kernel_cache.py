"""Native binaries of kernels, TensorFlow's built-in ones included, are kept on disk from process to
process.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

USER = """
import jax.numpy as jnp, jax, onexpu
double = onexpu.sycl_kernel(
    source="ONEXPU_KERNEL void twice(const float* x, float* y) { "
    "y[onexpu::global_id()] = 2 * x[onexpu::global_id()]; }",
    inputs=["x"], outputs={"y": onexpu.like("x")})
print(double(jnp.arange(3.0, device=jax.devices("xpu")[0])))
import tensorflow as tf
with tf.device("/XPU:0"):
    print(tf.where(tf.constant([0.0, 1.0, 1.0])).numpy().ravel())
"""


def _run(cache: pathlib.Path, environment: dict[str, str]) -> tuple[str, dict[str, int]]:
    """Returns what the program prints, and its cached binaries with the times of their making."""
    done = subprocess.run(
        [sys.executable, "-c", USER],
        env=environment | {"ONEXPU_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    binaries = (cache / "kernels").rglob("*")
    return done.stdout, {str(file): file.stat().st_mtime_ns for file in binaries if file.is_file()}


def test_the_second_process_builds_nothing(tmp_path: pathlib.Path) -> None:
    printed, binaries = _run(tmp_path, dict(os.environ))
    assert "[0. 2. 4.]" in printed
    assert "[1 2]" in printed
    assert len(binaries) >= 2
    again, afterwards = _run(tmp_path, dict(os.environ))
    assert again == printed
    assert afterwards == binaries  # a module that is built is also stored
