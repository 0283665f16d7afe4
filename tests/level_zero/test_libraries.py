"""Products, convolutions, FFTs and factorisations run in the GPU kernels of oneDNN and oneMKL."""

from __future__ import annotations

import pytest

from tests.exhaustive import exhaustive
from tests.level_zero.lab import DEVICES, Lab

_ALL = ["bmg", *(pytest.param(name, marks=exhaustive) for name in DEVICES if name != "bmg")]

_PRODUCTS = """
import jax, jax.numpy as jnp
for dtype in ("float32", "bfloat16", "float16", "int8"):
    x, y = jnp.ones((256, 512), dtype), jnp.ones((512, 384), dtype)
    wide = "int32" if dtype == "int8" else dtype
    product = jax.jit(lambda x, y: jax.lax.dot(x, y, preferred_element_type=wide))
    product(x, y).block_until_ready()
batches = jnp.ones((8, 128, 256)), jnp.ones((8, 256, 128))
jax.jit(lambda x, y: jnp.einsum("bij,bjk->bik", x, y))(*batches).block_until_ready()
"""


@pytest.mark.parametrize("device", _ALL)
def test_products(lab: Lab, device: str) -> None:
    run = lab.run(device, _PRODUCTS).check()
    names = [one["name"] for one in run.of("launch")]
    assert names.count("gemm_kernel") >= 5, names
    assert not [name for name in names if name.startswith("ref_")]
    # oneDNN reports the implementations that it had to give up on standard output.
    assert "onednn_verbose" not in run.stdout
    assert not run.failed_calls()


_CONVOLUTIONS = """
import jax, jax.numpy as jnp
from jax import lax

def convolve(w, x):
    return lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

def slopes(w, x):
    return jax.grad(lambda *args: convolve(*args).astype("float32").sum(), (0, 1))(w, x)

for dtype in ("float32", "bfloat16"):
    x, w = jnp.ones((8, 32, 32, 64), dtype), jnp.ones((3, 3, 64, 128), dtype)
    jax.block_until_ready(jax.jit(convolve)(w, x))
    jax.block_until_ready(jax.jit(slopes)(w, x))
depthwise = lambda x, w: lax.conv_general_dilated(x, w, (1,), "SAME", feature_group_count=32)
jax.jit(depthwise)(jnp.ones((8, 32, 100)), jnp.ones((32, 1, 3))).block_until_ready()
"""


@pytest.mark.parametrize("device", _ALL)
def test_convolutions(lab: Lab, device: str) -> None:
    run = lab.run(device, _CONVOLUTIONS).check()
    names = [one["name"] for one in run.of("launch")]
    # Forward, and the gradients of weights and images, in both types.
    assert sum("conv" in name for name in names) >= 6, names
    assert not [name for name in names if name.startswith("ref_")]
    assert "onednn_verbose" not in run.stdout
    assert not run.failed_calls()


_FFTS_AND_FACTORISATIONS = """
import jax, jax.numpy as jnp
x = jnp.ones((4, 64, 100))
jax.jit(lambda x: jnp.abs(jnp.fft.fft(x)))(x).block_until_ready()
jax.jit(lambda x: jnp.fft.irfft2(jnp.fft.rfft2(x)))(x).block_until_ready()
square, tall = jnp.ones((200, 200)), jnp.ones((200, 100))
jax.block_until_ready(jax.jit(jnp.linalg.cholesky)(square))
jax.block_until_ready(jax.jit(jnp.linalg.qr)(tall))
jax.block_until_ready(jax.jit(jax.scipy.linalg.lu_factor)(square))
jax.block_until_ready(jax.jit(jax.scipy.linalg.solve_triangular)(square, tall))
"""
_EIGENVALUES = """
import jax, jax.numpy as jnp
for dtype in ("float32", "complex64"):
    matrix = jnp.ones((100, 100), dtype)
    for function in (jnp.linalg.eigh, jnp.linalg.svd):
        jax.block_until_ready(jax.jit(function)(matrix))
    # Without an answer the routine fails, and the results are set to NaN.
    jax.block_until_ready(jax.jit(jnp.linalg.cholesky)(jnp.stack([matrix] * 3)))
print("launched")
"""


@pytest.mark.parametrize("device", _ALL)
def test_eigenvalues_and_singular_values(lab: Lab, device: str) -> None:
    run = lab.run(device, _EIGENVALUES).check()
    assert "launched" in run.stdout


@exhaustive
@pytest.mark.parametrize("device", DEVICES)
def test_ffts_and_factorisations(lab: Lab, device: str) -> None:
    run = lab.run(device, _FFTS_AND_FACTORISATIONS).check()
    names = " ".join(one["name"] for one in run.of("launch"))
    for part in ("fft_100_", "potrf", "geqrf", "getrf", "trsm"):
        assert part in names, names
