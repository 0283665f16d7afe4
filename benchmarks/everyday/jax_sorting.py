"""Sorting and selection in JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from everyday.program import KEY, Kind, Mode, integers, normal, uniform

KIND = Kind("sorting and selection", Mode.JAX_JIT)
program = KIND.program


@program(lambda: [normal(1, 50_257)])
def top_k_of_logits(x):
    """top_k of 50 among 1 x 50,257."""
    return jax.lax.top_k(x, 50)


@program(lambda: [normal(64, 50_000)])
def top_k_of_batch(x):
    """top_k of 50 among 64 x 50,000."""
    return jax.lax.top_k(x, 50)


@program(lambda: [normal(8, 1000)])
def top_5(x):
    """top_k of 5 among 8 x 1,000 classes."""
    return jax.lax.top_k(x, 5)


@program(lambda: [normal(16, 100_000)])
def approximate_maximum(x):
    """approx_max_k of 10 among 16 x 100,000."""
    return jax.lax.approx_max_k(x, 10)[0].sum(-1)


@program(lambda: [normal(4, 50_257), KEY])
def top_k_sampling(logits, key):
    """Tokens sampled from the top 40 of 4 x 50,257."""
    values, indices = jax.lax.top_k(logits, 40)
    chosen = jax.random.categorical(key, values)
    return jnp.take_along_axis(indices, chosen[:, None], 1)


@program(lambda: [normal(8, 50_257) * 3, KEY])
def top_p_sampling(logits, key):
    """Tokens sampled from the top 90 % of the probability, 8 x 50,257."""
    ordered = jnp.sort(logits, -1)[:, ::-1]
    total = jnp.cumsum(jax.nn.softmax(ordered, -1), -1)
    cutoff = jnp.take_along_axis(ordered, (total < 0.9).sum(-1, keepdims=True), -1)
    return jax.random.categorical(key, jnp.where(logits < cutoff, -jnp.inf, logits))


@program(lambda: [normal(100_000)])
def argsort(x):
    """An argsort of 100,000."""
    return jnp.argsort(x)


@program(lambda: [normal(1000, 100)])
def sort_rows(x):
    """A sort of each of 1,000 rows of 100."""
    return jnp.sort(x, -1)


@program(lambda: [integers(1000, 50_000), normal(50_000)])
def sort_pairs(keys, values):
    """50,000 keys sorted with their values."""
    return jax.lax.sort((keys, values), num_keys=1)


@program(lambda: [normal(100_000)])
def median(x):
    """The median of 100,000."""
    return jnp.median(x)


@program(lambda: [normal(1000, 50)])
def quantiles(x):
    """Three quantiles of each of 50 columns of 1,000."""
    return jnp.quantile(x, jnp.array([0.05, 0.5, 0.95]), axis=0)


@program(lambda: [normal(64, 50_000)])
def argmax(x):
    """An argmax of 64 x 50,000."""
    return jnp.argmax(x, -1)


@program(lambda: [integers(500, 10_000)])
def unique(x):
    """The unique ones of 10,000 integers, at most 500."""
    return jnp.unique(x, size=500, return_counts=True)


@program(lambda: [integers(4, 1000, 3)])
def unique_rows(x):
    """The unique ones of 1,000 rows of 3 integers, at most 64."""
    return jnp.unique(x, axis=0, size=64)


@program(lambda: [integers(20, 10_000), integers(20, 10_000, seed=1), normal(10_000)])
def lexsort(a, b, c):
    """A lexsort of 10,000 by three keys."""
    return jnp.lexsort((c, b, a))


@program(lambda: [normal(4, 5000), normal(4)])
def beam_search_step(logits, scores):
    """A step of a beam search, 4 beams of 5,000 tokens."""
    total = scores[:, None] + jax.nn.log_softmax(logits)
    best, flat = jax.lax.top_k(total.reshape(-1), 4)
    return best, flat // 5000, flat % 5000


@program(lambda: [uniform(200, 4), uniform(200, seed=1)])
def non_maximum_suppression(boxes, scores):
    """Non-maximum suppression of 200 boxes, a loop."""
    low, high = boxes[:, :2], boxes[:, :2] + boxes[:, 2:] * 0.3
    order = jnp.argsort(-scores)
    low, high = low[order], high[order]
    size = jnp.maximum(jnp.minimum(high[:, None], high) - jnp.maximum(low[:, None], low), 0)
    area = jnp.prod(high - low, -1)
    both = jnp.prod(size, -1)
    overlap = both / (area[:, None] + area - both)

    def step(i, keep):
        later = jnp.arange(200) > i
        return jnp.where(keep[i] & later & (overlap[i] > 0.5), False, keep)

    keep = jax.lax.fori_loop(0, 200, step, jnp.ones(200, bool))
    return order, keep


@program(lambda: [normal(500, 3), normal(100, 3, seed=1)])
def nearest_neighbours(points, queries):
    """The 8 nearest of 500 points for 100 queries."""
    distance = ((queries[:, None] - points) ** 2).sum(-1)
    return jax.lax.top_k(-distance, 8)[1]


@program(lambda: [normal(100_000)])
def histogram(x):
    """jnp.histogram of 100,000 values, 100 bins."""
    return jnp.histogram(x, 100)[0]
