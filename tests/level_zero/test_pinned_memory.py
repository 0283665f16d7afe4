"""Pinned host memory: staged uploads, `pinned_host` arrays, copies between devices, TensorFlow."""

from __future__ import annotations

import pytest

from tests.exhaustive import every
from tests.level_zero.lab import Lab

# Those that the Unified Runtime's first adapter drives: it takes alignments up to 64 KiB.
_DEVICES = every(2, ("dg2", "mtl", "pvc"))
_LARGEST_ALIGNMENT = 65536

_JAX = """
import jax, jax.numpy as jnp, numpy as np
one, two = jax.devices()
a = np.arange(600 * 500, dtype=np.float32).reshape(600, 500)
pinned = jax.sharding.SingleDeviceSharding(one, memory_kind="pinned_host")

x = jax.device_put(a)                                   # contiguous
jax.device_put(a.T).block_until_ready()                 # strided: staged
jax.device_put(a[:4, :4].T).block_until_ready()         # strided and small
jax.device_put(a[:, ::2]).block_until_ready()
large = jax.device_put(np.zeros(64 << 20, np.uint8))
for _ in range(50):                                     # small, behind a pending one
    jnp.asarray(np.ones(3, np.float32))
large.block_until_ready()
jax.device_put(x, pinned).block_until_ready()
jax.jit(lambda v: v + 1, out_shardings=pinned)(x).block_until_ready()
np.asarray(x.T)
jax.device_put(x, two).block_until_ready()

mesh = jax.sharding.Mesh(np.array([one, two]), ("d",))
rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d"))
columns = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(None, "d"))
sharded = jax.device_put(a, rows)
jax.jit(lambda v: v.sum(), in_shardings=rows)(sharded).block_until_ready()
jax.device_put(sharded, columns).block_until_ready()
print("done")
"""

_TENSORFLOW = """
import numpy as np, tensorflow as tf
with tf.device("/XPU:0"):
    x = tf.constant(np.arange(100, dtype=np.float32))
    boxes = tf.constant(np.ones((10, 4), np.float32))
    for op in (
        lambda: tf.where(x > 3.0),
        lambda: tf.unique(x),
        lambda: tf.dynamic_partition(x, tf.cast(x > 50, tf.int32), 2),
        lambda: tf.math.segment_sum(x, tf.zeros(100, tf.int32)),
        lambda: tf.histogram_fixed_width(x, [0.0, 100.0]),
        lambda: tf.image.crop_and_resize(tf.ones((1, 8, 8, 3)), boxes[:1], [0], [4, 4]),
        lambda: tf.image.non_max_suppression(boxes, x[:10], 5),
    ):
        try:
            op()
        except tf.errors.InvalidArgumentError:
            pass  # about values, which no kernel has computed
print("done")
"""


@pytest.mark.parametrize("device", _DEVICES)
def test_transfers_get_pinned_memory(lab: Lab, device: str) -> None:
    run = lab.run(device, _JAX, roots=2).check()
    assert run.stdout.endswith("done\n")
    pinned = run.of("allocate", kind="host")
    assert pinned
    assert all(one["alignment"] <= _LARGEST_ALIGNMENT for one in pinned)
    assert not run.failed_calls()


def test_ops_of_dynamic_size_get_pinned_memory(lab: Lab) -> None:
    run = lab.run("dg2", _TENSORFLOW).check()
    assert run.stdout.endswith("done\n")
    pinned = run.of("allocate", kind="host")
    assert pinned
    assert not any(one["result"] for one in pinned)
