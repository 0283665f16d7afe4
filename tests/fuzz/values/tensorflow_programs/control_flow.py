"""Loops, branches, gradients, variables, optimisers, and functions inside of programs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from tests.fuzz.values.inputs import COMPLEX, INTEGERS
from tests.fuzz.values.tensorflow_programs.builder import (
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
    del function
    _grow[0](b, b.rng.randint(1, 5 if b.depth == 1 else 2))
    local = b.local()
    return local[-1] if b.chance(0.7) else b.choice(local[-4:])


def _shallow(b: Builder) -> None:
    if b.depth >= 2 or (b.depth == 1 and not b.chance(0.4)):
        raise Rejected


def _carry(b: Builder) -> Value:
    return b.pick(
        REAL_FLOATS + INTEGERS + ("bool", "c64"),
        where=lambda one: one.size <= 4000 and not one.special,
    )


_SCALAR = Value("", "s32", ())


def while_loop(b: Builder) -> None:
    """A loop over a counter and an array, with a trip count that is known or is an array's
    element.
    """
    _shallow(b)
    value = _carry(b)
    with b.function([_SCALAR, value]) as f:
        f.result = b.coerce(_fill(b, f), value.dtype, value.shape, bounded=True).name
    count, operands = str(b.rng.randint(0, 6)), [value]
    if b.chance(0.4):
        operands.append(b.pick(("s32", "s64"), where=lambda one: one.size > 0))
        count = "tf.math.floormod(tf.reshape({1}, [-1])[0], 6)"
    b.emit(f"looped({count}, {f.name}, {{0}})", *operands, op="while_loop", noise="none",
           functions=[f.built])  # fmt: skip


def map_fn(b: Builder) -> None:
    """A function of each row, by `tf.map_fn`, `tf.vectorized_map` or a loop over a TensorArray."""
    _shallow(b)
    value = b.pick(
        REAL_FLOATS + INTEGERS,
        where=lambda one: one.rank > 0 and 0 < one.shape[0] <= 20 and one.size < 4000,
    )
    with b.function([dataclasses.replace(value, name="", shape=value.shape[1:])]) as f:
        f.result = _fill(b, f).name
    name = b.choice(("mapped", "mapped", "per_step", "per_step"))
    b.emit(f"{name}({f.name}, {{0}})", value, op=name, noise="none", functions=[f.built])


def scan(b: Builder) -> None:
    """`tf.scan` or `tf.foldl` over the rows of an array."""
    _shallow(b)
    value = b.pick(REAL_FLOATS, where=lambda one: one.size <= 2000 and not one.special)
    rows = b.pick(where=lambda one: one.rank > 0 and 0 < one.shape[0] <= 12 and one.size <= 4000)
    with b.function([value, dataclasses.replace(rows, name="", shape=rows.shape[1:])]) as f:
        f.result = b.coerce(_fill(b, f), value.dtype, value.shape, bounded=True).name
    name = b.choice(("scan", "foldl", "foldr"))
    b.emit(f"tf.{name}({f.name}, {{1}}, initializer={{0}})", value, rows, op=name, noise="none",
           functions=[f.built])  # fmt: skip


def cond(b: Builder) -> None:
    """A branch by a predicate, or a case by an index."""
    _shallow(b)
    value = b.pick(where=lambda one: one.size <= 4000)
    built: list = []
    wanted: Value | None = None
    for _ in range(b.choice((2, 2, 3))):
        with b.function([value]) as f:
            result = _fill(b, f)
            if wanted is not None:
                result = b.coerce(result, wanted.dtype, wanted.shape)
            wanted = wanted or result
            f.result = result.name
        built.append(f.built)
    branches = ", ".join(f"lambda: {f.name}({{0}})" for f in built)
    selector = b.pick(("s32", "bool"), where=lambda one: one.size > 0)
    first = "tf.reshape({1}, [-1])[0]"
    if len(built) == 2:
        predicate = first if selector.dtype == "bool" else f"{first} > 0"
        source = f"tf.cond({predicate}, {branches})"
    else:
        index = f"tf.cast({first}, s32)" if selector.dtype == "bool" else f"{first} % 4"
        source = f"tf.switch_case({index}, [{branches}])"
    b.emit(source, value, selector, op="cond" if "cond" in source else "switch_case", noise="none",
           functions=built)  # fmt: skip


def gradient(b: Builder) -> None:
    """A gradient of a function's result."""
    _shallow(b)
    value = b.pick(REAL_FLOATS, where=lambda one: one.size <= 8000 and not one.special)
    with b.function([value]) as f:
        result = _fill(b, f)
        if result.dtype in COMPLEX:
            result = b.emit("tf.math.real({0})", result, op="real", noise="none")
        if result.dtype not in REAL_FLOATS:
            raise Rejected
        if b.chance(0.5):
            result = b.emit("tf.sin({0})", result, op="sine", noise="approximate")
        f.result = result.name
    found = b.emit(f"gradient({f.name}, {{0}})", value, op="gradient", noise="operands",
                   functions=[f.built])  # fmt: skip
    if b.chance(0.5):
        b.emit("tf.clip_by_value({0}, -8, 8)", found, op="clip", noise="none")


