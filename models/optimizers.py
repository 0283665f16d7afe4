"""Optimisers. Their first moments are zero before the step that tests run.

So the moments that come out are gradients (times a constant), and comparing them compares gradients
at their own scale; the new parameters alone would hide them behind the old ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

Tree = Any


class AdamState(NamedTuple):
    """What Adam remembers.

    Attributes
    ----------
    step : int32 scalar
    mean, variance : trees like the parameters
        Running averages of the gradient and of its square.
    """

    step: Array
    mean: Tree
    variance: Tree


def adam_state(parameters: Tree, step: int = 100, variance: float = 1e-4) -> AdamState:
    """A state in the middle of training.

    In the first step of all, Adam divides every gradient by its own magnitude: the sign of a
    rounding error would decide where a parameter goes.
    """
    return AdamState(
        np.int32(step),
        jax.tree.map(np.zeros_like, parameters),
        jax.tree.map(lambda p: np.full_like(p, variance), parameters),
    )


def adam(
    parameters: Tree,
    gradients: Tree,
    state: AdamState,
    *,
    learning_rate: float = 1e-3,
    decay_mean: float = 0.9,
    decay_variance: float = 0.999,
    epsilon: float = 1e-8,
) -> tuple[Tree, AdamState]:
    """One step of Adam (Kingma and Ba 2015, arXiv:1412.6980, algorithm 1)."""
    step = state.step + 1
    mean = jax.tree.map(lambda m, g: decay_mean * m + (1 - decay_mean) * g, state.mean, gradients)
    variance = jax.tree.map(
        lambda v, g: decay_variance * v + (1 - decay_variance) * g * g, state.variance, gradients
    )
    count = step.astype(jnp.float32)
    mean_scale = 1 / (1 - decay_mean**count)
    variance_scale = 1 / (1 - decay_variance**count)

    def moved(parameter: Array, m: Array, v: Array) -> Array:
        return parameter - learning_rate * m * mean_scale / (jnp.sqrt(v * variance_scale) + epsilon)

    return jax.tree.map(moved, parameters, mean, variance), AdamState(step, mean, variance)


def momentum(
    parameters: Tree,
    gradients: Tree,
    velocity: Tree,
    *,
    learning_rate: float = 0.1,
    decay: float = 0.9,
) -> tuple[Tree, Tree]:
    """One step of gradient descent with momentum (Sutskever et al. 2013, ICML)."""
    velocity = jax.tree.map(lambda v, g: decay * v + g, velocity, gradients)
    return jax.tree.map(lambda p, v: p - learning_rate * v, parameters, velocity), velocity


def clip_by_global_norm(gradients: Tree, bound: float) -> Tree:
    """Scales the whole gradient so that its norm is at most `bound` (Pascanu et al. 2013)."""
    squares = [jnp.sum(jnp.square(g)) for g in jax.tree.leaves(gradients)]
    norm = jnp.sqrt(jnp.sum(jnp.stack(squares)))
    scale = jnp.minimum(1.0, bound / norm)
    return jax.tree.map(lambda g: g * scale, gradients)
