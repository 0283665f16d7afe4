"""Elementwise operations, comparisons, selections, conversions and bits."""

from __future__ import annotations

import numpy as np

from tests.fuzz.values.builder import LARGEST_DIVIDEND, noise_of
from tests.fuzz.values.inputs import COMPLEX, DTYPES, FLOATS, INTEGERS
from tests.fuzz.values.jax_programs.builder import REAL_FLOATS, Builder, Rejected, Value, width

_ALL_NUMBERS = REAL_FLOATS + INTEGERS
_INTEGERS_AND_BOOL = INTEGERS + ("bool",)

# Source, magnitude of the result (None: the operand's). Arguments are within the domain of each
# function where its error there would drown everything else.
_UNARY = {
    "jnp.sin({0})": 1,
    "jnp.cos({0})": 1,
    "jnp.tan(jnp.clip({0}, -1, 1))": 2,
    "jnp.tanh({0})": 1,
    "jnp.exp(jnp.minimum({0}, 3))": 20,
    "jnp.exp2(jnp.minimum({0}, 3))": 8,
    "jnp.expm1(jnp.minimum({0}, 3))": 20,
    "jnp.log(jnp.abs({0}) + 0.5)": None,
    "jnp.log1p(jnp.abs({0}))": None,
    "jnp.log2(jnp.abs({0}) + 0.5)": None,
    "jnp.sqrt(jnp.abs({0}))": None,
    "lax.rsqrt(jnp.abs({0}) + 0.25)": 2,
    "jnp.cbrt({0})": None,
    "jax.nn.sigmoid({0})": 1,
    "lax.erf({0})": 1,
    "lax.erfc({0})": 2,
    "lax.erf_inv(jnp.clip({0}, -0.9, 0.9))": 2,
    "jnp.arcsin(jnp.clip({0}, -1, 1))": 2,
    "jnp.arccos(jnp.clip({0}, -1, 1))": 4,
    "jnp.arctan({0})": 2,
    "jnp.sinh(jnp.clip({0}, -3, 3))": 11,
    "jnp.cosh(jnp.clip({0}, -3, 3))": 11,
    "jnp.arcsinh({0})": None,
    "jnp.arccosh({0})": None,
    "jnp.arctanh(jnp.clip({0}, -0.9, 0.9))": 2,
    "lax.lgamma(jnp.clip(jnp.abs({0}), 0.5, 8))": 10,
    "lax.digamma(jnp.clip(jnp.abs({0}), 0.5, 8))": 3,
    "jax.nn.gelu({0})": None,
    "jax.nn.gelu({0}, approximate=False)": None,
    "jax.nn.silu({0})": None,
    "jax.nn.softplus({0})": None,
    "jax.nn.elu({0})": None,
    "1 / (jnp.abs({0}) + 0.5)": 2,
}
# What brings the argument into the domain, as a statement of its own: the function amplifies the
# rounding of its argument, which XLA:CPU avoids by folding the constants of both.
_GUARDS = {"jnp.arccosh({0})": "jnp.abs({0}) + 1"}
# The same without a guard: NaN, infinities and large errors are part of the contract.
_UNGUARDED = ("jnp.log({0})", "jnp.sqrt({0})", "lax.rsqrt({0})", "jnp.exp({0})", "1 / {0}",
              "jnp.arcsin({0})", "jnp.log1p({0})", "lax.lgamma({0})", "jnp.tan({0})")  # fmt: skip
_EXACT_UNARY = (
    "-{0}",
    "jnp.abs({0})",
    "jnp.sign({0})",
    "jnp.floor({0})",
    "jnp.ceil({0})",
    "lax.round({0}, lax.RoundingMethod.TO_NEAREST_EVEN)",
    "lax.round({0}, lax.RoundingMethod.AWAY_FROM_ZERO)",
    "jnp.trunc({0})",
    "jax.nn.relu({0})",
    "jax.nn.relu6({0})",
    "jnp.clip({0}, -1, 2)",
    "lax.clamp({0}.dtype.type(-1), {0}, {0}.dtype.type(1))",
    "jnp.where({0} > 0, {0}, 0)",
    "lax.stop_gradient({0})",
    "lax.optimization_barrier({0})",
)
_ROUNDED_UNARY = {
    "jnp.square({0})": 2,
    "lax.integer_pow({0}, 3)": 3,
    "{0} + 0.25": 1,
    "{0} * 0.3": 1,
    "3 - {0}": 1,
    "{0} / 3": 1,
    "jax.nn.leaky_relu({0})": 1,
    "lax.reduce_precision({0}, 8, 7)": 1,
}
_INEXACT_CONSTANTS = ("{0} * 0.3", "{0} / 3", "jax.nn.leaky_relu({0})")
_INTEGER_UNARY = ("-{0}", "jnp.abs({0})", "jnp.sign({0})", "~{0}", "lax.population_count({0})",
                  "lax.clz({0})", "{0} * 3", "{0} + 7", "{0} // 3", "{0} % 5", "jnp.square({0})",
                  "lax.integer_pow({0}, 3)", "jnp.clip({0}, 1, 9)", "{0} & 15", "{0} >> 1",
                  "{0} << 2", "jnp.bitwise_not({0})")  # fmt: skip