def nested_function(b: Builder) -> None:
    """A `tf.function` inside, a recomputed gradient, or a custom one."""
    _shallow(b)
    value = b.pick(where=lambda one: one.size <= 8000)
    with b.function([value]) as f:
        f.result = _fill(b, f).name
    b.emit(f"tf.function({f.name}, autograph=False)({{0}})", value, op="function", noise="none",
           functions=[f.built])  # fmt: skip


def variable(b: Builder) -> None:
    """A variable that is assigned to, added to, scattered into and read."""
    if b.depth:
        raise Rejected  # `helpers._made_once` counts what the program itself makes
    value = b.pick(REAL_FLOATS + ("s32", "s64"), where=lambda one: one.size <= 8000)
    other = b.like(value)
    steps = [
        "lambda v: v.assign_add({1})",
        "lambda v: v.assign_sub({1} * 2)",
        "lambda v: v.assign({1} + v)",
    ]
    if value.rank and value.shape[0] > 1 and not value.special and not other.special:
        steps += [
            "lambda v: v.scatter_nd_add([[0], [1], [0]], {1}[:1] + tf.zeros_like({1})[:1] + "
            f"tf.zeros([3, {', '.join(map(str, value.shape[1:]))}], {value.dtype}))",
            "lambda v: v.scatter_update(tf.IndexedSlices({1}[:1], [1]))",
            "lambda v: v[1:].assign({1}[1:])",
            "lambda v: v[::2].assign({1}[::2])",
        ]
    chosen = ", ".join(b.rng.sample(steps, b.rng.randint(1, min(3, len(steps)))))
    b.emit(
        f"assigned({{0}}, {list(value.shape)}, {chosen})",
        value,
        other,
        op="variable",
        noise="operands",
    )


# Not Ftrl: it subtracts roots of neighbouring sums and divides by the learning rate, so its own
# rounding errors are some hundred units in the last place, and noise outside of it does not show
# them.
_OPTIMIZERS = (
    ("SGD", {"learning_rate": 0.1}),
    ("SGD", {"learning_rate": 0.1, "momentum": 0.9, "nesterov": True}),
    ("Adam", {"learning_rate": 0.05}),
    ("AdamW", {"learning_rate": 0.05, "weight_decay": 0.01}),
    ("RMSprop", {"learning_rate": 0.02, "momentum": 0.5}),
    ("Adagrad", {"learning_rate": 0.1}),
    ("Adadelta", {"learning_rate": 0.5}),
    ("Adamax", {"learning_rate": 0.05}),
    ("Nadam", {"learning_rate": 0.05}),
    ("Lion", {"learning_rate": 0.01}),
)


def optimizer(b: Builder) -> None:
    """Some steps of a Keras optimiser."""
    if b.depth:
        raise Rejected
    value = b.pick(("f32",), where=lambda one: 0 < one.size <= 2000 and not one.special)
    target = b.like(value)
    if target.special:
        raise Rejected
    name, options = b.choice(_OPTIMIZERS)
    loss = b.choice(
        ("tf.reduce_mean(tf.square(v - t))", "tf.reduce_sum(tf.sin(v) * t)",
         "tf.reduce_mean(tf.abs(v * t))")
    )  # fmt: skip
    settings = ", ".join(f"{key}={setting!r}" for key, setting in options.items())
    # Steps divide by the size of small gradients, so errors of gradients are those of steps.
    b.emit(f"minimized('{name}', dict({settings}), "
           f"lambda v: (lambda t: {loss})(tf.cast({{1}}, v.dtype)), {{0}}, {list(value.shape)},"
           f" {b.rng.randint(1, 4)})",
           value, target, op="optimizer", noise="operands")  # fmt: skip


FAMILY = {while_loop: 8, map_fn: 6, scan: 4, cond: 8, gradient: 12, nested_function: 3, variable: 7,
          optimizer: 3}  # fmt: skip
