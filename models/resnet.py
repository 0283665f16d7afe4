"""ResNet-50 and its training step.

He et al. 2016, "Deep Residual Learning for Image Recognition" (arXiv:1512.03385): bottlenecks in
stages of 3, 4, 6 and 3; with the stride on the 3 x 3 convolution (Goyal et al. 2017,
arXiv:1706.02677, section 5.1). Batch normalisation: Ioffe and Szegedy 2015 (arXiv:1502.03167).
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from models.layers import convolution, cross_entropy
from models.optimizers import momentum
from models.program import Program, Size
from models.weights import Weights

Tree = Any

STAGES = (3, 4, 6, 3)
EXPANSION = 4


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes; the paper's width is 64. Images are square, with three channels, drawn from a seed."""

    width: int
    image: int
    classes: int
    batch: int
    seed: int = 1
    weight_decay: float = 1e-4
    norm_decay: float = 0.9


CONFIGS = {
    # The gradient jumps where an activation crosses the kink of the ReLU. This seed, the best of
    # 150, keeps all of them 2e-5 away from it; with most seeds a rounding error pushes some across,
    # and gradients of two exact programs differ by whole percents.
    Size.SMALL: Config(width=4, image=64, classes=10, batch=4, seed=128),
    Size.MEDIUM: Config(width=32, image=64, classes=100, batch=8),
}


def initial_parameters(config: Config) -> tuple[Tree, Tree]:
    """Returns the weights and the running statistics.

    Returns
    -------
    parameters : tree of float32
        Kernels are [size, size, inputs, outputs]; a norm's scale and offset [channels].
    statistics : tree of float32 [channels]
        Running mean and variance of every norm, in the tree of the norms.
    """
    weights = Weights()

    def norm(channels: int, scale: float = 1.0) -> Tree:
        return {"scale": weights.near(scale, channels), "offset": weights.near(0, channels)}

    def bottleneck(inputs: int, width: int) -> Tree:
        outputs = EXPANSION * width
        block = {
            "kernels": [
                weights.convolution(1, inputs, width, gain=2),
                weights.convolution(3, width, width, gain=2),
                weights.convolution(1, width, outputs, gain=2),
            ],
            # The last scale is small, so that a block starts near the identity.
            "norms": [norm(width), norm(width), norm(outputs, 0.3)],
        }
        if inputs != outputs:
            block["shortcut"] = weights.convolution(1, inputs, outputs)
            block["shortcut_norm"] = norm(outputs)
        return block

    stages, inputs = [], config.width
    for stage, blocks in enumerate(STAGES):
        width = config.width << stage
        stages.append([])
        for _ in range(blocks):
            stages[-1].append(bottleneck(inputs, width))
            inputs = EXPANSION * width
    parameters = {
        "stem": weights.convolution(7, 3, config.width, gain=2),
        "stem_norm": norm(config.width),
        "stages": stages,
        "head": {
            "kernel": weights.dense(inputs, config.classes),
            "bias": weights.near(0, config.classes),
        },
    }

    def statistics_of(norm: Tree) -> Tree:
        channels = norm["scale"].shape[0]
        return {"mean": weights.near(0, channels), "variance": 1 + weights.uniform(0, 1, channels)}

    statistics = {
        "stem_norm": statistics_of(parameters["stem_norm"]),
        "stages": [
            [
                {
                    "norms": [statistics_of(norm) for norm in block["norms"]],
                    **(
                        {"shortcut_norm": statistics_of(block["shortcut_norm"])}
                        if "shortcut_norm" in block
                        else {}
                    ),
                }
                for block in stage
            ]
            for stage in stages
        ],
    }
    return parameters, statistics


def _batch_norm(
    x: Array, norm: Tree, statistics: Tree, decay: float | None, epsilon: float = 1e-5
) -> tuple[Array, Tree]:
    """Normalises by the batch and moves the running statistics towards it by 1 - `decay`.

    With no `decay`, normalises by the running statistics and returns them as they are.

    Parameters
    ----------
    x : [batch, height, width, channels]
    """
    if decay is None:
        mean, variance = statistics["mean"], statistics["variance"]
    else:
        mean = x.mean((0, 1, 2))
        variance = jnp.square(x - mean).mean((0, 1, 2))
        moments = {"mean": mean, "variance": variance}
        statistics = jax.tree.map(lambda s, m: decay * s + (1 - decay) * m, statistics, moments)
    return (x - mean) * lax.rsqrt(variance + epsilon) * norm["scale"] + norm["offset"], statistics


