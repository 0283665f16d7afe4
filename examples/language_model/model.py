"""The decoder: a whole prompt at once, and one token of several conversations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import onexpu
from language_model.config import Config
from language_model.matrices import multiply
from language_model.weights import Weights

# One (keys, values) a layer, each [pages, page_size, key_heads, head_size].
Cache = list[tuple[jax.Array, jax.Array]]
# Takes queries, keys and values of new tokens, each [..., tokens, heads, head_size], and the layer.
_Attend = Callable[[jax.Array, jax.Array, jax.Array, int], jax.Array]


def empty_cache(config: Config, pages: int, page_size: int) -> Cache:
    """Returns a cache of zeros, bfloat16."""
    shape = (pages, page_size, config.key_heads, config.head_size)
    return [
        (jnp.zeros(shape, jnp.bfloat16), jnp.zeros(shape, jnp.bfloat16))
        for _ in range(config.layers)
    ]


def prefill(
    weights: Weights, config: Config, cache: Cache, tokens: jax.Array, length: Any, slots: jax.Array
) -> tuple[jax.Array, Cache]:
    """Reads a prompt.

    Parameters
    ----------
    weights, config, cache
        The cache may be donated.
    tokens : int32 [n]
        The prompt, padded to `n`.
    length : int32 []
        The number of tokens of the prompt.
    slots : int32 [n]
        The slots of the cache (`onexpu.kernels.paged_kv_update`), -1 for padding.

    Returns
    -------
    tuple
        The logits after the last token, float32 [vocabulary], and the cache.
    """
    cache = list(cache)

    def attend(query: jax.Array, key: jax.Array, value: jax.Array, layer: int) -> jax.Array:
        cache[layer] = onexpu.kernels.paged_kv_update(*cache[layer], key, value, slots)
        return _causal_attention(query, key, value, config.window)

    positions = jnp.arange(tokens.shape[0])
    x = _decode(weights, config, tokens, positions, attend)
    last = jax.lax.dynamic_index_in_dim(x, length - 1, keepdims=True)
    return _logits(weights, last)[0], cache


def step(
    weights: Weights,
    config: Config,
    cache: Cache,
    tokens: jax.Array,
    positions: jax.Array,
    slots: jax.Array,
    pages: jax.Array,
) -> tuple[jax.Array, Cache]:
    """Reads one token of each conversation.

    Parameters
    ----------
    weights, config, cache
        The cache may be donated.
    tokens, positions, slots : int32 [conversations]
        A token, its position in its conversation, and its slot of the cache. A slot of -1 marks an
        unused row, whose logits are undefined.
    pages : int32 [conversations, m]
        The pages that contain the conversation, in order.

    Returns
    -------
    tuple
        Logits, float32 [conversations, vocabulary], and the cache.
    """
    cache = list(cache)

    def attend(query: jax.Array, key: jax.Array, value: jax.Array, layer: int) -> jax.Array:
        cache[layer] = onexpu.kernels.paged_kv_update(*cache[layer], key, value, slots)
        # [conversations, positions, key_heads, head_size]
        keys, values = (
            side[pages].reshape(pages.shape[0], -1, *side.shape[2:]) for side in cache[layer]
        )
        known = jnp.arange(keys.shape[1])
        is_visible = known <= positions[:, None]
        if config.window is not None:
            is_visible &= known > positions[:, None] - config.window
        mask = is_visible[:, None, None]
        return jax.nn.dot_product_attention(query[:, None], keys, values, mask=mask)[:, 0]

    x = _decode(weights, config, tokens, positions, attend)
    return _logits(weights, x), cache


def log_probabilities(weights: Weights, config: Config, tokens: jax.Array) -> jax.Array:
    """Returns the log-probability of each token but the first, float32 [texts, n - 1].

    `tokens` is int32 [texts, n]. There is a gradient for all weights that are not quantised.
    """

    def attend(query: jax.Array, key: jax.Array, value: jax.Array, layer: int) -> jax.Array:
        del layer
        return _causal_attention(query, key, value, config.window)

    inputs, outputs = tokens[:, :-1], tokens[:, 1:]
    x = _decode(weights, config, inputs, jnp.arange(inputs.shape[1]), attend)
    scores = jax.nn.log_softmax(_logits(weights, x))
    return jnp.take_along_axis(scores, outputs[..., None], -1)[..., 0]


def _causal_attention(
    query: jax.Array, key: jax.Array, value: jax.Array, window: int | None
) -> jax.Array:
    if window is None or window >= query.shape[-3]:
        return onexpu.kernels.attention(query, key, value, causal=True)
    batch = query.ndim == 4
    query, key, value = (x if batch else x[None] for x in (query, key, value))
    result = jax.nn.dot_product_attention(
        query, key, value, is_causal=True, local_window_size=(window - 1, 0)
    )
    return result if batch else result[0]


def _decode(
    weights: Weights, config: Config, tokens: jax.Array, positions: jax.Array, attend: _Attend
) -> jax.Array:
    """Returns the features of tokens after all blocks; `positions` are those of the last axis."""
    x = weights["embedding"][tokens]
    if config.scales_embeddings:
        x *= jnp.asarray(math.sqrt(config.width), x.dtype)
    angles = positions[:, None] * jnp.asarray(config.rotary_frequencies(), jnp.float32)
    rotation = jnp.cos(angles), jnp.sin(angles)
    for layer, block in enumerate(weights["blocks"]):
        x = _block(block, config, x, rotation, attend, layer)
    return onexpu.kernels.rms_norm(x, weights["norm"], epsilon=config.epsilon)


def _block(
    weights: dict[str, Any],
    config: Config,
    x: jax.Array,
    rotation: tuple[jax.Array, jax.Array],
    attend: _Attend,
    layer: int,
) -> jax.Array:
    norm = onexpu.kernels.rms_norm
    epsilon = config.epsilon
    normalized = norm(x, weights["attention_norm"], epsilon=epsilon)
    projected = multiply(normalized, weights["query_key_value"])
    if "bias" in weights:
        projected += weights["bias"]
    heads = projected.reshape(*x.shape[:-1], -1, config.head_size)
    query, key, value = jnp.split(heads, [config.heads, config.heads + config.key_heads], axis=-2)
    if "query_norm" in weights:
        query = norm(query, weights["query_norm"], epsilon=epsilon)
        key = norm(key, weights["key_norm"], epsilon=epsilon)
    query, key = (onexpu.kernels.rotary_embedding(side, *rotation) for side in (query, key))
    attended = attend(query, key, value, layer)
    x += multiply(attended.reshape(*x.shape[:-1], -1), weights["attention_output"])
    normalized = norm(x, weights["mlp_norm"], epsilon=epsilon)
    gate, up = jnp.split(multiply(normalized, weights["gate_up"]), 2, axis=-1)
    if config.activation == "silu":
        hidden = onexpu.kernels.swiglu(gate, up)
    else:
        hidden = jax.nn.gelu(gate, approximate=True) * up
    return x + multiply(hidden, weights["mlp_output"])


def _logits(weights: Weights, x: jax.Array) -> jax.Array:
    if "head" in weights:
        return multiply(x, weights["head"]).astype(jnp.float32)
    return jnp.einsum("...w,vw->...v", x, weights["embedding"], preferred_element_type=jnp.float32)
