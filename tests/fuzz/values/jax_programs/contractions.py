"""Dots, convolutions, Fourier transforms, linear algebra."""

from __future__ import annotations

import math

from tests.fuzz.values.inputs import INTEGERS
from tests.fuzz.values.jax_programs.builder import REAL_FLOATS, Builder, Rejected, Value

_LETTERS = "abcdefgh"


def dot_general(b: Builder) -> None:
    """A contraction with any number of batch, contracting and free dimensions in any order."""
    value = b.pick(REAL_FLOATS + INTEGERS + ("c64",), where=lambda one: 0 < one.rank < 5)
    roles = [b.weighted({"batch": 2, "contract": 4, "free": 4}) for _ in value.shape]
    if "contract" not in roles and b.chance(0.8):
        roles[b.rng.randrange(len(roles))] = "contract"
    dimensions = [(role, i) for i, role in enumerate(roles) if role != "free"]
    dimensions += [("free", -1)] * b.rng.randint(0, 2)
    b.rng.shuffle(dimensions)
    shape = tuple(value.shape[i] if i >= 0 else b.size(64) for _, i in dimensions)
    if math.prod(shape) > b.max_elements:
        raise Rejected
    other = b.of(value.dtype, shape)
    numbers = []
    for wanted in ("contract", "batch"):
        pairs = [(i, place) for place, (role, i) in enumerate(dimensions) if role == wanted]
        b.rng.shuffle(pairs)
        numbers.append((tuple(i for i, _ in pairs), tuple(place for _, place in pairs)))
    count = math.prod(max(1, value.shape[i]) for i in numbers[0][0])
    free = math.prod(value.shape[i] for i, role in enumerate(roles) if role == "free")
    if count * free * math.prod(shape) > 40_000_000 * max(1, count):
        raise Rejected
    preferred = ""
    if value.dtype in ("bf16", "f16") and b.chance(0.4):
        preferred = ", preferred_element_type=f32"
    elif value.dtype in ("s8", "u8", "s16") and b.chance(0.6):
        preferred = ", preferred_element_type=s32"
    elif value.dtype == "f32" and b.chance(0.3):
        preferred = ", precision=lax.Precision.HIGHEST"
    text = f"lax.dot_general({{0}}, {{1}}, {tuple(numbers)}{preferred})"
    b.emit(text, value, other, op="dot_general", noise="operands",
           magnitude=value.magnitude * other.magnitude * count)  # fmt: skip


def matmul(b: Builder) -> None:
    """A product of matrices, with a bias and an activation at times."""
    value = b.pick(REAL_FLOATS + ("s32",), where=lambda one: one.rank >= 2)
    columns = b.size(100)
    if math.prod(value.shape[:-1]) * columns > b.max_elements:
        raise Rejected
    other = b.of(value.dtype, (value.shape[-1], columns))
    magnitude = value.magnitude * other.magnitude * max(1, value.shape[-1])
    if value.is_float and b.chance(0.5):
        bias = b.of(value.dtype, (columns,))
        activation = b.choice(("jax.nn.relu", "jnp.tanh", "jax.nn.gelu", "jax.nn.sigmoid", ""))
        text = f"{activation}(({{0}} @ {{1}}) * {1 / max(1, value.shape[-1])!r} + {{2}})"
        b.emit(text, value, other, bias, op="dense", noise="transform",
               magnitude=value.magnitude * other.magnitude + bias.magnitude)  # fmt: skip
    else:
        b.emit("{0} @ {1}", value, other, op="matmul", noise="operands", magnitude=magnitude)


