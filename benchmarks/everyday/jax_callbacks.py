"""Callbacks into Python from programs of JAX."""

from __future__ import annotations

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np

from everyday.program import Kind, Mode, normal

KIND = Kind("callbacks", Mode.JAX_JIT)
program = KIND.program


@program(lambda: [normal(1000)])
def pure_callback(x):
    """A pure_callback to numpy, 1,000 values."""
    return jax.pure_callback(np.sort, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


@program(lambda: [normal(16)])
def callbacks_in_loop(x):
    """A pure_callback in each of 20 steps of a loop."""

    def step(x, _):
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(lambda x: np.asarray(x) * np.float32(0.9), shape, x) + 1, None

    return jax.lax.scan(step, x, None, length=20)[0]


@program(lambda: [normal(64)])
def progress_of_loop(x):
    """A debug.callback every 10 of 100 steps."""

    def step(i, x):
        jax.lax.cond(i % 10 == 0, lambda: jax.debug.callback(lambda i: None, i), lambda: None)
        return jnp.sin(x) + 0.1

    return jax.lax.fori_loop(0, 100, step, x)


@program(lambda: [normal(32, 16)])
def ordered_callback(x):
    """An ordered io_callback with the loss of a step."""
    loss = (jnp.tanh(x) ** 2).mean()
    jax.experimental.io_callback(lambda loss: None, None, loss, ordered=True)
    return loss
