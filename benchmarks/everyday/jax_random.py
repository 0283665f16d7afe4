"""Random numbers in JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from everyday.program import KEY, Kind, Mode, normal, positive_definite

KIND = Kind("random numbers", Mode.JAX_JIT)
program = KIND.program


@program(lambda: [KEY])
def random_normal(key):
    """1 M normally distributed numbers."""
    return jax.random.normal(key, (1_000_000,))


@program(lambda: [KEY])
def random_small(key):
    """A split and 10 uniform numbers."""
    key, part = jax.random.split(key)
    return key, jax.random.uniform(part, (10,))


def _mixing(key, a, b):
    key, part = jax.random.split(key)
    g = jax.random.uniform(part, (8, 1))
    return key, (a + g * a + (1 - g) * b) / 2, (b + g * b + (1 - g) * a) / 2


@program(lambda: [KEY, normal(8, 2), normal(8, 2, seed=1)])
def split_chain(key, a, b):
    """A chain of 8 splits, unrolled."""
    for _ in range(8):
        key, a, b = _mixing(key, a, b)
    return a


@program(lambda: [KEY, normal(8, 2), normal(8, 2, seed=1)])
def split_loop(key, a, b):
    """A chain of 200 splits in a loop."""
    return jax.lax.fori_loop(0, 200, lambda _, c: _mixing(*c), (key, a, b))[1]


@program(lambda: [KEY, normal(32, 1024)])
def dropout(key, x):
    """Dropout of 32 x 1,024."""
    return jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x / 0.9, 0)


@program(lambda: [KEY, normal(64, 1000)])
def categorical(key, logits):
    """64 draws among 1,000 classes."""
    return jax.random.categorical(key, logits)


@program(lambda: [KEY])
def gamma(key):
    """2,000 gamma distributed numbers."""
    return jax.random.gamma(key, 2.5, (2000,))


@program(lambda: [KEY])
def shuffle(key):
    """A random permutation of 10,000."""
    return jax.random.permutation(key, 10_000)


@program(lambda: [KEY])
def choice(key):
    """100 of 5,000 without replacement."""
    return jax.random.choice(key, 5000, (100,), replace=False)


@program(lambda: [KEY])
def poisson(key):
    """2,000 Poisson distributed numbers."""
    return jax.random.poisson(key, 4.0, (2000,))


@program(lambda: [KEY, normal(8), positive_definite(8, 8)])
def multivariate_normal(key, mean, covariance):
    """1,000 draws of an 8-dimensional normal distribution."""
    return jax.random.multivariate_normal(key, mean, covariance, (1000,))


@program(lambda: [KEY, normal(10, 64, 64) * 0.12, normal(32, 64)])
def dropout_network(key, weights, x):
    """The gradient of a 10-layer network with dropout, unrolled."""

    def loss(weights):
        h, k = x, key
        for w in weights:
            k, part = jax.random.split(k)
            kept = jax.random.bernoulli(part, 0.9, h.shape)
            h = h + jnp.where(kept, jnp.tanh(h @ w) / 0.9, 0)
            h = (h - h.mean(-1, keepdims=True)) * jax.lax.rsqrt(h.var(-1, keepdims=True) + 1e-5)
        return (h * x).sum()

    return jax.value_and_grad(loss)(weights)
