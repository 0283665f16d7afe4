"""Every program of `models/` loads on a GPU and launches, and so do Keras' training steps."""

from __future__ import annotations

import itertools

import pytest

from tests.exhaustive import exhaustive
from tests.level_zero.lab import Lab

_STEPS = """
import sys
import jax
import models

programs = models.programs(models.Size.SMALL)
for name in sys.argv[1:] or programs:
    program = programs[name]
    arguments = jax.device_put(program.arguments())
    step = jax.jit(program.function, donate_argnums=program.donated)
    jax.block_until_ready(step(*arguments))
    print("ran", name, flush=True)
print("all of", len(sys.argv[1:] or programs))
"""


@pytest.mark.parametrize(
    ("device", "names"),
    [
        ("dg2", ["gpt_training", "resnet50_inference", "hamiltonian_monte_carlo"]),
        *(
            pytest.param(device, [], marks=exhaustive, id=device)
            for device in ("pvc", "dg2", "bmg")
        ),
    ],
)
def test_programs_launch(lab: Lab, device: str, names: list[str]) -> None:
    run = lab.run(device, _STEPS, arguments=names, seconds=600).check()
    assert f"all of {len(names) or 16}" in run.stdout
    assert len(run.of("launch")) > 100
    assert not run.failed_calls()


_KERAS = """
import numpy as np
import onexpu
import tensorflow as tf

images = np.random.rand(32, 16, 16, 3).astype("float32")
labels = np.random.randint(0, 10, 32)
model = tf.keras.Sequential([
    tf.keras.Input((16, 16, 3)),
    tf.keras.layers.Conv2D(8, 3, activation="relu"),
    tf.keras.layers.BatchNormalization(),
    tf.keras.layers.MaxPooling2D(),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dropout(0.5),
    tf.keras.layers.Dense(10),
])
loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile("adam", loss, JIT_COMPILE)
# Before the step is traced: a step that creates variables asks the device which ones have values,
# and no kernel computes the answer here.
model.optimizer.build(model.trainable_variables)
# Batches of a size that is known, for no kernel computes it here.
batches = tf.data.Dataset.from_tensor_slices((images, labels)).batch(8, drop_remainder=True)
model.fit(batches, epochs=1, verbose=0)
print(model.predict_on_batch(images).shape)

@tf.function(jit_compile=True)
def step(x, w):
    with tf.GradientTape() as tape:
        tape.watch(w)
        loss = tf.reduce_mean(tf.nn.softmax(tf.matmul(x, w)) ** 2)
    return loss, tape.gradient(loss, w)

loss, slope = step(tf.ones((64, 32)), tf.ones((32, 48)))
print(slope.shape, slope.device)
"""


@pytest.mark.parametrize(
    ("device", "jit_compile"),
    [
        ("bmg", False),
        *(
            pytest.param(*case, marks=exhaustive)
            for case in itertools.product(("pvc", "dg2", "bmg"), (False, True))
            if case != ("bmg", False)
        ),
    ],
)
def test_keras_trains(lab: Lab, device: str, jit_compile: bool) -> None:
    code = _KERAS.replace("JIT_COMPILE", f"jit_compile={jit_compile}")
    run = lab.run(device, code, env={"ONEXPU_SHIM_COPIES": "1"}).check()
    assert "(32, 10)" in run.stdout
    assert "(32, 48)" in run.stdout and "device:XPU:0" in run.stdout
    names = {one["name"] for one in run.of("launch")}
    assert [name for name in names if "gemm" in name], names
    assert [name for name in names if "conv" in name], names
    assert not run.failed_calls()
