"""A decoder-only language model in the shape of GPT-2, its training step and its generation.

Radford et al. 2019, "Language Models are Unsupervised Multitask Learners": pre-normalisation,
learned positions, GELU in its tanh form, output weights tied to the token embedding.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from models.layers import attention, cross_entropy, layer_norm, mask_bias, merge_heads, split_heads
from models.optimizers import AdamState, adam, adam_state
from models.program import Program, Size
from models.weights import Weights

Tree = Any
# One (key, value) a layer, each [batch, context, heads, size].
Cache = list[tuple[Array, Array]]


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes. The last token of the vocabulary ends a text."""

    vocabulary: int
    context: int
    width: int
    heads: int
    layers: int
    batch: int
    prompt: int

    @property
    def head_size(self) -> int:
        """Features of one head."""
        return self.width // self.heads


CONFIGS = {
    Size.SMALL: Config(vocabulary=96, context=24, width=64, heads=4, layers=2, batch=2, prompt=8),
    Size.MEDIUM: Config(
        vocabulary=4096, context=128, width=256, heads=8, layers=4, batch=4, prompt=32
    ),
}


def initial_parameters(config: Config) -> Tree:
    """Returns the weights; matrices are [inputs, outputs], all float32."""
    weights, width = Weights(), config.width

    def block() -> Tree:
        return {
            "attention_norm": {"scale": weights.near(1, width), "offset": weights.near(0, width)},
            "query_key_value": {
                "kernel": weights.dense(width, 3 * width),
                "bias": weights.near(0, 3 * width),
            },
            "attention_output": {
                "kernel": weights.dense(width, width),
                "bias": weights.near(0, width),
            },
            "mlp_norm": {"scale": weights.near(1, width), "offset": weights.near(0, width)},
            "mlp_input": {
                "kernel": weights.dense(width, 4 * width),
                "bias": weights.near(0, 4 * width),
            },
            "mlp_output": {
                "kernel": weights.dense(4 * width, width),
                "bias": weights.near(0, width),
            },
        }

    return {
        "token_embedding": weights.normal(config.vocabulary, width, deviation=0.1),
        "position_embedding": weights.normal(config.context, width, deviation=0.1),
        "blocks": [block() for _ in range(config.layers)],
        "final_norm": {"scale": weights.near(1, width), "offset": weights.near(0, width)},
    }


def _dense(x: Array, layer: Tree) -> Array:
    return x @ layer["kernel"] + layer["bias"]


def _attend(
    x: Array, block: Tree, cache: tuple[Array, Array] | None, start: Array | int, config: Config
) -> tuple[Array, tuple[Array, Array]]:
    """Causal self-attention of x [batch, length, width] that stands at `start` of the text."""
    query, key, value = (
        split_heads(part, config.heads)
        for part in jnp.split(_dense(x, block["query_key_value"]), 3, axis=-1)
    )
    if cache is not None:
        key = lax.dynamic_update_slice_in_dim(cache[0], key, start, axis=1)
        value = lax.dynamic_update_slice_in_dim(cache[1], value, start, axis=1)
    # A place sees itself and what is before it; what the cache has not filled yet is after it.
    places = start + jnp.arange(query.shape[1])
    mask = places[:, None] >= jnp.arange(key.shape[1])
    result = attention(query, key, value, scale=config.head_size**-0.5, bias=mask_bias(mask))
    return _dense(merge_heads(result), block["attention_output"]), (key, value)


def forward(
    parameters: Tree,
    tokens: Array,
    config: Config,
    cache: Cache | None = None,
    start: Array | int = 0,
) -> tuple[Array, Cache]:
    """Predicts the token after each one.

    Parameters
    ----------
    tokens : int32 [batch, length]
    cache : list of pairs of float32 [batch, context, heads, size], optional
        Keys and values of the places before `start`; without it the text starts here.
    start : int32 scalar
        Place of the first of `tokens` in the text.

    Returns
    -------
    logits : float32 [batch, length, vocabulary]
    cache : list of pairs
        With the keys and values of `tokens`.
    """
    positions = lax.dynamic_slice_in_dim(
        parameters["position_embedding"], start, tokens.shape[1], axis=0
    )
    x = parameters["token_embedding"][tokens] + positions
    filled = []
    for index, block in enumerate(parameters["blocks"]):
        layer_cache = None if cache is None else cache[index]
        change, layer_cache = _attend(
            layer_norm(x, **block["attention_norm"]), block, layer_cache, start, config
        )
        filled.append(layer_cache)
        x = x + change
        hidden = jax.nn.gelu(_dense(layer_norm(x, **block["mlp_norm"]), block["mlp_input"]))
        x = x + _dense(hidden, block["mlp_output"])
    x = layer_norm(x, **parameters["final_norm"])
    return x @ parameters["token_embedding"].T, filled


