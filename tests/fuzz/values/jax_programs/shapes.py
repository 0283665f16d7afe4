"""Operations that move elements: reshape, transpose, broadcast, pad, slice, concatenate, ..."""

from __future__ import annotations

import math

from tests.fuzz.values.jax_programs.builder import Builder, Rejected, Value


def _factorisation(b: Builder, size: int) -> tuple[int, ...]:
    """Returns a random shape of a number of elements."""
    if size == 0:
        return tuple(b.choice(((0,), (0, 3), (5, 0), (2, 0, 1))))
    shape: list[int] = []
    rest = size
    while rest > 1 and len(shape) < 4:
        divisors = [i for i in range(2, min(rest, 300) + 1) if rest % i == 0] or [rest]
        factor = b.choice(divisors)
        shape.append(factor)
        rest //= factor
        if b.chance(0.25):
            break
    shape.append(rest)
    if b.chance(0.3):
        shape.insert(b.rng.randint(0, len(shape)), 1)
    return tuple(shape)


def reshape(b: Builder) -> None:
    """A reshape, row-major or of another order of dimensions."""
    value = b.pick()
    shape = _factorisation(b, value.size)
    if value.rank > 1 and b.chance(0.15):
        order = list(range(value.rank))
        b.rng.shuffle(order)
        text = f"lax.reshape({{0}}, {shape}, dimensions={tuple(order)})"
    else:
        text = f"{{0}}.reshape({shape})"
    b.emit(text, value, op="reshape", noise="none")


def transpose(b: Builder) -> None:
    """A permutation of dimensions."""
    value = b.pick(where=lambda one: one.rank > 1)
    order = list(range(value.rank))
    b.rng.shuffle(order)
    b.emit(f"lax.transpose({{0}}, {tuple(order)})", value, op="transpose", noise="none")


def broadcast(b: Builder) -> None:
    """A broadcast along new dimensions and those of size one."""
    value = b.pick(where=lambda one: one.rank < 4 and one.size <= 1000)
    rank = min(5, value.rank + b.rng.randint(0, 2))
    places = sorted(b.rng.sample(range(rank), value.rank))
    shape = []
    for i in range(rank):
        size = value.shape[places.index(i)] if i in places else 1
        shape.append(b.size(40) if size == 1 else size)
    if math.prod(shape) > b.max_elements:
        raise Rejected
    text = f"lax.broadcast_in_dim({{0}}, {tuple(shape)}, {tuple(places)})"
    b.emit(text, value, op="broadcast", noise="none")


def concatenate(b: Builder) -> None:
    """Two to four arrays, one after the other."""
    value = b.pick(where=lambda one: one.rank > 0)
    axis = b.axis(value)
    parts = [value]
    for _ in range(b.rng.randint(1, 3)):
        fitting = [
            one
            for one in b.visible()
            if one.dtype == value.dtype
            and one.rank == value.rank
            and all(one.shape[i] == value.shape[i] for i in range(value.rank) if i != axis)
        ]
        if b.chance(0.3):
            shape = list(value.shape)
            shape[axis] = b.size(20)
            parts.append(b.of(value.dtype, tuple(shape)))
        else:
            parts.append(b.choice(fitting))
    if b.chance(0.5):
        b.rng.shuffle(parts)
    names = ", ".join(f"{{{i}}}" for i in range(len(parts)))
    b.emit(f"lax.concatenate([{names}], {axis})", *parts, op="concatenate", noise="none")


def pad(b: Builder) -> None:
    """A pad: at edges, between elements, negative."""
    value = b.pick(where=lambda one: one.rank > 0)
    config = []
    for size in value.shape:
        if b.chance(0.45):
            config.append((0, 0, 0))
            continue
        low = b.rng.choice((0, 0, 1, 1, 2, 3, 5, -1, -2))
        high = b.rng.choice((0, 0, 1, 1, 2, 4, 7, -1, -3))
        interior = b.rng.choice((0, 0, 0, 0, 1, 2))
        if low + high + size + max(0, size - 1) * interior < 0:
            low, high = abs(low), abs(high)
        config.append((low, high, interior))
    filler = b.choice(("0", "0", "1", "3"))
    text = f"lax.pad({{0}}, {{0}}.dtype.type({filler}), {config})"
    b.emit(text, value, op="pad", noise="none", magnitude=max(value.magnitude, 3))


_PAD_MODES = ("edge", "reflect", "symmetric", "wrap", "constant", "linear_ramp", "mean")


def pad_mode(b: Builder) -> None:
    """One of the modes of `jnp.pad`."""
    value = b.floats(where=lambda one: one.rank > 0 and min(one.shape) > 1)
    mode = b.choice(_PAD_MODES)
    widths = [
        (b.rng.randint(0, min(3, n - 1)), b.rng.randint(0, min(3, n - 1))) for n in value.shape
    ]
    noise = "approximate" if mode in ("linear_ramp", "mean") else "none"
    b.emit(f"jnp.pad({{0}}, {widths}, mode={mode!r})", value, op=f"pad_{mode}", noise=noise)


