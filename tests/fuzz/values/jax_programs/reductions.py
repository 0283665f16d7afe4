"""Reductions, windows, cumulative operations, sorts."""

from __future__ import annotations

from tests.fuzz.values.inputs import INTEGERS
from tests.fuzz.values.jax_programs.builder import REAL_FLOATS, Builder, Rejected, Value

_NUMBERS = REAL_FLOATS + INTEGERS


def _count(value: Value, axes: tuple[int, ...]) -> int:
    count = 1
    for axis in axes:
        count *= max(1, value.shape[axis])
    return count


def reduce(b: Builder) -> None:
    """A reduction over some axes."""
    value = b.pick(_NUMBERS + ("bool", "c64"), where=lambda one: one.rank > 0)
    axes = b.axes(value)
    count = _count(value, axes)
    keep = ", keepdims=True" if b.chance(0.3) else ""
    axis = f"axis={axes}{keep}"
    if value.dtype == "bool":
        name = b.choice(("any", "all", "sum", "max", "min"))
        b.emit(f"jnp.{name}({{0}}, {axis})", value, op=f"reduce_{name}", special=False)
        return
    if value.is_complex:
        b.emit(f"jnp.sum({{0}}, {axis})", value, op="reduce_sum", noise="operands",
               magnitude=value.magnitude * count)  # fmt: skip
        return
    if value.is_integer:
        name = b.choice(
            ("sum", "sum", "max", "max", "min", "prod", "any", "all", "or", "and", "xor")
        )
        if name in ("or", "and", "xor"):
            text = f"lax.reduce_{name}({{0}}, {axes})"
        else:
            text = f"jnp.{name}({{0}}, {axis})"
        b.emit(text, value, op=f"reduce_{name}")
        return
    name = b.weighted(
        {"sum": 6, "max": 5, "min": 5, "mean": 3, "prod": 2, "var": 1.5, "std": 1, "logsumexp": 2,
         "norm": 1, "lax_sum": 2, "nansum": 0.5, "ptp": 0.5}
    )  # fmt: skip
    text = {
        "prod": f"jnp.prod(jnp.clip({{0}}, -1.5, 1.5), {axis})",
        "logsumexp": f"jax.nn.logsumexp({{0}}, {axis})",
        "norm": f"jnp.sqrt(jnp.sum(jnp.square({{0}}), {axis}) + 0.25)",
        "lax_sum": f"lax.reduce({{0}}, {{0}}.dtype.type(0), lax.add, {axes})",
        "std": f"jnp.sqrt(jnp.var({{0}}, {axis}) + 0.25)",
    }.get(name, f"jnp.{name}({{0}}, {axis})")
    magnitude = {
        "sum": value.magnitude * count,
        "lax_sum": value.magnitude * count,
        "nansum": value.magnitude * count,
        "norm": value.magnitude * count**0.5,
        "var": value.magnitude**2,
        "ptp": 2 * value.magnitude,
        "logsumexp": value.magnitude + 12,
        "prod": 1.5 ** min(count, 20),
    }.get(name, value.magnitude)
    noise = "none" if name in ("max", "min") else "operands"
    if name in ("mean", "var", "std", "logsumexp", "norm"):
        noise = "transform"
    special = value.special or (count == 1 and 0 in value.shape and name in ("mean", "var", "std"))
    b.emit(text, value, op=f"reduce_{name}", noise=noise, magnitude=magnitude, special=special)


def argument(b: Builder) -> None:
    """The index of a maximum or a minimum."""
    value = b.pick(_NUMBERS + ("bool",), where=lambda one: one.rank > 0 and 0 not in one.shape)
    name = b.choice(("argmax", "argmin", "argmax", "nanargmax"))
    axis = b.rng.choice([*range(value.rank), None])
    if name == "nanargmax" and not value.is_float:
        name = "argmax"
    if name != "nanargmax" and axis is not None and b.chance(0.4):
        text = f"lax.{name}({{0}}, {axis}, {b.choice(('s32', 's64', 'u8'))})"
        if "u8" in text and value.shape[axis] > 255:
            raise Rejected
    else:
        text = f"jnp.{name}({{0}}, axis={axis})"
    b.emit(text, value, op=name, noise="none", special=False)


_REDUCERS = (
    # Operands, initial values, reducer. The last part says which of the results is used.
    ("({0}, {1})", "(0, 0)", "lambda a, b: (a[0] + b[0], a[1] + b[1])", "operands"),
    (
        "({0}, {1})",
        "(0, 1)",
        "lambda a, b: (jnp.maximum(a[0], b[0]), jnp.minimum(a[1], b[1]))",
        "none",
    ),
    ("({0}, {1})", "(0, 0)", "lambda a, b: (jnp.maximum(a[0], b[0]), a[1] + b[1])", "operands"),
)


