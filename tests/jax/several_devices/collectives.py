"""Collectives among several devices against JAX's CPU backend with as many. Run by
test_several_devices.py.
"""

from __future__ import annotations

import math

import jax
import numpy as np
import pytest
from jax import lax
from jax.sharding import NamedSharding

from tests.jax.compare import assert_same
from tests.jax.several_devices.meshes import COUNT, EPS, SUM, P, mesh, on_both, units, values


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float32", "complex64", "int8", "uint32", "int32"]
)
@pytest.mark.parametrize("columns", [1, 7, 40_000])  # the last takes the way of two exchanges
def test_sums(dtype, columns) -> None:
    x = values((COUNT, columns), dtype)
    on_both(lambda x: lax.psum(x, "x"), (P("x"),), P(), [x], ulps=SUM)


@pytest.mark.parametrize(
    ("combine", "reduce", "ulps"),
    [(lax.pmax, np.max, 0), (lax.pmin, np.min, 0), (lax.pmean, np.mean, SUM)],
    ids=["max", "min", "mean"],
)
def test_other_combinations(combine, reduce, ulps) -> None:
    """NaN wins everywhere, as in the combiner; the CPU backend's own exchange loses it."""
    x = values((COUNT * 3, 5))
    x[1, 1] = np.nan
    x[2, 2] = np.inf
    grid = mesh("xpu")
    mapped = jax.shard_map(lambda x: combine(x, "x"), mesh=grid, in_specs=P("x"), out_specs=P())
    combined = jax.jit(mapped)(jax.device_put(x, NamedSharding(grid, P("x"))))
    assert_same(np.asarray(combined), reduce(x.reshape(COUNT, 3, 5), axis=0), ulps)


def test_combinations_of_integers() -> None:
    x = values((COUNT, 6), np.int32)
    on_both(
        lambda x: (lax.pmax(x, "x"), lax.pmin(x, "x"), lax.psum(x % 2 == 1, "x")),
        (P("x"),), P(), [x],
    )  # fmt: skip


@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float32", "bool", "int8", "complex64"])
def test_gathering(tiled, axis, dtype) -> None:
    x = values((COUNT * 2, 3, 4), dtype)
    on_both(lambda x: lax.all_gather(x, "x", axis=axis, tiled=tiled), (P("x"),), P(), [x])


@pytest.mark.parametrize("axis", [0, 1])
def test_scattering_sums(axis) -> None:
    x = values((COUNT * COUNT, COUNT * 2))
    on_both(
        lambda x: lax.psum_scatter(x, "x", scatter_dimension=axis, tiled=True), (P("x"),), P("x"),
        [x], ulps=SUM,
    )  # fmt: skip


@pytest.mark.parametrize(("split", "concat"), [(1, 1), (1, 2), (2, 1), (2, 0)])
@pytest.mark.parametrize("tiled", [False, True])
def test_all_to_all(split, concat, tiled) -> None:
    x = values((COUNT * 3, COUNT, COUNT))
    on_both(
        lambda x: lax.all_to_all(x, "x", split_axis=split, concat_axis=concat, tiled=tiled),
        (P("x"),), P("x"), [x],
    )  # fmt: skip


def test_permuting() -> None:
    x = values((COUNT * 2, 5))
    ring = [(i, (i + 1) % COUNT) for i in range(COUNT)]
    on_both(lambda x: lax.ppermute(x, "x", ring), (P("x"),), P("x"), [x])
    # Some send nothing, and some receive zeros; one sends to itself.
    on_both(
        lambda x: lax.ppermute(x, "x", [(0, 3), (3, 0), (5, 5), (6, 1)]), (P("x"),), P("x"), [x]
    )
    on_both(lambda x: lax.ppermute(x, "x", []), (P("x"),), P("x"), [x])


def test_numbers_of_participants() -> None:
    on_both(
        lambda x: x * lax.axis_index("x") + 100 * lax.axis_index("y") + lax.axis_size("y"),
        (P("x", "y"),), P("x", "y"), [values((4, 2), np.int32)], shape=(4, 2),
    )  # fmt: skip


