"""A normalising flow of affine couplings: density, training step and sampling.

Dinh et al. 2017, "Density estimation using Real NVP" (arXiv:1605.08803).
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from models.optimizers import AdamState, adam, adam_state
from models.program import Program, Size
from models.weights import Weights

Tree = Any


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes; `features` is even."""

    features: int
    couplings: int
    hidden: int
    batch: int


CONFIGS = {
    Size.SMALL: Config(features=4, couplings=6, hidden=32, batch=64),
    Size.MEDIUM: Config(features=32, couplings=8, hidden=256, batch=512),
}


def initial_parameters(config: Config) -> list[Tree]:
    """Returns the weights of each coupling's network, all float32."""
    weights, half = Weights(), config.features // 2

    def dense(inputs: int, outputs: int, gain: float = 1.0) -> Tree:
        return {"kernel": weights.dense(inputs, outputs, gain), "bias": weights.near(0, outputs)}

    return [
        {
            "input": dense(half, config.hidden),
            "hidden": dense(config.hidden, config.hidden),
            # Small, so that the whole flow starts near the identity.
            "output": dense(config.hidden, 2 * half, gain=0.1),
        }
        for _ in range(config.couplings)
    ]


def _scale_and_shift(kept: Array, network: Tree) -> tuple[Array, Array]:
    """Logarithm of the scale, within (-1, 1), and shift of the other half: [batch, features /
    2].
    """
    x = kept
    for name in ("input", "hidden"):
        x = jax.nn.relu(x @ network[name]["kernel"] + network[name]["bias"])
    x = x @ network["output"]["kernel"] + network["output"]["bias"]
    log_scale, shift = jnp.split(x, 2, axis=-1)
    return jnp.tanh(log_scale), shift


def to_noise(parameters: list[Tree], x: Array) -> tuple[Array, Array]:
    """Maps data to noise.

    Parameters
    ----------
    x : float32 [batch, features]

    Returns
    -------
    noise : float32 [batch, features]
    log_determinant : float32 [batch]
        Logarithm of the determinant of the map's Jacobian.
    """
    log_determinant = jnp.zeros(x.shape[0])
    for network in parameters:
        kept, moved = jnp.split(x, 2, axis=-1)
        log_scale, shift = _scale_and_shift(kept, network)
        # The halves change places, so that every feature is moved.
        x = jnp.concatenate([moved * jnp.exp(log_scale) + shift, kept], axis=-1)
        log_determinant += log_scale.sum(-1)
    return x, log_determinant


def to_data(parameters: list[Tree], noise: Array) -> Array:
    """The inverse of `to_noise`: float32 [batch, features]."""
    x = noise
    for network in reversed(parameters):
        moved, kept = jnp.split(x, 2, axis=-1)
        log_scale, shift = _scale_and_shift(kept, network)
        x = jnp.concatenate([kept, (moved - shift) * jnp.exp(-log_scale)], axis=-1)
    return x


def log_density(parameters: list[Tree], x: Array) -> Array:
    """Of data [batch, features], by the change of variables: float32 [batch]."""
    noise, log_determinant = to_noise(parameters, x)
    normal = -0.5 * (jnp.square(noise).sum(-1) + x.shape[-1] * math.log(2 * math.pi))
    return normal + log_determinant


def training_step(
    parameters: list[Tree], state: AdamState, x: Array
) -> tuple[list[Tree], AdamState, Array]:
    """One step of Adam towards the largest likelihood.

    Parameters
    ----------
    x : float32 [batch, features]

    Returns
    -------
    parameters, state : as before
    loss : float32 scalar
        Mean negative log-density, before the step.
    """
    loss, gradients = jax.value_and_grad(lambda p: -log_density(p, x).mean())(parameters)
    return *adam(parameters, gradients, state), loss


def sample(parameters: list[Tree], key: Array, *, config: Config) -> tuple[Array, Array]:
    """Draws data.

    Parameters
    ----------
    key : uint32 [2]
        For `jax.random`.

    Returns
    -------
    x : float32 [batch, features]
    log_density : float32 [batch]
    """
    x = to_data(parameters, jax.random.normal(key, (config.batch, config.features)))
    return x, log_density(parameters, x)


def programs(config: Config) -> list[Program]:
    """The training step and the sampling."""

    def training_arguments() -> tuple[Any, ...]:
        parameters = initial_parameters(config)
        x = Weights(1).normal(config.batch, config.features)
        # A ring in the first two features: no affine map of the noise fits it.
        x[:, :2] *= 2 / np.linalg.norm(x[:, :2], axis=-1, keepdims=True)
        return parameters, adam_state(parameters), x

    def sampling_arguments() -> tuple[Any, ...]:
        return initial_parameters(config), np.array([0, 7], np.uint32)

    return [
        Program("flow_training", training_step, training_arguments, donated=(0, 1)),
        Program("flow_sampling", functools.partial(sample, config=config), sampling_arguments),
    ]
