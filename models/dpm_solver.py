"""DPM-Solver++ (2M): a multistep sampler of diffusion models.

Lu et al. 2022, "DPM-Solver++: Fast Solver for Guided Sampling of Diffusion Probabilistic Models"
(arXiv:2211.01095), algorithm 2, in the data-prediction form. The noise schedule is the
scaled-linear one of Rombach et al. 2022 (arXiv:2112.10752).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax


class Schedule(NamedTuple):
    """What each step multiplies with. Arrays are float32 [steps], made on the host in float64.

    Attributes
    ----------
    timestep
        What the network is told, in [0, 1000).
    signal, noise
        alpha and sigma of the diffusion before the step.
    keep
        Weight of the old sample: sigma after the step over sigma before.
    move
        Weight of the predicted data: -alpha after the step * expm1(-h), where h is the step in log
        signal-to-noise ratio.
    extrapolate
        1 / (2 r), r = previous h / h: how far the prediction is carried along its change. Zero in
        the first step, which has no previous one, and in the last, for stability.
    """

    timestep: np.ndarray
    signal: np.ndarray
    noise: np.ndarray
    keep: np.ndarray
    move: np.ndarray
    extrapolate: np.ndarray


def schedule(steps: int, trained: int = 1000) -> Schedule:
    """Spreads `steps` evenly over the `trained` noise levels, the largest first."""
    betas = np.linspace(0.00085**0.5, 0.012**0.5, trained) ** 2
    product = np.cumprod(1 - betas)
    levels = np.linspace(trained - 1, 0, steps + 1).round().astype(int)
    signal, noise = np.sqrt(product[levels]), np.sqrt(1 - product[levels])
    h = np.diff(np.log(signal / noise))
    extrapolate = np.zeros(steps)
    extrapolate[1:-1] = 0.5 * h[1:-1] / h[:-2]
    values = (
        levels[:-1],
        signal[:-1],
        noise[:-1],
        noise[1:] / noise[:-1],
        -signal[1:] * np.expm1(-h),
        extrapolate,
    )
    return Schedule(*(value.astype(np.float32) for value in values))


def sample(predict_noise: Callable[[Array, Array], Array], noise: Array, steps: int) -> Array:
    """Turns noise into data.

    Parameters
    ----------
    predict_noise : callable
        (sample, timestep float32 scalar) -> the noise in it; both of the sample's shape.
    noise : float32 [...]
        Standard normal.
    steps : int

    Returns
    -------
    float32 [...]
    """

    def step(carry: tuple[Array, Array], level: Schedule) -> tuple[tuple[Array, Array], None]:
        x, previous = carry
        predicted = predict_noise(x, level.timestep).astype(jnp.float32)
        data = (x - level.noise * predicted) / level.signal
        direction = data + level.extrapolate * (data - previous)
        return (level.keep * x + level.move * direction, data), None

    (x, _), _ = lax.scan(step, (noise, jnp.zeros_like(noise)), schedule(steps))
    return x