def test_groups() -> None:
    x = values((COUNT, 6))
    groups = [[0, 2, 4, 6], [1, 3, 5, 7]]
    on_both(
        lambda x: (
            lax.psum(x, "x", axis_index_groups=groups),
            lax.all_gather(x, "x", axis_index_groups=groups, tiled=True),
        ),
        (P("x"),), (P("x"), P("x")), [x], ulps=(units(len(groups[0]) - 1), 0),
    )  # fmt: skip


@pytest.mark.parametrize("shape", [(), (0,), (1,), (40_000,)])
@pytest.mark.parametrize("groups", [[[0, 2, 4], [1, 3, 5, 6, 7]], [[7], [6, 0, 5], [1, 2, 3, 4]]])
def test_sums_of_groups_of_different_size(groups, shape) -> None:
    whole, real = values((COUNT, *shape), np.int32), values((COUNT, *shape))
    on_both(
        lambda x, y: (
            *lax.psum((x, y), "x", axis_index_groups=groups),
            lax.pmax(y, "x", axis_index_groups=groups),
        ),
        (P("x"), P("x")), (P("x"),) * 3, [whole, real], ulps=(0, SUM, 0),
    )  # fmt: skip


def test_sums_of_groups_of_different_size_along_one_of_two_axes() -> None:
    on_both(
        lambda x: lax.psum(x, "y", axis_index_groups=[[1, 3, 0], [2]]),
        (P("x", "y"),), P("x", "y"), [values((4, 8), np.int32)], shape=(2, 4),
    )  # fmt: skip


@pytest.mark.parametrize("axes", ["x", "y", ("x", "y"), ("y", "x")])
def test_two_axes(axes) -> None:
    x = values((8, 6))
    summed = math.prod({"x": 4, "y": 2}[axis] for axis in axes)
    on_both(
        lambda x: (lax.psum(x, axes), lax.all_gather(x, axes)), (P("x", "y"),),
        (P("x", "y"), P(None, "x", "y")),
        [x], shape=(4, 2), ulps=(units(summed - 1), 0),
    )  # fmt: skip


def test_empty_and_scalars() -> None:
    on_both(lambda x: lax.psum(x, "x"), (P("x"),), P(), [values((COUNT, 0))])
    on_both(lambda x: lax.all_gather(x, "x"), (P("x"),), P(), [values((COUNT, 0))])
    on_both(lambda x: lax.psum(x[0], "x"), (P("x"),), P(), [values((COUNT,), np.int32)])


def test_collectives_in_loops() -> None:
    ring = [(i, (i + 1) % COUNT) for i in range(COUNT)]

    def scanned(x):
        def step(carry, _):
            carry = lax.ppermute(carry, "x", ring) * 0.5 + lax.pmean(carry, "x")
            return carry, carry.sum()

        return lax.scan(step, x, length=20)

    def until(x):
        return lax.while_loop(
            lambda s: lax.pmax(s.max(), "x") < 100, lambda s: lax.psum(s, "x") / 7 + s, x
        )

    def chosen(x):
        return lax.cond(lax.psum(x.sum(), "x") > 0, lambda x: lax.psum(x, "x"), lambda x: -x, x)

    x = np.abs(values((COUNT, 9))) + 0.1
    # 20 times a mean and a sum, and the sum of a row of nine.
    on_both(scanned, (P("x"),), (P("x"), P()), [x], rtol=units(20 * COUNT + 8) * EPS)
    # A column's mean grows by 15 / 7 each time, from 0.1 to 100 in ten times at most. Each sums
    # eight, divides (which may be a product with the reciprocal) and adds.
    on_both(until, (P("x"),), P("x"), [x], rtol=units(10 * (COUNT + 2)) * EPS)
    on_both(chosen, (P("x"),), P("x"), [x], rtol=SUM * EPS)
