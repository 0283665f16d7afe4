"""Gathers, scatters, dynamic slices and updates, with indices in and out of range."""

from __future__ import annotations

import math

import numpy as np

from tests.fuzz.values.inputs import DTYPES, INTEGERS
from tests.fuzz.values.jax_programs.builder import REAL_FLOATS, Builder, Rejected, Value

_INDEX_DTYPES = ("s32", "s32", "s64", "u32", "u8", "s8", "s16")


def _start(b: Builder, size: int) -> Value:
    """Returns a start index: a scalar of the program, mostly in range."""
    scalars = [one for one in b.visible() if one.dtype in INTEGERS and one.shape == ()]
    if scalars and b.chance(0.5):
        return b.choice(scalars)
    if b.chance(0.5):
        vectors = [one for one in b.visible() if one.dtype in INTEGERS and one.size]
        if vectors:
            value = b.choice(vectors)
            return b.emit("{0}.ravel()[0]", value, op="scalar", noise="none")
    return b.new_input(b.choice(_INDEX_DTYPES), (), b.choice(("small", "normal", "extreme")))


def dynamic_slice(b: Builder) -> None:
    """A slice at indices that the device knows; they are clamped."""
    value = b.pick(where=lambda one: 0 < one.rank < 4)
    sizes = tuple(b.rng.randint(min(1, n), n) for n in value.shape)
    starts = _starts(b, value)
    names = ", ".join(f"{{{i + 1}}}" for i in range(value.rank))
    text = f"lax.dynamic_slice({{0}}, ({names},), {sizes})"
    b.emit(text, value, *starts, op="dynamic_slice", noise="none", special=value.special)


def _starts(b: Builder, value: Value) -> list[Value]:
    """Returns an index for each axis, all of one dtype, as HLO wants them."""
    starts = [_start(b, size) for size in value.shape]
    dtype = starts[0].dtype
    return [
        one if one.dtype == dtype else b.emit(f"{{0}}.astype({dtype})", one, op="convert")
        for one in starts
    ]


def _check_limits(start: Value, limits: list[int]) -> None:
    """Rejects an update whose last start index the index's type cannot hold.

    `clamp-of-narrow-indices` in docs/conformance.md.
    """
    if max(limits) > np.iinfo(DTYPES[start.dtype]).max:
        raise Rejected


def dynamic_update_slice(b: Builder) -> None:
    """An update at indices that the device knows; they are clamped."""
    value = b.pick(where=lambda one: 0 < one.rank < 4)
    sizes = tuple(b.rng.randint(min(1, n), n) for n in value.shape)
    update = b.of(value.dtype, sizes)
    starts = _starts(b, value)
    _check_limits(starts[0], [n - size for n, size in zip(value.shape, sizes, strict=True)])
    names = ", ".join(f"{{{i + 2}}}" for i in range(value.rank))
    text = f"lax.dynamic_update_slice({{0}}, {{1}}, ({names},))"
    b.emit(text, value, update, *starts, op="dynamic_update_slice", noise="none",
           special=value.special or update.special)  # fmt: skip


def dynamic_index(b: Builder) -> None:
    """One row at an index, or its update."""
    value = b.pick(where=lambda one: one.rank > 0 and one.shape[0] > 0)
    axis = b.axis(value)
    if not value.shape[axis]:
        raise Rejected
    index = _start(b, value.shape[axis])
    if b.chance(0.5):
        keep = b.choice((True, False))
        text = f"lax.dynamic_index_in_dim({{0}}, {{1}}, {axis}, keepdims={keep})"
        b.emit(text, value, index, op="dynamic_index", noise="none", special=value.special)
    else:
        row = b.of(value.dtype, value.shape[:axis] + value.shape[axis + 1 :])
        _check_limits(index, [value.shape[axis] - 1])
        text = f"lax.dynamic_update_index_in_dim({{0}}, {{2}}, {{1}}, {axis})"
        b.emit(text, value, index, row, op="dynamic_update_index", noise="none",
               special=value.special or row.special)  # fmt: skip


