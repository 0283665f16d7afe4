"""Sizes just below, at and just above the constants that decide between schedules, in the order of
the files that define them.

Constants up to 70 are covered by `test_sizes.py`. `units` is the device's number of compute units,
by which several schedules divide their work.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.sizes.cases import Case, distinct, indices, signs, small, wide
from tests.sizes.indexing import quotients
from tests.sizes.movement import padded
from tests.sizes.products import product
from tests.sizes.reductions import reduced, window_case
from tests.sizes.rows import spectrum

THRESHOLDS: dict[str, Callable[[int], Iterator[Case]]] = {}


def _threshold(name: str) -> Callable:
    def register(make: Callable[[int], Iterator[Case]]) -> Callable[[int], Iterator[Case]]:
        assert name not in THRESHOLDS, name
        THRESHOLDS[name] = make
        return make

    return register


def around(*sizes: int) -> tuple[int, ...]:
    """Each size with its predecessor and successor."""
    return tuple(size + step for size in sizes for step in (-1, 0, 1))


# ---- launch_dimensions.cc, fusion_context.cc ----


@_threshold("work-groups of elements: 1024 work-items, 16 side by side, 128 of a work-group's rows")
def _(units):
    for n in around(1024, 2048, 3072, 4096):
        x = small(n, "int32")
        yield Case(lambda x: x * x - 3, (x,), lambda x: wide(x) ** 2 - 3)
        yield Case(lambda x: x[::-1], (x,), lambda x: x[::-1])
    # kMinWorkItemsPerGroup: rows of a work-group. Its columns are the largest divisor that is a
    # multiple of 16, otherwise all columns.
    for m, n in itertools.product(
        (1, 7, 8, 9, 127, 128, 129), (*around(16, 128, 1024), 1040, 1536)
    ):
        x = distinct((m, n), "float32")
        yield Case(lambda x: x[:, ::-1], (x,), lambda x: x[:, ::-1])


@_threshold("work-groups of loops: 64 work-items")
def _(units):
    for n in around(64, 128, 192, 1024):
        yield window_case("sum", small(n, "float32"), (3,), padding=((1, 1),))
        yield window_case("max", distinct((3, n), "int32"), (1, 2))


# ---- schedules/concatenate.cc ----


@_threshold("concatenations: work-groups of one operand, 16 to 256 columns")
def _(units):
    widths = (
        (16, 16),
        (16, 32),
        (48, 16),
        (240, 256),
        (256, 256),
        (255, 257),
        (512, 256),
        (1024, 1024),
        (1023, 1025),
    )
    for first, second in widths:
        for rows in (1, 3, 8, 64, 65):
            parts = (distinct((rows, first), "float32"), distinct((rows, second), "float32", 1))
            yield Case(
                lambda x, y: jnp.concatenate((x, y), 1),
                parts,
                lambda x, y: np.concatenate((x, y), 1),
            )


# ---- schedules/transpose.cc, transposition.cc ----


@_threshold("transpositions: tiles of 32, from 8 elements on")
def _(units):
    extents = (7, 8, 9, 31, 32, 33, 63, 64, 65, 96, 97, 128)
    for number, (m, n) in enumerate(itertools.product(extents, extents)):
        x = distinct((m, n), ("int8", "float16", "float32", "float64", "complex64")[number % 5])
        yield Case(lambda x: x.T, (x,), lambda x: x.T)
    for dtype in ("int8", "bfloat16", "float32", "float64", "bool", "complex64"):
        for m, n in ((32, 32), (64, 96), (33, 64)):
            x = distinct((m, 3, n), dtype)
            yield Case(lambda x: x.transpose(2, 1, 0), (x,), lambda x: x.transpose(2, 1, 0))
            yield Case(lambda x: x.transpose(1, 2, 0), (x,), lambda x: x.transpose(1, 2, 0))


# ---- schedules/reduction_cpu.cc ----


@_threshold("reductions of rows: 8192 elements of a work-group, 64 rows of one")
def _(units):
    pieces = 8 * units  # WantedPieces
    for length in (*around(8192, 16384), 8192 + 15, 8192 + 16, 3 * 8192 + 1):
        for rows in (1, 3):
            yield reduced("sum", signs((rows, length), "float32"), 1)
            yield reduced("max", distinct((rows, length), "int32"), 1)
    for rows in (*around(pieces), 2 * pieces + 1, *around(64 * pieces)):
        for length in (16, 63, 64, 65, 130):
            yield reduced("sum", signs((rows, length), "float32"), 1)
            yield reduced("min", distinct((rows, length), "int32"), 1)


@_threshold("reductions of columns: 8192 bytes of running sums, pieces of 16 and of 8192 elements")
def _(units):
    for columns in around(2048, 4096):  # of 4 bytes
        yield reduced("sum", small((17, columns), "float32"), 0)
        yield reduced("max", distinct((18, columns), "int32"), 0)
    for columns in around(1024):  # of 8
        yield reduced("sum", small((40, columns), "float64"), 0)
        yield reduced("min", distinct((23, columns), "int64"), 0)
    for columns in (16, 17, 33, 64):
        for length in (*around(128, 512, 8192 // columns), 2 * 8192 // columns + 7):
            yield reduced("sum", signs((length, columns), "float32"), 0)
            yield reduced("max", distinct((length, columns), "int32"), 0)


@_threshold("reductions of columns: all remainders of 8 rows and of 16 columns")
def _(units):
    # kFullUnroll = 8 elements are combined between a load and a store, and the last vector of
    # columns is partial.
    for columns in (*range(16, 67), 79, 80, 81):
        for rows in (
            16 + columns % 8,
            24 + (columns + 3) % 8,
            64 + (columns + 5) % 8,
            93 + columns % 8,
        ):
            yield reduced("max", distinct((rows, columns), "int32"), 0)


@_threshold("reductions of few columns: 64 rows, 4096 elements of a result")
def _(units):
    for columns in (2, 3, 5, 8, 15):
        for length in (*around(64, 4096), 3 * 4096 + 1):
            yield reduced("sum", signs((length, columns), "float32"), 0)
            yield reduced("max", distinct((length, columns), "int64"), 0)
    yield reduced("sum", signs((3, 4097, 5), "float32"), 1)
    yield reduced("min", distinct((9, 65, 15), "int8"), 1)


# ---- schedules/reduction_gpu.cc ----


@_threshold(
    "reductions on a GPU: from 32 elements on, 256 work-items, 16 elements of each, 32 columns"
)
def _(units):
    for length in around(32, 256, 512, 4096, 8192):
        for rows in (1, 2, 7):
            yield reduced("sum", signs((rows, length), "float32"), 1)
            yield reduced("max", distinct((rows, length), "int32"), 1)
    for length in around(32, 128, 256):
        for columns in (2, *around(32, 64)):
            yield reduced("sum", signs((length, columns), "float32"), 0)


# ---- schedules/row_fusion.cc, row_queries.cc, sum_splitter.cc ----


def _less_maximum(rows: int, length: int, dtype: str = "float32") -> Case:
    x = distinct((rows, length), dtype)
    return Case(
        lambda x: x - x.max(1, keepdims=True),
        (x,),
        lambda x: wide(x) - wide(x).max(1, keepdims=True),
    )


@_threshold("work on rows: 64 to 32768 elements, 4 rows for each thread, 16 KB kept")
def _(units):
    for length in (*around(64, 128, 2048, 4096, 8192), 100):
        for rows in (*around(4 * units), 8 * units, 16 * units + 1, 64 * units):
            if rows * length <= 1 << 21:
                yield _less_maximum(rows, length)
    for length in around(32768):
        yield _less_maximum(4 * units, length)

    def reference(x):
        weights = np.exp(wide(x) - wide(x).max(1, keepdims=True))
        return weights / weights.sum(1, keepdims=True)

    for dtype, length in (
        ("float32", 4096),
        ("float64", 2048),
    ):  # kMaxKeptBytesOnCpu: exponentials are kept up to there
        for columns in around(length):
            x = (distinct((4 * units, columns), "int8") / 32).astype(dtype)
            # The rounding errors of sums of 4096 positive terms.
            yield Case(lambda x: jax.nn.softmax(x, 1), (x,), reference, ulps=64)


@_threshold("sums of everything: rows of 64, and 64 of them")
def _(units):
    for m, n in itertools.product(around(64), around(64)):
        x = signs((m, n), "float32")
        yield Case(
            lambda x: ((x - x.max(1, keepdims=True)) * x).sum(),
            (x,),
            lambda x: ((wide(x) - wide(x).max(1, keepdims=True)) * wide(x)).sum(),
        )


# ---- schedules/scatter.cc, scatter_plan.cc, scatter_in_order.cc ----


def _scatter_add(
    rows: int, columns: int, updates: int, dtype: str = "float32", presorted: bool = False
) -> Case:
    def reference(x, values, i):
        result = wide(x).copy()
        np.add.at(result, i, wide(values))
        return result

    i = indices(updates, rows)
    i = np.sort(i) if presorted else i
    arguments = (small((rows, columns), dtype), signs((updates, columns), dtype), i)
    return Case(lambda x, values, i: x.at[i].add(values), arguments, reference)


@_threshold("scatters: 64 and 4096 updates, 16384 elements, lists of 256 and 512, pieces")
def _(units):
    for updates in around(64, 256, 512, 1024):
        for rows, columns in ((3, 64), (100, 64), (1000, 17)):
            yield _scatter_add(rows, columns, updates)
    for updates in around(4096 // 16):
        yield _scatter_add(50, 16, updates)
    for updates in around(4096, 16384):  # one column: the updates are points
        yield _scatter_add(300, 1, updates)
        yield _scatter_add(5000, 1, updates, "int32")
    for rows in around(256):
        # kMinUpdatesPerResult: four updates for each element that is combined afterwards
        yield _scatter_add(rows, 16, 4 * 256 + 1)
        yield _scatter_add(rows // 4, 16, 2048, presorted=True)


# ---- schedules/sort.cc ----


@_threshold("sorts: runs of 16, merged in pairs, pieces of 4096, rows of 8192")
def _(units):
    for length in around(16, 64, 256, 1024, 4096, 8192, 16384):
        for dtype in ("float32", "int32"):
            x = distinct((1, length), dtype)
            x = x[:, np.random.default_rng(length).permutation(length)]
            yield Case(lambda x: jnp.sort(x, 1), (x,), lambda x: np.sort(x, 1))
    for rows in around(2 * units):
        x = distinct((rows, 8193), "int32") % 1000
        yield Case(
            lambda x: jnp.argsort(x, 1, stable=True),
            (x,),
            lambda x: np.argsort(x, 1, kind="stable"),
        )


# ---- top_k_queries.cc, schedules/top_k.cc ----


def _top_k(rows: int, length: int, count: int, dtype: str = "int32") -> Case:
    # Half of the elements have an equal one.
    x = distinct((rows, length), dtype) // 2

    def expected(x):
        order = np.argsort(-wide(x), 1, kind="stable")[:, :count]
        return np.stack((np.take_along_axis(x, order, 1), order.astype(x.dtype)))

    return Case(
        lambda x: jnp.stack([part.astype(x.dtype) for part in lax.top_k(x, count)]), (x,), expected
    )


@_threshold("top-k: scans of 64 and 128, selection of a half, a quarter and an eighth of a row")
def _(units):
    for length in (*around(16, 64, 128, 256), 1000):
        for part in (2, 4, 8):
            for count in around(length // part):
                yield _top_k(3, length, count)
    for rows in around(16, 4 * units):  # lanes of a vector; work-groups that scan a row's chunks
        yield _top_k(rows, 64, 20)
        yield _top_k(rows, 700, 20, "float32")


@_threshold("top-k: chunks of 4 to 32 and 8 to 256, groups of 4 nodes, 8192 candidates on a GPU")
def _(units):
    for length in (*around(16 * 8, 16 * 32, 32 * 32, 4096, 16384), 40_000, 300_000):
        for count in (1, 2, 16, 17):
            yield _top_k(2, length, count)
    for length in (8192, 70_000, 300_000):
        for count in (*around(256), 600, 1500, 2048):  # 8192 / 32; a large part in ranks
            yield _top_k(1, length, count)
    # The most nodes that are ranked: 2 * (2 * count + 64) of chunks of 4.
    for count in (1, 20):
        for length in around(8 * (2 * count + 64), 16 * (2 * count + 64)):
            yield _top_k(1, length, count)


# ---- fft_queries.cc, schedules/fft.cc, fft_expander.cc ----


@_threshold("transforms: 128 elements, 8 lines, 16 side by side, lengths up to 256 and 2048")
def _(units):
    shapes = (
        (1, 127),
        (1, 128),
        (1, 129),
        (2, 64),
        (7, 60),
        (8, 60),
        (9, 60),
        (15, 77),
        (16, 78),
        (17, 80),
        (31, 91),
        (33, 96),
    )
    for lines, length in shapes:
        yield spectrum("fft", small((lines, length), "complex64"))
        yield spectrum("rfft", small((lines, length), "float32"))
    for length in (128, 243, 251, 255, 256, 257, 512, 1000, 2047, 2048, 2049, 2053):
        # Some lengths are products with a DFT matrix, whose rounding errors grow with the root of
        # the length.
        yield spectrum("fft", small((16, length), "complex64"))
        yield spectrum(
            "irfft", np.abs(small((17, length // 2 + 1), "complex64")).astype("complex64"), length
        )


# ---- schedules/dot.cc, dot_queries.h, matmul_rewriter.cc ----


@_threshold("products: 32 K multiply-adds, 8 rows of a block, 8 columns")
def _(units):
    for m, k, n in itertools.product(around(8, 16), (64, 65), (*around(8, 64), 127, 128)):
        yield product(signs((m, k), "float32"), signs((k, n), "float32"), (((1,), (0,)), ((), ())))
    for m, k, n in ((31, 32, 32), (32, 32, 32), (32, 33, 32), (32, 32, 33)):
        for dtype in ("float32", "bfloat16", "float64", "int32"):
            yield product(signs((m, k), dtype), signs((k, n), dtype), (((1,), (0,)), ((), ())))
            yield product(signs((k, m), dtype), signs((n, k), dtype), (((0,), (1,)), ((), ())))


@_threshold("products: columns of a work-item, with one row and with up to four")
def _(units):
    # ColumnsTogether: 8 of them in multiples of 128, 4 in multiples of 64.
    for rows in (1, 2, 3, 4, 5):
        for columns in around(64, 128, 256, 1024):
            yield product(
                signs((rows, 100), "float32"),
                signs((100, columns), "float32"),
                (((1,), (0,)), ((), ())),
            )


@_threshold("products: where a library takes over")
def _(units):
    one = (((1,), (0,)), ((), ()))
    for columns in around(64):
        yield product(
            signs((128, 64), "float32"), signs((64, columns), "float32"), one
        )  # kMaxKernelProductsVsCall
        yield product(
            signs((4, 512), "float32"), signs((512, columns), "float32"), one
        )  # kMaxKernelProductsVsSkinnyCall
        yield product(
            signs((64, 32), "bfloat16"), signs((32, columns), "bfloat16"), one
        )  # kMinWidenedProducts
        yield product(
            signs((256, 192), "bfloat16"), signs((192, columns), "bfloat16"), one
        )  # kMaxKernelProductsNarrow
        yield product(signs((256, 192), "int8"), signs((192, columns), "int8"), one, "int32")
        yield product(
            signs((512, 512), "float64"), signs((512, columns), "float64"), one
        )  # kMaxKernelProductsOnCpu
    batch = (((2,), (1,)), ((0,), (0,)))
    for matrices in around(32):  # kMaxSmallMatrices, blas_gemm.cc
        yield product(
            signs((matrices, 128, 64), "float32"), signs((matrices, 64, 73), "float32"), batch
        )


# ---- attention_fusion.cc, schedules/attention.cc ----


def _attention(heads: int, queries: int, keys: int, features: int) -> Case:
    shape = (heads, queries, features), (heads, keys, features), (heads, keys, features)
    arguments = tuple(
        (small(s, "float32", seed) / 4).astype("float32") for seed, s in enumerate(shape)
    )

    def weighted(q, k, v, where):
        scores = where.einsum("hqf,hkf->hqk", q, k)
        weights = where.exp(scores - scores.max(-1, keepdims=True))
        return where.einsum("hqk,hkf->hqf", weights / weights.sum(-1, keepdims=True), v)

    # Sums of some hundred products; the exponentials multiply the rounding errors of the scores.
    return Case(
        lambda q, k, v: weighted(q, k, v, jnp),
        arguments,
        lambda q, k, v: weighted(wide(q), wide(k), wide(v), np),
        ulps=128,
    )


@_threshold("attention: 256 K scores, 16 queries, 64 features, 96 keys of a block, 6 at once")
def _(units):
    for heads, queries, keys, features in (
        (8, 256, 127, 16), (8, 256, 128, 16), (8, 256, 129, 16), (64, 15, 320, 8), (64, 16, 320, 8),
        (64, 17, 320, 8), (16, 128, 191, 63), (16, 128, 192, 64), (16, 128, 193, 65),
        (32, 96, 95, 7), (32, 96, 97, 5), (4, 257, 260, 1),
    ):  # fmt: skip
        yield _attention(heads, queries, keys, features)


# ---- small_region.cc ----


@_threshold("loops: where launches take over from one kernel, about 48000 elements")
def _(units):
    for n in (4096, 8191, 30000, 49999, 100000):
        x = small(n, "int32")

        def reference(x):
            for i in range(4):
                x = x[::-1] * 2 - i
            return x

        yield Case(
            lambda x: lax.fori_loop(0, 4, lambda i, x: x[::-1] * 2 - i.astype(x.dtype), x),
            (x,),
            reference,
        )


# ---- ir_index.cc: quotients computed as a 32-bit product and a shift ----

PRIMES = (71, 73, 97, 101, 127, 131, 251, 257, 509, 521, 641, 1021, 1031, 2039, 2053, 4093, 4099,
          8191, 8209, 16381, 16411, 32749, 32771, 65521, 65537, 131071, 131101, 262139, 262147,
          524287, 524309, 999979, 999983)  # fmt: skip


@_threshold("divisions by primes up to 10^6")
def _(units):
    for divisor in PRIMES:
        for dtype in ("int32", "uint32", "int64"):
            # Multiples and their neighbours, up to the largest value of the dtype.
            limit = min(int(np.iinfo(dtype).max), 1 << 40)
            near = np.array([0, 1, 2, 3, 7, 63, 64, 65, 1000, limit // divisor])[
                :, None
            ] * divisor + np.array([-1, 0, 1])
            values = near[(near >= 0) & (near <= limit)].astype(dtype)
            yield quotients(values, divisor, 3)


@_threshold("index arithmetic with a prime extent")
def _(units):
    for extent in PRIMES:
        for rows in (2, 3) if extent < 300000 else (2,):
            x = distinct((rows, extent), "int8")
            yield Case(
                lambda x: lax.pad(x, np.int8(1), ((1, 0, 0), (0, 0, 0)))[:-1],
                (x,),
                lambda x: padded(x, 1, ((1, 0, 0), (0, 0, 0)))[:-1],
            )
            y = distinct((extent, rows), "int8")
            yield Case(
                lambda y: lax.pad(y, np.int8(1), ((y.shape[0] // 2, 0, 0), (1, 0, 0)))[
                    : y.shape[0]
                ],
                (y,),
                lambda y: padded(y, 1, ((y.shape[0] // 2, 0, 0), (1, 0, 0)))[: y.shape[0]],
            )
            # A prime between two other extents.
            z = distinct((rows, extent, 2), "int8")
            yield Case(lambda z: z[::-1, ::-1], (z,), lambda z: z[::-1, ::-1])
