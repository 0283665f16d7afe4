"""Tiny programs in JAX, compiled and op by op: what a call costs."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from everyday.program import Kind, Mode, normal

KIND = Kind("tiny programs", Mode.JAX_JIT)
program = KIND.program


@program(lambda: [normal(1000)])
def add_one(x):
    """X + 1 of 1,000."""
    return x + 1


@program(lambda: [normal(8, 16), normal(16, 32), normal(32, 4)])
def tiny_network(x, a, b):
    """A network 16-32-4, batch 8."""
    return jnp.tanh(jnp.tanh(x @ a) @ b)


@program(lambda: [normal(32, 64)])
def standardize(x):
    """Rows of 32 x 64 with mean 0 and deviation 1."""
    return (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)


@program(lambda: [normal(100), normal(100, seed=1)])
def inner_product(a, b):
    """An inner product of 100."""
    return jnp.dot(a, b)


@program(lambda: [np.float32(0.3)])
def scalar_formula(x):
    """A formula of one number."""
    return jnp.exp(-x) * jnp.sin(x) / (1 + x**2)


@program(lambda: [[normal(8, 8, seed=i) for i in range(50)]] * 2)
def update_of_many(parameters, gradients):
    """SGD of 50 parameters of 8 x 8."""
    return jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradients)


@program(lambda: [normal(100, 3)])
def concatenation_of_many(x):
    """200 slices concatenated."""
    parts = [jnp.concatenate([x[i : i + 1] * i, x[i : i + 1] + i]) for i in range(100)]
    return jnp.concatenate(parts)


@program(lambda: [normal(16, 16), normal(16, 16, seed=1)])
def small_product(a, b):
    """A product of 16 x 16 matrices."""
    return a @ b


@program(lambda: [np.float32(3)], modes=[Mode.JAX_EAGER])
def loop_of_calls(x):
    """100 calls of a jitted function, each with the result of the last."""
    for _ in range(100):
        x = _step(x)
    return x


@jax.jit
def _step(x):
    return x * 0.5 + 1


@program(lambda: [normal(64, 64)], modes=[Mode.JAX_EAGER])
def eager_operations(x):
    """Ten operations on 64 x 64, op by op."""
    y = jnp.sin(x) + x
    y = y * 2 - x
    y = jnp.where(y > 0, y, 0.1 * y)
    return (y - y.mean(0)) / y.std(0)


@program(lambda: [normal(20, 16)], modes=[Mode.JAX_EAGER])
def eager_rows(x):
    """20 rows of an array, one after the other, op by op."""
    return [x[i] * 2 for i in range(20)]


@program(lambda: [normal(100)], modes=[Mode.JAX_EAGER])
def eager_updates(x):
    """10 elements set by .at[i].set, op by op."""
    for i in range(10):
        x = x.at[i].set(i)
    return x


@program(lambda: [normal(8, 16), normal(16)], modes=[Mode.JAX_EAGER])
def eager_gradient(x, w):
    """A gradient of a loss, op by op."""
    return jax.grad(lambda w: (jnp.tanh(x @ w) ** 2).mean())(w)
