"""Loops, branches, and transformations of local functions: vmap, grad, jit and others."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from tests.fuzz.values.inputs import COMPLEX, FLOATS, INTEGERS
from tests.fuzz.values.jax_programs.builder import (
    REAL_FLOATS,
    Builder,
    FunctionBuilder,
    Rejected,
    Value,
)

# Appends a few statements to the innermost scope; set by generate.py, which knows all families.
Grow = Callable[[Builder, int], None]
_grow: list[Grow] = []


def use(grow: Grow) -> None:
    """Sets what fills the bodies of local functions."""
    _grow[:] = [grow]


def _fill(b: Builder, function: FunctionBuilder) -> Value:
    """Fills a function's body; returns a value that depends on the body, if there is any."""
    _grow[0](b, b.rng.randint(1, 5 if b.depth == 1 else 2))
    local = b.local()
    return local[-1] if b.chance(0.7) else b.choice(local[-4:])


def _carry(b: Builder) -> Value:
    return b.pick(
        REAL_FLOATS + INTEGERS + ("bool", "c64"),
        where=lambda one: one.size <= 4000 and not one.special,
    )


def _bounded(value: Value) -> Value:
    """Returns what a loop's body sees of a carried value: it is clipped after each step."""
    return dataclasses.replace(value, magnitude=max(value.magnitude, 8.0))


def fori_loop(b: Builder) -> None:
    """A loop with a trip count that is known, or that the device knows."""
    _shallow(b)
    value = _carry(b)
    with b.function([dataclasses.replace(_SCALAR, dtype="s32"), _bounded(value)]) as f:
        result = b.coerce(_fill(b, f), value.dtype, value.shape, bounded=True)
        f.result = result.name
    count: str = str(b.rng.randint(0, 7))
    operands = [value]
    if b.chance(0.3):
        limit = b.pick(INTEGERS, where=lambda one: one.size > 0)
        count = "jnp.clip({1}.ravel()[0], 0, 6).astype(s32)"
        operands.append(limit)
    b.emit(f"lax.fori_loop(0, {count}, {f.name}, {{0}})", *operands, op="fori_loop", noise="none",
           functions=[f.built], magnitude=max(8.0, value.magnitude))  # fmt: skip


_SCALAR = Value("", "s32", (), 10.0)


def while_loop(b: Builder) -> None:
    """A loop over a counter and one or two arrays, which may end by a condition on the data."""
    _shallow(b)
    value = _carry(b)
    other = _carry(b)
    types = (_SCALAR, _bounded(value), _bounded(other))
    with b.function([types]) as condition:
        count, first, _ = condition.values[0]
        limit = b.rng.randint(0, 6)
        if first.dtype in REAL_FLOATS and first.size and b.chance(0.4):
            text = f"({{0}} < {limit}) & (jnp.max(jnp.abs({{1}})) < 6)"
            result = b.emit(text, count, first, op="condition", noise="none")
        else:
            result = b.emit(f"{{0}} < {limit}", count, op="condition", noise="none")
        condition.result = result.name
    with b.function([types]) as body:
        count, first, second = body.values[0]
        step = b.emit("{0} + 1", count, op="step", noise="none")
        new = b.coerce(_fill(b, body), value.dtype, value.shape, bounded=True)
        again = first if (first.dtype, first.shape) == (other.dtype, other.shape) else second
        kept = b.choice([again, second])
        body.result = f"({step.name}, {new.name}, {kept.name})"
    text = (
        f"lax.while_loop({condition.name}, {body.name}, (s32.type(0), {{0}}, {{1}}))"
        f"[{b.choice((0, 1, 1, 1, 2))}]"
    )
    b.emit(text, value, other, op="while_loop", noise="none",
           functions=[condition.built, body.built],
           magnitude=max(8.0, value.magnitude, other.magnitude))  # fmt: skip


def scan(b: Builder) -> None:
    """A scan over the rows of an array."""
    _shallow(b)
    value = _carry(b)
    rows = b.pick(where=lambda one: one.rank > 0 and 0 < one.shape[0] <= 20 and one.size <= 4000)
    row = dataclasses.replace(rows, shape=rows.shape[1:])
    with b.function([_bounded(value), row]) as f:
        last = _fill(b, f)
        carry = b.coerce(last, value.dtype, value.shape, bounded=True)
        out = b.choice([last, *f.values])
        f.result = f"({carry.name}, {out.name})"
    options = b.choice(("", "", ", reverse=True", ", unroll=2"))
    text = f"lax.scan({f.name}, {{0}}, {{1}}{options})[{b.rng.randint(0, 1)}]"
    b.emit(text, value, rows, op="scan", noise="none", functions=[f.built],
           magnitude=max(8.0, last.magnitude), special=rows.special or last.special)  # fmt: skip


def cond(b: Builder) -> None:
    """A branch by a predicate, or a switch by an index, which is clamped."""
    _shallow(b)
    value = b.pick(where=lambda one: one.size <= 4000)
    count = b.choice((2, 2, 3))
    built, results = [], []
    wanted: Value | None = None
    for _ in range(count):
        with b.function([value]) as f:
            result = _fill(b, f)
            if wanted is not None:
                result = b.coerce(result, wanted.dtype, wanted.shape)
            wanted = wanted or result
            f.result = result.name
            results.append(result)
        built.append(f.built)
    names = ", ".join(f.name for f in built)
    selector = b.pick(INTEGERS + ("bool",), where=lambda one: one.size > 0)
    if count == 2 and selector.dtype == "bool":
        text = f"lax.cond({{1}}.ravel()[0], {names}, {{0}})"
    elif count == 2 and b.chance(0.5):
        text = f"lax.cond({{1}}.ravel()[0] > 0, {names}, {{0}})"
    elif selector.dtype != "bool":
        text = f"lax.switch({{1}}.ravel()[0].astype(s32), [{names}], {{0}})"
    else:
        raise Rejected
    b.emit(text, value, selector, op="cond" if "cond" in text else "switch", noise="none",
           functions=built, magnitude=max(one.magnitude for one in results),
           special=any(one.special for one in results))  # fmt: skip