def _bottleneck(
    x: Array, block: Tree, statistics: Tree, stride: int, decay: float | None
) -> tuple[Array, Tree]:
    """1 x 1, 3 x 3, 1 x 1 convolutions beside a shortcut."""
    y, new = x, {"norms": []}
    for index, kernel in enumerate(block["kernels"]):
        y = convolution(y, kernel, stride if index == 1 else 1)
        y, moved = _batch_norm(y, block["norms"][index], statistics["norms"][index], decay)
        new["norms"].append(moved)
        if index < 2:
            y = jax.nn.relu(y)
    if "shortcut" in block:
        x, new["shortcut_norm"] = _batch_norm(
            convolution(x, block["shortcut"], stride),
            block["shortcut_norm"],
            statistics["shortcut_norm"],
            decay,
        )
    return jax.nn.relu(x + y), new


def forward(
    parameters: Tree, statistics: Tree, images: Array, *, decay: float | None = None
) -> tuple[Array, Tree]:
    """Classifies images.

    Parameters
    ----------
    images : float32 [batch, image, image, 3]
    decay : float, optional
        Of the running statistics, in training. Without it they are what is normalised by.

    Returns
    -------
    logits : float32 [batch, classes]
    statistics : tree
    """
    x = convolution(images, parameters["stem"], 2)
    x, moved = _batch_norm(x, parameters["stem_norm"], statistics["stem_norm"], decay)
    new = {"stem_norm": moved, "stages": []}
    window, stride, pad = (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (1, 1), (0, 0))
    x = lax.reduce_window(jax.nn.relu(x), -jnp.inf, lax.max, window, stride, pad)
    for index, stage in enumerate(parameters["stages"]):
        new["stages"].append([])
        for place, block in enumerate(stage):
            stride = 2 if index > 0 and place == 0 else 1
            block_statistics = statistics["stages"][index][place]
            x, moved = _bottleneck(x, block, block_statistics, stride, decay)
            new["stages"][-1].append(moved)
    return x.mean((1, 2)) @ parameters["head"]["kernel"] + parameters["head"]["bias"], new


def training_step(
    parameters: Tree,
    statistics: Tree,
    velocity: Tree,
    images: Array,
    labels: Array,
    *,
    config: Config,
) -> tuple[Tree, Tree, Tree, Array]:
    """One step of gradient descent with momentum and weight decay on the kernels.

    Parameters
    ----------
    images : float32 [batch, image, image, 3]
    labels : int32 [batch]

    Returns
    -------
    parameters, statistics, velocity : as before
    loss : float32 scalar
        Before the step.
    """

    def loss(parameters: Tree) -> tuple[Array, Tree]:
        logits, new = forward(parameters, statistics, images, decay=config.norm_decay)
        squares = [jnp.sum(jnp.square(p)) for p in jax.tree.leaves(parameters) if p.ndim > 1]
        penalty = 0.5 * config.weight_decay * sum(squares)
        return cross_entropy(logits, labels) + penalty, new

    (value, new), gradients = jax.value_and_grad(loss, has_aux=True)(parameters)
    parameters, velocity = momentum(parameters, gradients, velocity)
    return parameters, new, velocity, value


def programs(config: Config) -> list[Program]:
    """The training step and the classification."""
    shape = (config.batch, config.image, config.image, 3)

    def training_arguments() -> tuple[Any, ...]:
        data, (parameters, statistics) = Weights(config.seed), initial_parameters(config)
        velocity = jax.tree.map(lambda p: 0 * p, parameters)
        labels = data.integers(config.classes, config.batch)
        return parameters, statistics, velocity, data.normal(*shape), labels

    def inference_arguments() -> tuple[Any, ...]:
        return *initial_parameters(config), Weights(config.seed).normal(*shape)

    def classify(parameters: Tree, statistics: Tree, images: Array) -> Array:
        return forward(parameters, statistics, images)[0]

    return [
        Program(
            "resnet50_training",
            functools.partial(training_step, config=config),
            training_arguments,
            donated=(0, 1, 2),
        ),
        Program("resnet50_inference", classify, inference_arguments),
    ]
