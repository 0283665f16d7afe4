"""What the kernels of `onexpu.kernels` compute, in plain jnp: to test against, and to compare speed with."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def _wide(x: jax.Array) -> jax.Array:
    return x if x.dtype == jnp.float64 else x.astype(jnp.float32)


def rms_norm(x: jax.Array, weight: jax.Array, *, epsilon: float = 1e-6) -> jax.Array:
    """See `onexpu.kernels.rms_norm`."""
    wide = _wide(x)
    scale = jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + epsilon)
    return (wide * scale * _wide(weight)).astype(x.dtype)


def layer_norm(
    x: jax.Array, weight: jax.Array, bias: jax.Array, *, epsilon: float = 1e-5
) -> jax.Array:
    """See `onexpu.kernels.layer_norm`."""
    wide = _wide(x)
    centred = wide - jnp.mean(wide, axis=-1, keepdims=True)
    scale = jax.lax.rsqrt(jnp.mean(centred * centred, axis=-1, keepdims=True) + epsilon)
    return (centred * scale * _wide(weight) + _wide(bias)).astype(x.dtype)


def swiglu(gate: jax.Array, up: jax.Array) -> jax.Array:
    """See `onexpu.kernels.swiglu`."""
    return (jax.nn.silu(_wide(gate)) * _wide(up)).astype(gate.dtype)


def rotary_embedding(x: jax.Array, cosine: jax.Array, sine: jax.Array) -> jax.Array:
    """See `onexpu.kernels.rotary_embedding`."""
    first, second = jnp.split(_wide(x), 2, axis=-1)
    along, across = _wide(cosine)[:, None, :], _wide(sine)[:, None, :]
    turned = [first * along - second * across, second * along + first * across]
    return jnp.concatenate(turned, axis=-1).astype(x.dtype)
