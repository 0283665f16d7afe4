"""What models are made of: softmax, normalisation, attention, losses, random values."""

from __future__ import annotations

import math

from tests.fuzz.values.inputs import INTEGERS
from tests.fuzz.values.jax_programs.builder import Builder, Rejected


def softmax(b: Builder) -> None:
    """A softmax or its logarithm."""
    value = b.floats(where=lambda one: one.rank > 0 and one.size > 0)
    name = b.choice(("softmax", "log_softmax", "standardize"))
    if name == "standardize" and value.dtype in ("f16", "bf16"):
        # `variances-of-rounded-squares` in docs/conformance.md.
        value = b.emit("{0}.astype(f32)", value, op="convert")
    b.emit(f"jax.nn.{name}({{0}}, axis={b.axis(value)})", value, op=name, noise="transform",
           magnitude=value.magnitude + 8)  # fmt: skip


def layer_norm(b: Builder) -> None:
    """A layer norm with scale and shift, or an RMS norm."""
    value = b.floats(where=lambda one: one.rank > 0 and one.shape[-1] > 1)
    scale, shift = (b.of(value.dtype, value.shape[-1:]) for _ in range(2))
    text = b.choice(
        (
            "({0} - {0}.mean(-1, keepdims=True)) * lax.rsqrt({0}.var(-1, keepdims=True) + 0.1)"
            " * {1} + {2}",
            "{0} * lax.rsqrt(jnp.mean(jnp.square({0}), -1, keepdims=True) + 0.1) * {1} + {2}",
        )
    )
    b.emit(text, value, scale, shift, op="layer_norm", noise="transform",
           magnitude=8 * scale.magnitude + shift.magnitude)  # fmt: skip


def batch_norm(b: Builder) -> None:
    """A normalisation over all axes but the last."""
    value = b.floats(where=lambda one: one.rank > 1 and one.size > 0)
    axes = tuple(range(value.rank - 1))
    text = f"({{0}} - {{0}}.mean({axes})) / jnp.sqrt({{0}}.var({axes}) + 0.1)"
    b.emit(text, value, op="batch_norm", noise="transform", magnitude=16.0)


def attention(b: Builder) -> None:
    """Attention with a causal mask at times."""
    dtype = b.choice(("f32", "f32", "bf16", "f16"))
    batch, heads = b.choice((1, 2, 3)), b.choice((1, 2, 4))
    queries, keys, depth = (b.size(33, minimum=1) for _ in range(3))
    q = b.of(dtype, (batch, heads, queries, depth))
    k = b.of(dtype, (batch, heads, keys, depth))
    v = b.of(dtype, (batch, heads, keys, depth))
    scores = f"jnp.einsum('bhqd,bhkd->bhqk', {{0}}, {{1}}) * {1 / math.sqrt(depth)!r}"
    if queries == keys and b.chance(0.5):
        scores = f"jnp.where(jnp.tril(jnp.ones(({queries}, {keys}), bool)), {scores}, -1e4)"
    text = f"jnp.einsum('bhqk,bhkd->bhqd', jax.nn.softmax({scores}), {{2}})"
    b.emit(text, q, k, v, op="attention", noise="transform", magnitude=v.magnitude)


def cross_entropy(b: Builder) -> None:
    """A loss, and its gradient."""
    value = b.floats(where=lambda one: one.rank == 2 and min(one.shape) > 0 and not one.special)
    labels = b.of(b.choice(("s32", "u8", "s64")), (value.shape[0],))
    loss = (
        "-jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(a.astype(f32)),"
        f" (jnp.abs({{1}}.astype(s32)) % {value.shape[1]})[:, None], axis=1))"
    )
    if value.dtype == "f64":
        # As a statement, which tells the judge that results are of f32.
        value = b.emit("{0}.astype(f32)", value, op="convert")
    text = loss.replace("a.astype", "{0}.astype", 1)
    if b.chance(0.6):
        text = f"jax.grad(lambda a: {loss})({{0}})"
    b.emit(text, value, labels, op="cross_entropy", noise="transform", magnitude=8.0, special=False)


