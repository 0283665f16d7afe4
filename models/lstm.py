"""A language model of LSTM layers and its training step by truncated backpropagation through time.

Hochreiter and Schmidhuber 1997, "Long Short-Term Memory"; with the forget gate of Gers et al. 2000.
The model and the clipped gradient: Zaremba et al. 2014 (arXiv:1409.2329).
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from models.layers import cross_entropy
from models.optimizers import clip_by_global_norm, momentum
from models.program import Program, Size
from models.weights import Weights

Tree = Any
# One (hidden, cell) a layer, each float32 [batch, width].
State = list[tuple[Array, Array]]


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes; `time` is how many steps the gradient goes back."""

    vocabulary: int
    width: int
    layers: int
    time: int
    batch: int
    clip: float = 5.0


CONFIGS = {
    Size.SMALL: Config(vocabulary=64, width=32, layers=2, time=20, batch=4),
    Size.MEDIUM: Config(vocabulary=2048, width=256, layers=2, time=35, batch=20),
}


def initial_parameters(config: Config) -> Tree:
    """Returns the weights; a layer's four gates stand side by side, all float32."""
    weights, width = Weights(), config.width

    def layer() -> Tree:
        return {
            "input": weights.dense(width, 4 * width),
            "recurrent": weights.dense(width, 4 * width),
            "bias": weights.near(0, 4 * width),
        }

    return {
        "embedding": weights.normal(config.vocabulary, width),
        "layers": [layer() for _ in range(config.layers)],
        "head": {
            "kernel": weights.dense(width, config.vocabulary),
            "bias": weights.near(0, config.vocabulary),
        },
    }


def _cell(x: Array, state: tuple[Array, Array], layer: Tree) -> tuple[Array, Array]:
    """One step of one layer; x is [batch, width]."""
    hidden, cell = state
    gates = x @ layer["input"] + hidden @ layer["recurrent"] + layer["bias"]
    write, forget, read, new = jnp.split(gates, 4, axis=-1)
    # A bias of 1 keeps the cell at first (Jozefowicz et al. 2015, ICML).
    cell = jax.nn.sigmoid(forget + 1) * cell + jax.nn.sigmoid(write) * jnp.tanh(new)
    return jax.nn.sigmoid(read) * jnp.tanh(cell), cell


def forward(parameters: Tree, state: State, tokens: Array) -> tuple[Array, State]:
    """Predicts the token after each one.

    Parameters
    ----------
    state : list of pairs of float32 [batch, width]
    tokens : int32 [time, batch]

    Returns
    -------
    logits : float32 [time, batch, vocabulary]
    state : list of pairs
        After the last token.
    """

    def step(state: State, x: Array) -> tuple[State, Array]:
        new = []
        for layer, layer_state in zip(parameters["layers"], state, strict=True):
            new.append(_cell(x, layer_state, layer))
            x = new[-1][0]
        return new, x

    state, outputs = lax.scan(step, state, parameters["embedding"][tokens])
    return outputs @ parameters["head"]["kernel"] + parameters["head"]["bias"], state


def training_step(
    parameters: Tree, velocity: Tree, state: State, tokens: Array, *, config: Config
) -> tuple[Tree, Tree, State, Array]:
    """One step of gradient descent with a clipped gradient.

    Parameters
    ----------
    state : list of pairs
        Where the texts were left in the step before.
    tokens : int32 [time + 1, batch]

    Returns
    -------
    parameters, velocity, state : as before
    loss : float32 scalar
        Before the step.
    """

    def loss(parameters: Tree) -> tuple[Array, State]:
        logits, new = forward(parameters, state, tokens[:-1])
        return cross_entropy(logits, tokens[1:]), new

    (value, new), gradients = jax.value_and_grad(loss, has_aux=True)(parameters)
    gradients = clip_by_global_norm(gradients, config.clip)
    return *momentum(parameters, gradients, velocity), new, value


def programs(config: Config) -> list[Program]:
    """The training step."""

    def arguments() -> tuple[Any, ...]:
        data, parameters = Weights(1), initial_parameters(config)
        velocity = jax.tree.map(np.zeros_like, parameters)
        shape = (config.batch, config.width)
        state = [(data.near(0, *shape), data.near(0, *shape)) for _ in range(config.layers)]
        tokens = data.integers(config.vocabulary, config.time + 1, config.batch)
        return parameters, velocity, state, tokens

    return [
        Program(
            "lstm_training",
            functools.partial(training_step, config=config),
            arguments,
            donated=(0, 1, 2),
        )
    ]
