"""Loops of TensorFlow graphs on a GPU: op by op, then as programs. Op by op, their conditions and
indices are counters on the host, and lists keep them in memory of the device.
"""

from __future__ import annotations

import pytest

from tests.exhaustive import every
from tests.level_zero.lab import Lab

_LOOPS = """
import tensorflow as tf, onexpu

layer = tf.keras.layers.LSTM(8, return_sequences=True)
x = tf.zeros([4, 30, 3])
layer.build(x.shape)

@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(x) ** 2)
    return tape.gradient(loss, [v.value for v in layer.trainable_variables])

@tf.function
def scan(x):
    seeds = tf.stack([tf.range(30), tf.range(30)], 1)
    noise = tf.map_fn(
        lambda seed: tf.random.stateless_normal([8], seed), seeds, fn_output_signature=tf.float32)
    return tf.scan(lambda state, row: tf.sin(state) + row, noise)

for run in range(4):
    for function in (step, scan):
        before = onexpu.transfer_statistics()
        [tensor.numpy() for tensor in tf.nest.flatten(function(x))]
        moved = onexpu.transfer_statistics() - before
        print("ran", run, moved.programs_executed + moved.eager_launches)
"""


@pytest.mark.parametrize("device", every(2, ("bmg", "dg2")))
def test_the_third_run_is_a_program(lab: Lab, device: str) -> None:
    lines = lab.run(device, _LOOPS, env={"ONEXPU_SHIM_COPIES": "1"}).check().stdout.splitlines()
    runs = [line.split()[1:] for line in lines if line.startswith("ran ")]
    assert len(runs) == 8
    assert min(int(count) for run, count in runs if run in "01") > 100
    assert max(int(count) for run, count in runs if run in "23") <= 20