def slice_(b: Builder) -> None:
    """A slice with strides."""
    value = b.pick(where=lambda one: one.rank > 0)
    starts, limits, strides = [], [], []
    for size in value.shape:
        if b.chance(0.4) or size == 0:
            starts.append(0)
            limits.append(size)
            strides.append(1)
            continue
        start = b.rng.randint(0, size - 1)
        limit = b.rng.randint(start, size) if b.chance(0.1) else b.rng.randint(start + 1, size)
        starts.append(start)
        limits.append(limit)
        strides.append(b.rng.choice((1, 1, 1, 2, 2, 3, 5)))
    text = f"lax.slice({{0}}, {starts}, {limits}, {strides})"
    b.emit(text, value, op="slice", noise="none")


def index_statically(b: Builder) -> None:
    """NumPy's basic indexing."""
    value = b.pick(where=lambda one: one.rank > 0 and one.size > 0)
    words = []
    for size in value.shape:
        words.append(
            b.choice(
                (":", ":", "::-1", "::2", "1::2", str(b.rng.randrange(size)), f"-{size}:",
                 "None, :",
                 f"{b.rng.randrange(size)}:")
            )
        )  # fmt: skip
    b.emit(f"{{0}}[{', '.join(words)}]", value, op="index_statically", noise="none")


def reverse(b: Builder) -> None:
    """A reversal."""
    value = b.pick(where=lambda one: one.rank > 0)
    b.emit(f"lax.rev({{0}}, {b.axes(value)})", value, op="reverse", noise="none")


def iota(b: Builder) -> None:
    """A count along an axis."""
    shape = b.shape(b.rng.randint(1, 3))
    axis = b.rng.randrange(len(shape))
    dtype = b.dtype(("s32", "f32", "u8", "s64", "s8", "bf16", "f16", "u32"))
    if dtype not in ("s32", "f32", "s64", "u32") and shape[axis] > 120:
        raise Rejected
    text = f"lax.broadcasted_iota({dtype}, {shape}, {axis})"
    b.emit(text, op="iota", noise="none", magnitude=float(shape[axis] + 1))


def _two(value: Value) -> bool:
    return value.rank >= 2


def move(b: Builder) -> None:
    """One of NumPy's functions that move elements."""
    value = b.pick(where=_two) if b.chance(0.8) else b.pick(where=lambda one: one.rank > 0)
    axis = b.axis(value)
    options = [
        f"jnp.roll({{0}}, {b.rng.randint(-5, 5)}, {axis})",
        f"jnp.repeat({{0}}, {b.rng.randint(1, 3)}, axis={axis})",
        f"jnp.flip({{0}}, {axis})",
        f"jnp.expand_dims({{0}}, {axis})",
        f"jnp.stack([{{0}}, {{0}}], {axis})",
        "jnp.ravel({0})",
        f"jnp.moveaxis({{0}}, {axis}, 0)",
        f"jnp.tile({{0}}, {tuple(b.rng.randint(1, 3) for _ in value.shape)})",
        f"jnp.squeeze({{0}}[None], 0).swapaxes(0, {axis})",
        f"jnp.resize({{0}}, {b.shape(2, minimum=1)})",
    ]
    if value.rank >= 2:
        k = b.rng.randint(-2, 2)
        options += [
            f"jnp.tril({{0}}, {k})",
            f"jnp.triu({{0}}, {k})",
            f"jnp.rot90({{0}}, {b.rng.randint(1, 3)})",
            f"jnp.diagonal({{0}}, {k})",
            "jnp.fliplr({0})",
            "{0}.T",
        ]
    if value.shape[axis] and value.shape[axis] % 2 == 0:
        options.append(f"jnp.split({{0}}, 2, {axis})[{b.rng.randint(0, 1)}]")
    if value.size == 0:
        raise Rejected
    b.emit(b.choice(options), value, op="move", noise="none")


def with_itself(b: Builder) -> None:
    """A value and the same value at other indices, in one operation."""
    value = b.pick(where=lambda one: one.rank > 0 and one.size > 0 and not one.is_complex)
    axis = b.axis(value)
    other = b.choice(
        (
            f"jnp.flip({{0}}, {axis})",
            f"jnp.roll({{0}}, {b.rng.randint(1, 5)}, {axis})",
            f"jnp.take({{0}}, jnp.arange({{0}}.shape[{axis}]) * 3 % {{0}}.shape[{axis}], {axis})",
        )
    )
    text = b.choice(
        (
            f"jnp.maximum({{0}}, {other})",
            f"jnp.where({{0}} < {other}, {{0}}, {other})",
            f"jnp.stack([{{0}}, {other}]).max(0)",
        )
    )
    b.emit(b.choice((text, f"({text}).T")), value, op="with_itself", noise="none")


def meshgrid(b: Builder) -> None:
    """A grid of two vectors, or a diagonal matrix of one."""
    value = b.pick(where=lambda one: one.rank == 1 and 0 < one.size < 80)
    options = ("jnp.meshgrid({0}, {0})[0]", "jnp.meshgrid({0}, {0})[1]", "jnp.diag({0})",
               "jnp.tri({0}.shape[0], dtype=f32) * {0}.astype(f32)")  # fmt: skip
    b.emit(b.choice(options), value, op="meshgrid", noise="none")


FAMILY = {
    reshape: 14,
    transpose: 14,
    broadcast: 12,
    concatenate: 10,
    pad: 14,
    pad_mode: 3,
    slice_: 14,
    index_statically: 6,
    reverse: 5,
    iota: 4,
    move: 12,
    with_itself: 10,
    meshgrid: 1,
}
