"""64-bit floats: native, emulated by the driver, and rejected."""

from __future__ import annotations

import pytest

from tests.exhaustive import every, exhaustive
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


@pytest.mark.parametrize("device", every(3, ("pvc", "mtl", "bmg")))
def test_native(lab: Lab, device: str) -> None:
    run = lab.run(device, _JAX).check()
    assert "float64 launched" in run.stdout
    assert "emulated" not in run.stderr


def test_emulated(lab: Lab) -> None:
    run = lab.run("dg2", _JAX).check()
    assert "float64 launched" in run.stdout
    assert run.stderr.count("64-bit floats are emulated") == 1
    assert "emulated" not in lab.run("dg2", _JAX, env={"ONEXPU_FP64": "emulate"}).check().stderr


@exhaustive
def test_tensorflow_with_emulation(lab: Lab) -> None:
    run = lab.run("dg2", _TENSORFLOW).check()
    assert run.stdout.count("XPU:0") == 4


_NO_FP64 = (("dg2", {"ONEXPU_FP64": "refuse"}), ("tgllp", {}))
_PLACEMENT = """
import numpy as np, tensorflow as tf, onexpu
place = lambda x: tf.DeviceSpec.from_string(x.device).device_type
array = np.ones((8, 8))
variable, single = tf.Variable(array), tf.Variable(array.astype(np.float32))

def check(name, x, device):
    assert place(x) == device, (name, x.device)

check("variable", variable, "CPU")
check("float32 variable", single, "XPU")
check("mean", tf.reduce_mean(array), "CPU")
check("cast", tf.cast(array, tf.float32), "CPU")
check("float32", tf.matmul(tf.cast(array, tf.float32), single), "XPU")
check("complex128", tf.signal.fft(tf.complex(array, array)), "CPU")
check("gamma", tf.raw_ops.StatelessRandomGammaV2(shape=[4, 1], seed=[1, 2], alpha=[2.0]), "CPU")
variable.assign_add(array)
with tf.device("/XPU:0"):
    check("soft placement", tf.add(array, array), "CPU")

@tf.function
def step(x, v):
    for _ in tf.range(3):
        x = tf.matmul(x, x) * 0.25
    v.assign_add(x)
    return x, tf.cast(x, tf.float32) @ single

wide, narrow = step(tf.constant(array), variable)
check("a function's float32 result", narrow, "XPU")

with tf.GradientTape() as tape:
    loss = tf.reduce_sum(tf.square(variable))
check("gradient", tape.gradient(loss, variable), "CPU")

model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.Dense(1)])
check("model", model(array), "XPU")
model(tf.constant(array), training=True)

print(onexpu.placement_report(lambda: (tf.reduce_mean(array), step(tf.constant(array), variable))))
tf.config.set_soft_device_placement(False)
try:
    with tf.device("/XPU:0"):
        tf.add(array, array)
except tf.errors.UnimplementedError as error:
    print(error.message)
"""


@pytest.mark.parametrize(("device", "env"), every(2, _NO_FP64, unpack=True), ids=("dg2", "tgl"))
def test_tensorflow_selects_the_cpu(lab: Lab, device: str, env: dict[str, str]) -> None:
    run = lab.run(device, _PLACEMENT, env=env).check()
    assert "XPU devices have no 64-bit floats" in run.stdout
    assert "f64 is not supported by" in run.stdout
    strict = lab.run(device, _TENSORFLOW, env={**env, "ONEXPU_PLACEMENT": "strict"})
    assert strict.returncode == 1
    assert "XPU devices have no 64-bit floats" in strict.stderr


@pytest.mark.parametrize(("device", "env"), _NO_FP64, ids=("dg2", "tgl"))
def test_rejected(lab: Lab, device: str, env: dict[str, str]) -> None:
    run = lab.run(device, _JAX, env=env)
    assert run.returncode == 1
    assert "UNIMPLEMENTED: onexpu: f64 is not supported by" in run.stderr
