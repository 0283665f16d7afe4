"""What the kernels of `onexpu.kernels` compute, in plain jnp: to test against, and to compare speed
with.
"""

from __future__ import annotations

import math

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


def attention(
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    *,
    causal: bool = False,
    scale: float | None = None,
) -> jax.Array:
    """See `onexpu.kernels.attention`."""
    *batch, queries, heads, features = query.shape
    keys, key_heads = key.shape[-3:-1]
    grouped = _wide(query).reshape(*batch, queries, key_heads, heads // key_heads, features)
    scores = jnp.einsum("...qhgf,...khf->...hgqk", grouped, _wide(key))
    scores *= features**-0.5 if scale is None else scale
    if causal:
        scores = jnp.where(jnp.arange(queries)[:, None] >= jnp.arange(keys), scores, -jnp.inf)
    mixed = jnp.einsum("...hgqk,...khf->...qhgf", jax.nn.softmax(scores, axis=-1), _wide(value))
    return mixed.reshape(query.shape).astype(query.dtype)


def adamw(
    parameter: jax.Array,
    gradient: jax.Array,
    m: jax.Array,
    v: jax.Array,
    step_count: jax.Array,
    learning_rate: jax.Array,
    *,
    b1: float = 0.9,
    b2: float = 0.999,
    epsilon: float = 1e-8,
    weight_decay: float = 1e-2,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """See `onexpu.kernels.adamw`."""
    wide, slope = _wide(parameter), _wide(gradient)
    mean = b1 * _wide(m) + (1 - b1) * slope
    square = b2 * _wide(v) + (1 - b2) * slope * slope
    # In single precision, 1 - b**t would lose most of its digits in the first steps.
    steps = jnp.asarray(step_count, wide.dtype).reshape(())
    corrected_mean = mean / -jnp.expm1(steps * math.log(b1))
    corrected_square = square / -jnp.expm1(steps * math.log(b2))
    step = corrected_mean / (jnp.sqrt(corrected_square) + epsilon) + weight_decay * wide
    new = wide - jnp.asarray(learning_rate, wide.dtype).reshape(()) * step
    return new.astype(parameter.dtype), mean.astype(m.dtype), square.astype(v.dtype)


def paged_kv_update(
    key_pages: jax.Array,
    value_pages: jax.Array,
    keys: jax.Array,
    values: jax.Array,
    slots: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """See `onexpu.kernels.paged_kv_update`."""
    capacity = key_pages.shape[0] * key_pages.shape[1]
    # An index below 0 would count from the end.
    slots = jnp.where(slots < 0, capacity, slots)

    def updated(pages: jax.Array, rows: jax.Array) -> jax.Array:
        flat = pages.reshape(capacity, *pages.shape[2:])
        return flat.at[slots].set(rows, mode="drop").reshape(pages.shape)

    return updated(key_pages, keys), updated(value_pages, values)


def top_p_sample(
    logits: jax.Array,
    uniform: jax.Array,
    *,
    p: float | jax.Array,
    temperature: float | jax.Array = 1.0,
) -> jax.Array:
    """See `onexpu.kernels.top_p_sample`."""
    p, temperature = (
        jnp.broadcast_to(jnp.asarray(x, jnp.float32), uniform.shape)[..., None]
        for x in (p, temperature)
    )
    wide = _wide(logits)
    largest = jnp.max(wide, axis=-1, keepdims=True)
    powers = jnp.exp((wide - largest) / jnp.maximum(temperature, 0))
    weights = jnp.where(wide == largest, 1, powers)
    order = jnp.argsort(wide, axis=-1, stable=True, descending=True)
    in_order = jnp.take_along_axis(weights, order, axis=-1)
    sums = jnp.cumsum(in_order, axis=-1)
    before = jnp.pad(sums, [(0, 0)] * (sums.ndim - 1) + [(1, 0)])[..., :-1]
    # A token is in the nucleus if those before it are not enough.
    is_in = (before < p * sums[..., -1:]).at[..., 0].set(True)
    is_in = jnp.take_along_axis(is_in, jnp.argsort(order, axis=-1), axis=-1)
    chances = jnp.cumsum(jnp.where(is_in, weights, 0), axis=-1)
    tokens = jnp.argmax(chances > uniform[..., None] * chances[..., -1:], axis=-1)
    is_good = jnp.isfinite(largest) | (largest == jnp.inf)
    return jnp.where(is_good[..., 0], tokens, -1).astype(jnp.int32)


def _grouped(numbers: jax.Array, scales: jax.Array) -> jax.Array:
    """Gives each row of the weights the scales, or zero points, of its group."""
    scales = jnp.atleast_2d(scales)
    return jnp.repeat(scales, numbers.shape[0] // scales.shape[0], axis=0)


def int8_matmul(x: jax.Array, weight: jax.Array, scales: jax.Array) -> jax.Array:
    """See `onexpu.kernels.int8_matmul`."""
    wide = _wide(x)
    numbers = weight.astype(wide.dtype) * _grouped(weight, scales.astype(wide.dtype))
    return (wide @ numbers).astype(x.dtype)


def int4_matmul(
    x: jax.Array, packed: jax.Array, scales: jax.Array, zero_points: jax.Array | None = None
) -> jax.Array:
    """See `onexpu.kernels.int4_matmul`."""
    wide = _wide(x)
    halves = jnp.stack([packed & 15, packed >> 4], axis=1).reshape(-1, packed.shape[1])
    numbers = halves[: x.shape[-1]].astype(wide.dtype)
    zeros = 8 if zero_points is None else _grouped(numbers, zero_points).astype(wide.dtype)
    return (wide @ ((numbers - zeros) * _grouped(numbers, scales.astype(wide.dtype)))).astype(
        x.dtype
    )