def vmap(b: Builder) -> None:
    """A function of rows over an axis, with another operand that is whole or mapped too."""
    _shallow(b)
    value = b.pick(where=lambda one: one.rank > 0 and one.size <= 8000)
    axis = b.axis(value)
    rest = value.shape[:axis] + value.shape[axis + 1 :]
    mapped = [
        one
        for one in b.visible()
        if one.rank and one.shape[0] == value.shape[axis] and one.size <= 8000
    ]
    types = [dataclasses.replace(value, shape=rest)]
    operands, axes = [value], [axis]
    if mapped and b.chance(0.6):
        other = b.choice(mapped)
        types.append(dataclasses.replace(other, shape=other.shape[1:]))
        operands.append(other)
        axes.append(0)
    with b.function(types) as f:
        result = _fill(b, f)
        f.result = result.name
    out = b.rng.randint(0, result.rank) if b.chance(0.5) else 0
    names = ", ".join(f"{{{i}}}" for i in range(len(operands)))
    text = f"jax.vmap({f.name}, in_axes={tuple(axes)}, out_axes={out})({names})"
    b.emit(text, *operands, op="vmap", noise="none", functions=[f.built],
           magnitude=result.magnitude, special=result.special)  # fmt: skip


def grad(b: Builder) -> None:
    """A gradient of a scalar of a function, or a directional derivative."""
    _shallow(b)
    value = b.pick(REAL_FLOATS, where=lambda one: one.size <= 8000 and not one.special)
    which = b.weighted({"grad": 5, "jvp": 2, "vjp": 1, "checkpoint": 1})
    with b.function([value]) as f:
        result = _fill(b, f)
        if result.dtype not in FLOATS and result.dtype not in COMPLEX:
            raise Rejected
        if result.is_complex:
            result = b.emit("lax.real({0})", result, op="real", noise="none")
        if which in ("grad", "checkpoint"):
            source = (
                "jnp.sum({0}.astype(f32))" if b.chance(0.5) else "jnp.sum(jnp.sin({0}.astype(f32)))"
            )
            if result.dtype == "f64":
                # Its gradient, in f64, would have the errors of f32.
                source = source.replace(".astype(f32)", "")
            result = b.emit(source, result, op="scalar", noise="gradient", magnitude=4.0)
        f.result = result.name
    text = {
        "grad": f"jax.grad({f.name})({{0}})",
        "checkpoint": f"jax.grad(jax.checkpoint({f.name}))({{0}})",
        "jvp": f"jax.jvp({f.name}, ({{0}},), (jnp.ones_like({{0}}),))[{b.rng.randint(0, 1)}]",
        "vjp": f"jax.vjp({f.name}, {{0}})[1](jnp.ones({result.shape}, {result.dtype}))[0]",
    }[which]
    value = b.emit(text, value, op=which, noise="gradient", functions=[f.built],
                   magnitude=16.0, special=False)  # fmt: skip
    if b.chance(0.7):
        b.emit("jnp.clip(jnp.nan_to_num({0}), -8, 8)", value, op="clip", noise="none",
               magnitude=8.0)  # fmt: skip


def nested_jit(b: Builder) -> None:
    """A jitted function that is called once or twice."""
    _shallow(b)
    value = b.pick()
    with b.function([value]) as f:
        result = _fill(b, f)
        f.result = result.name
    text = f"jax.jit({f.name})({{0}})"
    b.emit(text, value, op="jit", noise="none", functions=[f.built],
           magnitude=result.magnitude, special=result.special)  # fmt: skip


def map_(b: Builder) -> None:
    """`lax.map` over rows, and `lax.associative_scan`."""
    _shallow(b)
    value = b.pick(
        REAL_FLOATS + INTEGERS,
        where=lambda one: one.rank > 0 and 0 < one.shape[0] <= 40 and one.size < 4000,
    )
    if b.chance(0.4):
        name = b.choice(("jnp.maximum", "jnp.add", "jnp.minimum"))
        b.emit(f"lax.associative_scan({name}, {{0}})", value, op="associative_scan",
               noise="operands", magnitude=value.magnitude * value.shape[0])  # fmt: skip
        return
    with b.function([dataclasses.replace(value, shape=value.shape[1:])]) as f:
        result = _fill(b, f)
        f.result = result.name
    size = b.choice(("", ", batch_size=3"))
    b.emit(f"lax.map({f.name}, {{0}}{size})", value, op="map", noise="none", functions=[f.built],
           magnitude=result.magnitude, special=result.special)  # fmt: skip


def _shallow(b: Builder) -> None:
    if b.depth >= 2 or (b.depth == 1 and not b.chance(0.4)):
        raise Rejected


FAMILY = {
    fori_loop: 6,
    while_loop: 6,
    scan: 7,
    cond: 7,
    vmap: 9,
    grad: 9,
    nested_jit: 4,
    map_: 3,
}
