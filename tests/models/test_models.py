"""The models are what they say: properties that hold on any device, looked at on xpu."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import models
from models import dpm_solver, flow, gpt, navier_stokes, t5

SMALL = models.Size.SMALL


def test_generation_with_a_cache_is_generation_without(xpu) -> None:
    config = gpt.CONFIGS[SMALL]
    program = models.programs(SMALL)["gpt_generation"]
    arguments = jax.device_put(program.arguments(), xpu)
    tokens, length, logits = jax.jit(program.function)(*arguments)
    assert config.prompt < length <= config.context
    np.testing.assert_array_equal(tokens[:, : config.prompt], arguments[1])
    whole = jax.jit(lambda p, t: gpt.forward(p, t, config)[0])(arguments[0], tokens[:, :length])
    # Sums in another order: some dozen rounding errors of the largest logit.
    np.testing.assert_allclose(logits, whole[:, -1], atol=1e-5 * np.abs(whole).max())


def test_the_flow_is_invertible_and_knows_its_determinant(xpu) -> None:
    config = flow.CONFIGS[SMALL]
    parameters = jax.device_put(flow.initial_parameters(config), xpu)
    data = np.random.default_rng(0).standard_normal((8, config.features), np.float32)
    x = jax.device_put(data, xpu)
    noise, log_determinant = jax.jit(flow.to_noise)(parameters, x)
    np.testing.assert_allclose(jax.jit(flow.to_data)(parameters, noise), x, atol=1e-4)
    jacobian = jax.vmap(jax.jacfwd(lambda row: flow.to_noise(parameters, row[None])[0][0]))
    expected = np.linalg.slogdet(np.asarray(jax.jit(jacobian)(x)))[1]
    np.testing.assert_allclose(log_determinant, expected, atol=1e-4)


def test_a_taylor_green_vortex_decays_as_it_should(xpu) -> None:
    """sin x sin y keeps its shape: the one flow whose end is known (Taylor and Green 1937)."""
    config = navier_stokes.CONFIGS[SMALL]
    x = 2 * np.pi * np.arange(config.points) / config.points
    first = np.outer(np.sin(x), np.sin(x)).astype(np.float32)
    end, energy = jax.jit(lambda w: navier_stokes.solve(w, config=config))(
        jax.device_put(first, xpu)
    )
    decay = np.exp(-2 * config.viscosity * config.time_step * np.arange(1, config.steps + 1))
    np.testing.assert_allclose(end, first * decay[-1], atol=1e-5)
    # |u|^2 / 2 = w^2 / 4 on average, and sin^2 sin^2 is 1/4.
    np.testing.assert_allclose(energy, decay**2 / 16, rtol=1e-5)


@pytest.mark.parametrize("steps", [3, 10])
def test_the_sampler_is_exact_where_the_data_is_one_point(xpu, steps) -> None:
    levels = dpm_solver.schedule(steps)
    point = jnp.float32(0.7)

    def predict_noise(x, timestep):
        index = jnp.argmin(jnp.abs(levels.timestep - timestep))
        return (x - jnp.asarray(levels.signal)[index] * point) / jnp.asarray(levels.noise)[index]

    first = np.linspace(-2, 2, 5, dtype=np.float32)
    start = levels.signal[0] * 0.7 + levels.noise[0] * first
    end = jax.jit(lambda x: dpm_solver.sample(predict_noise, x, steps))(jax.device_put(start, xpu))
    signal, noise = (1 - 0.00085) ** 0.5, 0.00085**0.5
    # Divided by a signal of 0.07 in the first step.
    np.testing.assert_allclose(end, signal * 0.7 + noise * first, atol=1e-5)


def test_position_buckets() -> None:
    both = t5.position_buckets(200, 200, both_ways=True, buckets=32, distance=128)
    row = both[100]
    assert row[100] == 0 and list(row[93:100]) == [7, 6, 5, 4, 3, 2, 1]
    assert list(row[101:108]) == [17, 18, 19, 20, 21, 22, 23]
    # Ranges after 8: 8 * 16 ** (i / 8) = 11.3, 16, 22.6, 32, ...
    assert [row[100 - n] for n in (8, 11, 12, 15, 16, 22, 23, 32, 99)] == [
        8,
        8,
        9,
        9,
        10,
        10,
        11,
        12,
        15,
    ]
    assert (t5.position_buckets(9, 9, both_ways=False, buckets=32, distance=128)[0] == 0).all()
