"""Custom kernels from SYCL source, from SPIR-V and from C++ build on a GPU's driver and launch."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from tests.exhaustive import exhaustive
from tests.level_zero.lab import CPP_HEADERS, ROOT, Lab

_PYTHON = '''
import jax, jax.numpy as jnp, numpy as np
import onexpu
import tensorflow as tf

SOURCE = """
template <typename T>
ONEXPU_KERNEL void swish(const T* x, T* y, float beta) {
  const size_t i = onexpu::global_id();
  y[i] = T(x[i] / (1 + sycl::exp(-beta * float(x[i]))));
}"""
roles = {"outputs": {"y": onexpu.like("x")}, "attributes": {"beta": float}}
types = ["float32", "bfloat16"]
swish = onexpu.sycl_kernel(SOURCE, inputs=["x"], dtypes={"T": types}, **roles)
for dtype in types:
    x = jnp.ones(1000, dtype)
    swish(x, beta=1.5).block_until_ready()
    jax.jit(lambda x: swish(x, beta=2.0) + 1)(x).block_until_ready()
with tf.device("/XPU:0"):
    print(swish(tf.ones(33), beta=1.0).device)
spirv = swish.spirv("float32")
again = onexpu.spirv_kernel(
    spirv, inputs={"x": "float32"}, range=lambda x: x.size, name="swish", **roles)
again(jnp.ones(77), beta=1.0).block_until_ready()
'''


@pytest.mark.parametrize(
    "device", ["dg2", *(pytest.param(d, marks=exhaustive) for d in ("pvc", "bmg"))]
)
def test_kernels_from_source_and_from_spirv(lab: Lab, device: str) -> None:
    run = lab.run(device, _PYTHON, shown=CPP_HEADERS).check()
    assert "XPU:0" in run.stdout
    launches = [one for one in run.of("launch") if "__sycl_kernel_swish" in one["name"]]
    # Two for each type, one from TensorFlow, one of the SPIR-V module.
    assert len(launches) == 6
    assert not run.failed_calls()


@exhaustive
def test_a_missing_standard_library_is_named(lab: Lab) -> None:
    # Without what other tests have compiled.
    run = lab.run("bmg", _PYTHON, env={"ONEXPU_CACHE_DIR": "/lab/home/without_headers"})
    assert run.returncode == 1
    assert "'type_traits' file not found" in run.stderr
    assert "the headers of the C++ standard library are not installed" in run.stderr


_LIBRARY = """
import jax, jax.numpy as jnp, numpy as np
from onexpu import kernels

rows, weight = jnp.ones((7, 64)), jnp.ones(64)
heads = jnp.ones((2, 128, 4, 64))
jax.block_until_ready([
    kernels.rms_norm(rows, weight),
    kernels.layer_norm(rows, weight, weight),
    kernels.swiglu(rows, rows),
    jax.jit(jax.grad(lambda q: kernels.attention(q, q, q, causal=True).sum()))(heads),
])
"""


@exhaustive
@pytest.mark.parametrize("device", ("pvc", "dg2", "bmg"))
def test_the_kernels_of_the_package(lab: Lab, device: str) -> None:
    run = lab.run(device, _LIBRARY, shown=CPP_HEADERS).check()
    launched = set(re.findall(r"__sycl_kernel_([a-z]+_?[a-z]+)", str(run.of("launch"))))
    for name in ("rms_norm", "layer_norm", "swiglu", "attention"):
        assert any(one.startswith(name) for one in launched), launched


_CPP = """
import example_kernels, jax, jax.numpy as jnp
import tensorflow as tf

x = jnp.ones((31, 17))
program = jax.jit(lambda x: example_kernels.gram(example_kernels.squared_relu(x, scale=0.5)))
program(x).block_until_ready()
with tf.device("/XPU:0"):
    print(example_kernels.gram(tf.ones((100, 3))).device)
"""


@exhaustive
@pytest.mark.parametrize("device", ("dg2", "bmg"))
def test_kernels_in_cpp(lab: Lab, device: str, tmp_path: pathlib.Path) -> None:
    source, installed = tmp_path / "source", tmp_path / "installed"
    shutil.copytree(ROOT / "examples" / "custom_kernel_cpp", source)
    install = [sys.executable, "-m", "pip", "install", "--no-index", "--no-build-isolation"]
    subprocess.run([*install, "--no-deps", "--target", installed, source], check=True)
    code = f"import sys; sys.path.append({str(installed)!r})\n{_CPP}"
    run = lab.run(device, code, shown=[installed]).check()
    assert "XPU:0" in run.stdout
    assert "squared_relu" in str(run.of("launch"))
    assert not run.failed_calls()