def convolution(b: Builder) -> None:
    """A convolution of one to three dimensions with strides, dilations, groups and padding."""
    spatial = b.weighted({1: 3, 2: 6, 3: 1})
    dtype = b.dtype(("f32", "bf16", "f16", "f64", "s32", "s8"))
    groups = b.weighted({1: 6, 2: 2, 3: 1, 4: 1})
    batch_groups = 1
    channels = groups * b.choice((1, 1, 2, 3, 4, 5, 8))
    features = groups * b.choice((1, 2, 3, 4, 5, 7, 8, 16))
    batch = b.choice((1, 2, 3, 5))
    if groups > 1 and b.chance(0.15):
        batch_groups, groups, batch = groups, 1, groups * batch
    sizes = [b.choice((1, 2, 3, 5, 7, 8, 9, 13, 16, 17)) for _ in range(spatial)]
    kernel = [b.choice((1, 1, 2, 3, 3, 4, 5)) for _ in range(spatial)]
    strides = tuple(b.choice((1, 1, 1, 2, 3)) for _ in range(spatial))
    dilation = tuple(b.choice((1, 1, 1, 1, 2)) for _ in range(spatial))
    base = tuple(b.choice((1, 1, 1, 1, 1, 2)) for _ in range(spatial))
    padding: str | list[tuple[int, int]] = b.choice(("SAME", "VALID"))
    if padding == "VALID" and any(
        (k - 1) * d + 1 > n for k, d, n in zip(kernel, dilation, sizes, strict=True)
    ):
        padding = "SAME"
    if b.chance(0.5):
        padding = [(b.rng.randint(-1, 3), b.rng.randint(-1, 3)) for _ in range(spatial)]
        if any(
            n + min(low, 0) + min(high, 0) < 1
            for n, (low, high) in zip(sizes, padding, strict=True)
        ):
            # `convolution-of-padding` in docs/conformance.md.
            raise Rejected
    letters = "DHW"[3 - spatial :]
    numbers = b.choice(
        (
            (f"NC{letters}", f"OI{letters}", f"NC{letters}"),
            (f"N{letters}C", f"{letters}IO", f"N{letters}C"),
            (f"{letters}CN", f"{letters}OI", f"N{letters}C"),
        )
    )
    shape = _arranged(numbers[0], {"N": batch, "C": channels}, letters, sizes)
    weights = _arranged(numbers[1], {"O": features, "I": channels // groups}, letters, kernel)
    if math.prod(shape) > b.max_elements or math.prod(weights) > b.max_elements:
        raise Rejected
    value, weight = b.of(dtype, shape), b.of(dtype, weights)
    if weight.special and padding != "VALID" and (padding == "SAME" or _is_wider(padding)):
        # `padding-of-nonfinite-weights` in docs/conformance.md.
        raise Rejected
    text = (
        f"lax.conv_general_dilated({{0}}, {{1}}, {strides}, {padding!r}, lhs_dilation={base},"
        f" rhs_dilation={dilation}, dimension_numbers={numbers},"
        f" feature_group_count={groups}, batch_group_count={batch_groups})"
    )
    if isinstance(padding, str) and b.chance(0.2) and base == (1,) * spatial and value.is_float:
        text = text.replace("{0}", "a", 1)
        text = f"jax.grad(lambda a: jnp.sum(jnp.sin({text}).astype(f32)))({{0}})"
    count = max(1, math.prod(weights) // max(1, features))
    noise = "transform" if "grad" in text else "operands"
    b.emit(text, value, weight, op=f"convolution_{spatial}d", noise=noise,
           magnitude=value.magnitude * weight.magnitude * count)  # fmt: skip


def _is_wider(padding: list[tuple[int, int]]) -> bool:
    return any(high_or_low > 0 for pair in padding for high_or_low in pair)


def _arranged(
    numbers: str, known: dict[str, int], letters: str, sizes: list[int]
) -> tuple[int, ...]:
    known = known | dict(zip(letters, sizes, strict=True))
    return tuple(known[letter] for letter in numbers)


def fourier(b: Builder) -> None:
    """A Fourier transform, its inverse, or a real one, over one to three axes."""
    value = b.pick(("f32", "f64", "c64", "c128"), where=lambda one: one.rank > 0 and one.size > 0)
    if not value.rank or value.special:
        raise Rejected
    rank = b.rng.randint(1, min(value.rank, 3))
    axes = (
        tuple(b.rng.sample(range(value.rank), rank))
        if b.chance(0.4)
        else tuple(range(value.rank - rank, value.rank))
    )
    count = math.prod(value.shape[i] for i in axes)
    if value.is_complex:
        name = b.choice(("fftn", "ifftn", "irfftn"))
        if name == "irfftn" and value.shape[axes[-1]] < 2:
            name = "fftn"
    else:
        name = b.choice(("rfftn", "fftn", "rfftn"))
    b.emit(f"jnp.fft.{name}({{0}}, axes={axes})", value, op=name, noise="largest",
           magnitude=value.magnitude * (count if not name.startswith("i") else 2))  # fmt: skip


def _square(b: Builder, *, wide: bool = False) -> Value:
    """Returns a batch of small square matrices."""
    size = b.choice((1, 2, 3, 4, 5, 7, 8, 13, 16, 17))
    batch = b.choice(((), (), (2,), (3,), (2, 3)))
    return b.of(
        b.choice(("f32", "f32", "f64")), (*batch, size, size), b.choice(("normal", "small"))
    )


def linear_algebra(b: Builder) -> None:
    """A factorisation or a solution, of well-conditioned matrices.

    What is not unique (signs of eigenvectors, for example) is not asked for.
    """
    value = _square(b)
    n = value.shape[-1]
    transposed = "jnp.swapaxes({0}, -1, -2)"
    positive = f"({{0}} @ {transposed} * {1 / n!r} + 2 * jnp.eye({n}, dtype={value.dtype}))"
    dominant = f"(jnp.clip({{0}}, -3, 3) + {2 * n + 4} * jnp.eye({n}, dtype={value.dtype}))"
    columns = b.choice((1, 2, 3, 5, 8))
    other = b.of(value.dtype, (*value.shape[:-1], columns), "normal")
    lower = b.choice((True, False))
    left = b.chance(0.7)
    name, text = b.choice(
        (
            ("cholesky", f"jnp.linalg.cholesky({positive})"),
            (
                "triangular_solve",
                f"lax.linalg.triangular_solve({dominant}, {{1}}, left_side=True, lower={lower},"
                f" transpose_a={b.choice((True, False))}, unit_diagonal=False)"
                if left
                else f"lax.linalg.triangular_solve({dominant}, jnp.swapaxes({{1}}, -1, -2),"
                f" left_side=False, lower={lower})",
            ),
            ("solve", f"jnp.linalg.solve({dominant}, {{1}})"),
            ("inverse", f"jnp.linalg.inv({dominant})"),
            ("lu", f"lax.linalg.lu({dominant})[0]"),
            ("qr", f"jnp.abs(jnp.linalg.qr({dominant})[1])"),
            ("eigenvalues", f"jnp.linalg.eigvalsh({positive})"),
            ("singular_values", f"jnp.linalg.svd({dominant}, compute_uv=False)"),
            ("slogdet", f"jnp.linalg.slogdet({dominant})[1]"),
            ("expm", "jax.scipy.linalg.expm(jnp.clip({0}, -1, 1) * 0.1)"),
        )
    )
    b.emit(text, value, other, op=name, noise="transform", magnitude=4.0 * n)


FAMILY = {
    dot_general: 14,
    matmul: 8,
    convolution: 8,
    fourier: 2,
    linear_algebra: 2,
}