def indices(b: Builder, size: int, count: tuple[int, ...] | None = None) -> Value:
    """Returns integers to index a dimension with, a few of them out of range."""
    shape = count if count is not None else b.shape(b.rng.choice((0, 1, 1, 1, 2)))
    if math.prod(shape) > 2000:
        raise Rejected
    fitting = [one for one in b.visible() if one.dtype in INTEGERS and one.shape == shape]
    value = (
        b.choice(fitting)
        if fitting and b.chance(0.4)
        else b.new_input(
            b.choice(_INDEX_DTYPES), shape, b.choice(("small", "normal", "normal", "ties"))
        )
    )
    if b.chance(0.5):
        return value
    # Within a little more than the range, from -size - 2 to size + 1.
    span = min(2 * size + 4, 120)
    if value.dtype in ("u8", "u32", "u16", "u64"):
        return b.emit(f"{{0}} % {min(size + 2, 120)}", value, op="index_range")
    return b.emit(f"{{0}} % {span} - {span // 2}", value, op="index_range")


_GATHER_MODES = ("fill", "clip", "wrap", "promise")


def take(b: Builder) -> None:
    """A gather of rows, of elements, or along an axis; every mode of out-of-range indices."""
    value = b.pick(where=lambda one: one.rank > 0 and one.size > 0)
    axis = b.axis(value)
    size = value.shape[axis]
    which = b.rng.random()
    if which < 0.4:
        index = indices(b, size)
        mode = b.choice(("fill", "clip", "wrap"))
        text = f"jnp.take({{0}}, {{1}}, axis={axis}, mode={mode!r})"
    elif which < 0.55:
        shape = list(value.shape)
        shape[axis] = b.size(40)
        index = indices(b, size, tuple(shape))
        mode = b.choice(("fill", "clip"))
        text = f"jnp.take_along_axis({{0}}, {{1}}, axis={axis}, mode={mode!r})"
    elif which < 0.75 and value.rank >= 2:
        index = indices(b, value.shape[0])
        if index.shape == ():
            raise Rejected
        second = b.choice(("{1} // 2", "{1}[::-1]", "{1} + 1"))
        words = [":"] * value.rank
        words[0], words[-1] = "{1}", second
        mode = b.choice(("fill", "clip"))
        text = f"{{0}}.at[{', '.join(words)}].get(mode={mode!r})"
    else:
        index = indices(b, size)
        words = [":"] * value.rank
        words[axis] = "{1}"
        if b.chance(0.3):
            words = [word if word != ":" or b.chance(0.5) else "::2" for word in words]
        text = f"{{0}}[{', '.join(words)}]"
    # "fill" yields NaN for floats.
    special = value.special or (value.is_float and "clip" not in text and "wrap" not in text)
    if special and not value.special and value.dtype in REAL_FLOATS and b.chance(0.8):
        text = f"jnp.nan_to_num({text})"
        special = False
    b.emit(text, value, index, op="gather", noise="none", special=special,
           magnitude=value.magnitude)  # fmt: skip


def one_hot(b: Builder) -> None:
    """A one-hot encoding."""
    index = b.pick(INTEGERS, where=lambda one: one.size <= 500)
    size = b.size(40, minimum=1)
    dtype = b.choice(("f32", "bf16", "s32", "bool", "f16"))
    text = f"jax.nn.one_hot({{0}}, {size}, dtype={dtype})"
    b.emit(text, index, op="one_hot", noise="none", magnitude=1.0)