def reduce_several(b: Builder) -> None:
    """A reduction of several operands by a custom function."""
    value = b.pick(("f32", "s32", "f64", "s64", "bf16", "u32"), where=lambda one: one.rank > 0)
    other = b.of(b.dtype(("f32", "s32", "u32")), value.shape)
    axes = b.axes(value)
    operands, initial, reducer, noise = b.choice(_REDUCERS)
    initial = initial.replace("(", "({0}.dtype.type(", 1).replace(", ", "), {1}.dtype.type(") + ")"
    text = f"lax.reduce({operands}, {initial}, {reducer}, {axes})[{b.rng.randint(0, 1)}]"
    b.emit(
        text, value, other, op="reduce_several", noise=noise,
        magnitude=max(value.magnitude, other.magnitude) * _count(value, axes),
    )  # fmt: skip


def reduce_by_function(b: Builder) -> None:
    """A reduction, or one over windows, by a reducer that computes."""
    value = b.pick(REAL_FLOATS, where=lambda one: one.rank > 0 and one.size > 0 and not one.special)
    reducer, initial = b.choice(
        (("jnp.logaddexp", "-np.inf"), ("lambda a, b: jnp.sqrt(a * a + b * b)", "0"))
    )
    start = f"{{0}}.dtype.type({initial})"
    axes = b.axes(value)
    text = f"lax.reduce({{0}}, {start}, {reducer}, {axes})"
    if b.chance(0.3):
        sizes, strides = _window(b, value)
        text = f"lax.reduce_window({{0}}, {start}, {reducer}, {sizes}, {strides}, 'VALID')"
    # The running result may be rounded to the type after each step.
    b.emit(text, value, op="reduce_by_function", noise="transform",
           magnitude=value.magnitude * max(8.0, _count(value, axes) ** 0.5))  # fmt: skip


def reduce_with_index(b: Builder) -> None:
    """The value and the index of a maximum, as a reduction of two operands that breaks ties."""
    value = b.pick(("f32", "s32", "f16", "s8"), where=lambda one: one.rank > 0 and not one.special)
    axis = b.axis(value)
    lowest = "-np.inf" if value.is_float else f"np.iinfo({value.dtype}).min"
    better = "(a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))"
    text = (
        f"lax.reduce(({{0}}, lax.broadcasted_iota(s32, {value.shape}, {axis})),"
        f" ({{0}}.dtype.type({lowest}), s32.type(2**31 - 1)),"
        f" lambda a, b: (jnp.where({better}, a[0], b[0]), jnp.where({better}, a[1], b[1])),"
        f" ({axis},))[{b.rng.randint(0, 1)}]"
    )
    b.emit(text, value, op="reduce_with_index", noise="none")


_CUMULATIVE = ("cumsum", "cummax", "cummin", "cumprod", "cumlogsumexp")


def cumulative(b: Builder) -> None:
    """A cumulative operation along an axis."""
    value = b.pick(_NUMBERS, where=lambda one: one.rank > 0)
    axis = b.axis(value)
    name = b.choice(_CUMULATIVE[:4] if value.is_integer else _CUMULATIVE)
    reverse = b.choice(("", ", reverse=True"))
    operand = "{0}" if name != "cumprod" or value.is_integer else "jnp.clip({0}, -1.25, 1.25)"
    size = max(1, value.shape[axis])
    magnitude = {"cumsum": value.magnitude * size, "cumprod": 1.25 ** min(size, 30),
                 "cumlogsumexp": value.magnitude + 8}.get(name)  # fmt: skip
    noise = {"cummax": "none", "cummin": "none", "cumlogsumexp": "transform"}.get(name, "operands")
    b.emit(f"lax.{name}({operand}, {axis}{reverse})", value, op=name, noise=noise,
           magnitude=magnitude)  # fmt: skip


def _window(b: Builder, value: Value) -> tuple[tuple[int, ...], tuple[int, ...]]:
    window, strides = [], []
    for size in value.shape:
        wide = size > 0 and b.chance(0.6)
        window.append(b.rng.randint(1, min(size, 5)) if wide else 1)
        strides.append(b.rng.choice((1, 1, 2, 3)) if wide else 1)
    return tuple(window), tuple(strides)