_COMPLEX_UNARY = ("jnp.conj({0})", "-{0}", "{0} * (0.5 + 0.25j)", "jnp.exp({0} * 0.25)",
                  "jnp.tanh({0} * 0.25)", "jnp.sqrt({0})", "jnp.square({0})",
                  "1 / ({0} * jnp.conj({0}) + 0.5)", "jnp.sin({0} * 0.25)",
                  "jnp.log({0} * jnp.conj({0}) + 0.5)")  # fmt: skip
_COMPLEX_TO_REAL = ("lax.real({0})", "lax.imag({0})", "jnp.abs({0})")


def unary(b: Builder) -> None:
    """A function of one operand."""
    value = b.pick()
    if value.dtype == "bool":
        b.emit(b.choice(("~{0}", "jnp.logical_not({0})")), value, op="not")
    elif value.is_integer:
        b.emit(b.choice(_INTEGER_UNARY), value, op="integer_unary")
    elif value.is_complex:
        if b.chance(0.3):
            b.emit(b.choice(_COMPLEX_TO_REAL), value, op="complex_to_real", noise="approximate")
        else:
            value = b.finite(value) if b.chance(0.5) else value
            b.emit(
                b.choice(_COMPLEX_UNARY), value, op="complex_unary", noise="approximate",
                magnitude=value.magnitude**2 + 2,
            )  # fmt: skip
    elif value.dtype not in REAL_FLOATS:
        b.emit(f"{{0}}.astype({b.choice(('f32', 'bf16', 'f16'))})", value, op="convert_f8")
    elif b.chance(0.08):
        source = b.choice(_UNGUARDED)
        b.emit(source, value, op="unguarded", noise=noise_of(source), special=True,
               magnitude=16.0)  # fmt: skip
    elif b.chance(0.35):
        b.emit(b.choice(_EXACT_UNARY), value, op="exact_unary", noise="none")
    elif b.chance(0.3):
        source = b.choice(list(_ROUNDED_UNARY))
        if "reduce_precision" in source and b.depth:
            # `rounded-gradients` in docs/conformance.md.
            raise Rejected
        magnitude = (value.magnitude + 1) ** _ROUNDED_UNARY[source]
        # A product with a constant that f16 rounds is exact by chance only.
        noise = "approximate" if source in _INEXACT_CONSTANTS else "round"
        b.emit(source, value, op="rounded_unary", noise=noise, magnitude=magnitude)
    else:
        source = b.choice(list(_UNARY))
        if source in _GUARDS:
            value = b.emit(_GUARDS[source], value, op="guard", magnitude=value.magnitude + 1)
        b.emit(source, value, op="unary", noise=noise_of(source),
               magnitude=_UNARY[source])  # fmt: skip


def operand_for(b: Builder, value: Value) -> Value:
    """Returns a value that broadcasts against another of the same dtype."""
    if b.chance(0.6):
        fitting = [
            one for one in b.visible() if one.dtype == value.dtype and one.shape == value.shape
        ]
        return b.choice(fitting) if fitting else b.like(value)
    shape = [size if b.chance(0.6) else 1 for size in value.shape]
    while shape and b.chance(0.3):
        shape.pop(0)
    return b.of(value.dtype, tuple(shape))


