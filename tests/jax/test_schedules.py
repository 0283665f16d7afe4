"""Schedules of reductions, rows, concatenations and regions against JAX's CPU backend."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.exhaustive import covering, every
from tests.jax.compare import check, scaled

# Around the sizes at which a schedule cuts rows, packs several into a work-group, or has too few
# for a vector.
LENGTHS = (1, 2, 15, 16, 17, 31, 64, 100, 256, 1000, 2048, 8191, 20000)
FLOATS = ("float16", "bfloat16", "float32", "float64")


@covering(length=every(2, LENGTHS), rows=[1, 3, 40])
def test_reductions_of_rows(xpu, cpu, rows, length) -> None:
    def reduce(x):
        finite = jnp.isfinite(x)
        return (
            x.sum(1), x.max(1), x.min(1), jnp.argmax(x, 1), finite.all(1), (x > 3).any(1),
            (jnp.abs(x) < 2).sum(1), jnp.where(jnp.sqrt(jnp.abs(x)) < 1, x, 0).sum(1),
        )  # fmt: skip

    # A sum of n numbers of either sign: the rounding errors of its terms, not of its result.
    check(xpu, cpu, jax.jit(reduce), scaled((rows, length), "float32"), ulps=4 * length**0.5 + 64)


# On a CPU eight elements are combined at once: fewer, as many, one more, and last pieces of one and
# of seven.
@covering(
    shape=every(
        2,
        [
            (7, 16),
            (8, 40),
            (9, 16),
            (17, 16),
            (64, 33),
            (5000, 16),
            (3, 70, 40),
            (1025, 129),
            (4103, 2048),
        ],
    ),
    dtype=every(2, ["float32", "float64", "bfloat16", "float16", "int32", "complex64"]),
)
def test_reductions_of_columns(xpu, cpu, dtype, shape) -> None:
    axis = len(shape) - 2
    signs = np.where(scaled(shape, "float32") < 0, -1, 1).astype(dtype)
    check(xpu, cpu, jax.jit(lambda x: x.prod(axis)), signs)
    check(
        xpu,
        cpu,
        jax.jit(lambda x: x.sum(axis)),
        scaled(shape, dtype),
        ulps=4 * shape[axis] ** 0.5 + 64,
    )


@covering(
    shape=[(64, 2), (65, 8), (20003, 3), (100000, 8), (3, 5001, 5), (9, 64, 15), (2, 40, 3, 7)],
    dtype=every(2, ["float32", "float64", "bfloat16", "int32", "complex64"]),
)
def test_reductions_of_few_columns(xpu, cpu, dtype, shape) -> None:
    axes = (0, 2) if len(shape) == 4 else (len(shape) - 2,)
    count = np.prod([shape[axis] for axis in axes])
    x = scaled(shape, dtype)
    check(xpu, cpu, jax.jit(lambda x: (x * x).sum(axes)), x, ulps=4 * count**0.5 + 64)
    if dtype == "float32":
        # Of rows that lie otherwise, of several values at once, and of what is not a number, which
        # JAX's CPU backend loses here.
        check(
            xpu, cpu, jax.jit(lambda x: jnp.swapaxes(x, 0, -1).sum(-1)), x, ulps=4 * count**0.5 + 64
        )
        x.flat[x.size // 2] = np.nan
        most, least = jax.jit(lambda x: (x.max(axes), jnp.argmin(x, axes[0])))(
            jax.device_put(x, xpu)
        )
        np.testing.assert_array_equal(np.asarray(most), x.max(axes))
        np.testing.assert_array_equal(np.asarray(least), x.argmin(axes[0]))


@covering(
    dtype=every(2, ["float32", "bool", "bfloat16", "complex64"]),
    shape=every(3, [(3, 70), (5,), (4, 5, 6), (2, 33, 65), (1, 1, 9), (40, 3, 1)]),
)
def test_concatenations(xpu, cpu, dtype, shape) -> None:
    for axis in range(len(shape)):
        for extents in ((1, 2), (3, 0, 5), (17, 4, 30, 1), (64,)):
            parts = [
                scaled((*shape[:axis], extent, *shape[axis + 1 :]), dtype) for extent in extents
            ]
            check(xpu, cpu, jax.jit(lambda *parts, axis=axis: jnp.concatenate(parts, axis)), *parts)
            # With work before it, and operands and results that lie otherwise.
            flipped = [part.T for part in parts]
            other = len(shape) - 1 - axis
            check(
                xpu,
                cpu,
                jax.jit(
                    lambda *parts, axis=axis: jnp.concatenate([part.T for part in parts], axis)
                ),
                *flipped,
            )
            check(
                xpu,
                cpu,
                jax.jit(
                    lambda *parts, axis=other: (
                        jnp.concatenate([part == part for part in parts], axis).T
                    )
                ),
                *flipped,
            )


def test_sums_that_many_read_are_computed_once(xpu, cpu) -> None:
    """A residual network: no reader of a layer adds up all the layers before it."""
    x = scaled((256, 256), "float32")
    scales = np.linspace(0.1, 0.9, 12).astype(np.float32)

    def network(x, scales):
        means = []
        for i in range(12):
            x = x + jnp.tanh(x) * scales[i]
            means.append((x.sum(), (x * x).sum(0), x.max(1)))
        return means

    check(xpu, cpu, jax.jit(network), x, scales, ulps=2048)  # sums of 65536
    text = jax.jit(network).lower(*jax.device_put((x, scales), xpu)).compile().as_text()
    fused = [part for part in text.split("\n\n") if part.lstrip().startswith("%fused")]
    # A layer and its increment; of smaller arrays, where a launch costs more, it is 14.
    assert max(part.count(" parameter(") for part in fused) <= 3


def _layer_norm(x, axis):
    centred = x - x.mean(axis, keepdims=True)
    return centred * lax.rsqrt((centred * centred).mean(axis, keepdims=True) + 1e-5) * 1.5 + 0.5


# Rows of whole vectors and not, kept in local memory and too long for that; rows in two dimensions.
ROWS = [
    (512, 64),
    (8, 64),
    (16, 77),
    (1000, 100),
    (333, 2049),
    (640, 8192),
    (16, 40000),
    (40, 25, 1000),
    (1000, 24, 50),
]


@covering(
    shape=every(3, ROWS),
    dtype=FLOATS,
    function=[jax.nn.softmax, jax.nn.log_softmax, _layer_norm],
)
def test_work_on_rows_is_one_kernel(xpu, function, dtype, shape) -> None:
    axes = (-2, -1) if shape[-1] < 64 else -1
    x = scaled(shape, dtype)
    compiled = jax.jit(lambda x: function(x, axis=axes)).lower(jax.device_put(x, xpu)).compile()
    fusions = [
        line for line in compiled.as_text().split("ENTRY")[1].splitlines() if " fusion(" in line
    ]
    length = int(np.prod([shape[axis] for axis in np.atleast_1d(axes)]))
    # Beyond 16 KB of a row nothing is kept: what is dear is computed once, by a kernel before. Rows
    # of 40000 leave the caches, and are none.
    is_kept = length * max(4, np.dtype(x.dtype).itemsize) <= 16384
    assert len(fusions) == 1 or length > 32768 or (function is jax.nn.softmax and not is_kept)
    actual = np.asarray(compiled(jax.device_put(x, xpu))).astype(np.float64)
    wide = np.asarray(x).astype(np.float64)
    if function is _layer_norm:
        centred = wide - wide.mean(axes, keepdims=True)
        expected = centred / np.sqrt((centred**2).mean(axes, keepdims=True) + 1e-5) * 1.5 + 0.5
    else:
        expected = wide - wide.max(axes, keepdims=True)
        expected = expected - np.log(np.exp(expected).sum(axes, keepdims=True))
        expected = np.exp(expected) if function is jax.nn.softmax else expected
    # Sums of n terms lose some root of n units of the terms, which are near one, and results are
    # rounded to their type.
    unit = float(jnp.finfo(dtype).eps)
    of_sums = float(np.finfo(np.float64 if dtype == "float64" else np.float32).eps) * (
        8 + length**0.5
    )
    bound = (4 * unit + of_sums) * (
        np.abs(expected) + (0 if function is jax.nn.softmax else 16)
    ) + (2 * float(jnp.finfo(dtype).smallest_subnormal))
    assert np.all(np.abs(actual - expected) <= bound), np.max(np.abs(actual - expected) / bound)


def test_rows_keep_nan_and_infinity(xpu, cpu) -> None:
    x = scaled((1024, 100), "float32")
    x[3, 5], x[7, 8], x[9], x[11, 0], x[11, 1] = np.nan, np.inf, -np.inf, np.inf, -np.inf
    check(
        xpu, cpu, jax.jit(lambda x: jax.nn.softmax(x, -1)), x, ulps=16
    )  # sums of 100 terms: their root, and more
    # Against numpy: the CPU backend loses a NaN in its minimum.
    actual = jax.jit(lambda x: jnp.maximum(x - x.min(1, keepdims=True), 0))(jax.device_put(x, xpu))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(actual, np.maximum(x - x.min(1, keepdims=True), 0))


def test_rows_whose_numbers_others_use(xpu, cpu) -> None:
    """What is reduced has other readers, other rows, or is a result."""
    x = scaled((1024, 100), "float32")

    def several(x):
        largest = x.max(1)
        shifted = x - largest[:, None]
        rows, columns = shifted / shifted.sum(1, keepdims=True), shifted / shifted.sum(0)
        reversed_rows = x - largest[::-1, None]
        square = x[:100] - x[:100].sum(1)[None, :]
        return (
            largest,
            rows,
            columns,
            reversed_rows,
            square,
            jnp.exp(x) / jnp.exp(x).sum(1, keepdims=True),
            jnp.exp(x),
        )

    # Sums over 1024 rows that nearly vanish divide: units of terms that are some hundred times as
    # large.
    check(xpu, cpu, jax.jit(several), x, ulps=512)


@pytest.mark.parametrize(
    "moved", [lambda y: y[:, ::-1], lambda y: y[::-1], lambda y: jnp.roll(y, 1, 1), lambda y: y.T]
)
def test_rows_that_are_read_elsewhere(xpu, moved) -> None:
    x, y = scaled((256, 256), "float32"), scaled((256, 256), "float32")[::-1].copy()

    def centred(x, y):
        p = moved(jnp.sin(x)) * y
        return p - p.mean(1, keepdims=True), jnp.flip(x * 2, 1)

    def expected(x, y):
        p = np.asarray(moved(np.sin(x))) * y
        return p - p.mean(1, keepdims=True), np.flip(x * 2, 1)

    for actual, wanted in zip(
        jax.jit(centred)(*jax.device_put((x, y), xpu)), expected(x, y), strict=True
    ):
        # Sums of 256 products of up to 16: 256**0.5 units of that.
        np.testing.assert_allclose(actual, wanted, atol=16 * 16 * 1.2e-7, rtol=0)


def test_rows_of_several_kinds(xpu, cpu) -> None:
    """Reductions along other dimensions of the same array, and more of them than one kernel
    takes.
    """
    x = scaled((16, 64, 128), "float32")
    check(
        xpu,
        cpu,
        jax.jit(lambda x: x - x.max(2, keepdims=True) + x.min((1, 2), keepdims=True)),
        x,
        ulps=8,
    )

    def many(x):
        for i in range(12):
            x = x - jnp.abs(x + i).max(2, keepdims=True) * 0.1
        return x

    check(xpu, cpu, jax.jit(many), x, ulps=64)  # 12 steps that each round twice


def test_rows_in_a_loop_and_donated(xpu, cpu) -> None:
    x = scaled((512, 128), "float32")
    looped = jax.jit(
        lambda x: lax.fori_loop(0, 5, lambda _, x: jax.nn.softmax(x * 3, -1) + x * 0.5, x)
    )
    # Five softmaxes, each of three times the one before: what a sum of 128 terms loses grows by
    # that.
    check(xpu, cpu, looped, x, ulps=256)
    donated = jax.jit(lambda x: jax.nn.softmax(x, -1), donate_argnums=0)(jax.device_put(x, xpu))
    np.testing.assert_allclose(
        donated, np.asarray(jax.nn.softmax(jax.device_put(x, cpu), -1)), rtol=1e-5
    )  # 128 terms


@pytest.mark.parametrize("dtype", FLOATS)
def test_reductions_keep_nan_and_infinity(xpu, cpu, dtype) -> None:
    x = scaled((4, 300), dtype)
    x[0, 17], x[1, 299], x[2, 0], x[2, 1] = np.nan, np.inf, np.inf, -np.inf
    check(
        xpu,
        cpu,
        jax.jit(lambda x: (x.sum(1), x.max(1), x.min(1), jnp.argmin(x, 1))),
        x,
        ulps=4 * 300**0.5 + 64,
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_sums_of_narrow_floats_are_rounded_once(xpu, dtype) -> None:
    x = jax.device_put(np.ones((3, 5000), dtype), xpu)
    for axis, count in ((1, 5000), (0, 3), (None, 15000)):
        np.testing.assert_array_equal(
            jax.jit(lambda x, axis=axis: x.sum(axis))(x), np.asarray(count, dtype)
        )


@pytest.mark.parametrize("n", [1, 2, 5, 7, 8, 9, 10, 11, 12, 16, 17, 24, 33])
def test_small_regions_see_what_other_work_items_wrote(xpu, cpu, n) -> None:
    a = scaled((n, n), "float32") + 4 * n * np.eye(n, dtype=np.float32)
    b = scaled((n, 3), "float32")
    # Diagonally dominant, so well conditioned: a few rounding errors per step of the elimination.
    ulps = 20 * n
    check(xpu, cpu, jax.jit(jnp.linalg.inv), a, ulps=ulps)
    check(
        xpu,
        cpu,
        jax.jit(lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True)),
        a,
        b,
        ulps=ulps,
    )


def test_a_long_loop_of_library_calls_returns_at_once(xpu) -> None:
    x = jax.device_put(np.eye(512, dtype=np.float32), xpu)
    loop = (
        jax.jit(lambda x: lax.scan(lambda c, _: (c @ x, None), x, length=400)[0]).lower(x).compile()
    )
    loop(x).block_until_ready()
    result = loop(x)
    assert not result.is_ready()
    np.testing.assert_array_equal(result, np.eye(512))