def window(b: Builder) -> None:
    """A reduction over windows, with padding, strides and dilations."""
    value = b.pick(_NUMBERS, where=lambda one: one.rank > 0 and one.size > 0)
    sizes, strides = _window(b, value)
    if b.chance(0.5):
        padding = repr(b.choice(("SAME", "VALID")))
    else:
        padding = repr([(b.rng.randint(0, 2), b.rng.randint(0, 2)) for _ in sizes])
    dilation = base = ""
    if padding.startswith("[") and b.chance(0.4):
        dilation = f", window_dilation={tuple(b.rng.choice((1, 1, 2)) for _ in sizes)}"
        if b.chance(0.5):
            base = f", base_dilation={tuple(b.rng.choice((1, 1, 2)) for _ in sizes)}"
    name = b.choice(("add", "max", "min", "max"))
    if name == "add":
        initial = f"{{0}}.dtype.type({b.choice(('0', '0', '1'))})"
    else:
        low = value.dtype if value.is_integer else ""
        side = "min" if name == "max" else "max"
        initial = (
            f"{{0}}.dtype.type(np.iinfo({low}).{side})"
            if low
            else f"{{0}}.dtype.type({'-' if name == 'max' else ''}np.inf)"
        )
    text = (
        f"lax.reduce_window({{0}}, {initial}, lax.{name}, {sizes}, {strides},"
        f" {padding}{dilation}{base})"
    )
    count = 1
    for size in sizes:
        count *= size
    # A window that sees padding only yields the initial value, an infinity for max and min.
    special = value.special or (name != "add" and value.is_float and padding.startswith("["))
    b.emit(text, value, op=f"reduce_window_{name}",
           noise="operands" if name == "add" else "none",
           magnitude=value.magnitude * (count if name == "add" else 1) + 1,
           special=special)  # fmt: skip


_LARGEST_OF_A_COSINE = 2.0**10


def pool_gradient(b: Builder) -> None:
    """The gradient of a pooling: select-and-scatter, or a dilated window."""
    value = b.pick(
        ("f32", "f32", "f64", "bf16"),
        where=lambda one: one.rank > 0 and one.size > 0 and not one.special,
    )
    sizes, strides = _window(b, value)
    padding = b.choice(("SAME", "VALID"))
    if b.chance(0.7):
        pool = (
            f"lax.reduce_window(a, a.dtype.type(-np.inf), lax.max, {sizes}, {strides}, {padding!r})"
        )
    elif value.dtype == "bf16" or value.magnitude > _LARGEST_OF_A_COSINE:
        # `cosines-of-rounded-sums` in docs/conformance.md.
        raise Rejected
    else:
        pool = f"lax.reduce_window(a, a.dtype.type(0), lax.add, {sizes}, {strides}, {padding!r})"
    text = f"jax.grad(lambda a: jnp.sum(jnp.sin({pool}).astype(f32)))({{0}})"
    b.emit(text, value, op="pool_gradient", noise="transform", magnitude=25.0)


def sort(b: Builder) -> None:
    """A sort of one or several arrays; the others are keys or are carried along."""
    value = b.pick(_NUMBERS, where=lambda one: one.rank > 0)
    axis = b.axis(value)
    if b.chance(0.35):
        order = b.choice(("", ", descending=True"))
        b.emit(f"jnp.sort({{0}}, axis={axis}{order})", value, op="sort", noise="none")
    elif b.chance(0.4):
        order = b.choice(("", ", descending=True"))
        text = f"jnp.argsort({{0}}, axis={axis}, stable=True{order})"
        b.emit(text, value, op="argsort", noise="none")
    else:
        other = b.of(b.dtype(("f32", "s32", "u8", "bf16", "f16", "s64")), value.shape)
        keys = b.rng.randint(1, 2)
        text = (
            f"lax.sort(({{0}}, {{1}}), dimension={axis}, is_stable=True, num_keys={keys})"
            f"[{b.rng.randint(0, 1)}]"
        )
        b.emit(text, value, other, op="sort_several", noise="none")


def top_k(b: Builder) -> None:
    """The largest elements of the last axis, or their indices."""
    value = b.pick(_NUMBERS, where=lambda one: one.rank > 0 and one.shape[-1] > 0)
    # It orders NaN by the sign bit (`nan-payload` in docs/conformance.md).
    value = b.finite(value)
    k = b.rng.randint(1, min(value.shape[-1], 17))
    text = f"lax.top_k({{0}}, {k})[{b.rng.randint(0, 1)}]"
    b.emit(text, value, op="top_k", noise="none")


def ranks(b: Builder) -> None:
    """A function that sorts inside: median, search in a sorted array, histogram, ranks."""
    value = b.pick(
        ("f32", "s32", "f64", "u8"),
        where=lambda one: one.rank > 0 and 0 < one.size < 3000 and not one.special,
    )
    options = [
        "jnp.searchsorted(jnp.sort({0}.ravel()), {0})",
        "jnp.median({0}.astype(f32), axis=-1)",
        "jnp.digitize({0}, jnp.array([-1, 0, 1, 2]).astype({0}.dtype))",
        "jnp.percentile({0}.astype(f32), 30, axis=0)",
    ]
    if value.is_integer:
        options.append("jnp.bincount(jnp.clip({0}, 0, 9).ravel(), length=10)")
    b.emit(b.choice(options), value, op="ranks", noise="none")


FAMILY = {
    reduce: 34,
    argument: 8,
    reduce_several: 4,
    reduce_with_index: 3,
    reduce_by_function: 3,
    cumulative: 9,
    window: 10,
    pool_gradient: 4,
    sort: 10,
    top_k: 3,
    ranks: 3,
}
