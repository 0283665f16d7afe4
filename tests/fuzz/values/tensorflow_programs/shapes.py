"""Reshapes, transpositions, slices, pads, concatenations and other movements of elements."""

from __future__ import annotations

from tests.fuzz.values.tensorflow_programs.builder import Builder, Rejected, Value, product


def reshape(b: Builder) -> None:
    """Another shape of the same elements, with new, lost, merged or split dimensions."""
    value = b.pick()
    how = b.choice(("flat", "split", "expand", "squeeze", "merge"))
    if how == "flat":
        b.emit("tf.reshape({0}, [-1])", value, op="reshape", noise="none")
    elif how == "expand":
        b.emit(f"tf.expand_dims({{0}}, {b.rng.randint(-value.rank - 1, value.rank)})", value,
               op="expand_dims", noise="none")  # fmt: skip
    elif how == "squeeze":
        if 1 not in value.shape:
            raise Rejected
        b.emit("tf.squeeze({0})", value, op="squeeze", noise="none")
    elif how == "merge":
        if value.rank < 2:
            raise Rejected
        axis = b.rng.randrange(value.rank - 1)
        shape = [
            *value.shape[:axis],
            product(value.shape[axis : axis + 2]),
            *value.shape[axis + 2 :],
        ]
        b.emit(f"tf.reshape({{0}}, {shape})", value, op="reshape", noise="none")
    else:
        axis = b.axis(value)
        size = value.shape[axis]
        factors = [n for n in range(2, min(size, 64)) if size % n == 0]
        if not factors:
            raise Rejected
        n = b.choice(factors)
        shape = [*value.shape[:axis], n, size // n, *value.shape[axis + 1 :]]
        b.emit(f"tf.reshape({{0}}, {shape})", value, op="reshape", noise="none")


def transpose(b: Builder) -> None:
    """A permutation of dimensions."""
    value = b.pick(where=lambda one: one.rank > 1)
    order = b.rng.sample(range(value.rank), value.rank)
    if b.chance(0.2):
        b.emit("tf.linalg.matrix_transpose({0})", value, op="transpose", noise="none")
    else:
        b.emit(f"tf.transpose({{0}}, {order})", value, op="transpose", noise="none")


def _bound(b: Builder, size: int) -> str:
    return "" if b.chance(0.4) else str(b.rng.randint(-size - 2, size + 2))


def subscript(b: Builder, value: Value) -> str:
    """Returns the source of a random subscript: strides, negative ones, masks, new and lost
    axes.
    """
    parts = []
    axis = 0
    while axis < value.rank:
        size = value.shape[axis]
        kind = b.weighted({"slice": 10, "whole": 4, "index": 2, "new": 1, "ellipsis": 1})
        if kind == "index" and size:
            parts.append(str(b.rng.randint(-size, size - 1)))
        elif kind == "new":
            parts.append("tf.newaxis")
            continue
        elif kind == "ellipsis" and "..." not in parts:
            parts.append("...")
            axis += b.rng.randint(1, value.rank - axis)
            continue
        elif kind == "slice":
            step = b.choice(("", "", "", "2", "3", "5", "-1", "-2", "-3"))
            parts.append(f"{_bound(b, size)}:{_bound(b, size)}:{step}")
        else:
            parts.append(":")
        axis += 1
    # Behind an ellipsis the parts are those of the last dimensions, which may be others.
    return ", ".join(parts) or "..."


def strided_slice(b: Builder) -> None:
    """A slice."""
    value = b.pick(where=lambda one: one.rank > 0)
    b.emit(f"{{0}}[{subscript(b, value)}]", value, op="strided_slice", noise="none")


def slice_(b: Builder) -> None:
    """A slice whose beginning is known when the program runs."""
    value = b.pick(where=lambda one: one.rank > 0 and one.size > 0)
    sizes = [b.rng.randint(1, size) for size in value.shape]
    begins = [b.rng.randint(0, n - size) for n, size in zip(value.shape, sizes, strict=True)]
    if b.chance(0.4):
        room = [n - size + 1 for n, size in zip(value.shape, sizes, strict=True)]
        given = b.new_input("s32", (value.rank,), "normal")
        source = f"tf.slice({{0}}, tf.math.floormod({{1}}, {room}), {sizes})"
        b.emit(source, value, given, op="dynamic_slice", noise="none")
    else:
        b.emit(f"tf.slice({{0}}, {begins}, {sizes})", value, op="slice", noise="none")


def update_slice(b: Builder) -> None:
    """A slice of an array, changed."""
    value = b.pick(where=lambda one: one.rank > 0 and one.size > 0)
    begin, end, stride = [], [], []
    for size in value.shape:
        low, high = sorted((b.rng.randint(0, size), b.rng.randint(0, size)))
        step = b.choice((1, 1, 2, 3))
        begin.append(low)
        end.append(high)
        stride.append(step)
    shape = tuple(len(range(*part)) for part in zip(begin, end, stride, strict=True))
    update = b.of(value.dtype, shape)
    b.emit(f"tf.raw_ops.TensorStridedSliceUpdate(input={{0}}, begin={begin}, end={end}, "
           f"strides={stride}, value={{1}})", value, update, op="update_slice",
           noise="none")  # fmt: skip


def pad(b: Builder) -> None:
    """Zeros, a constant or a mirror around an array."""
    value = b.pick(where=lambda one: 0 < one.rank < 6)
    mode = b.weighted({"CONSTANT": 6, "REFLECT": 2, "SYMMETRIC": 2})
    most = [3 if mode == "CONSTANT" else max(0, n - (mode == "REFLECT")) for n in value.shape]
    pads = [[b.rng.randint(0, min(3, n)), b.rng.randint(0, min(3, n))] for n in most]
    extra = ""
    if mode == "CONSTANT" and value.dtype != "bool" and not value.is_complex and b.chance(0.5):
        extra = f", constant_values=tf.constant({b.constant(value.dtype)}, {value.dtype})"
    b.emit(f"tf.pad({{0}}, {pads}, '{mode}'{extra})", value, op="pad", noise="none")


def concatenate(b: Builder) -> None:
    """Arrays side by side."""
    value = b.pick(where=lambda one: one.rank > 0)
    axis = b.axis(value)
    operands = [value]
    for _ in range(b.rng.randint(1, 3)):
        fitting = [
            one
            for one in b.visible()
            if one.dtype == value.dtype
            and one.rank == value.rank
            and all(one.shape[i] == n for i, n in enumerate(value.shape) if i != axis)
        ]
        if fitting and b.chance(0.7):
            operands.append(b.choice(fitting))
        else:
            shape = (*value.shape[:axis], b.rng.randint(0, 5), *value.shape[axis + 1 :])
            operands.append(b.of(value.dtype, shape))
    b.rng.shuffle(operands)
    names = ", ".join(f"{{{i}}}" for i in range(len(operands)))
    b.emit(f"tf.concat([{names}], {axis})", *operands, op="concat", noise="none")


def stack(b: Builder) -> None:
    """Arrays along a new dimension, or one row of what is unstacked."""
    value = b.pick()
    if b.chance(0.4) and value.rank and 0 < value.shape[0] < 20:
        row = b.rng.randrange(value.shape[0])
        b.emit(f"tf.unstack({{0}})[{row}]", value, op="unstack", noise="none")
        return
    other = b.like(value)
    axis = b.rng.randint(-value.rank - 1, value.rank)
    b.emit(f"tf.stack([{{0}}, {{1}}, {{0}}], {axis})", value, other, op="stack", noise="none")


def split(b: Builder) -> None:
    """One part of an array that is split into equal or other parts."""
    value = b.pick(where=lambda one: one.rank > 0)
    axis = b.axis(value)
    size = value.shape[axis]
    if size < 2:
        raise Rejected
    cut = b.rng.randint(1, size - 1)
    sizes = b.choice(([cut, size - cut], [cut, 0, -1]))
    b.emit(f"tf.split({{0}}, {sizes}, {axis})[{b.rng.randrange(len(sizes))}]", value, op="split",
           noise="none")  # fmt: skip


def tile(b: Builder) -> None:
    """Repetitions of an array, of its elements, or of a dimension of one."""
    value = b.pick(where=lambda one: one.rank > 0)
    how = b.choice(("tile", "repeat", "broadcast"))
    if how == "tile":
        times = [b.choice((1, 1, 2, 3)) for _ in value.shape]
        b.emit(f"tf.tile({{0}}, {times})", value, op="tile", noise="none")
    elif how == "repeat":
        source = f"tf.repeat({{0}}, {b.rng.randint(1, 3)}, axis={b.axis(value)})"
        b.emit(source, value, op="repeat", noise="none")
    else:
        shape = [n if n != 1 else b.rng.randint(1, 5) for n in value.shape]
        shape = [b.rng.randint(1, 3), *shape]
        b.emit(f"tf.broadcast_to({{0}}, {shape})", value, op="broadcast_to", noise="none")


def reverse(b: Builder) -> None:
    """Other orders of the elements along dimensions."""
    value = b.pick(where=lambda one: one.rank > 0)
    how = b.choice(("reverse", "roll", "sequence", "band"))
    if how == "reverse":
        b.emit(f"tf.reverse({{0}}, {list(b.axes(value))})", value, op="reverse", noise="none")
    elif how == "roll":
        source = f"tf.roll({{0}}, {b.rng.randint(-7, 7)}, {b.axis(value)})"
        b.emit(source, value, op="roll", noise="none")
    elif how == "sequence" and value.rank > 1 and value.size:
        lengths = [b.rng.randint(0, value.shape[1]) for _ in range(value.shape[0])]
        source = f"tf.reverse_sequence({{0}}, {lengths}, seq_axis=1, batch_axis=0)"
        b.emit(source, value, op="reverse_sequence", noise="none")
    elif value.rank > 1:
        source = f"tf.linalg.band_part({{0}}, {b.rng.randint(-1, 3)}, {b.rng.randint(-1, 3)})"
        b.emit(source, value, op="band_part", noise="none")
    else:
        b.emit(f"tf.linalg.diag({{0}}, k={b.rng.randint(-2, 2)})", value, op="diag", noise="none")


def blocks(b: Builder) -> None:
    """Movements between space, depth and batch."""
    value = b.pick(where=lambda one: one.rank == 4 and one.size > 0)
    n, height, width, depth = value.shape
    for block in (3, 2):
        if height % block == 0 and width % block == 0:
            if b.chance(0.5):
                b.emit(
                    f"tf.nn.space_to_depth({{0}}, {block})",
                    value,
                    op="space_to_depth",
                    noise="none",
                )
            else:
                b.emit(f"tf.space_to_batch({{0}}, [{block}, {block}], [[0, 0], [0, 0]])", value,
                       op="space_to_batch", noise="none")  # fmt: skip
            return
        if depth % (block * block) == 0:
            b.emit(
                f"tf.nn.depth_to_space({{0}}, {block})", value, op="depth_to_space", noise="none"
            )
            return
    raise Rejected


FAMILY = {reshape: 9, transpose: 8, strided_slice: 14, slice_: 6, update_slice: 5, pad: 7,
          concatenate: 8, stack: 4, split: 4, tile: 5, reverse: 6, blocks: 2}  # fmt: skip
