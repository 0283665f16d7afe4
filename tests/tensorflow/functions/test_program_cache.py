"""Compiled functions and Keras training from programs on disk: none is compiled again."""

from __future__ import annotations

import pathlib

from tests.tensorflow.process import output_of

PROGRAM = """
import tensorflow as tf

tf.keras.utils.set_random_seed(1)

@tf.function(jit_compile=True)
def step(x, w):
    with tf.GradientTape() as tape:
        tape.watch(w)
        loss = tf.reduce_sum(tf.nn.softmax(tf.tanh(x @ w)) * x)
    return loss, tape.gradient(loss, w)

with tf.device("/XPU:0"):
    x = tf.reshape(tf.range(36.0), [6, 6]) / 36
    loss, gradient = step(x, x)
    print(float(loss), float(tf.reduce_sum(gradient)))
    model = tf.keras.Sequential([tf.keras.layers.Dense(8, "relu"), tf.keras.layers.Dense(2)])
    model.compile("adam", "mse", jit_compile=True)
    model.fit(x, x[:, :2], epochs=1, batch_size=3, shuffle=False, verbose=0)
    print(float(tf.reduce_sum(model(x))))
print("loaded" if "libonexpu_compiler" in open("/proc/self/maps").read() else "not loaded")
"""


def test_a_second_process_compiles_nothing(tmp_path: pathlib.Path) -> None:
    first = output_of(PROGRAM, ONEXPU_CACHE_DIR=str(tmp_path)).split("\n")
    programs = set((tmp_path / "programs").iterdir())
    second = output_of(PROGRAM, ONEXPU_CACHE_DIR=str(tmp_path)).split("\n")
    assert first[2] == "loaded"
    assert len(programs) >= 2
    # Maps in HLO, such as the attributes of the gradient's product, have no order.
    assert set((tmp_path / "programs").iterdir()) == programs
    assert second[2] == "not loaded"
    assert second[:2] == first[:2]
