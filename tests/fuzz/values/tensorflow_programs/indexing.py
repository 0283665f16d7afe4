"""Gathers, scatters, segments, and ops whose sizes depend on values."""

from __future__ import annotations

from tests.fuzz.values.inputs import INTEGERS
from tests.fuzz.values.tensorflow_programs.builder import REAL_FLOATS, Builder, Rejected

# An update that occurs twice is added in some order, or one of them wins in some order.
_COMMUTATIVE = {
    "add": REAL_FLOATS + INTEGERS,
    "min": REAL_FLOATS + INTEGERS,
    "max": REAL_FLOATS + INTEGERS,
}
_NARROW = ("u16", "u32", "u64")


def gather(b: Builder) -> None:
    """Rows of a dimension, in any order, several times or never."""
    value = b.pick(where=lambda one: one.rank > 0 and one.size > 0)
    axis = b.axis(value)
    shape = b.choice(((), (b.rng.randint(1, 9),), (b.rng.randint(1, 4), b.rng.randint(1, 4))))
    indices = b.indices(shape, value.shape[axis])
    b.emit(f"tf.gather({{0}}, {indices}, axis={axis})", value, op="gather", noise="none")


def batched_gather(b: Builder) -> None:
    """For each row, elements of it."""
    value = b.pick(where=lambda one: one.rank > 1 and one.size > 0)
    shape = (value.shape[0], b.rng.randint(1, 6))
    indices = b.indices(shape, value.shape[1])
    b.emit(f"tf.gather({{0}}, {indices}, batch_dims=1)", value, op="batched_gather", noise="none")


def gather_nd(b: Builder) -> None:
    """Elements or rows by their coordinates."""
    value = b.pick(where=lambda one: one.rank > 0 and one.size > 0)
    depth = b.rng.randint(1, min(value.rank, 3))
    count = b.rng.randint(1, 9)
    columns = [b.indices((count,), n, "s32") for n in value.shape[:depth]]
    b.emit(f"tf.gather_nd({{0}}, tf.stack([{', '.join(columns)}], -1))", value, op="gather_nd",
           noise="none")  # fmt: skip


def scatter(b: Builder) -> None:
    """Rows that are added to others, or take part in a minimum or maximum."""
    how = b.choice(list(_COMMUTATIVE))
    value = b.pick(
        [one for one in _COMMUTATIVE[how] if one not in _NARROW],
        where=lambda one: one.rank > 0 and one.size > 0 and not one.special,
    )
    count = b.rng.randint(1, 9)
    updates = b.of(value.dtype, (count, *value.shape[1:]))
    if updates.special:
        raise Rejected
    indices = f"tf.expand_dims({b.indices((count,), value.shape[0])}, 1)"
    noise = "operands" if how == "add" else "none"
    if how == "add" and b.chance(0.4):
        size = value.shape[0]
        source = f"tf.scatter_nd(tf.cast({indices}, s32), {{0}}, {[size, *value.shape[1:]]})"
        b.emit(source, updates, op="scatter_nd", noise=noise)
        return
    source = f"tf.tensor_scatter_nd_{how}({{0}}, {indices}, {{1}})"
    b.emit(source, value, updates, op=f"scatter_{how}", noise=noise)


def scatter_update(b: Builder) -> None:
    """Rows that take the place of others, each once."""
    value = b.pick(where=lambda one: one.rank > 0 and one.size > 0)
    count = b.rng.randint(1, value.shape[0])
    rows = b.rng.sample(range(value.shape[0]), count)
    updates = b.of(value.dtype, (count, *value.shape[1:]))
    source = f"tf.tensor_scatter_nd_update({{0}}, {[[row] for row in rows]}, {{1}})"
    b.emit(source, value, updates, op="scatter_update", noise="none")


