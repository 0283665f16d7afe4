"""An encoder-decoder in the shape of T5 (version 1.1) and the gradient of its loss.

Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
Transformer" (JMLR 21, arXiv:1910.10683): biases by the bucket of relative position instead of
positions, RMS normalisation, no other bias anywhere, no scale in the attention; gated GELU (Shazeer
2020, arXiv:2002.05202). The layers are one `lax.scan` over stacked weights, and each is computed
again on the way back (Chen et al. 2016, arXiv:1604.06174).
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from models.layers import attention, cross_entropy, mask_bias, merge_heads, rms_norm, split_heads
from models.program import Program, Size
from models.weights import Weights

Tree = Any


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes. Token 0 pads, and starts what the decoder reads."""

    vocabulary: int
    source: int
    target: int
    width: int
    heads: int
    hidden: int
    layers: int
    batch: int
    buckets: int = 32
    distance: int = 128


CONFIGS = {
    Size.SMALL: Config(
        vocabulary=80, source=20, target=12, width=48, heads=4, hidden=64, layers=2, batch=2
    ),
    Size.MEDIUM: Config(
        vocabulary=2048, source=160, target=64, width=256, heads=8, hidden=512, layers=4, batch=4
    ),
}


def initial_parameters(config: Config) -> Tree:
    """Returns the weights; the layers' have a leading dimension [layers], all float32."""
    weights, width = Weights(), config.width

    def attend() -> Tree:
        # The variance of a product of query and key is 1 without a scale.
        return {
            "norm": weights.near(1, width),
            "query": weights.dense(width, width, gain=config.heads / width),
            "key": weights.dense(width, width),
            "value": weights.dense(width, width),
            "output": weights.dense(width, width),
        }

    def feed_forward() -> Tree:
        return {
            "norm": weights.near(1, width),
            "gate": weights.dense(width, config.hidden),
            "input": weights.dense(width, config.hidden),
            "output": weights.dense(config.hidden, width),
        }

    def stack(make: Any) -> Tree:
        layers = [make() for _ in range(config.layers)]
        return jax.tree.map(lambda *leaves: np.stack(leaves), *layers)

    def encoder_layer() -> Tree:
        return {"self": attend(), "feed_forward": feed_forward()}

    def decoder_layer() -> Tree:
        return {"self": attend(), "cross": attend(), "feed_forward": feed_forward()}

    def side(layer: Any) -> Tree:
        return {
            "position_bias": weights.normal(config.buckets, config.heads, deviation=0.5),
            "layers": stack(layer),
            "final_norm": weights.near(1, width),
        }

    return {
        "embedding": weights.normal(config.vocabulary, width),
        "encoder": side(encoder_layer),
        "decoder": side(decoder_layer),
        "head": weights.dense(width, config.vocabulary),
    }


def position_buckets(
    queries: int, keys: int, *, both_ways: bool, buckets: int, distance: int
) -> np.ndarray:
    """The bucket of every pair of places: int32 [queries, keys].

    Half of the buckets take one distance each, the others take ranges that grow geometrically up to
    `distance`. Both ways, places before and after have half of all buckets each; else what comes
    after falls into the bucket of distance 0.

    Computed on the host: the limits of the ranges are where the logarithm is a whole number, and
    there a rounding error of a device would choose another bucket.
    """
    relative = np.arange(keys)[None, :] - np.arange(queries)[:, None]
    first = np.zeros_like(relative)
    if both_ways:
        buckets //= 2
        first = np.where(relative > 0, buckets, 0)
        away = np.abs(relative)
    else:
        away = np.maximum(-relative, 0)
    exact = buckets // 2
    # bounds[i]: the least distance of the range after the first i + 1 ranges.
    ranges = buckets - exact
    bounds = exact * (distance / exact) ** (np.arange(1, ranges) / ranges)
    wide = exact + np.searchsorted(bounds - 1e-9, away, side="right")
    return (first + np.where(away < exact, away, wide)).astype(np.int32)


