"""Gaussian process regression: marginal likelihood with its gradient, and posterior.

Rasmussen and Williams 2006, "Gaussian Processes for Machine Learning", algorithm 2.1 and section
5.1 (automatic relevance determination).
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.linalg import cho_solve, solve_triangular

from models.program import Program, Size
from models.weights import Weights

Tree = Any


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes: observations, places of the posterior, and dimensions of a place."""

    observations: int
    places: int
    dimensions: int


CONFIGS = {
    Size.SMALL: Config(observations=48, places=16, dimensions=3),
    Size.MEDIUM: Config(observations=512, places=256, dimensions=8),
}


def initial_parameters(config: Config) -> Tree:
    """Returns the logarithms of what is positive, float32.

    The noise bounds the condition number of the covariance, by n * signal^2 / noise^2: with 48
    observations below 600, so that solving loses less than three of float32's seven digits.
    """
    return {
        "log_lengths": np.log(np.linspace(0.8, 1.6, config.dimensions)).astype(np.float32),
        "log_signal": np.float32(math.log(1.0)),
        "log_noise": np.float32(math.log(0.3)),
    }


def covariance(parameters: Tree, a: Array, b: Array) -> Array:
    """Squared exponential, one length for each dimension.

    Parameters
    ----------
    a : float32 [n, dimensions]
    b : float32 [m, dimensions]

    Returns
    -------
    float32 [n, m]
    """
    lengths = jnp.exp(parameters["log_lengths"])
    difference = (a[:, None] - b[None]) / lengths
    return jnp.exp(2 * parameters["log_signal"] - 0.5 * jnp.square(difference).sum(-1))


def _factor(parameters: Tree, x: Array) -> Array:
    """The Cholesky factor of the observations' covariance, [n, n], lower."""
    noise = jnp.exp(2 * parameters["log_noise"]) * jnp.eye(x.shape[0])
    return jnp.linalg.cholesky(covariance(parameters, x, x) + noise)


def log_marginal_likelihood(parameters: Tree, x: Array, y: Array) -> Array:
    """Of the observations y [n] at x [n, dimensions]: float32 scalar."""
    factor = _factor(parameters, x)
    fit = -0.5 * y @ cho_solve((factor, True), y)
    complexity = -jnp.log(jnp.diagonal(factor)).sum()
    return fit + complexity - 0.5 * x.shape[0] * math.log(2 * math.pi)


def posterior(parameters: Tree, x: Array, y: Array, places: Array) -> tuple[Array, Array]:
    """What the observations say about other places.

    Parameters
    ----------
    x, y : float32 [n, dimensions], [n]
    places : float32 [m, dimensions]

    Returns
    -------
    mean : float32 [m]
    covariance : float32 [m, m]
    """
    factor, cross = _factor(parameters, x), covariance(parameters, x, places)
    mean = cross.T @ cho_solve((factor, True), y)
    explained = solve_triangular(factor, cross, lower=True)
    return mean, covariance(parameters, places, places) - explained.T @ explained


def regression(parameters: Tree, x: Array, y: Array, places: Array) -> tuple[Any, ...]:
    """Likelihood, its gradient by the parameters, and posterior mean and covariance."""
    likelihood, gradients = jax.value_and_grad(log_marginal_likelihood)(parameters, x, y)
    return likelihood, gradients, *posterior(parameters, x, y, places)


def programs(config: Config) -> list[Program]:
    """All of it in one program, on a smooth function with noise."""

    def arguments() -> tuple[Any, ...]:
        data = Weights(1)
        x = data.uniform(-2, 2, config.observations, config.dimensions)
        y = np.sin(2 * x[:, 0]) + 0.5 * x[:, 1] + data.normal(config.observations, deviation=0.3)
        places = data.uniform(-2, 2, config.places, config.dimensions)
        return initial_parameters(config), x, y.astype(np.float32), places

    return [Program("gaussian_process", regression, arguments)]
