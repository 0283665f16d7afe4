"""Elementwise operations, comparisons, selections, casts and bits."""

from __future__ import annotations

import numpy as np

from tests.fuzz.values.builder import LARGEST_DIVIDEND, noise_of
from tests.fuzz.values.inputs import COMPLEX, INTEGERS, SIGNED, UNSIGNED
from tests.fuzz.values.tensorflow_programs.builder import REAL_FLOATS, Builder, Rejected, Value

# Arguments are within the domain of each function where its error there would drown the rest.
_APPROXIMATE = (
    "tf.sin({0})", "tf.cos({0})", "tf.tan(tf.clip_by_value({0}, -1, 1))", "tf.tanh({0})",
    "tf.exp(tf.minimum({0}, 3))", "tf.math.expm1(tf.minimum({0}, 3))",
    "tf.math.log(tf.abs({0}) + 0.5)", "tf.math.log1p(tf.abs({0}))", "tf.sqrt(tf.abs({0}))",
    "tf.math.rsqrt(tf.abs({0}) + 0.25)", "tf.sigmoid({0})", "tf.math.erf({0})", "tf.math.erfc({0})",
    "tf.math.erfinv(tf.clip_by_value({0}, -0.9, 0.9))", "tf.asin(tf.clip_by_value({0}, -1, 1))",
    "tf.acos(tf.clip_by_value({0}, -1, 1))", "tf.atan({0})",
    "tf.sinh(tf.clip_by_value({0}, -3, 3))", "tf.cosh(tf.clip_by_value({0}, -3, 3))",
    "tf.asinh({0})", "tf.acosh({0})", "tf.atanh(tf.clip_by_value({0}, -0.9, 0.9))",
    "tf.math.lgamma(tf.clip_by_value(tf.abs({0}), 0.5, 8))",
    "tf.math.digamma(tf.clip_by_value(tf.abs({0}), 0.5, 8))", "tf.nn.gelu({0})",
    "tf.nn.gelu({0}, approximate=True)", "tf.nn.silu({0})", "tf.nn.softplus({0})", "tf.nn.elu({0})",
    "tf.nn.selu({0})", "tf.nn.softsign({0})", "tf.math.log_sigmoid({0})",
    "tf.math.reciprocal(tf.abs({0}) + 0.5)",
    "tf.math.ndtri(tf.clip_by_value({0} * 0.1 + 0.5, 0.1, 0.9))",
)  # fmt: skip
# What brings the argument into the domain, as a statement of its own: the function amplifies the
# rounding of its argument, which a compiled program may leave out.
_GUARDS = {"tf.acosh({0})": "tf.abs({0}) + 1"}
# The same without a guard: NaN, infinities and large errors are part of the contract.
_UNGUARDED = (
    "tf.math.log({0})", "tf.sqrt({0})", "tf.math.rsqrt({0})", "tf.exp({0})", "1 / {0}",
    "tf.asin({0})",
    "tf.math.log1p({0})", "tf.math.reciprocal_no_nan({0})", "tf.tan({0})", "tf.atanh({0})",
)  # fmt: skip
_EXACT = (
    "-{0}", "tf.abs({0})", "tf.sign({0})", "tf.floor({0})", "tf.math.ceil({0})", "tf.round({0})",
    "tf.math.rint({0})", "tf.nn.relu({0})", "tf.nn.relu6({0})", "tf.clip_by_value({0}, -1, 2)",
    "tf.where({0} > 0, {0}, tf.zeros_like({0}))", "tf.stop_gradient({0})", "tf.identity({0})",
    "tf.zeros_like({0})", "tf.ones_like({0})",
    "tf.raw_ops.ClipByValue(t={0}, clip_value_min=tf.constant(1, {0}.dtype), "
    "clip_value_max=tf.constant(-1, {0}.dtype))",
)  # fmt: skip
_ROUNDED = ("tf.square({0})", "{0} + 0.25", "{0} * 0.3", "3 - {0}", "{0} / 3",
            "tf.nn.leaky_relu({0})", "tf.nn.leaky_relu({0}, -0.25)", "{0} * {0} * {0}")  # fmt: skip
_INTEGER = (
    "-{0}", "tf.abs({0})", "tf.sign({0})", "{0} * 3", "{0} + 7", "{0} // 3", "{0} % 5",
    "tf.square({0})", "tf.bitwise.invert({0})", "tf.bitwise.bitwise_and({0}, 15)",
    "tf.raw_ops.PopulationCount(x={0})", "tf.nn.relu({0})", "tf.identity({0})",
    "tf.truncatediv({0}, 3)", "tf.truncatemod({0}, 5)", "tf.clip_by_value({0}, 1, 9)",
)  # fmt: skip
_COMPLEX = (
    "tf.math.conj({0})", "-{0}", "tf.exp({0} * 0.25)", "tf.tanh({0} * 0.25)", "tf.sqrt({0})",
    "tf.square({0})", "tf.sin({0} * 0.25)", "{0} * (0.5 + 0.25j)", "tf.math.log({0} * 0.5)",
    "1 / ({0} * tf.math.conj({0}) + 0.5)",
)  # fmt: skip
_COMPLEX_TO_REAL = ("tf.math.real({0})", "tf.math.imag({0})", "tf.abs({0})", "tf.math.angle({0})")


