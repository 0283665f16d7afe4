"""Attention without its matrix of scores (Dao et al.: FlashAttention, 2022; Dao: FlashAttention-2,
2023).
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from onexpu._launch.shapes import Operand, like
from onexpu.kernels import _attention_source
from onexpu.kernels._team_kernel import FLOATING, WIDTH, TeamKernel, has_cpu_schedules, wide

# What a work-item keeps of a head has to stay in its private memory.
_MOST_FEATURES = 256


class _Kernels(NamedTuple):
    attention: TeamKernel
    query_gradient: TeamKernel
    key_gradient: TeamKernel


def _span(features: int, dtype: str) -> int:
    """How many positions are a work-item's, of a GPU's work-group; as `Tile` of the source has
    it.
    """
    if not has_cpu_schedules():
        return WIDTH
    return (8 if dtype == "float64" else 16) * (4 if features <= 128 else 2)


def _parts(x: Operand, features: int) -> Any:
    *batch, positions, heads, _ = x.shape
    return math.prod(batch) * heads * -(-positions // _span(features, x.dtype))


def _each_query(query: Operand, *_: Operand) -> tuple[Any, ...]:
    *batch, queries, heads, _ = query.shape
    return (*batch, heads, queries)


@functools.cache
def _kernels(features: int) -> _Kernels:
    """The kernels for heads of so many features."""
    source = _attention_source.source(features)
    attributes = {
        "scale": float,
        "scale_rest": float,
        "causal": bool,
        "queries": lambda query, key, *_: query.shape[-3],
        "keys": lambda query, key, *_: key.shape[-3],
        "heads": lambda query, key, *_: query.shape[-2],
        "sharing": lambda query, key, *_: query.shape[-2] // key.shape[-2],
    }
    operands = {
        "query": "*batch queries heads features",
        "key": "*batch keys key_heads features",
        "value": "*batch keys key_heads features",
    }
    attention = TeamKernel(
        source,
        "attention",
        rows=lambda query, key, value: _parts(query, features),
        inputs=["query", "key", "value"],
        outputs={"y": like("query"), "log_sums": like("query", dtype=wide, shape=_each_query)},
        attributes=attributes,
        dtypes=FLOATING,
        shapes=operands,
        vmap="leading",
    )
    query_gradient = TeamKernel(
        source,
        "attention_query_gradient",
        rows=lambda query, *_: _parts(query, features),
        inputs=["query", "key", "value", "y", "dy", "log_sums"],
        outputs={"dquery": like("query"), "deltas": like("log_sums")},
        attributes=attributes,
        dtypes=FLOATING,
        shapes=operands
        | {
            "y": "*batch queries heads features",
            "dy": "*batch queries heads features",
            "log_sums": "*batch heads queries",
        },
        vmap="leading",
    )
    key_gradient = TeamKernel(
        source,
        "attention_key_gradient",
        rows=lambda query, key, *_: _parts(key, features),
        inputs=["query", "key", "value", "dy", "log_sums", "deltas"],
        outputs={"dkey": like("key"), "dvalue": like("value")},
        attributes=attributes,
        dtypes=FLOATING,
        shapes=operands
        | {
            "dy": "*batch queries heads features",
            "log_sums": "*batch heads queries",
            "deltas": "*batch heads queries",
        },
        vmap="leading",
    )

    @attention.defgradient
    def gradient(inputs: list[Any], outputs: list[Any], cotangents: list[Any], **how: Any) -> Any:
        y, log_sums = outputs
        dy = cotangents[0]
        dquery, deltas = query_gradient(*inputs, y, dy, log_sums, **how)
        return [dquery, *key_gradient(*inputs, dy, log_sums, deltas, **how)]

    return _Kernels(attention, query_gradient, key_gradient)


def attention(
    query: Any, key: Any, value: Any, *, causal: bool = False, scale: float | None = None
) -> Any:
    """Computes attention: ``softmax(scale * query @ key.T) @ value`` for each head.

    It never stores a matrix of queries times keys. Beyond operands and results it needs memory for
    one value per query.

    Parameters
    ----------
    query : array or tensor, float of 16, 32 or 64 bits [..., queries, heads, features]
        At most 256 features.
    key, value : arrays or tensors of the same type [..., keys, key heads, features]
        The number of query heads is a multiple of the number of key heads; adjacent query heads
        share keys (grouped-query attention).
    causal : bool
        Whether queries see only the keys up to their position, both counted from the first.
    scale : float, optional
        The default is ``1 / sqrt(features)``.

    Returns
    -------
    array or tensor like `query`
        Computed in single precision (double for double), with a gradient for all operands. The
        result is zero if there are no keys.

    Raises
    ------
    TypeError, ValueError
        If types or shapes do not fit.

    Notes
    -----
    Dao et al.: FlashAttention, 2022, with the loops of Dao: FlashAttention-2, 2023, which need no
    atomic sums, so results are the same in each run. The layout and the mask are those of
    ``jax.nn.dot_product_attention``.

    Examples
    --------
    >>> import jax.numpy as jnp, onexpu
    >>> x = jnp.array([1.0, 3.0]).reshape(2, 1, 1)
    >>> onexpu.kernels.attention(jnp.zeros((2, 1, 1)), x, x, causal=True).ravel()
    Array([1., 2.], dtype=float32)
    """
    features = _features(query, key)
    scale = 1 / math.sqrt(features) if scale is None else float(scale)
    rounded = np.float32(scale)
    kernel = _kernels(features).attention
    return kernel(
        query, key, value, scale=float(rounded), scale_rest=scale - float(rounded), causal=causal
    )[0]


def _features(query: Any, key: Any) -> int:
    """Returns the number of features; checks what the kernels' `shapes` do not say."""
    shapes = tuple(query.shape), tuple(key.shape)
    if min(map(len, shapes)) < 3:
        why = "they must be [..., queries, heads, features] and [..., keys, key heads, features]"
    elif None in shapes[0][-2:] or None in shapes[1][-2:]:
        why = "heads and features must be known"
    elif shapes[1][-2] == 0 or shapes[0][-2] % shapes[1][-2] != 0:
        why = "the number of heads must be a multiple of that of the keys"
    elif not 0 < shapes[0][-1] <= _MOST_FEATURES:
        why = f"heads have 1 to {_MOST_FEATURES} features"
    else:
        features: int = shapes[0][-1]
        return features
    raise ValueError(
        f"onexpu.kernels.attention: query has the shape {shapes[0]}, key {shapes[1]}; {why}"
    )
