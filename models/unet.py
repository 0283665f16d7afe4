"""The denoising U-Net of Stable Diffusion in bfloat16, and sampling with it.

Rombach et al. 2022, "High-Resolution Image Synthesis with Latent Diffusion Models"
(arXiv:2112.10752); U-Net: Ronneberger et al. 2015 (arXiv:1505.04597), Ho et al. 2020
(arXiv:2006.11239); GEGLU: Shazeer 2020 (arXiv:2002.05202); classifier-free guidance: Ho and
Salimans 2022 (arXiv:2207.12598).
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import Array

from models import dpm_solver
from models.layers import (
    attention,
    convolution,
    group_norm,
    layer_norm,
    merge_heads,
    split_heads,
)
from models.program import Program, Size
from models.weights import Weights

Tree = Any

LATENT_CHANNELS = 4


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes. A level of the U-Net halves the latent; all but the last one attend."""

    latent: int
    channels: tuple[int, ...]
    blocks: int
    heads: int
    groups: int
    text: int
    text_width: int
    batch: int
    steps: int
    guidance: float = 3.0

    @property
    def embedding(self) -> int:
        """Features of the embedded timestep."""
        return 4 * self.channels[0]


CONFIGS = {
    Size.SMALL: Config(
        latent=8,
        channels=(16, 32),
        blocks=1,
        heads=2,
        groups=4,
        text=6,
        text_width=24,
        batch=1,
        steps=4,
    ),
    Size.MEDIUM: Config(
        latent=32,
        channels=(64, 128, 256),
        blocks=2,
        heads=4,
        groups=32,
        text=77,
        text_width=256,
        batch=1,
        steps=4,
    ),
}


def initial_parameters(config: Config) -> Tree:
    """Returns the weights: kernels [.., inputs, outputs], all bfloat16."""
    weights = Weights()

    def norm(channels: int) -> Tree:
        return {"scale": weights.near(1, channels), "offset": weights.near(0, channels)}

    def dense(inputs: int, outputs: int) -> Tree:
        return {"kernel": weights.dense(inputs, outputs), "bias": weights.near(0, outputs)}

    def conv(size: int, inputs: int, outputs: int) -> Tree:
        kernel = weights.convolution(size, inputs, outputs)
        return {"kernel": kernel, "bias": weights.near(0, outputs)}

    def residual(inputs: int, outputs: int) -> Tree:
        block = {
            "input_norm": norm(inputs),
            "input": conv(3, inputs, outputs),
            "time": dense(config.embedding, outputs),
            "output_norm": norm(outputs),
            "output": conv(3, outputs, outputs),
        }
        if inputs != outputs:
            block["shortcut"] = conv(1, inputs, outputs)
        return block

    def attend(width: int, context: int) -> Tree:
        return {
            "norm": norm(width),
            "query": weights.dense(width, width),
            "key": weights.dense(context, width),
            "value": weights.dense(context, width),
            "output": dense(width, width),
        }

    def transformer(width: int) -> Tree:
        return {
            "norm": norm(width),
            "input": dense(width, width),
            "self": attend(width, width),
            "cross": attend(width, config.text_width),
            "mlp_norm": norm(width),
            "mlp_input": dense(width, 8 * width),
            "mlp_output": dense(4 * width, width),
            "output": dense(width, width),
        }

    def level(inputs: list[int], outputs: int, attends: bool) -> Tree:
        return [
            {
                "residual": residual(channels, outputs),
                **({"transformer": transformer(outputs)} if attends else {}),
            }
            for channels in inputs
        ]

    # Every block on the way down, and the first convolution, leave a skip for the way up.
    first, deepest = config.channels[0], config.channels[-1]
    down, skips, channels = [], [first], first
    for index, outputs in enumerate(config.channels):
        last = index == len(config.channels) - 1
        inputs = [channels] + [outputs] * (config.blocks - 1)
        down.append({"blocks": level(inputs, outputs, not last)})
        skips += [outputs] * config.blocks
        if not last:
            down[-1]["resample"] = conv(3, outputs, outputs)
            skips.append(outputs)
        channels = outputs
    up = []
    for index, outputs in reversed(list(enumerate(config.channels))):
        last = index == len(config.channels) - 1
        inputs = []
        for _ in range(config.blocks + 1):
            inputs.append(channels + skips.pop())
            channels = outputs
        up.append({"blocks": level(inputs, outputs, not last)})
        if index > 0:
            up[-1]["resample"] = conv(3, outputs, outputs)
    parameters = {
        "time_input": dense(first, config.embedding),
        "time_output": dense(config.embedding, config.embedding),
        "input": conv(3, LATENT_CHANNELS, first),
        "down": down,
        "middle": [residual(deepest, deepest), transformer(deepest), residual(deepest, deepest)],
        "up": up,
        "output_norm": norm(first),
        "output": conv(3, first, LATENT_CHANNELS),
    }
    return jax.tree.map(lambda p: p.astype(ml_dtypes.bfloat16), parameters)