def unary(b: Builder) -> None:
    """A function of one operand."""
    value = b.pick()
    if value.dtype == "bool":
        b.emit("tf.logical_not({0})", value, op="not")
    elif value.is_integer:
        source = b.choice(_INTEGER)
        array = b.value_of(value)
        if source == "-{0}" and value.size and array.min() == np.iinfo(array.dtype).min:
            # Its negative overflows. In functions TensorFlow's graph optimiser takes the maximum of
            # negatives for the negative of the minimum, which is then another number.
            raise Rejected
        b.emit(source, value, op="integer_unary", noise="none")
    elif value.is_complex:
        if b.chance(0.3):
            b.emit(b.choice(_COMPLEX_TO_REAL), value, op="complex_to_real", noise="approximate")
        else:
            b.emit(b.choice(_COMPLEX), value, op="complex_unary", noise="approximate")
    elif b.chance(0.08):
        b.emit(b.choice(_UNGUARDED), value, op="unguarded", noise="approximate")
    elif b.chance(0.35):
        b.emit(b.choice(_EXACT), value, op="exact_unary", noise="none")
    elif b.chance(0.3):
        b.emit(b.choice(_ROUNDED), value, op="rounded_unary")
    else:
        source = b.choice(_APPROXIMATE)
        if source in _GUARDS:
            value = b.emit(_GUARDS[source], value, op="guard")
        b.emit(source, value, op="unary", noise=noise_of(source))


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
    "{0} + {1}": "round",
    "{0} - {1}": "round",
    "{0} * {1}": "round",
    "{0} / (tf.abs({1}) + 0.5)": "approximate",
    "tf.maximum({0}, {1})": "none",
    "tf.minimum({0}, {1})": "none",
    "tf.atan2({0}, {1})": "approximate",
    "tf.pow(tf.abs({0}) + 0.5, tf.clip_by_value({1}, -2, 2))": "approximate",
    "tf.math.squared_difference({0}, {1})": "round",
    "tf.math.divide_no_nan({0}, {1})": "approximate",
    "tf.math.multiply_no_nan({0}, {1})": "round",
    "tf.math.xlogy(tf.abs({0}), tf.abs({1}) + 0.5)": "logarithm",
    "tf.math.floormod({0}, tf.abs({1}) + 0.75)": "approximate",
    "tf.truncatemod({0}, tf.abs({1}) + 0.75)": "approximate",
    "{0} * 0.5 + {1} * 0.25": "round",
    "tf.where({0} > {1}, {0}, {1} * 2)": "none",
}
_UNGUARDED_BINARY = (
    "{0} / {1}",
    "tf.pow({0}, {1})",
    "tf.math.xdivy({0}, {1})",
    "tf.math.xlog1py({0}, {1})",
)
_INTEGER_BINARY = (
    "{0} + {1}", "{0} - {1}", "{0} * {1}", "tf.maximum({0}, {1})", "tf.minimum({0}, {1})",
    "tf.bitwise.bitwise_and({0}, {1})", "tf.bitwise.bitwise_or({0}, {1})",
    "tf.bitwise.bitwise_xor({0}, {1})", "tf.math.floordiv({0}, tf.abs({1} % 7) + 1)",
    "tf.math.floormod({0}, tf.abs({1} % 7) + 1)", "tf.math.squared_difference({0}, {1})",
    "tf.truncatediv({0}, tf.abs({1} % 7) + 1)", "tf.bitwise.left_shift({0}, {1} % 5)",
    "tf.bitwise.right_shift({0}, {1} % 5)", "tf.pow({0}, {1} % 4)",
)  # fmt: skip
_BOOLEAN_BINARY = ("tf.logical_and({0}, {1})", "tf.logical_or({0}, {1})",
                   "tf.math.logical_xor({0}, {1})",
                   "tf.equal({0}, {1})")  # fmt: skip
_COMPLEX_BINARY = ("{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / ({1} * tf.math.conj({1}) + 0.5)")