def scatter(b: Builder) -> None:
    """An update of rows or elements; `set` and `mul` of floats have distinct indices.

    XLA leaves the order of updates of one element open.
    """
    value = b.pick(
        REAL_FLOATS + INTEGERS + ("bool", "c64"), where=lambda one: one.rank > 0 and one.size > 0
    )
    axis = b.rng.choice((0, 0, b.axis(value)))
    size = value.shape[axis]
    method = b.weighted({"add": 6, "max": 4, "min": 4, "set": 5, "mul": 1})
    if value.dtype == "bool":
        method = "set"
    if value.is_complex and method not in ("add", "set"):
        method = "add"
    if method == "set" or (method == "mul" and not value.is_integer):
        # Distinct indices: i * step modulo a prime, beyond the dimension for a few.
        count = b.rng.randint(1, min(size + 3, 60))
        modulus = next(p for p in (2, 3, 5, 7, 11, 17, 29, 41, 61, 97) if p >= count)
        if b.chance(0.6):
            modulus = max(count, size)
            step = next(s for s in (3, 5, 7, 11, 13, 1) if math.gcd(s, modulus) == 1)
        else:
            step = 1
        start = b.rng.randint(0, 5)
        text = f"(lax.iota(s32, {count}) * {step} + {start}) % {modulus}"
        index = b.emit(text, op="distinct_indices", noise="none")
    else:
        index = indices(b, size)
    shape = value.shape[:axis] + index.shape + value.shape[axis + 1 :]
    if math.prod(shape) > b.max_elements:
        raise Rejected
    if b.chance(0.2):
        shape = tuple(n if b.chance(0.5) else 1 for n in shape)
    update = b.of(value.dtype, shape)
    words = [":"] * (axis + 1)
    words[axis] = "{1}"
    mode = (
        b.choice(("", "mode='drop'", "mode='clip'"))
        if method not in ("set", "mul")
        else "mode='drop'"
    )
    text = f"{{0}}.at[{', '.join(words)}].{method}({{2}}{', ' if mode else ''}{mode})"
    if method == "mul" and not value.is_integer:
        text = text.replace("{2}", "jnp.clip({2}, -1.5, 1.5)")
    noise = "operands" if method in ("add", "mul") else "none"
    many = max(1, math.prod(index.shape)) if method == "add" else 2
    b.emit(text, value, index, update, op=f"scatter_{method}", noise=noise,
           magnitude=value.magnitude + update.magnitude * min(many, 64),
           special=value.special or update.special)  # fmt: skip


def segments(b: Builder) -> None:
    """A reduction by segments."""
    value = b.pick(REAL_FLOATS + INTEGERS, where=lambda one: one.rank > 0 and one.size > 0)
    count = b.size(30, minimum=1)
    ids = indices(b, count, (value.shape[0],))
    name = b.choice(("sum", "max", "min"))
    text = f"jax.ops.segment_{name}({{0}}, {{1}}, num_segments={count})"
    if value.is_float and name != "sum":
        text = f"jnp.clip({text}, -16, 16)"  # an empty segment yields an infinity
    b.emit(text, value, ids, op=f"segment_{name}", noise="operands" if name == "sum" else "none",
           magnitude=value.magnitude * (value.shape[0] if name == "sum" else 1) + 16,
           special=value.special)  # fmt: skip


def scatter_points(b: Builder) -> None:
    """Updates of single elements at pairs of indices."""
    value = b.pick(REAL_FLOATS + INTEGERS, where=lambda one: one.rank >= 2 and one.size > 0)
    index = indices(b, value.shape[0])
    if not index.rank:
        raise Rejected
    update = b.of(value.dtype, index.shape + value.shape[2:])
    method = b.choice(("add", "max", "min"))
    text = f"{{0}}.at[{{1}}, {{1}} // 2].{method}({{2}}, mode={b.choice(('drop', 'clip'))!r})"
    b.emit(text, value, index, update, op=f"scatter_points_{method}",
           noise="operands" if method == "add" else "none",
           magnitude=value.magnitude + update.magnitude * min(max(1, index.size), 64),
           special=value.special or update.special)  # fmt: skip


FAMILY = {
    dynamic_slice: 9,
    dynamic_update_slice: 8,
    dynamic_index: 7,
    take: 14,
    one_hot: 2,
    scatter: 12,
    segments: 4,
    scatter_points: 3,
}