def _position_bias(side: Tree, queries: int, keys: int, both_ways: bool, config: Config) -> Array:
    """[1, heads, queries, keys], the same for all layers of a side."""
    places = position_buckets(
        queries, keys, both_ways=both_ways, buckets=config.buckets, distance=config.distance
    )
    return side["position_bias"][places].transpose(2, 0, 1)[None]


def _attend(
    x: Array, layer: Tree, bias: Array, config: Config, context: Array | None = None
) -> Array:
    x = rms_norm(x, layer["norm"])
    context = x if context is None else context
    query, key, value = (
        split_heads(y @ layer[name], config.heads)
        for name, y in (("query", x), ("key", context), ("value", context))
    )
    return merge_heads(attention(query, key, value, scale=1.0, bias=bias)) @ layer["output"]


def _feed_forward(x: Array, layer: Tree) -> Array:
    x = rms_norm(x, layer["norm"])
    return (jax.nn.gelu(x @ layer["gate"]) * (x @ layer["input"])) @ layer["output"]


def _encode(parameters: Tree, source: Array, mask: Array, config: Config) -> Array:
    """float32 [batch, source, width]."""
    side, length = parameters["encoder"], source.shape[1]
    bias = _position_bias(side, length, length, True, config) + mask

    @jax.checkpoint
    def layer(x: Array, weights: Tree) -> tuple[Array, None]:
        x = x + _attend(x, weights["self"], bias, config)
        return x + _feed_forward(x, weights["feed_forward"]), None

    x, _ = lax.scan(layer, parameters["embedding"][source], side["layers"])
    return rms_norm(x, side["final_norm"])


def forward(parameters: Tree, source: Array, target: Array, config: Config) -> Array:
    """Predicts every token of `target` from `source` and the tokens before it.

    Parameters
    ----------
    source : int32 [batch, source]
    target : int32 [batch, target]

    Returns
    -------
    logits : float32 [batch, target, vocabulary]
    """
    mask = mask_bias(source != 0)[:, None, None, :]
    encoded = _encode(parameters, source, mask, config)
    side, length = parameters["decoder"], target.shape[1]
    earlier = mask_bias(np.tri(length, dtype=bool))
    bias = _position_bias(side, length, length, False, config) + earlier

    @jax.checkpoint
    def layer(x: Array, weights: Tree) -> tuple[Array, None]:
        x = x + _attend(x, weights["self"], bias, config)
        x = x + _attend(x, weights["cross"], mask, config, encoded)
        return x + _feed_forward(x, weights["feed_forward"]), None

    read = jnp.pad(target[:, :-1], ((0, 0), (1, 0)))
    x, _ = lax.scan(layer, parameters["embedding"][read], side["layers"])
    return rms_norm(x, side["final_norm"]) @ parameters["head"]


def loss_and_gradients(
    parameters: Tree, source: Array, target: Array, *, config: Config
) -> tuple[Array, Tree]:
    """The mean loss of a token of `target`, and its gradient.

    Parameters
    ----------
    source : int32 [batch, source]
    target : int32 [batch, target]

    Returns
    -------
    loss : float32 scalar
    gradients : tree like the parameters
    """

    def loss(parameters: Tree) -> Array:
        return cross_entropy(forward(parameters, source, target, config), target)

    return jax.value_and_grad(loss)(parameters)


def programs(config: Config) -> list[Program]:
    """The gradient, with a source that is padded."""

    def arguments() -> tuple[Any, ...]:
        data = Weights(1)
        source = 1 + data.integers(config.vocabulary - 1, config.batch, config.source)
        source[0, config.source // 2 :] = 0
        target = 1 + data.integers(config.vocabulary - 1, config.batch, config.target)
        return initial_parameters(config), source, target

    return [
        Program("t5_gradients", functools.partial(loss_and_gradients, config=config), arguments)
    ]
