"""Reductions, cumulative sums, sorts, and what is made of them."""

from __future__ import annotations

from tests.fuzz.values.inputs import INTEGERS
from tests.fuzz.values.tensorflow_programs.builder import REAL_FLOATS, Builder, Rejected

_EXACT = ("reduce_max", "reduce_min")
_INEXACT = ("reduce_sum", "reduce_mean", "reduce_prod")
_FLOAT_ONLY = ("reduce_logsumexp", "reduce_std", "reduce_variance", "reduce_euclidean_norm")


def reduce_(b: Builder) -> None:
    """A reduction of some dimensions."""
    value = b.pick(REAL_FLOATS + INTEGERS + ("bool", "c64"), where=lambda one: one.rank > 0)
    axes = list(b.axes(value))
    keep = b.choice(("", ", keepdims=True"))
    if value.dtype == "bool":
        name = b.choice(("reduce_any", "reduce_all"))
    elif value.is_complex:
        name = b.choice(("reduce_sum", "reduce_mean"))
    elif value.is_integer:
        name = b.choice((*_EXACT, *_INEXACT))
    else:
        name = b.choice((*_EXACT, *_INEXACT, *_INEXACT, *_FLOAT_ONLY))
        if name == "reduce_prod" and value.size > 300:
            raise Rejected
    noise = "none" if name in _EXACT or value.is_integer or value.dtype == "bool" else "operands"
    b.emit(f"tf.{'math.' if name in _FLOAT_ONLY else ''}{name}({{0}}, {axes}{keep})", value,
           op=name, noise=noise)  # fmt: skip


def arg(b: Builder) -> None:
    """Where the largest or the smallest element is, the first if there are several."""
    value = b.pick(
        REAL_FLOATS + ("s32", "s64", "u8", "s8", "s16", "u16"),
        where=lambda one: one.rank > 0 and one.size > 0,
    )
    name = b.choice(("argmax", "argmin"))
    dtype = b.choice(("s32", "s64"))
    b.emit(f"tf.{name}({{0}}, {b.axis(value)}, output_type={dtype})", value, op=name, noise="none")


def cumulative(b: Builder) -> None:
    """A cumulative sum, product or logarithm of a sum of exponentials."""
    value = b.pick(REAL_FLOATS + ("s32", "s64", "u8", "s8"), where=lambda one: one.rank > 0)
    name = b.choice(("cumsum", "cumsum", "cumprod", "cumulative_logsumexp"))
    if name == "cumulative_logsumexp" and (value.is_integer or value.special):
        name = "cumsum"
    if name == "cumprod" and value.is_float and value.size > 300:
        name = "cumsum"
    options = b.choice(("", ", exclusive=True", ", reverse=True", ", exclusive=True, reverse=True"))
    noise = "none" if value.is_integer else "operands"
    b.emit(f"tf.math.{name}({{0}}, {b.axis(value)}{options})", value, op=name, noise=noise)


def sort(b: Builder) -> None:
    """A sort, the order that sorts, or the largest elements. Of NaN there is no order in
    TensorFlow.
    """
    value = b.pick(
        REAL_FLOATS + ("s32", "s64", "u8", "s8", "s16"),
        where=lambda one: one.rank > 0 and one.size > 0 and not one.special,
    )
    how = b.choice(("sort", "argsort", "top_k", "top_k indices", "in_top_k", "median"))
    if how in ("sort", "argsort"):
        extra = ", stable=True" if how == "argsort" else ""
        direction = b.choice(("ASCENDING", "DESCENDING"))
        source = f"tf.{how}({{0}}, {b.axis(value)}, '{direction}'{extra})"
    elif how == "in_top_k":
        if value.dtype != "f32" or value.rank != 2:
            raise Rejected
        targets = b.indices((value.shape[0],), value.shape[1], "s32")
        source = f"tf.math.in_top_k({targets}, {{0}}, {b.rng.randint(1, value.shape[1])})"
    elif how == "median":
        source = f"tf.sort({{0}}, -1)[..., {value.shape[-1] // 2}]"
    else:
        part = int("indices" in how)
        source = f"tf.math.top_k({{0}}, {b.rng.randint(1, value.shape[-1])})[{part}]"
    b.emit(source, value, op=how.split()[0], noise="none")


def normalize(b: Builder) -> None:
    """Softmax and normalisations of rows."""
    value = b.pick(REAL_FLOATS, where=lambda one: one.rank > 0 and one.size > 0 and not one.special)
    axis = b.axis(value)
    source = b.choice(
        (
            f"tf.nn.softmax({{0}}, {axis})",
            f"tf.nn.log_softmax({{0}}, {axis})",
            f"tf.nn.l2_normalize({{0}}, {axis})",
            f"tf.clip_by_norm({{0}}, 1.5, [{axis}])",
            f"tf.nn.moments({{0}}, [{axis}])[{b.rng.randint(0, 1)}]",
            f"({{0}} - tf.reduce_mean({{0}}, {axis}, keepdims=True)) * tf.math.rsqrt("
            f"tf.math.reduce_variance({{0}}, {axis}, keepdims=True) + 0.1)",
            f"tf.nn.softmax(tf.nn.softmax({{0}}, {axis}) * 3, {axis})",
        )
    )
    b.emit(source, value, op="normalize", noise="operands")


def losses(b: Builder) -> None:
    """Losses of classes and of values."""
    value = b.pick(
        REAL_FLOATS, where=lambda one: one.rank == 2 and one.size > 0 and not one.special
    )
    rows, columns = value.shape
    how = b.choice(("sparse", "dense", "sigmoid", "l2", "huber"))
    if how == "sparse":
        labels = b.indices((rows,), columns)
        source = f"tf.nn.sparse_softmax_cross_entropy_with_logits({labels}, {{0}})"
    elif how == "dense":
        source = "tf.nn.softmax_cross_entropy_with_logits(tf.nn.softmax({0} * 0.5), {0})"
    elif how == "sigmoid":
        source = "tf.nn.sigmoid_cross_entropy_with_logits(tf.sigmoid({0} * 0.5), {0})"
    elif how == "l2":
        source = "tf.nn.l2_loss({0})"
    else:
        source = "tf.where(tf.abs({0}) < 1, {0} * {0} * 0.5, tf.abs({0}) - 0.5)"
    b.emit(source, value, op=f"{how}_loss", noise="operands")


FAMILY = {reduce_: 22, arg: 5, cumulative: 6, sort: 8, normalize: 7, losses: 3}
