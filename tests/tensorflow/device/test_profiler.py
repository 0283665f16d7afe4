"""`tf.profiler` shows what the devices did, and shares them with JAX's profiler."""

from __future__ import annotations

import json
import pathlib

from tests.tensorflow.process import output_of

READ = """
import glob, json
import tensorflow as tf
from tensorflow.tsl.profiler.protobuf import xplane_pb2

def commands(folder, line="compute"):
    [path] = glob.glob(f"{folder}/**/*.xplane.pb", recursive=True)
    space = xplane_pb2.XSpace.FromString(open(path, "rb").read())
    assert not space.errors and not space.warnings
    found = []
    for plane in space.planes:
        if not plane.name.startswith("/device:"):
            continue
        for events in plane.lines:
            if line in events.name:
                found += [plane.event_metadata[event.metadata_id].name for event in events.events]
    return found
"""


def test_a_models_steps_are_on_the_devices_line(tmp_path: pathlib.Path) -> None:
    *_, commands, copies = output_of(
        f"""
{READ}
x = tf.random.normal((256, 256))
compiled = tf.function(lambda x: tf.nn.softmax(x @ x), jit_compile=True)
chosen = tf.function(lambda x: tf.where(x > 0) + 1)
compiled(x), chosen(x), x + x
with tf.profiler.experimental.Profile({str(tmp_path)!r}):
    compiled(x), chosen(x), x + x
    compiled(x).numpy()
print(json.dumps(commands({str(tmp_path)!r})))
print(json.dumps(commands({str(tmp_path)!r}, "device_to_host")))
"""
    ).splitlines()
    found = json.loads(commands)
    assert sum(name.startswith("gemm ") for name in found) == 2
    assert "onexpu.where" in found
    assert len(found) >= 7
    assert set(json.loads(copies)) == {"copy device to host"}


def test_both_frameworks_may_profile_at_once(tmp_path: pathlib.Path) -> None:
    outer, inner = json.loads(
        output_of(
            f"""
{READ}
import jax, jax.numpy as jnp
jax.config.update("jax_platforms", "xpu")
y = jnp.ones(1000)
step = jax.jit(lambda y: y + 1)
x = tf.ones(1000)
step(y), tf.sin(x), tf.cos(x)
with tf.profiler.experimental.Profile({str(tmp_path / "outer")!r}):
    tf.sin(x).numpy()
    with jax.profiler.trace({str(tmp_path / "inner")!r}):
        step(y).block_until_ready()
    tf.sin(x).numpy()
tf.cos(x).numpy()
print(json.dumps([commands({str(tmp_path / "outer")!r}), commands({str(tmp_path / "inner")!r})]))
"""
        ).splitlines()[-1]
    )
    assert len(outer) == 3
    assert len(inner) == 1