def segments(b: Builder) -> None:
    """Sums and other reductions of segments, sorted or not; of integers, wide ones overflow."""
    name = b.choice(("sum", "prod", "max", "min", "mean", "sqrt_n"))
    dtypes = ("f16", "bf16", "f32", "f64") if name in ("mean", "sqrt_n") else (
        "f16", "bf16", "f32", "f64", "s32", "s64", "u8", "s8", "s16"
    )  # fmt: skip
    value = b.pick(
        dtypes, where=lambda one: one.rank > 0 and 0 < one.size < 4000 and not one.special
    )
    rows = value.shape[0]
    noise = "none" if name in ("max", "min") or value.is_integer else "operands"
    if name == "prod" and value.is_float and rows > 40:
        raise Rejected
    if name == "sqrt_n" or b.chance(0.75):
        count = b.rng.randint(1, 7)
        ids = b.indices((rows,), count + 1) + " - 1"  # -1 is left out
        source = f"tf.math.unsorted_segment_{name}({{0}}, {ids}, {count})"
        b.emit(source, value, op=f"unsorted_segment_{name}", noise=noise)
        return
    ids = [0]
    for _ in range(rows - 1):
        ids.append(ids[-1] + b.choice((0, 0, 1, 2)))
    b.emit(f"tf.math.segment_{name}({{0}}, {ids})", value, op=f"segment_{name}", noise=noise)


def embedding(b: Builder) -> None:
    """Means, sums or scaled sums of rows that are looked up."""
    value = b.pick(("f32", "f64", "f16", "bf16"), where=lambda one: one.rank > 1 and one.size > 0)
    if value.special:
        raise Rejected
    name = b.choice(("sum", "mean", "sqrt_n"))
    count = b.rng.randint(1, 8)
    ids, last = [], 0
    for _ in range(count):
        ids.append(last)
        last += b.choice((0, 1))
    indices = b.indices((count,), value.shape[0])
    source = f"tf.sparse.segment_{name}({{0}}, {indices}, {ids}, num_segments={last + 2})"
    b.emit(source, value, op=f"sparse_segment_{name}", noise="operands")


def one_hot(b: Builder) -> None:
    """A one at each index."""
    value = b.pick(("s32", "s64", "u8"))
    depth = b.rng.randint(1, 9)
    dtype = b.dtype(("f32", "f16", "bf16", "s32", "bool", "s64"))
    b.emit(f"tf.one_hot({{0}}, {depth}, axis={b.choice((-1, 0))}, dtype={dtype})", value,
           op="one_hot", noise="none")  # fmt: skip


def counts(b: Builder) -> None:
    """How often each number occurs, or weights summed by number; bins of a sorted row."""
    how = b.choice(("bincount", "weights", "searchsorted", "histogram"))
    if how in ("bincount", "weights"):
        value = b.pick(("s32",), where=lambda one: one.rank == 1 and one.size > 0)
        text = "tf.math.floormod({0}, 9)"
        if how == "weights":
            weights = b.of(b.choice(("f32", "f64", "s32", "s64")), value.shape)
            if weights.special:
                raise Rejected
            b.emit(f"tf.math.bincount({text}, weights={{1}}, minlength=9, maxlength=9)", value,
                   weights, op="bincount", noise="operands")  # fmt: skip
        else:
            b.emit(
                f"tf.math.bincount({text}, minlength=9, maxlength=9)",
                value,
                op="bincount",
                noise="none",
            )
        return
    value = b.pick(("f32", "s32", "f64", "s64"), where=lambda one: one.rank > 0 and one.size > 0)
    if value.special:
        raise Rejected
    if how == "histogram":
        if value.dtype not in ("f32", "f64", "s32"):
            raise Rejected
        limits = "[-2.0, 2.0]" if value.is_float else "[-20, 20]"
        source = f"tf.histogram_fixed_width({{0}}, tf.constant({limits}, {value.dtype}), nbins=7)"
        b.emit(source, value, op="histogram", noise="none")
    else:
        side = b.choice(("left", "right"))
        b.emit(f"tf.searchsorted(tf.sort({{0}}), {{0}}, side='{side}')", value, op="searchsorted",
               noise="none")  # fmt: skip


