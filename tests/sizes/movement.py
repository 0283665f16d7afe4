"""Families that move elements: pads, slices, concatenations, transpositions, broadcasts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.sizes.cases import MOVED, MOVED_TOO, Case, distinct, family


def padded(x: np.ndarray, value: object, config: Sequence[tuple[int, int, int]]) -> np.ndarray:
    """The numpy equivalent of `lax.pad`."""
    shape, inside, kept = [], [], []
    for extent, (low, high, interior) in zip(x.shape, config, strict=True):
        shape.append(low + high + extent + max(extent - 1, 0) * interior)
        positions = low + np.arange(extent) * (interior + 1)
        exists = (positions >= 0) & (positions < shape[-1])
        inside.append(positions[exists])
        kept.append(np.flatnonzero(exists))
    result = np.full(shape, value, x.dtype)
    result[np.ix_(*inside)] = x[np.ix_(*kept)]
    return result


def _pad(x: np.ndarray, *config: tuple[int, int, int]) -> Case:
    value = np.ones((), x.dtype)
    return Case(lambda x: lax.pad(x, value, config), (x,), lambda x: padded(x, value, config))


@family("pad a vector", MOVED)
def _(m, n, dtype):
    return _pad(distinct(n, dtype), (m % 5, m % 3, 0))


@family("pad rows below", MOVED)
def _(m, n, dtype):
    return _pad(distinct((m, n), dtype), (2, 0, 0), (0, 0, 0))


@family("pad rows above", MOVED_TOO)
def _(m, n, dtype):
    return _pad(distinct((m, n), dtype), (0, 3, 0), (0, 0, 0))


@family("pad columns", MOVED)
def _(m, n, dtype):
    return _pad(distinct((m, n), dtype), (0, 0, 0), (1, 2, 0))


@family("pad both sides of both axes", MOVED_TOO)
def _(m, n, dtype):
    return _pad(distinct((m, n), dtype), (2, 1, 0), (1, 3, 0))


@family("interior padding", MOVED)
def _(m, n, dtype):
    return _pad(distinct((m, n), dtype), (0, 1, 1), (1, 0, 2))


@family("negative padding", MOVED_TOO)
def _(m, n, dtype):
    return _pad(distinct((m, n), dtype), (-1, 2, 0), (1, -1, 1))


@family("pad one row to a matrix", MOVED)
def _(m, n, dtype):
    return _pad(distinct((1, n), dtype), (m // 2, m - 1 - m // 2, 0), (0, 0, 0))


@family("pad one column to a matrix", MOVED_TOO)
def _(m, n, dtype):
    return _pad(distinct((m, 1), dtype), (0, 0, 0), (n // 2, n - 1 - n // 2, 0))


@family("pad the middle axis", MOVED_TOO)
def _(m, n, dtype):
    return _pad(distinct((3, m, n), dtype), (0, 0, 0), (1, 1, 0), (0, 0, 0))


@family("pad the first of three axes", MOVED)
def _(m, n, dtype):
    return _pad(distinct((m, 3, n), dtype), (1, 0, 0), (0, 0, 0), (0, 0, 0))


@family("pad every axis of three", MOVED_TOO)
def _(m, n, dtype):
    return _pad(distinct((m, n, 2), dtype), (0, 1, 0), (2, 0, 0), (1, 0, 1))


@family("pad a row and drop the last", MOVED)
def _(m, n, dtype):
    def reference(x):
        return padded(x, 0, ((1, 0, 0), (0, 0, 0)))[:-1]

    return Case(lambda x: jnp.pad(x, ((1, 0), (0, 0)))[:-1], (distinct((m, n), dtype),), reference)


def _same(function, *arguments: np.ndarray, **options) -> Case:
    """A case whose function runs on numpy arrays as well."""
    return Case(function, arguments, function, **options)


@family("slice rows", MOVED_TOO)
def _(m, n, dtype):
    return _same(lambda x: x[1:-1], distinct((m + 2, n), dtype))


@family("slice columns", MOVED)
def _(m, n, dtype):
    return _same(lambda x: x[:, 1:-2], distinct((m, n + 3), dtype))


@family("strided columns", MOVED_TOO)
def _(m, n, dtype):
    return _same(lambda x: x[:, ::2], distinct((m, n), dtype))


@family("strided rows", MOVED)
def _(m, n, dtype):
    return _same(lambda x: x[::3, n // 3 :], distinct((m, n), dtype))


@family("reverse rows", MOVED_TOO)
def _(m, n, dtype):
    return _same(lambda x: x[::-1], distinct((m, n), dtype))


@family("reverse columns", MOVED)
def _(m, n, dtype):
    return _same(lambda x: x[:, ::-1], distinct((m, n), dtype))


@family("reversed strided slice", MOVED_TOO)
def _(m, n, dtype):
    return _same(lambda x: x[::-1, ::-2], distinct((m, n), dtype))


@family("last column", MOVED)
def _(m, n, dtype):
    return _same(lambda x: x[:, -1], distinct((m, n), dtype))


@family("slice three axes", MOVED_TOO)
def _(m, n, dtype):
    return _same(lambda x: x[1:, :-1, ::2], distinct((3, m + 1, n), dtype))


@family("roll rows", MOVED)
def _(m, n, dtype):
    return Case(lambda x: jnp.roll(x, 1, 0), (distinct((m, n), dtype),), lambda x: np.roll(x, 1, 0))


@family("roll columns", MOVED_TOO)
def _(m, n, dtype):
    return Case(
        lambda x: jnp.roll(x, -2, 1), (distinct((m, n), dtype),), lambda x: np.roll(x, -2, 1)
    )


def _largest_around(module: Any, x: Any) -> Any:
    """The largest of each element and its eight neighbours, those across the ends included."""
    for axis in (0, 1):
        rotated = [module.roll(x, shift, axis) for shift in (-1, 1)]
        x = module.maximum(x, module.maximum(*rotated))
    return x


@family("largest around", MOVED)
def _(m, n, dtype):
    return Case(
        lambda x: _largest_around(jnp, x),
        (distinct((m, n), dtype),),
        lambda x: _largest_around(np, x),
    )


def _parts_of_one(module: Any, x: Any) -> Any:
    """More slices of one array than are read at a selected place, and slices with other strides."""
    same = [x[::2, 1:], x[::2, :-1], x[::2, 2:], x[::2], x[::2, :1]]
    return module.concatenate([*same, x[::2, ::2], x[1::2, 1:], x[1::2, :1]], 1)


@family("parts of one array", MOVED_TOO)
def _(m, n, dtype):
    return Case(
        lambda x: _parts_of_one(jnp, x),
        (distinct((2 * m + 2, n + 2), dtype),),
        lambda x: _parts_of_one(np, x),
    )


def _concatenate(axis: int, *parts: np.ndarray) -> Case:
    return Case(
        lambda *parts: jnp.concatenate(parts, axis),
        parts,
        lambda *parts: np.concatenate(parts, axis),
    )


@family("concatenate rows", MOVED)
def _(m, n, dtype):
    return _concatenate(0, distinct((m, n), dtype), distinct((3, n), dtype, 1))


@family("concatenate columns", MOVED_TOO)
def _(m, n, dtype):
    return _concatenate(1, distinct((m, n), dtype), distinct((m, 5), dtype, 1))


@family("concatenate equal columns", MOVED)
def _(m, n, dtype):
    return _concatenate(1, distinct((m, n), dtype), distinct((m, n), dtype, 1))


@family("concatenate three", MOVED_TOO)
def _(m, n, dtype):
    return _concatenate(
        1, distinct((m, 1), dtype), distinct((m, n), dtype, 1), distinct((m, 2), dtype, 2)
    )


@family("concatenate four", MOVED)
def _(m, n, dtype):
    return _concatenate(0, *(distinct((extent, n), dtype, extent) for extent in (m, 1, 2 * m, 7)))


@family("concatenate five", MOVED_TOO)
def _(m, n, dtype):
    return _concatenate(1, *(distinct((m, extent), dtype, extent) for extent in (1, n, 2, n, 8)))


@family("concatenate in the middle axis", MOVED)
def _(m, n, dtype):
    return _concatenate(
        1, distinct((3, m, n), dtype), distinct((3, 2, n), dtype, 1), distinct((3, m, n), dtype, 2)
    )


@family("concatenate vectors", MOVED_TOO)
def _(m, n, dtype):
    return _concatenate(0, distinct(m, dtype), distinct(n, dtype, 1))


@family("stack columns", MOVED)
def _(m, n, dtype):
    parts = (distinct((m, n), dtype), distinct((m, n), dtype, 1))
    return Case(lambda *parts: jnp.stack(parts, -1), parts, lambda *parts: np.stack(parts, -1))


@family("transpose", (*MOVED, *MOVED_TOO))
def _(m, n, dtype):
    return _same(lambda x: x.T, distinct((m, n), dtype))


@family("transpose and add", ("float32", "bfloat16"))
def _(m, n, dtype):
    x, y = (
        distinct((n, m), "int8").astype(distinct(1, dtype).dtype),
        distinct((m, n), "int8", 1).astype(distinct(1, dtype).dtype),
    )
    return Case(
        lambda x, y: x.T * 2 + y,
        (x, y),
        lambda x, y: x.T.astype(np.float64) * 2 + y.astype(np.float64),
    )


for _order in itertools.permutations(range(3)):
    if _order != (0, 1, 2):

        @family(
            f"transpose {_order}", MOVED if _order[0] == 0 or _order == (2, 1, 0) else MOVED_TOO
        )
        def _(m, n, dtype, order=_order):
            # The short third axis moves, so that each permutation has fast and slow short axes.
            shape = ((3, m, n), (m, 3, n), (m, n, 3))[(m + n) % 3]
            return _same(lambda x: x.transpose(order), distinct(shape, dtype))


@family("transpose four axes", MOVED)
def _(m, n, dtype):
    return _same(lambda x: x.transpose(0, 2, 3, 1), distinct((2, m, 2, n), dtype))


@family("broadcast to rows", MOVED_TOO)
def _(m, n, dtype):
    return Case(
        lambda x: jnp.broadcast_to(x, (m, n)),
        (distinct(n, dtype),),
        lambda x: np.broadcast_to(x, (m, n)),
    )


@family("broadcast to columns", MOVED)
def _(m, n, dtype):
    return Case(
        lambda x: jnp.broadcast_to(x, (m, n)),
        (distinct((m, 1), dtype),),
        lambda x: np.broadcast_to(x, (m, n)),
    )


@family("broadcast a scalar", MOVED_TOO)
def _(m, n, dtype):
    return Case(
        lambda x: jnp.broadcast_to(x, (m, n)),
        (distinct((), dtype),),
        lambda x: np.broadcast_to(x, (m, n)),
    )


@family("broadcast between axes", MOVED)
def _(m, n, dtype):
    return Case(
        lambda x: jnp.broadcast_to(x[:, None, :], (m, 3, n)),
        (distinct((m, n), dtype),),
        lambda x: np.broadcast_to(x[:, None, :], (m, 3, n)),
    )


@family("repeat along the last axis", MOVED_TOO)
def _(m, n, dtype):
    return Case(
        lambda x: jnp.repeat(x, 3, 1), (distinct((m, n), dtype),), lambda x: np.repeat(x, 3, 1)
    )


@family("tile", MOVED)
def _(m, n, dtype):
    return Case(
        lambda x: jnp.tile(x, (2, 3)), (distinct((m, n), dtype),), lambda x: np.tile(x, (2, 3))
    )
