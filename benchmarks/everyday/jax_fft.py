"""Fourier transforms in JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.scipy.signal
import numpy as np

from everyday.program import Kind, Mode, normal

KIND = Kind("Fourier transforms", Mode.JAX_JIT)
program = KIND.program


def _complex(*shape: int) -> np.ndarray:
    return normal(*shape) + 1j * normal(*shape, seed=1)


@program(lambda: [_complex(64, 1024)])
def fft_batch(x):
    """64 transforms of 1,024."""
    return jnp.fft.fft(x)


@program(lambda: [_complex(10_000, 12)])
def fft_short(x):
    """10,000 transforms of 12."""
    return jnp.fft.fft(x)


@program(lambda: [_complex(16, 1009)])
def fft_prime(x):
    """16 transforms of the prime length 1,009."""
    return jnp.fft.fft(x)


@program(lambda: [normal(2**20)])
def rfft_long(x):
    """A real transform of 2^20."""
    return jnp.fft.rfft(x)


@program(lambda: [normal(256, 256)])
def low_pass(image):
    """A low-pass filter of a 256 x 256 image."""
    spectrum = jnp.fft.rfft2(image)
    y, x = jnp.fft.fftfreq(256)[:, None], jnp.fft.rfftfreq(256)
    return jnp.fft.irfft2(jnp.where(x**2 + y**2 < 0.01, spectrum, 0), image.shape)


@program(lambda: [normal(33, 65)])
def odd_sizes(x):
    """There and back with odd sizes, 33 x 65."""
    return jnp.fft.irfftn(jnp.fft.rfftn(x), x.shape)


@program(
    lambda: [normal(500, 256), normal(257)], cause="8 kernel launches and 2 library calls a row"
)
def map_of_convolutions(rows, kernel):
    """lax.map of convolutions by rfft over 500 rows of 256."""

    def convolve(row):
        return jnp.fft.irfft(jnp.fft.rfft(row, 512) * jnp.fft.rfft(kernel, 512), 512)[:256]

    return jax.lax.map(convolve, rows)


@program(lambda: [normal(16_000), normal(401)])
def signal_filter(x, kernel):
    """Fftconvolve of 16,000 samples with 401."""
    return jax.scipy.signal.fftconvolve(x, kernel, "same")


@program(lambda: [normal(16_000)])
def spectrogram(x):
    """A spectrogram of 16,000 samples, frames of 400."""
    frames = x[jnp.arange(0, 16_000 - 400, 160)[:, None] + jnp.arange(400)]
    return jnp.abs(jnp.fft.rfft(frames * jnp.hanning(400))) ** 2


@program(lambda: [normal(32, 32, 32)])
def poisson_equation(source):
    """A Poisson equation on 32^3 by fftn."""
    k = jnp.fft.fftfreq(32) * 32
    square = k[:, None, None] ** 2 + k[:, None] ** 2 + k**2
    return jnp.fft.ifftn(-jnp.fft.fftn(source) / square.at[0, 0, 0].set(1)).real


@program(lambda: [normal(256)])
def spectral_steps(u):
    """Burgers' equation, 200 spectral steps of 256 points."""
    k = 1j * jnp.fft.rfftfreq(256) * 256

    def step(_, u):
        slope = jnp.fft.irfft(k * jnp.fft.rfft(u), 256)
        bend = jnp.fft.irfft(k**2 * jnp.fft.rfft(u), 256)
        return u + 1e-5 * (0.5 * bend - u * slope)

    return jax.lax.fori_loop(0, 200, step, u)