_FLOAT_BINARY = {
    "{0} + {1}": ("round", "sum"),
    "{0} - {1}": ("round", "sum"),
    "{0} * {1}": ("round", "product"),
    "{0} / (jnp.abs({1}) + 0.5)": ("approximate", "first"),
    "jnp.maximum({0}, {1})": ("none", "largest"),
    "jnp.minimum({0}, {1})": ("none", "largest"),
    "jnp.arctan2({0}, {1})": ("approximate", 4),
    "jnp.power(jnp.abs({0}) + 0.5, jnp.clip({1}, -2, 2))": ("approximate", "square"),
    "jnp.hypot({0}, {1})": ("approximate", "sum"),
    "jnp.logaddexp({0}, {1})": ("logarithm", "sum"),
    "jnp.copysign({0}, jnp.where({1} < 0, -1, 1).astype({0}.dtype))": ("none", "first"),
    "{0} * 0.5 + {1} * 0.25": ("round", "sum"),
    "jnp.fmod({0}, jnp.abs({1}) + 0.75)": ("approximate", "first"),
    "jnp.heaviside({0}, {1})": ("none", "largest"),
    "jnp.where({0} > {1}, {0}, {1} * 2)": ("none", "sum"),
}
_UNGUARDED_BINARY = (
    "{0} / {1}",
    "jnp.remainder({0}, {1})",
    "jnp.power({0}, {1})",
    "lax.rem({0}, {1})",
)
_INTEGER_BINARY = ("{0} + {1}", "{0} - {1}", "{0} * {1}", "jnp.maximum({0}, {1})",
                   "jnp.minimum({0}, {1})", "{0} & {1}", "{0} | {1}", "{0} ^ {1}",
                   "{0} // ({1} | 1)", "{0} % ({1} | 1)",
                   "lax.div(*jnp.broadcast_arrays({0}, {1}))",
                   "lax.rem(*jnp.broadcast_arrays({0}, {1}))", "jnp.power({0}, {1} & 3)",
                   "jnp.gcd({0} >> 1, {1} & 15)")  # fmt: skip
_SHIFTS = ("lax.shift_left", "lax.shift_right_arithmetic", "lax.shift_right_logical")
_BOOL_BINARY = ("{0} & {1}", "{0} | {1}", "{0} ^ {1}", "{0} == {1}", "jnp.logical_and({0}, ~{1})",
                "jnp.maximum({0}, {1})")  # fmt: skip
_COMPLEX_BINARY = {"{0} + {1}": "round", "{0} - {1}": "round", "{0} * {1}": "operands",
                   "{0} / ({1} * jnp.conj({1}) + 0.5)": "operands"}  # fmt: skip


def binary(b: Builder) -> None:
    """A function of two operands of one dtype, which may broadcast."""
    first = b.pick()
    second = operand_for(b, first)
    if b.chance(0.3):
        first, second = second, first
    if first.dtype == "bool":
        b.emit(b.choice(_BOOL_BINARY), first, second, op="bool_binary")
    elif first.is_integer:
        if b.chance(0.12):
            name = b.choice(_SHIFTS)
            text = f"{name}(*jnp.broadcast_arrays({{0}}, {{1}} & 31))"
            b.emit(text, first, second, op="shift")
        else:
            b.emit(b.choice(_INTEGER_BINARY), first, second, op="integer_binary")
    elif first.is_complex:
        source = b.choice(list(_COMPLEX_BINARY))
        b.emit(source, first, second, op="complex_binary", noise=_COMPLEX_BINARY[source],
               magnitude=2 * (first.magnitude + 1) * (second.magnitude + 1))  # fmt: skip
    elif first.dtype not in REAL_FLOATS:
        b.emit("{0}.astype(f32) + {1}.astype(f32)", first, second, op="add_f8")
    elif b.chance(0.05):
        b.emit(b.choice(_UNGUARDED_BINARY), first, second, op="unguarded_binary",
               noise="approximate", special=True, magnitude=64.0)  # fmt: skip
    else:
        source = b.choice(list(_FLOAT_BINARY))
        if "fmod" in source and first.magnitude > LARGEST_DIVIDEND[first.dtype]:
            raise Rejected
        noise, how = _FLOAT_BINARY[source]
        a, c = first.magnitude, second.magnitude
        magnitude = {"sum": a + 2 * c, "product": a * c, "first": 2 * a, "largest": max(a, c),
                     "square": (a + 1) ** 2}.get(how, how)  # fmt: skip
        b.emit(source, first, second, op="binary", noise=noise, magnitude=magnitude)


_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


def compare(b: Builder) -> None:
    """A comparison."""
    first = b.pick(REAL_FLOATS + INTEGERS + ("bool", "c64"))
    second = operand_for(b, first)
    words = _COMPARISONS[:2] if first.is_complex else _COMPARISONS
    b.emit(f"{{0}} {b.choice(words)} {{1}}", first, second, op="compare", special=False)


