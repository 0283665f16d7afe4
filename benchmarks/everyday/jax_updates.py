"""Scatters, gathers and updates of parts of arrays in JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from everyday.program import Kind, Mode, integers, normal, uniform

KIND = Kind("scatters and updates", Mode.JAX_JIT)
program = KIND.program


@program(lambda: [np.zeros(1_000_000, np.float32), np.int32(1234), np.float32(1)])
def set_one_element(x, i, value):
    """One element of an array of 1 M set."""
    return x.at[i].set(value)


@program(lambda: [integers(256, 100_000)])
def histogram_by_add(x):
    """A histogram of 100,000 values with .at[].add, 256 bins."""
    return jnp.zeros(256, jnp.int32).at[x].add(1)


@program(lambda: [integers(50_000, 4096), normal(4096, 64)])
def embedding_gradient(ids, gradients):
    """The gradient of an embedding, 4,096 rows into 50,000 x 64."""
    return jnp.zeros((50_000, 64)).at[ids].add(gradients)


@program(lambda: [normal(50_000, 256), integers(50_000, 4096)])
def embedding(table, ids):
    """An embedding, 4,096 rows of 50,000 x 256."""
    return table[ids]


@program(lambda: [normal(8, 1024, 12, 64), normal(8, 1, 12, 64), np.int32(700)])
def cache_of_keys(cache, key, position):
    """A key written into a cache of 8 x 1,024 x 12 x 64."""
    return jax.lax.dynamic_update_slice(cache, key, (0, position, 0, 0))


@program(lambda: [integers(10, 2000), integers(10, 2000, seed=1)])
def confusion_matrix(labels, predictions):
    """A confusion matrix of 10 classes and 2,000 examples."""
    return jnp.zeros((10, 10), jnp.int32).at[labels, predictions].add(1)


@program(lambda: [normal(10_000, 4), integers(500, 10_000)])
def maximum_by_segment(x, segments):
    """Maxima of 10,000 x 4 values by 500 segments."""
    return jax.ops.segment_max(x, segments, 500)


@program(lambda: [normal(20_000), integers(2000, 20_000), integers(2000, 20_000, seed=1)])
def softmax_over_neighbours(scores, senders, receivers):
    """A softmax over the edges of each node, 20,000 edges and 2,000 nodes."""
    scores = scores + scores[senders]
    weights = jnp.exp(scores - jax.ops.segment_max(scores, receivers, 2000)[receivers])
    return weights / jax.ops.segment_sum(weights, receivers, 2000)[receivers]


@program(lambda: [normal(2000, 32), integers(2000, 20_000), integers(2000, 20_000, seed=1)])
def message_passing(nodes, senders, receivers):
    """Messages of a graph network, 20,000 edges of width 32."""
    return jax.ops.segment_sum(nodes[senders], receivers, num_segments=2000)


@program(lambda: [normal(300, 300)])
def add_to_diagonal(a):
    """A number added to the diagonal of a 300 x 300 matrix."""
    i = jnp.arange(len(a))
    return a.at[i, i].add(0.1)


@program(lambda: [normal(100_000), np.float32(3)])
def push_to_buffer(buffer, value):
    """A ring buffer of 100,000: roll, then set the last."""
    return jnp.roll(buffer, -1).at[-1].set(value)


@program(lambda: [normal(1_000_000), np.random.default_rng(0).permutation(1_000_000)])
def permutation(x, order):
    """A permutation of 1 M elements."""
    return x[order]


@program(lambda: [normal(64, 1000), integers(1000, 64)])
def losses_of_labels(logits, labels):
    """The cross entropy of 64 labels among 1,000 classes."""
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)


@program(lambda: [uniform(100_000) * 8 - 4, np.linspace(-4, 4, 1000, dtype=np.float32)])
def interpolation(x, nodes):
    """Linear interpolation of 100,000 points in a table of 1,000."""
    return jnp.interp(x, nodes, jnp.sin(nodes))


@program(lambda: [uniform(256, 256, 3), uniform(33, 33, 33, 3)])
def colour_table(image, table):
    """A colour look-up table of 33^3, 256 x 256 pixels."""
    i = jnp.floor(image * 33).astype(jnp.uint8)
    return table[i[..., 0], i[..., 1], i[..., 2]]


@program(lambda: [normal(512, 512), normal(512, 512, seed=1)])
def interleave(a, b):
    """Columns of two 512 x 512 matrices interleaved by strided updates."""
    return jnp.zeros((512, 1024)).at[:, ::2].set(a).at[:, 1::2].set(b)


@program(lambda: [uniform(64, 64), integers(64, 1000, 2)])
def paint_points(image, points):
    """1,000 points set in an image of 64 x 64."""
    return image.at[points[:, 0], points[:, 1]].max(0.5)