def training_step(
    parameters: Tree, state: AdamState, tokens: Array, *, config: Config
) -> tuple[Tree, AdamState, Array]:
    """One step of Adam on the next-token loss.

    Parameters
    ----------
    tokens : int32 [batch, context + 1]

    Returns
    -------
    parameters, state : as before
    loss : float32 scalar
        Mean over all tokens, before the step.
    """

    def loss(parameters: Tree) -> Array:
        logits, _ = forward(parameters, tokens[:, :-1], config)
        return cross_entropy(logits, tokens[:, 1:])

    value, gradients = jax.value_and_grad(loss)(parameters)
    return *adam(parameters, gradients, state), value


class _Generation(NamedTuple):
    """What generation carries from token to token."""

    length: Array  # int32 scalar
    tokens: Array  # int32 [batch, context]
    ended: Array  # bool [batch]
    logits: Array  # float32 [batch, vocabulary], of the next token
    cache: Cache
    key: Array


def generate(
    parameters: Tree, prompt: Array, key: Array, *, config: Config, temperature: float = 0.8
) -> tuple[Array, Array, Array]:
    """Draws texts until all have ended or the context is full.

    Parameters
    ----------
    prompt : int32 [batch, prompt]
    key : uint32 [2]
        For `jax.random`.

    Returns
    -------
    tokens : int32 [batch, context]
        After its end, a text holds the ending token.
    length : int32 scalar
    logits : float32 [batch, vocabulary]
        Of the token that would come next.
    """
    batch = prompt.shape[0]
    end = config.vocabulary - 1
    shape = (batch, config.context, config.heads, config.head_size)
    empty = [(jnp.zeros(shape), jnp.zeros(shape)) for _ in range(config.layers)]
    logits, cache = forward(parameters, prompt, config, empty)
    tokens = jnp.full((batch, config.context), end, jnp.int32)
    tokens = lax.dynamic_update_slice_in_dim(tokens, prompt, 0, axis=1)

    def goes_on(state: _Generation) -> Array:
        return (state.length < config.context) & ~state.ended.all()

    def step(state: _Generation) -> _Generation:
        key, draw = jax.random.split(state.key)
        drawn = jax.random.categorical(draw, state.logits / temperature).astype(jnp.int32)
        token = jnp.where(state.ended, end, drawn)
        logits, cache = forward(parameters, token[:, None], config, state.cache, state.length)
        return _Generation(
            length=state.length + 1,
            tokens=lax.dynamic_update_slice_in_dim(
                state.tokens, token[:, None], state.length, axis=1
            ),
            ended=state.ended | (token == end),
            logits=logits[:, 0],
            cache=cache,
            key=key,
        )

    first = _Generation(
        jnp.int32(prompt.shape[1]), tokens, jnp.zeros(batch, bool), logits[:, -1], cache, key
    )
    last = lax.while_loop(goes_on, step, first)
    return last.tokens, last.length, last.logits


def programs(config: Config) -> list[Program]:
    """The training step and the generation."""

    def training_arguments() -> tuple[Any, ...]:
        parameters = initial_parameters(config)
        tokens = Weights(1).integers(config.vocabulary, config.batch, config.context + 1)
        return parameters, adam_state(parameters), tokens

    def generation_arguments() -> tuple[Any, ...]:
        prompt = Weights(1).integers(config.vocabulary, config.batch, config.prompt)
        return initial_parameters(config), prompt, np.array([0, 7], np.uint32)

    return [
        Program(
            "gpt_training",
            functools.partial(training_step, config=config),
            training_arguments,
            donated=(0, 1),
        ),
        Program("gpt_generation", functools.partial(generate, config=config), generation_arguments),
    ]
