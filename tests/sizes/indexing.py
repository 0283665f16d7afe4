"""Families of index arithmetic: gathers, scatters, dynamic slices, iota masks, reshapes,
divisions.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.sizes.cases import (
    MOVED,
    MOVED_TOO,
    ORDERED,
    SUMMED,
    SUMMED_TOO,
    Case,
    distinct,
    family,
    indices,
    signs,
    small,
    wide,
)  # fmt: skip


def _same(function: Callable, *arguments: np.ndarray) -> Case:
    """A case whose function runs on numpy arrays as well."""
    return Case(function, arguments, function)


# ---- Gathers ----


@family("gather rows", MOVED)
def _(m, n, dtype):
    return _same(lambda x, i: x[i], distinct((m, n), dtype), indices(m + 3, m))


@family("gather columns", MOVED_TOO)
def _(m, n, dtype):
    return _same(lambda x, i: x[:, i], distinct((m, n), dtype), indices(n + 1, n))


@family("gather points", MOVED)
def _(m, n, dtype):
    return _same(lambda x, i, j: x[i, j], distinct((m, n), dtype), indices(n, m), indices(n, n, 1))


@family("gather along rows", MOVED_TOO)
def _(m, n, dtype):
    return Case(
        lambda x, i: jnp.take_along_axis(x, i, 1),
        (distinct((m, n), dtype), indices(m * n, n).reshape(m, n)),
        lambda x, i: np.take_along_axis(x, i, 1),
    )


@family("gather rows out of bounds", SUMMED)
def _(m, n, dtype):
    def reference(x, i):
        result = x[np.minimum(i, m - 1)]
        result[i >= m] = 0
        return result

    return Case(
        lambda x, i: x.at[i].get(mode="fill", fill_value=0),
        (distinct((m, n), dtype), indices(m, 2 * m)),
        reference,
    )


@family("one row", MOVED_TOO)
def _(m, n, dtype):
    return _same(lambda x: x[m // 2], distinct((m, n), dtype))


@family("one row at a dynamic index", MOVED)
def _(m, n, dtype):
    return _same(lambda x, i: x[i], distinct((m, n), dtype), np.int32(m - 1))


@family("gradient of one row", ("float32", "bfloat16"))
def _(m, n, dtype):
    row = m - 1 - m // 3

    def reference(x):
        result = np.zeros(x.shape, wide(x).dtype)
        result[row] = 2 * wide(x)[row]
        return result

    return Case(jax.grad(lambda x: (x[row] ** 2).sum()), (small((m, n), dtype),), reference)


@family("gradient of one row at a dynamic index", ("float16", "float64"))
def _(m, n, dtype):
    def reference(x, i):
        result = np.zeros(x.shape)
        result[i] = 2 * wide(x)[i]
        return result

    return Case(
        jax.grad(lambda x, i: (x[i] ** 2).sum()),
        (small((m, n), dtype), np.int32(m // 2)),
        reference,
    )


@family("gradient of one column", ("bfloat16", "float32"))
def _(m, n, dtype):
    column = n // 2

    def reference(x):
        result = np.zeros(x.shape)
        result[:, column] = 2 * wide(x)[:, column]
        return result

    return Case(jax.grad(lambda x: (x[:, column] ** 2).sum()), (small((m, n), dtype),), reference)


@family("gradient of gathered rows", ("float32", "float64"))
def _(m, n, dtype):
    def reference(x, i):
        result = np.zeros(x.shape)
        np.add.at(result, i, 2 * wide(x)[i])
        return result

    return Case(
        jax.grad(lambda x, i: (x[i] ** 2).sum()),
        (small((m, n), dtype), indices(m + 5, m)),
        reference,
    )


# ---- Scatters ----


def _scatter(
    method: str, ufunc: np.ufunc | None, x: np.ndarray, values: np.ndarray, *position, **options
) -> Case:
    """An `x.at[position].method(values)`; `position` holds index arrays and slices."""
    arrays = [p for p in position if isinstance(p, np.ndarray)]

    def where(arrays):
        remaining = iter(arrays)
        return tuple(next(remaining) if isinstance(p, np.ndarray) else p for p in position)

    def reference(x, values, *arrays):
        result = wide(x).copy()
        if ufunc is None:
            result[where(arrays)] = wide(values)
        else:
            ufunc.at(result, where(arrays), wide(values))
        return result

    return Case(
        lambda x, values, *arrays: getattr(x.at[where(arrays)], method)(values, **options),
        (x, values, *arrays),
        reference,
    )


def _permutation(count: int) -> np.ndarray:
    return np.random.default_rng([4, count]).permutation(count).astype(np.int32)


@family("scatter-add rows", SUMMED)
def _(m, n, dtype):
    return _scatter(
        "add", np.add, small((m, n), dtype), small((m + 2, n), dtype, 1), indices(m + 2, m)
    )


@family("scatter-add columns", SUMMED_TOO)
def _(m, n, dtype):
    return _scatter(
        "add",
        np.add,
        small((m, n), dtype),
        small((m, n + 1), dtype, 1),
        slice(None),
        indices(n + 1, n),
    )


@family("scatter-add points", SUMMED)
def _(m, n, dtype):
    x, values = small((m, n), dtype), small(70, dtype, 1)
    return _scatter("add", np.add, x, values, indices(70, m), indices(70, n, 1))


@family("set rows", MOVED)
def _(m, n, dtype):
    x, values = distinct((m, n), dtype), distinct((m, n), dtype, 1)
    return _set(x, values, _permutation(m))


@family("set columns at unique indices", MOVED_TOO)
def _(m, n, dtype):
    x, values = distinct((m, n), dtype), distinct((m, n), dtype, 1)
    return _set(x, values, slice(None), _permutation(n), unique_indices=True)


def _set(x: np.ndarray, values: np.ndarray, *position, **options) -> Case:
    arrays = [p for p in position if isinstance(p, np.ndarray)]

    def where(arrays):
        return (*position[:-1], arrays[0])

    def reference(x, values, *arrays):
        result = x.copy()
        result[where(arrays)] = values
        return result

    return Case(
        lambda x, values, *arrays: x.at[where(arrays)].set(values, **options),
        (x, values, *arrays),
        reference,
    )


@family("set one row at a dynamic index", MOVED)
def _(m, n, dtype):
    def reference(x, row, i):
        result = x.copy()
        result[i] = row
        return result

    return Case(
        lambda x, row, i: x.at[i].set(row),
        (distinct((m, n), dtype), distinct(n, dtype, 1), np.int32(m // 2)),
        reference,
    )


@family("scatter maxima of rows", ORDERED)
def _(m, n, dtype):
    return _scatter(
        "max", np.maximum, distinct((m, n), dtype), distinct((m, n), dtype, 1), indices(m, m)
    )


@family("scatter products of rows", ("int32", "float32"))
def _(m, n, dtype):
    return _scatter(
        "multiply",
        np.multiply,
        small((m, n), dtype),
        signs((m + 4, n), dtype, 1),
        indices(m + 4, m),
    )


@family("sums of segments", ("float32", "int64"))
def _(m, n, dtype):
    def reference(x, i):
        result = np.zeros((5, n), wide(x).dtype)
        np.add.at(result, i, wide(x))
        return result

    segments = np.sort(indices(m, 5))
    return Case(
        lambda x, i: jax.ops.segment_sum(x, i, 5), (small((m, n), dtype), segments), reference
    )


# ---- Dynamic slices ----


@family("dynamic slice", MOVED_TOO)
def _(m, n, dtype):
    # The second start index is out of bounds and clamped.
    rows, columns = m // 2 + 1, n // 3 + 1

    def reference(x, i, j):
        first = min(int(j), n - columns)
        return x[i : i + rows, first : first + columns]

    return Case(
        lambda x, i, j: lax.dynamic_slice(x, (i, j), (rows, columns)),
        (distinct((m, n), dtype), np.int32((m - rows) // 2), np.int32(n)),
        reference,
    )


def _update(m: int, n: int, dtype: str, donated: bool) -> Case:
    rows, columns = m // 2 + 1, n // 3 + 1

    def reference(x, update, i, j):
        result = x.copy()
        first = min(int(j), n - columns)
        result[i : i + rows, first : first + columns] = update
        return result

    return Case(
        lambda x, update, i, j: lax.dynamic_update_slice(x, update, (i, j)),
        (
            distinct((m, n), dtype),
            distinct((rows, columns), dtype, 1),
            np.int32((m - rows) // 2),
            np.int32(n),
        ),
        reference,
        donated=donated,
    )


@family("dynamic update", MOVED)
def _(m, n, dtype):
    return _update(m, n, dtype, donated=False)


@family("dynamic update in place", MOVED_TOO)
def _(m, n, dtype):
    return _update(m, n, dtype, donated=True)


# ---- Index arithmetic ----


@family("one row selected by an iota mask", MOVED)
def _(m, n, dtype):
    zero = np.zeros((), bool if dtype == "bool" else distinct(1, dtype).dtype)

    def masked(x):
        return jnp.where(lax.broadcasted_iota(np.int32, (m, n), 0) == m // 2, x, zero)

    def reference(x):
        result = np.zeros_like(x)
        result[m // 2] = x[m // 2]
        return result

    return Case(masked, (distinct((m, n), dtype),), reference)


@family("lower triangle", MOVED_TOO)
def _(m, n, dtype):
    return Case(
        lambda x: jnp.tril(x, m % 3 - 1),
        (distinct((m, n), dtype),),
        lambda x: np.tril(x, m % 3 - 1),
    )


@family("iota arithmetic", ("int8", "int32", "float32", "int64"))
def _(m, n, dtype):
    # The argument prevents constant folding.
    def positions(x):
        return (
            x + lax.broadcasted_iota(dtype, (m, n), 0) * 2 - lax.broadcasted_iota(dtype, (m, n), 1)
        )

    return Case(
        positions, (small((), dtype),), lambda x: wide(x) + np.arange(m)[:, None] * 2 - np.arange(n)
    )


@family("reshape of a reversed array", MOVED)
def _(m, n, dtype):
    return _same(lambda x: x[::-1, ::-1].reshape(n, m), distinct((m, n), dtype))


@family("reshape of a slice", MOVED_TOO)
def _(m, n, dtype):
    # Not a bitcast in any layout, so the kernel delinearizes by some extents and linearizes by
    # others.
    return _same(lambda x: x[:, 1:].reshape(2, n, m), distinct((m, 2 * n + 1), dtype))


@family("padded rows of a reshaped slice", MOVED)
def _(m, n, dtype):
    def reference(x):
        rows = x[1:].reshape(n, m)
        return np.concatenate([np.zeros_like(rows[:1]), rows[:-1]])

    return Case(
        lambda x: jnp.pad(x[1:].reshape(n, m), ((1, 0), (0, 0)))[:-1],
        (distinct(m * n + 1, dtype),),
        reference,
    )


@family("comparisons of a quotient of iota", ("int32", "float32"))
def _(m, n, dtype):
    def chosen(x):
        i = lax.iota(np.int32, m * n)
        return jnp.where((i // n == m // 2) | (i % n == n - 1), x, 0)

    def reference(x):
        i = np.arange(m * n)
        return np.where((i // n == m // 2) | (i % n == n - 1), x, 0)

    return Case(chosen, (distinct(m * n, dtype),), reference)


def quotients(values: np.ndarray, divisor: int, wanted: int) -> Case:
    """Divisions by a constant, and comparisons of the quotient with `wanted`, which should occur.

    Seven results: quotient, remainder, four comparisons and a selection.
    """
    d, w = values.dtype.type(divisor), values.dtype.type(wanted)

    def of_jax(x):
        q, r = lax.div(x, d), lax.rem(x, d)
        return q, r, q == w, q < w, q > w, (q != 0) & (r == 0), jnp.where(q == w, r, q)

    def of_numpy(x):
        q = (
            np.trunc(x.astype(object) / divisor).astype(np.int64)
            if x.dtype.itemsize < 4
            else x // d
        )
        r = x - q * d
        return q, r, q == w, q < w, q > w, (q != 0) & (r == 0), np.where(q == w, r, q)

    return Case(of_jax, (values,), of_numpy)


for _name, _dtypes in (
    ("division by an extent", ("uint8", "uint32")),
    ("division by an extent, wider", ("int32", "uint64")),
):

    @family(_name, _dtypes)
    def _(m, n, dtype):
        limit = min(np.iinfo(dtype).max, 71 * n)
        values = np.arange(0, limit + 1).astype(dtype)
        return quotients(values, n, min(m, limit // n))


@family("inline constant table", SUMMED)
def _(m, n, dtype):
    # Constants of up to kMaxInlineConstant = 64 elements (elemental_data_movement.cc) are part of
    # the kernel.
    table = small(n, dtype, 1)
    return Case(lambda x: x + table, (small((m, n), dtype),), lambda x: wide(x) + wide(table))


@family("gather from an inline constant table", ("float32", "int32"))
def _(m, n, dtype):
    table = distinct(n, dtype)
    return Case(lambda i: jnp.asarray(table)[i], (indices(m, n),), lambda i: table[i])
