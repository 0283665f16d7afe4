"""Cumulative operations and moving windows in JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from everyday.program import Kind, Mode, integers, normal, uniform

KIND = Kind("cumulative operations", Mode.JAX_JIT)
program = KIND.program


# The order of 1 M additions differs between the back ends.
@program(lambda: [normal(1_000_000)], tolerance=2e-4)
def cumsum(x):
    """A cumulative sum of 1 M."""
    return jnp.cumsum(x)


@program(lambda: [normal(1000, 1000)])
def cumsum_of_rows(x):
    """Cumulative sums of rows, 1,000 x 1,000."""
    return jnp.cumsum(x, 1)


@program(lambda: [normal(1000, 1000)])
def cumsum_of_columns(x):
    """Cumulative sums of columns, 1,000 x 1,000."""
    return jnp.cumsum(x, 0)


@program(lambda: [integers(100, 100_000)])
def cumsum_of_integers(x):
    """A cumulative sum of 100,000 integers."""
    return jnp.cumsum(x)


@program(lambda: [1 + normal(100_000) * 1e-3], tolerance=2e-4)  # as of 100,000 factors
def cumprod(x):
    """A cumulative product of 100,000."""
    return jnp.cumprod(x)


@program(lambda: [normal(1_000_000)])
def cummax(x):
    """A cumulative maximum of 1 M."""
    return jax.lax.cummax(x)


@program(lambda: [normal(100_000)])
def cumlogsumexp(x):
    """A cumulative log-sum-exp of 100,000."""
    return jax.lax.cumlogsumexp(x)


@program(lambda: [normal(100_000), normal(100_000, seed=1)], tolerance=2e-4)  # as cumsum
def gradient_of_cumsum(x, weights):
    """The gradient of a cumulative sum of 100,000."""
    return jax.grad(lambda x: (jnp.cumsum(x) * weights).sum())(x)


@program(lambda: [1 + normal(1000) * 1e-2])
def gradient_of_cumprod(x):
    """The gradient of a cumulative product of 1,000."""
    return jax.grad(lambda x: jnp.cumprod(x).sum())(x)


@program(lambda: [normal(100_000)])
def moving_maximum(x):
    """A moving maximum of 100,000 values, window 1,000."""
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1000,), (1,), "VALID")


@program(lambda: [normal(100_000)])
def moving_mean(x):
    """A moving mean of 100,000 values, window 200."""
    return jnp.convolve(x, jnp.ones(200) / 200, mode="valid")


@program(lambda: [uniform(100_000), uniform(100_000, seed=1) < 0.3])
def offsets_of_selected(x, mask):
    """Selected ones of 100,000 values moved to the front."""
    offsets = jnp.where(mask, jnp.cumsum(mask) - 1, x.size)
    return jnp.zeros_like(x).at[offsets].set(x, mode="drop")


@program(lambda: [np.abs(normal(1000, 64)).astype(np.float32)])
def transmittance(density):
    """Weights along the rays of a radiance field, 1,000 rays of 64 samples."""
    alpha = 1 - jnp.exp(-density * 0.1)
    through = jnp.cumprod(1 - alpha + 1e-10, -1)
    return alpha * jnp.concatenate([jnp.ones_like(through[:, :1]), through[:, :-1]], -1)


@program(lambda: [uniform(1000)])
def resampling(weights):
    """Systematic resampling of 1,000 particles."""
    edges = jnp.cumsum(weights / weights.sum())
    return jnp.searchsorted(edges, (jnp.arange(1000) + 0.5) / 1000)