def select(b: Builder) -> None:
    """A selection by a mask, which is compared on the spot if there is none."""
    value = b.pick()
    other = b.like(value)
    masks = [one for one in b.visible() if one.dtype == "bool" and one.shape in (value.shape, ())]
    if masks and b.chance(0.7):
        b.emit("jnp.where({2}, {0}, {1})", value, other, b.choice(masks), op="select", noise="none")
    elif value.dtype in REAL_FLOATS + INTEGERS:
        b.emit("jnp.where({0} < {1}, {1}, {0})", value, other, op="select", noise="none")
    else:
        raise Rejected


def ternary(b: Builder) -> None:
    """A clamp between arrays, a multiplication and addition, a selection by an index."""
    value = b.pick(_ALL_NUMBERS)
    low, high = b.like(value), b.like(value)
    if b.chance(0.3):
        b.emit("lax.clamp({1}, {0}, {2})", value, low, high, op="clamp", noise="none")
    elif b.chance(0.4):
        b.emit(
            "lax.select_n(({0} > 1).astype(s32) + ({1} > 0).astype(s32), {0}, {1}, {2})",
            value, low, high, op="select_n", noise="none",
        )  # fmt: skip
    else:
        b.emit(
            "{0} * {1} + {2}", value, low, high, op="multiply_add", noise="operands",
            magnitude=value.magnitude * low.magnitude + high.magnitude,
        )  # fmt: skip


def convert(b: Builder) -> None:
    """A conversion between any two dtypes; floats are clipped to what an integer can hold."""
    value = b.pick()
    dtype = b.dtype()
    if value.is_complex and dtype not in COMPLEX:
        b.emit(f"lax.real({{0}}).astype({'f32' if dtype in INTEGERS else dtype})", value,
               op="convert")  # fmt: skip
    elif (value.is_float or value.is_complex) and dtype in INTEGERS:
        b.to_integer(value, dtype)
    elif dtype.startswith("f8"):
        b.emit(f"jnp.clip({{0}}, -8, 8).astype({dtype})", value, op="convert", magnitude=8.0)
    else:
        magnitude = value.magnitude
        if value.is_integer and (dtype in FLOATS or dtype in COMPLEX):
            if dtype == "f16" and width(value.dtype) > 1:
                value = b.emit("{0} & 127", value, op="integer_mask")
            magnitude = 2.0 ** (8 * min(width(value.dtype), 2)) if width(value.dtype) > 1 else 256.0
        b.emit(f"{{0}}.astype({dtype})", value, op="convert", magnitude=magnitude)


def bits(b: Builder) -> None:
    """The bits of a value, as another dtype of the same or another width."""
    value = b.pick(INTEGERS + ("f32", "f16", "bf16", "f64"), where=lambda one: not one.special)
    if value.is_float:
        target = {2: "u16", 4: b.choice(("s32", "u32")), 8: "s64"}[width(value.dtype)]
        value = b.emit("jnp.floor({0} * 4) * 0.25", value, op="quantise", noise="none")
        # By its own name: in the program in float64 the short names are float64.
        same = f"{{0}}.astype({np.dtype(DTYPES[value.dtype]).name!r})"
        b.emit(f"lax.bitcast_convert_type({same}, {target})", value, op="bitcast", noise="none")
        return
    target = b.choice(INTEGERS)
    if width(target) > width(value.dtype):
        ratio = width(target) // width(value.dtype)
        if not value.rank or value.shape[-1] % ratio or not value.size:
            raise Rejected
        text = f"{{0}}.reshape({(*value.shape[:-1], value.shape[-1] // ratio, ratio)})"
        value = b.emit(text, value, op="reshape", noise="none")
    b.emit(f"lax.bitcast_convert_type({{0}}, {target})", value, op="bitcast", noise="none")


def make_complex(b: Builder) -> None:
    """A complex value of two parts."""
    real = b.pick(("f32", "f64"))
    b.emit("lax.complex({0}, {1})", real, b.like(real), op="complex", noise="none")


def tests(b: Builder) -> None:
    """A predicate of a float."""
    source = b.choice(
        ("jnp.isnan({0})", "jnp.isinf({0})", "jnp.isfinite({0})", "jnp.signbit({0} + 0)")
    )
    value = b.floats()
    if "signbit" in source:
        value = b.emit("jnp.where({0} == 0, 1, {0})", value, op="select", noise="none")
    b.emit(source, value, op="predicate", special=False)


FAMILY = {
    unary: 34,
    binary: 30,
    compare: 5,
    select: 6,
    ternary: 4,
    convert: 12,
    bits: 2,
    make_complex: 1,
    tests: 1,
}