def binary(b: Builder) -> None:
    """A function of two operands that broadcast against each other."""
    value = b.pick()
    other = operand_for(b, value)
    operands = (value, other) if b.chance(0.7) else (other, value)
    if value.dtype == "bool":
        b.emit(b.choice(_BOOLEAN_BINARY), *operands, op="boolean_binary")
    elif value.is_integer:
        b.emit(b.choice(_INTEGER_BINARY), *operands, op="integer_binary", noise="none")
    elif value.is_complex:
        b.emit(b.choice(_COMPLEX_BINARY), *operands, op="complex_binary", noise="approximate")
    elif b.chance(0.05):
        b.emit(b.choice(_UNGUARDED_BINARY), *operands, op="unguarded_binary", noise="approximate")
    else:
        source = b.choice(list(_FLOAT_BINARY))
        if "mod(" in source and operands[0].magnitude > LARGEST_DIVIDEND[value.dtype]:
            raise Rejected
        b.emit(source, *operands, op="binary", noise=_FLOAT_BINARY[source])


def compare(b: Builder) -> None:
    """A comparison, or a test of each float."""
    value = b.pick()
    if value.dtype in REAL_FLOATS and b.chance(0.25):
        name = b.choice(("is_nan", "is_inf", "is_finite"))
        b.emit(f"tf.math.{name}({{0}})", value, op=name, noise="none")
        return
    names = ("equal", "not_equal")
    if value.dtype in REAL_FLOATS + INTEGERS:
        names += ("less", "less_equal", "greater", "greater_equal")
    b.emit(
        f"tf.{b.choice(names)}({{0}}, {{1}})",
        value,
        operand_for(b, value),
        op="compare",
        noise="none",
    )


def select(b: Builder) -> None:
    """A selection by a mask, which may broadcast."""
    value = b.pick()
    other = operand_for(b, value)
    shape = (
        value.shape
        if b.chance(0.6)
        else tuple(size if b.chance(0.5) else 1 for size in value.shape)
    )
    mask = b.of("bool", shape)
    b.emit("tf.where({0}, {1}, {2})", mask, value, other, op="select", noise="none")


def cast(b: Builder) -> None:
    """A conversion of types whose result is defined."""
    value = b.pick()
    if value.is_complex:
        b.emit(f"tf.cast({{0}}, {b.choice(COMPLEX)})", value, op="cast")
    elif value.is_float:
        wanted = b.dtype((*REAL_FLOATS, *INTEGERS, "bool", *COMPLEX))
        if wanted in INTEGERS:
            if b.chance(0.3) and not value.special and wanted not in ("s64", "u64", "s32", "u32"):
                b.emit(
                    f"tf.saturate_cast({{0}}, {wanted})", value, op="saturate_cast", noise="none"
                )
            else:
                b.to_integer(value, wanted)
        else:
            b.emit(f"tf.cast({{0}}, {wanted})", value, op="cast")
    else:
        wanted = b.dtype()
        name = (
            "saturate_cast" if value.is_integer and wanted in INTEGERS and b.chance(0.3) else "cast"
        )
        if name == "saturate_cast" and "64" in wanted + value.dtype:
            name = "cast"  # TensorFlow compares limits in float64, which 64 bits do not fit in
        b.emit(f"tf.{name}({{0}}, {wanted})", value, op=name)


_SAME_WIDTH = {"f32": ("s32",), "s32": ("f32", "u32"), "f16": ("s16", "u16"),
               "bf16": ("s16", "u16"), "f64": ("s64",), "s64": ("f64",), "s8": ("u8",),
               "u8": ("s8",), "s16": ("f16", "u16")}  # fmt: skip


def bitcast(b: Builder) -> None:
    """The bits of values as another type."""
    value = b.pick(tuple(_SAME_WIDTH), where=lambda one: not one.special)
    wanted = b.choice(_SAME_WIDTH[value.dtype])
    if b.chance(0.5) and wanted in SIGNED + UNSIGNED:
        wanted = "u8"
    result = b.emit(f"tf.bitcast({{0}}, {wanted})", value, op="bitcast", noise="none")
    if result.dtype in REAL_FLOATS:
        raise Rejected  # random bits: NaN, subnormals and huge values in all that follows


def quantize(b: Builder) -> None:
    """A quantisation that is undone at once, and `tf.quantization`'s relatives."""
    value = b.pick(("f32",), where=lambda one: not one.special and one.size > 0)
    source = b.choice(
        (
            "tf.quantization.fake_quant_with_min_max_args(a, -3, 3, 8)",
            "tf.quantization.fake_quant_with_min_max_vars(a, -2.0, 4.0, num_bits=6)",
            "tf.quantization.quantize_and_dequantize_v2(a, -3.0, 3.0, range_given=True)",
        )
    )
    b.emit(f"narrow(lambda a: {source}, {{0}})", value, op="quantize", noise="operands")


FAMILY = {unary: 30, binary: 30, compare: 8, select: 7, cast: 14, bitcast: 2, quantize: 1}
