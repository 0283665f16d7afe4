"""Layers that more than one model uses. Statistics and softmaxes are taken in float32."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

NHWC = ("NHWC", "HWIO", "NHWC")


def layer_norm(x: Array, scale: Array, offset: Array, epsilon: float = 1e-5) -> Array:
    """Layer normalisation (Ba et al. 2016, arXiv:1607.06450).

    Parameters
    ----------
    x : [..., width]
    scale, offset : [width]

    Returns
    -------
    [..., width], of x's type
    """
    wide = x.astype(jnp.float32)
    centred = wide - wide.mean(-1, keepdims=True)
    inverse = lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + epsilon)
    return (centred * inverse * scale + offset).astype(x.dtype)


def rms_norm(x: Array, scale: Array, epsilon: float = 1e-6) -> Array:
    """Root-mean-square normalisation (Zhang and Sennrich 2019, arXiv:1910.07467).

    Parameters
    ----------
    x : [..., width]
    scale : [width]

    Returns
    -------
    [..., width], of x's type
    """
    wide = x.astype(jnp.float32)
    inverse = lax.rsqrt(jnp.square(wide).mean(-1, keepdims=True) + epsilon)
    return (wide * inverse * scale).astype(x.dtype)


def group_norm(x: Array, scale: Array, offset: Array, groups: int, epsilon: float = 1e-5) -> Array:
    """Group normalisation (Wu and He 2018, arXiv:1803.08494).

    Parameters
    ----------
    x : [batch, height, width, channels]
    scale, offset : [channels]
    groups : int
        Divides the channels.

    Returns
    -------
    [batch, height, width, channels], of x's type
    """
    batch, height, width, channels = x.shape
    wide = x.astype(jnp.float32).reshape(batch, height, width, groups, channels // groups)
    centred = wide - wide.mean((1, 2, 4), keepdims=True)
    inverse = lax.rsqrt(jnp.square(centred).mean((1, 2, 4), keepdims=True) + epsilon)
    return ((centred * inverse).reshape(x.shape) * scale + offset).astype(x.dtype)


def split_heads(x: Array, heads: int) -> Array:
    """[batch, length, heads * size] -> [batch, length, heads, size]."""
    return x.reshape(*x.shape[:-1], heads, -1)


def merge_heads(x: Array) -> Array:
    """[batch, length, heads, size] -> [batch, length, heads * size]."""
    return x.reshape(*x.shape[:-2], -1)


def attention(
    query: Array, key: Array, value: Array, *, scale: float, bias: Array | float = 0.0
) -> Array:
    """Scaled dot-product attention (Vaswani et al. 2017, arXiv:1706.03762).

    Parameters
    ----------
    query : [batch, queries, heads, size]
    key, value : [batch, keys, heads, size]
    scale : float
        Multiplies the products of queries and keys; usually size ** -0.5.
    bias : float32, broadcastable to [batch, heads, queries, keys]
        Added to the scaled products; `mask_bias` makes one of a mask.

    Returns
    -------
    [batch, queries, heads, size], of the query's type
    """
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key, preferred_element_type=jnp.float32)
    weights = jax.nn.softmax(scores * scale + bias).astype(query.dtype)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, value)


def mask_bias(mask: Array) -> Array:
    """0 where `mask` holds, else a number that no softmax tells from minus infinity; same shape."""
    return jnp.where(mask, 0.0, -1e9).astype(jnp.float32)


def convolution(x: Array, kernel: Array, stride: int = 1) -> Array:
    """A convolution that keeps the size, or divides it by `stride`.

    Parameters
    ----------
    x : [batch, height, width, inputs]
    kernel : [size, size, inputs, outputs]
        The size is odd.

    Returns
    -------
    [batch, height / stride, width / stride, outputs], of x's type
    """
    pad = (kernel.shape[0] - 1) // 2
    return lax.conv_general_dilated(
        x, kernel, (stride, stride), ((pad, pad), (pad, pad)), dimension_numbers=NHWC
    )


def cross_entropy(logits: Array, labels: Array) -> Array:
    """Mean negative log-likelihood.

    Parameters
    ----------
    logits : [..., classes]
    labels : int32 [...]

    Returns
    -------
    float32 scalar
    """
    logs = jax.nn.log_softmax(logits.astype(jnp.float32))
    return -jnp.take_along_axis(logs, labels[..., None], axis=-1).mean()
