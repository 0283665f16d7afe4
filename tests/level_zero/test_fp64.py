"""64-bit floats: native, emulated by the driver, and rejected."""

from __future__ import annotations

import pytest

from tests.level_zero.lab import Lab

_JAX = """
import jax, jax.numpy as jnp
jax.config.update("jax_enable_x64", True)
x = jnp.ones((32, 32))
y = jax.jit(lambda x: jnp.linalg.cholesky(x @ x + jnp.eye(32)).mean() + jnp.fft.fft(x).real.sum())
y(x).block_until_ready()
print(x.dtype, "launched")
"""
_TENSORFLOW = """
import numpy as np, tensorflow as tf
x = tf.Variable(np.ones((8, 8)))
print(tf.cast(x, tf.float32).device, tf.reduce_mean(np.ones((4, 4))).device)
print(tf.linalg.matmul(x, x).device, tf.random.stateless_gamma([4], [1, 2], 2.0).device)
"""


@pytest.mark.parametrize("device", ("pvc", "mtl", "bmg"))
def test_native(lab: Lab, device: str) -> None:
    run = lab.run(device, _JAX).check()
    assert "float64 launched" in run.stdout
    assert "emulated" not in run.stderr


def test_emulated(lab: Lab) -> None:
    run = lab.run("dg2", _JAX).check()
    assert "float64 launched" in run.stdout
    assert run.stderr.count("64-bit floats are emulated") == 1
    assert "emulated" not in lab.run("dg2", _JAX, env={"ONEXPU_FP64": "emulate"}).check().stderr


def test_tensorflow_with_emulation(lab: Lab) -> None:
    run = lab.run("dg2", _TENSORFLOW).check()
    assert run.stdout.count("XPU:0") == 4


@pytest.mark.parametrize(
    ("device", "env"), (("dg2", {"ONEXPU_FP64": "refuse"}), ("tgllp", {})), ids=("dg2", "tgl")
)
def test_rejected(lab: Lab, device: str, env: dict[str, str]) -> None:
    run = lab.run(device, _JAX, env=env)
    assert run.returncode == 1
    assert "UNIMPLEMENTED: onexpu: f64 is not supported by" in run.stderr
