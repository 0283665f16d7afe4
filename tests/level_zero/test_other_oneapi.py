"""GPUs run with the adapters of our wheels although another oneAPI comes first.

The other oneAPI consists of libraries without functions (`tests/onexpu/test_other_oneapi.py`): a
process that loads one fails.
"""

from __future__ import annotations

import pathlib

import pytest

from tests.exhaustive import exhaustive
from tests.level_zero.lab import Lab
from tests.onexpu import test_other_oneapi as stubs

other_oneapi = stubs.other_oneapi

_JAX = """
import jax, jax.numpy as jnp
x = jnp.ones((64, 64)) + 64 * jnp.eye(64)
jax.block_until_ready([jnp.linalg.cholesky(x), x @ x, jnp.fft.fft(x)])
print("launched")
"""
_TENSORFLOW = """
import tensorflow as tf
x = tf.ones([64, 64])
print(tf.linalg.matmul(x, x).device)
"""


@pytest.mark.parametrize(
    ("device", "code", "shown"),
    [
        ("dg2", _JAX, "launched"),  # the first Level Zero adapter
        ("bmg", _JAX, "launched"),  # the second
        pytest.param("bmg", _TENSORFLOW, "XPU:0", marks=exhaustive),
    ],
    ids=["dg2-jax", "bmg-jax", "bmg-tensorflow"],
)
def test_another_oneapi_comes_first_in_the_library_path(
    lab: Lab, other_oneapi: pathlib.Path, device: str, code: str, shown: str
) -> None:
    env = {
        "LD_LIBRARY_PATH": str(other_oneapi),
        "OCL_ICD_FILENAMES": f"{other_oneapi}/libintelocl.so",
    }
    run = lab.run(device, code, env=env, shown=[other_oneapi]).check()
    assert shown in run.stdout
    assert "goes on without" not in run.stderr
    assert run.of("launch", result=0)