def dynamic(b: Builder) -> None:
    """What gives as many elements as a mask or the values decide; see `DYNAMIC_OPS`."""
    how = b.choice(("where", "boolean_mask", "unique", "dynamic_partition", "ragged", "sparse"))
    if how == "where":
        value = b.pick(where=lambda one: 0 < one.rank < 5)
        b.emit("tf.where({0})", b.of("bool", value.shape), op=how, noise="none")
    elif how == "boolean_mask":
        value = b.pick(where=lambda one: one.rank > 0 and one.size > 0)
        count = b.rng.randint(1, value.rank)
        mask = b.of("bool", value.shape[:count])
        b.emit("tf.boolean_mask({0}, {1})", value, mask, op=how, noise="none")
    elif how == "unique":
        value = b.pick(("s32", "s64", "f32", "u8", "s8"), where=lambda one: one.size > 0)
        if value.special:
            raise Rejected
        part = b.choice(("unique({0})[0]", "unique({0})[1]", "unique_with_counts({0})[2]"))
        # `signs-of-zeros-in-unique` in docs/conformance.md.
        flat = "tf.reshape(tf.abs({0}), [-1])" if value.is_float else "tf.reshape({0}, [-1])"
        b.emit(f"tf.{part}".replace("{0}", flat), value, op=how, noise="none")
    elif how == "dynamic_partition":
        value = b.pick(where=lambda one: one.rank > 0 and one.size > 0)
        parts = b.indices((value.shape[0],), 3, "s32")
        b.emit(f"tf.dynamic_partition({{0}}, {parts}, 3)[{b.rng.randrange(3)}]", value, op=how,
               noise="none")  # fmt: skip
    elif how == "ragged":
        value = b.pick(
            REAL_FLOATS + ("s32", "s64"),
            where=lambda one: one.rank > 0 and 0 < one.shape[0] and one.size,
        )
        lengths = [b.rng.randint(0, 4) for _ in range(30)]
        while sum(lengths) > value.shape[0]:
            lengths.pop()
        lengths.append(value.shape[0] - sum(lengths))
        rows = f"tf.RaggedTensor.from_row_lengths({{0}}, {lengths})"
        if value.special:
            raise Rejected
        source = b.choice(
            (f"{rows}.to_tensor()", f"tf.reduce_sum({rows}, 1)", f"tf.reduce_max({rows}, 1)",
             f"tf.concat([{rows}, {rows}], 1).to_tensor()", f"{rows}.row_lengths()")
        )  # fmt: skip
        b.emit(
            source,
            value,
            op=how,
            noise="operands" if "sum" in source and value.is_float else "none",
        )
    else:
        value = b.pick(("f32", "f64"), where=lambda one: one.rank == 2 and one.size > 0)
        if value.special:
            raise Rejected
        sparse = "tf.sparse.from_dense(tf.nn.relu({0}))"
        other = b.of(value.dtype, (value.shape[1], b.rng.randint(1, 5)))
        if other.special:
            raise Rejected
        source = b.choice(
            (f"tf.sparse.to_dense({sparse})", f"tf.sparse.sparse_dense_matmul({sparse}, {{1}})",
             f"tf.sparse.reduce_sum({sparse}, 1)",
             f"tf.sparse.to_dense(tf.sparse.transpose({sparse}))",
             f"{sparse}.values")
        )  # fmt: skip
        operands = (value, other) if "{1}" in source else (value,)
        b.emit(source, *operands, op=how, noise="operands")


FAMILY = {gather: 10, batched_gather: 5, gather_nd: 6, scatter: 8, scatter_update: 4, segments: 9,
          embedding: 3, one_hot: 4, counts: 4, dynamic: 14}  # fmt: skip