def _dense(x: Array, layer: Tree) -> Array:
    return x @ layer["kernel"] + layer["bias"]


def _convolve(x: Array, layer: Tree, stride: int = 1) -> Array:
    return convolution(x, layer["kernel"], stride) + layer["bias"]


def timestep_embedding(timestep: Array, width: int) -> Array:
    """Sines and cosines of geometrically spaced frequencies (Vaswani et al. 2017, section 3.5).

    Parameters
    ----------
    timestep : float32 [batch]
    width : int
        Even.

    Returns
    -------
    float32 [batch, width]
    """
    frequencies = jnp.exp(-math.log(10000.0) * jnp.arange(width // 2) / (width // 2))
    angles = timestep[:, None] * frequencies
    return jnp.concatenate([jnp.cos(angles), jnp.sin(angles)], axis=-1)


def _residual(x: Array, time: Array, block: Tree, groups: int) -> Array:
    """Two convolutions with the embedded timestep [batch, embedding] between them."""
    y = jax.nn.silu(group_norm(x, **block["input_norm"], groups=groups))
    y = _convolve(y, block["input"]) + _dense(jax.nn.silu(time), block["time"])[:, None, None]
    y = jax.nn.silu(group_norm(y, **block["output_norm"], groups=groups))
    shortcut = _convolve(x, block["shortcut"]) if "shortcut" in block else x
    return shortcut + _convolve(y, block["output"])


def _attend(x: Array, layer: Tree, heads: int, context: Array | None = None) -> Array:
    """Attention of x [batch, length, width] to itself or to `context` [batch, text, text_width]."""
    x = layer_norm(x, **layer["norm"])
    context = x if context is None else context
    query, key, value = (
        split_heads(y @ layer[name], heads)
        for name, y in (("query", x), ("key", context), ("value", context))
    )
    mixed = attention(query, key, value, scale=query.shape[-1] ** -0.5)
    return _dense(merge_heads(mixed), layer["output"])


def _transformer(x: Array, text: Array, block: Tree, config: Config) -> Array:
    """Self-attention, cross-attention and GEGLU over the places of x."""
    batch, height, width, channels = x.shape
    y = group_norm(x, **block["norm"], groups=config.groups)
    y = _dense(y.reshape(batch, height * width, channels), block["input"])
    y = y + _attend(y, block["self"], config.heads)
    y = y + _attend(y, block["cross"], config.heads, text)
    hidden, gate = jnp.split(
        _dense(layer_norm(y, **block["mlp_norm"]), block["mlp_input"]), 2, axis=-1
    )
    y = y + _dense(hidden * jax.nn.gelu(gate), block["mlp_output"])
    return x + _dense(y, block["output"]).reshape(x.shape)


def _level(x: Array, time: Array, text: Array, block: Tree, config: Config) -> Array:
    x = _residual(x, time, block["residual"], config.groups)
    return _transformer(x, text, block["transformer"], config) if "transformer" in block else x


def _double(x: Array) -> Array:
    """The nearest neighbour in a picture of twice the size."""
    return jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2)


def forward(
    parameters: Tree, latents: Array, timestep: Array, text: Array, *, config: Config
) -> Array:
    """Predicts the noise in `latents`.

    Parameters
    ----------
    latents : bfloat16 [batch, latent, latent, 4]
    timestep : float32 [batch]
    text : bfloat16 [batch, text, text_width]

    Returns
    -------
    bfloat16 [batch, latent, latent, 4]
    """
    time = timestep_embedding(timestep, config.channels[0]).astype(latents.dtype)
    time = _dense(jax.nn.silu(_dense(time, parameters["time_input"])), parameters["time_output"])
    x = _convolve(latents, parameters["input"])
    skips = [x]
    for level in parameters["down"]:
        for block in level["blocks"]:
            x = _level(x, time, text, block, config)
            skips.append(x)
        if "resample" in level:
            x = _convolve(x, level["resample"], 2)
            skips.append(x)
    first, transformer, second = parameters["middle"]
    x = _residual(x, time, first, config.groups)
    x = _transformer(x, text, transformer, config)
    x = _residual(x, time, second, config.groups)
    for level in parameters["up"]:
        for block in level["blocks"]:
            x = _level(jnp.concatenate([x, skips.pop()], axis=-1), time, text, block, config)
        if "resample" in level:
            x = _convolve(_double(x), level["resample"])
    x = jax.nn.silu(group_norm(x, **parameters["output_norm"], groups=config.groups))
    return _convolve(x, parameters["output"])


def sample(parameters: Tree, noise: Array, text: Array, no_text: Array, *, config: Config) -> Array:
    """Draws latents that fit a text, by DPM-Solver++ with classifier-free guidance.

    Parameters
    ----------
    noise : float32 [batch, latent, latent, 4]
    text, no_text : bfloat16 [batch, text, text_width]
        The text, and the empty text.

    Returns
    -------
    float32 [batch, latent, latent, 4]
    """
    both = jnp.concatenate([text, no_text])

    def predict_noise(latents: Array, timestep: Array) -> Array:
        doubled = jnp.concatenate([latents, latents]).astype(jnp.bfloat16)
        timesteps = jnp.full(doubled.shape[0], timestep)
        predicted = forward(parameters, doubled, timesteps, both, config=config)
        guided, free = jnp.split(predicted.astype(jnp.float32), 2)
        return free + config.guidance * (guided - free)

    return dpm_solver.sample(predict_noise, noise, config.steps)


def programs(config: Config) -> list[Program]:
    """One prediction of the noise, and the whole sampling."""
    latents = (config.batch, config.latent, config.latent, LATENT_CHANNELS)
    text = (config.batch, config.text, config.text_width)

    def bfloat16(x: np.ndarray) -> np.ndarray:
        return x.astype(ml_dtypes.bfloat16)

    def prediction_arguments() -> tuple[Any, ...]:
        data = Weights(1)
        timestep = np.full(config.batch, 500, np.float32)
        x = bfloat16(data.normal(*latents))
        return initial_parameters(config), x, timestep, bfloat16(data.normal(*text))

    def sampling_arguments() -> tuple[Any, ...]:
        data = Weights(1)
        texts = (bfloat16(data.normal(*text)) for _ in range(2))
        return initial_parameters(config), data.normal(*latents), *texts

    return [
        Program(
            "unet_prediction",
            functools.partial(forward, config=config),
            prediction_arguments,
            precision="bfloat16",
        ),
        Program(
            "unet_sampling",
            functools.partial(sample, config=config),
            sampling_arguments,
            precision="bfloat16",
        ),
    ]