_RANDOM = ("jax.random.uniform({k}, {s})", "jax.random.normal({k}, {s})",
           "jax.random.bits({k}, {s}, 'uint32')", "jax.random.bits({k}, {s}, 'uint8')",
           "jax.random.randint({k}, {s}, -10, 100)", "jax.random.bernoulli({k}, 0.4, {s})",
           "jax.random.uniform({k}, {s}, bf16)", "jax.random.normal({k}, {s}, f64)",
           "jax.random.gumbel({k}, {s})", "jax.random.permutation({k}, {n})",
           "jax.random.categorical({k}, jnp.zeros({s} + (5,)))",
           "jax.random.truncated_normal({k}, -1, 1, {s})",
           "lax.rng_bit_generator(jnp.array([1, 2, 3, 4], u32), {s}, 'uint32')[1]")  # fmt: skip


def random_values(b: Builder) -> None:
    """Pseudo-random values by Threefry, from a key that the program computes."""
    seed = b.pick(INTEGERS, where=lambda one: one.size > 0)
    shape = b.shape(b.rng.randint(1, 3))
    if math.prod(shape) > 5000:
        raise Rejected
    source = b.choice(_RANDOM)
    key = "jax.random.key({0}.ravel()[0].astype(s32) & 1023)"
    if b.chance(0.3):
        key = f"jax.random.split({key}, 3)[1]"
    size = b.size(60, minimum=1)
    text = source.replace("{k}", key).replace("{s}", str(shape)).replace("{n}", str(size))
    noise = "approximate" if "normal" in text or "gumbel" in text else "none"
    if "rng_bit" in text:
        text = text.replace("'uint32'", "'uint32', algorithm=lax.RandomAlgorithm.RNG_THREE_FRY")
    b.emit(text, seed, op="random", noise=noise, magnitude=8.0, special=False)


def interpolate(b: Builder) -> None:
    """A resize of an image, or a linear interpolation."""
    value = b.pick(("f32", "f32", "bf16"), where=lambda one: one.rank == 2 and min(one.shape) > 0)
    if b.chance(0.6):
        shape = b.shape(2, minimum=1)
        method = b.choice(("nearest", "linear", "cubic"))
        text = f"jax.image.resize({{0}}, {shape}, {method!r})"
    else:
        text = (
            "jnp.interp({0}.astype(f32), jnp.linspace(-3, 3, 13), jnp.cos(jnp.linspace(-3, 3, 13)))"
        )
    b.emit(text, value, op="interpolate", noise="transform")


def by_place(b: Builder) -> None:
    """A decay, a bias or a sign for each place, which a loop's body computes in each step."""
    value = b.floats(where=lambda one: one.rank > 0 and one.size > 0 and not one.special)
    period = b.rng.randint(2, 7)
    place = f"(jnp.arange({value.shape[-1]}) % {period}).astype({value.dtype})"
    text = b.choice(
        (
            f"{{0}} * jnp.exp(-{place})",
            f"{{0}} * -{place} * {1 / period!r}",
            f"{{0}} + jnp.sin(-{place})",
            f"{{0}} - jnp.sqrt(-{place} + {period})",
        )
    )
    b.emit(text, value, op="by_place", noise="transform", magnitude=value.magnitude + period)


def attained(b: Builder) -> None:
    """Whether the maximum of a value is one of its elements, which is so in every precision."""
    value = b.floats(where=lambda one: one.rank > 0 and one.size > 0 and not one.special)
    axis = b.axis(value)
    text = b.choice(
        (
            f"({{0}} == {{0}}.max({axis}, keepdims=True)).any({axis})",
            f"({{0}} <= {{0}}.max({axis}, keepdims=True)).all({axis})",
            f"(jnp.sort({{0}}, {axis}) == {{0}}.min({axis}, keepdims=True)).any({axis})",
            f"({{0}} >= lax.cummax({{0}}, {axis % value.rank})).any({axis})",
        )
    )
    b.emit(text, value, op="attained", noise="none", special=False)


FAMILY = {
    softmax: 5,
    layer_norm: 4,
    batch_norm: 2,
    attention: 1.5,
    attained: 4,
    by_place: 5,
    cross_entropy: 2,
    random_values: 4,
    interpolate: 1,
}
