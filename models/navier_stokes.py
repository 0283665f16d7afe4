"""The two-dimensional Navier-Stokes equations on a torus by a pseudo-spectral method.

Vorticity form: w_t + u . grad w = viscosity * laplace w, where the velocity u is the rotated
gradient of the stream function, the solution of a Poisson equation. Products are taken in space,
derivatives in Fourier space without the highest third of the wave numbers (Orszag 1971, "On the
elimination of aliasing in finite-difference schemes by filtering high-wavenumber components"). The
viscosity is integrated exactly, the rest by the classical Runge-Kutta method (Canuto et al. 2006,
"Spectral Methods", appendix D.3).
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from models.program import Program, Size
from models.weights import Weights


@dataclasses.dataclass(frozen=True)
class Config:
    """The grid is [points, points] over a square with sides of 2 pi."""

    points: int
    steps: int
    time_step: float = 0.02
    viscosity: float = 0.01


CONFIGS = {
    Size.SMALL: Config(points=32, steps=8),
    Size.MEDIUM: Config(points=128, steps=10),
}


class Operators(NamedTuple):
    """Derivatives in Fourier space, float32 [points, points // 2 + 1] or what broadcasts to it.

    Attributes
    ----------
    kx, ky
        Wave numbers of the last and the first dimension.
    inverse_laplace
        Its mean, which nothing determines, is zero.
    keep
        1 below two thirds of the highest wave number, else 0.
    decay
        What viscosity leaves of the vorticity after half a time step.
    """

    kx: np.ndarray
    ky: np.ndarray
    inverse_laplace: np.ndarray
    keep: np.ndarray
    decay: np.ndarray


def operators(config: Config) -> Operators:
    """Returns what is constant over all steps, made on the host in float64."""
    n = config.points
    kx, ky = np.fft.rfftfreq(n, 1 / n)[None, :], np.fft.fftfreq(n, 1 / n)[:, None]
    square = kx**2 + ky**2
    inverse = np.where(square == 0, 0, -1 / np.maximum(square, 1))
    keep = (np.maximum(np.abs(kx), np.abs(ky)) < n / 3).astype(float)
    decay = np.exp(-config.viscosity * square * config.time_step / 2)
    return Operators(*(a.astype(np.float32) for a in (kx, ky, inverse, keep, decay)))


def _advection(spectrum: Array, constants: Operators) -> Array:
    """-(u . grad w) in Fourier space; both complex64 [points, points // 2 + 1]."""
    stream = -constants.inverse_laplace * spectrum
    to_space = functools.partial(jnp.fft.irfft2, s=(spectrum.shape[0],) * 2)
    velocity_x = to_space(1j * constants.ky * stream)
    velocity_y = to_space(-1j * constants.kx * stream)
    gradient_x = to_space(1j * constants.kx * spectrum)
    gradient_y = to_space(1j * constants.ky * spectrum)
    return -constants.keep * jnp.fft.rfft2(velocity_x * gradient_x + velocity_y * gradient_y)


def _step(spectrum: Array, constants: Operators, h: float) -> Array:
    """One step of length h; the decay is the integrating factor."""
    half = constants.decay
    a = _advection(spectrum, constants)
    b = _advection(half * (spectrum + h / 2 * a), constants)
    c = _advection(half * spectrum + h / 2 * b, constants)
    d = _advection(half * (half * spectrum + h * c), constants)
    return half * (half * (spectrum + h / 6 * a) + h / 3 * (b + c)) + h / 6 * d


def solve(vorticity: Array, *, config: Config) -> tuple[Array, Array]:
    """Lets the flow run.

    Parameters
    ----------
    vorticity : float32 [points, points]
        At the beginning; its mean is zero.

    Returns
    -------
    vorticity : float32 [points, points]
        After all steps.
    energy : float32 [steps]
        Mean kinetic energy after each step.
    """
    constants = operators(config)
    n = config.points
    # All but the first and the last column of a real transform stand for two.
    twice = np.where((constants.kx == 0) | (constants.kx == n // 2), 1, 2).astype(np.float32)

    def energy(spectrum: Array) -> Array:
        density = -constants.inverse_laplace * twice * jnp.square(jnp.abs(spectrum))
        return 0.5 * density.sum() / n**4

    def step(spectrum: Array, _: None) -> tuple[Array, Array]:
        spectrum = _step(spectrum, constants, config.time_step)
        return spectrum, energy(spectrum)

    spectrum = constants.keep * jnp.fft.rfft2(vorticity)
    spectrum, energies = lax.scan(step, spectrum, length=config.steps)
    return jnp.fft.irfft2(spectrum, s=(n, n)), energies


def assimilation(
    vorticity: Array, observed: Array, *, config: Config
) -> tuple[tuple[Array, Any], Array]:
    """How far the flow ends from an observation, and the gradient by its beginning.

    As in variational data assimilation (Le Dimet and Talagrand 1986).

    Parameters
    ----------
    vorticity, observed : float32 [points, points]
        At the beginning and at the end.

    Returns
    -------
    (misfit, (vorticity, energy)) : float32 scalar, and what `solve` returns
    gradient : float32 [points, points]
    """

    def misfit(vorticity: Array) -> tuple[Array, Any]:
        end, energy = solve(vorticity, config=config)
        return jnp.square(end - observed).mean(), (end, energy)

    return jax.value_and_grad(misfit, has_aux=True)(vorticity)


def programs(config: Config) -> list[Program]:
    """The solver, and its gradient."""

    def vortices(seed: int) -> np.ndarray:
        """Sums of a few waves, float32 [points, points]."""
        data, n = Weights(seed), config.points
        x = np.arange(n) * (2 * math.pi / n)
        field = np.zeros((n, n))
        for kx in range(1, 5):
            for ky in range(1, 5):
                phases = data.uniform(0, 2 * math.pi, 2)
                wave = np.sin(kx * x + phases[0])[None, :] * np.sin(ky * x + phases[1])[:, None]
                field += wave / math.hypot(kx, ky)
        return field.astype(np.float32)

    return [
        Program("navier_stokes", functools.partial(solve, config=config), lambda: (vortices(0),)),
        Program(
            "navier_stokes_gradient",
            functools.partial(assimilation, config=config),
            lambda: (vortices(0), vortices(1)),
        ),
    ]
