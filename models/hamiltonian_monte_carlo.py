"""Hamiltonian Monte Carlo on the posterior of a logistic regression, several chains side by side.

Neal 2011, "MCMC using Hamiltonian dynamics" (arXiv:1206.1901), figure 2.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from models.program import Program, Size
from models.weights import Weights


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes of the data, and of the chains: draws, and leapfrog steps for each."""

    observations: int
    features: int
    chains: int
    draws: int
    leapfrogs: int
    step: float


CONFIGS = {
    Size.SMALL: Config(observations=64, features=5, chains=4, draws=20, leapfrogs=8, step=0.1),
    Size.MEDIUM: Config(
        observations=1024, features=32, chains=16, draws=50, leapfrogs=10, step=0.02
    ),
}


def log_posterior(weights: Array, x: Array, y: Array) -> Array:
    """Up to a constant, with a standard normal prior.

    Parameters
    ----------
    weights : float32 [features]
    x : float32 [observations, features]
    y : float32 [observations]
        0 or 1.

    Returns
    -------
    float32 scalar
    """
    logits = x @ weights
    return jnp.sum(y * logits - jax.nn.softplus(logits)) - 0.5 * jnp.sum(jnp.square(weights))


def sample(key: Array, first: Array, x: Array, y: Array, *, config: Config) -> tuple[Array, Array]:
    """Draws chains.

    Parameters
    ----------
    key : uint32 [2]
        For `jax.random`.
    first : float32 [chains, features]
        Where the chains start.
    x, y : float32 [observations, features], [observations]

    Returns
    -------
    weights : float32 [draws, chains, features]
    accepted : bool [draws, chains]
    """
    value_and_gradient = jax.vmap(jax.value_and_grad(lambda w: log_posterior(w, x, y)))

    def leapfrog(_: Any, state: tuple[Array, ...]) -> tuple[Array, ...]:
        """A half step of the momentum, a step of the place, and a half step again."""
        weights, momentum, _, gradient = state
        momentum = momentum + 0.5 * config.step * gradient
        weights = weights + config.step * momentum
        value, gradient = value_and_gradient(weights)
        return weights, momentum + 0.5 * config.step * gradient, value, gradient

    def draw(state: tuple[Array, ...], key: Array) -> tuple[tuple[Array, ...], Any]:
        weights, value, gradient = state
        momentum_key, accept_key = jax.random.split(key)
        momentum = jax.random.normal(momentum_key, weights.shape)
        new_weights, new_momentum, new_value, new_gradient = lax.fori_loop(
            0, config.leapfrogs, leapfrog, (weights, momentum, value, gradient)
        )
        kinetic = 0.5 * jnp.sum(jnp.square(momentum), axis=-1)
        new_kinetic = 0.5 * jnp.sum(jnp.square(new_momentum), axis=-1)
        uniform = jax.random.uniform(accept_key, value.shape)
        accepted = jnp.log(uniform) < new_value - new_kinetic - (value - kinetic)
        state = (
            jnp.where(accepted[:, None], new_weights, weights),
            jnp.where(accepted, new_value, value),
            jnp.where(accepted[:, None], new_gradient, gradient),
        )
        return state, (state[0], accepted)

    _, draws = lax.scan(
        draw, (first, *value_and_gradient(first)), jax.random.split(key, config.draws)
    )
    return draws


def programs(config: Config) -> list[Program]:
    """The chains."""

    def arguments() -> tuple[Any, ...]:
        data = Weights(1)
        x = data.normal(config.observations, config.features)
        truth = data.normal(config.features)
        noise = data.uniform(0, 1, config.observations)
        y = (noise < 1 / (1 + np.exp(-x @ truth))).astype(np.float32)
        first = data.near(0, config.chains, config.features)
        return np.array([0, 7], np.uint32), first, x, y

    return [Program("hamiltonian_monte_carlo", functools.partial(sample, config=config), arguments)]
