"""A Vision Transformer and its training step with dropout.

Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words" (arXiv:2010.11929): patches by a
convolution, a class token, learned positions, pre-normalisation, GELU in its exact form.
Dropout: Srivastava et al. 2014, JMLR 15.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from models.layers import NHWC, attention, cross_entropy, layer_norm, merge_heads, split_heads
from models.optimizers import AdamState, adam, adam_state
from models.program import Program, Size
from models.weights import Weights

Tree = Any


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes; images are square, with three channels."""

    image: int
    patch: int
    width: int
    heads: int
    layers: int
    classes: int
    batch: int
    dropout: float = 0.1

    @property
    def patches(self) -> int:
        """Patches of an image."""
        return (self.image // self.patch) ** 2


CONFIGS = {
    Size.SMALL: Config(image=32, patch=8, width=48, heads=3, layers=2, classes=10, batch=4),
    Size.MEDIUM: Config(image=64, patch=8, width=192, heads=3, layers=4, classes=100, batch=8),
}


def initial_parameters(config: Config) -> Tree:
    """Returns the weights; matrices are [inputs, outputs], all float32."""
    weights, width = Weights(), config.width

    def norm() -> Tree:
        return {"scale": weights.near(1, width), "offset": weights.near(0, width)}

    def dense(inputs: int, outputs: int) -> Tree:
        return {"kernel": weights.dense(inputs, outputs), "bias": weights.near(0, outputs)}

    def block() -> Tree:
        return {
            "attention_norm": norm(),
            "query_key_value": dense(width, 3 * width),
            "attention_output": dense(width, width),
            "mlp_norm": norm(),
            "mlp_input": dense(width, 4 * width),
            "mlp_output": dense(4 * width, width),
        }

    return {
        "patches": {
            "kernel": weights.convolution(config.patch, 3, width),
            "bias": weights.near(0, width),
        },
        "class_token": weights.near(0, width),
        "positions": weights.near(0, config.patches + 1, width),
        "blocks": [block() for _ in range(config.layers)],
        "final_norm": norm(),
        "head": dense(width, config.classes),
    }


def _dense(x: Array, layer: Tree) -> Array:
    return x @ layer["kernel"] + layer["bias"]


def _dropout(x: Array, key: Array | None, rate: float) -> Array:
    """Zeroes elements with probability `rate` and makes up for them; without a key does nothing."""
    if key is None:
        return x
    return jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0)


def forward(parameters: Tree, images: Array, config: Config, key: Array | None = None) -> Array:
    """Classifies images.

    Parameters
    ----------
    images : float32 [batch, image, image, 3]
    key : uint32 [2], optional
        Of the dropout; without it there is none.

    Returns
    -------
    logits : float32 [batch, classes]
    """
    batch = images.shape[0]
    stride = (config.patch, config.patch)
    patches = lax.conv_general_dilated(
        images, parameters["patches"]["kernel"], stride, "VALID", dimension_numbers=NHWC
    )
    x = (patches + parameters["patches"]["bias"]).reshape(batch, config.patches, config.width)
    first = jnp.broadcast_to(parameters["class_token"], (batch, 1, config.width))
    x = jnp.concatenate([first, x], axis=1) + parameters["positions"]
    places = 2 * config.layers + 1
    keys = [None] * places if key is None else list(jax.random.split(key, places))
    x = _dropout(x, keys.pop(), config.dropout)
    for block in parameters["blocks"]:
        hidden = _dense(layer_norm(x, **block["attention_norm"]), block["query_key_value"])
        query, looked_up, value = (
            split_heads(part, config.heads) for part in jnp.split(hidden, 3, axis=-1)
        )
        mixed = attention(query, looked_up, value, scale=query.shape[-1] ** -0.5)
        change = _dense(merge_heads(mixed), block["attention_output"])
        x = x + _dropout(change, keys.pop(), config.dropout)
        hidden = _dense(layer_norm(x, **block["mlp_norm"]), block["mlp_input"])
        change = _dense(jax.nn.gelu(hidden, approximate=False), block["mlp_output"])
        x = x + _dropout(change, keys.pop(), config.dropout)
    return _dense(layer_norm(x[:, 0], **parameters["final_norm"]), parameters["head"])


def training_step(
    parameters: Tree, state: AdamState, images: Array, labels: Array, key: Array, *, config: Config
) -> tuple[Tree, AdamState, Array]:
    """One step of Adam.

    Parameters
    ----------
    images : float32 [batch, image, image, 3]
    labels : int32 [batch]
    key : uint32 [2]

    Returns
    -------
    parameters, state : as before
    loss : float32 scalar
        Before the step.
    """

    def loss(parameters: Tree) -> Array:
        return cross_entropy(forward(parameters, images, config, key), labels)

    value, gradients = jax.value_and_grad(loss)(parameters)
    return *adam(parameters, gradients, state), value


def programs(config: Config) -> list[Program]:
    """The training step and the classification."""
    shape = (config.batch, config.image, config.image, 3)

    def training_arguments() -> tuple[Any, ...]:
        data, parameters = Weights(1), initial_parameters(config)
        labels = data.integers(config.classes, config.batch)
        key = np.array([0, 7], np.uint32)
        return parameters, adam_state(parameters), data.normal(*shape), labels, key

    def inference_arguments() -> tuple[Any, ...]:
        return initial_parameters(config), Weights(1).normal(*shape)

    return [
        Program(
            "vit_training",
            functools.partial(training_step, config=config),
            training_arguments,
            donated=(0, 1),
        ),
        Program("vit_inference", functools.partial(forward, config=config), inference_arguments),
    ]
