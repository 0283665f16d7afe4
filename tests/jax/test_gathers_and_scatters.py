"""The schedules of windows, slices, gathers and scatters against JAX's CPU backend."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.exhaustive import covering
from tests.jax.compare import check, scaled

FLOATS = ("float16", "bfloat16", "float32", "float64")


@pytest.mark.parametrize("dtype", [*FLOATS, "int32", "uint8", "complex64"])
def test_windows_gathers_and_scatters(xpu, cpu, dtype) -> None:
    x, places = scaled((13, 40), dtype), np.array([3, 12, 0, 3, 40, -1])

    def move(x):
        return x[:, places[:4]], x.at[places].add(x[0, :6, None]), x.at[places].set(0, mode="drop")

    check(xpu, cpu, jax.jit(move), x)
    if dtype != "complex64":
        check(
            xpu, cpu, jax.jit(lambda x: lax.reduce_window(x, 0, lax.add, (3, 4), (2, 3), "SAME")), x
        )
        check(
            xpu,
            cpu,
            jax.jit(lambda x: (jnp.sort(x, 0), jnp.argsort(x, 1), lax.cummax(x, axis=1))),
            x,
        )


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_one_start_index_as_a_signed_and_as_an_unsigned_number(xpu, bits) -> None:
    """In one kernel: a negative start clamps to 0, the same bits without a sign clamp to the
    end.
    """
    signed, unsigned = np.dtype(f"int{bits}"), np.dtype(f"uint{bits}")
    a = np.arange(10, dtype=np.int32)

    def starts(i):
        return i, i.astype(unsigned)

    def slices(a, i):
        return [
            lax.dynamic_slice(a, (start,), (3,), allow_negative_indices=False)
            for start in starts(i)
        ]

    def gathers(a, i):
        return [
            a.at[start].get(mode="clip", wrap_negative_indices=False)[None] for start in starts(i)
        ]

    def updates(a, i):
        ones = np.ones(3, np.int32)
        return [
            lax.dynamic_update_slice(a, ones, (start,), allow_negative_indices=False)
            for start in starts(i)
        ]

    for start in (-1, -3, 2):
        at = int(np.array(start).astype(signed).astype(unsigned))
        low, high = min(max(start, 0), 7), min(at, 7)
        want = {
            slices: a[low : low + 3] * 100 + a[high : high + 3],
            gathers: a[max(start, 0)] * 100 + a[[min(at, 9)]],
            updates: np.where((a >= low) & (a < low + 3), 1, a) * 100
            + np.where((a >= high) & (a < high + 3), 1, a),
        }
        if jax.__version_info__ < (0, 9):
            del want[gathers]  # JAX itself makes signed numbers of wide unsigned indices
        for function, expected in want.items():
            for reverse in (False, True):  # which of them is computed first

                def both(a, i, function=function, reverse=reverse):
                    as_signed, as_unsigned = function(a, i)
                    if reverse:
                        return as_unsigned + as_signed * 100
                    return as_signed * 100 + as_unsigned

                result = jax.jit(both)(*jax.device_put((a, signed.type(start)), xpu))
                np.testing.assert_array_equal(
                    result, expected, err_msg=f"{function.__name__} {start}"
                )


# Few rows into which many go, which threads add up apart; and many, which they share.
@covering(rows=[7, 5000], width=[1, 3, 16, 37, 64])
def test_scatters_that_threads_share(xpu, cpu, width, rows) -> None:
    random = np.random.default_rng(width)
    updates = random.integers(-99, 99, (20000, width))
    places = random.integers(-3, rows + 3, (20000, 1)).astype(np.int32)
    places[5000:15000] = np.sort(places[5000:15000], 0)
    start = random.integers(-99, 99, (rows, width))
    numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))

    def scatter(combine):
        return jax.jit(lambda x, places, updates: combine(x, places, updates, numbers, mode="drop"))

    # Sums of whole numbers below 2**24 are exact in any order.
    for combine in (lax.scatter_add, lax.scatter_max, lax.scatter_min):
        check(xpu, cpu, scatter(combine), *(start.astype("f4"), places, updates.astype("f4")))
    check(
        xpu,
        cpu,
        scatter(lax.scatter),
        *(start.astype("i4"), places, np.broadcast_to(places, updates.shape) * 3),
    )
    wrapping = updates.astype(np.uint32)
    check(xpu, cpu, scatter(lax.scatter_mul), *(start.astype("u4"), places, wrapping | 1))
    # The smallest numbers are lost, or infinite, if a thread begins with the wrong one.
    extremes = np.where(updates > 0, -np.inf, np.nan).astype("f4")
    check(
        xpu,
        cpu,
        scatter(lax.scatter_max),
        *(np.full_like(extremes[:rows], -np.inf), places % 5, extremes),
    )


def test_a_scatter_of_windows_that_overlap(xpu, cpu) -> None:
    random = np.random.default_rng(0)
    places = random.integers(-1, 39, (20000, 1)).astype(np.int32)
    updates = random.integers(-9, 9, (20000, 3)).astype("f4")
    numbers = lax.ScatterDimensionNumbers((1,), (), (0,))
    add = jax.jit(
        lambda x, places, updates: lax.scatter_add(x, places, updates, numbers, mode="drop")
    )
    check(xpu, cpu, add, np.zeros(40, "f4"), places, updates)
    batches = [np.stack([v, v[::-1]]) for v in (np.zeros(40, "f4"), places, updates)]
    check(xpu, cpu, jax.jit(jax.vmap(add)), *batches)


def test_a_scatter_with_batches_and_two_indices(xpu, cpu) -> None:
    random = np.random.default_rng(0)
    x = random.integers(-9, 9, (4, 30, 20)).astype("f4")
    places = random.integers(-1, 31, (4, 9000, 2)).astype(np.int32)
    updates = random.integers(-9, 9, (4, 9000)).astype("f4")
    one = jax.jit(lambda x, p, u: x.at[p[:, 0], p[:, 1]].add(u, mode="drop"))
    check(xpu, cpu, one, x[0], places[0], updates[0])
    check(xpu, cpu, jax.jit(jax.vmap(one)), x, places, updates)


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "uint32", "int64", "bool", "complex64"])
def test_scatters_with_one_index(xpu, cpu, dtype) -> None:
    """They are dynamic-update-slices, which clamp what scatters drop."""
    x, row, value = scaled((5, 300), dtype), scaled((300,), dtype), scaled((), dtype)

    def update(x, row, value, i, j):
        results = [
            x.at[i].set(row),
            x.at[i, j].set(value),
            x.at[:, j].set(row[:5]),
            x.at[i].set(row, mode="clip"),
            lax.dynamic_update_slice(x, row[None, :2], (i, j)),
        ]
        if dtype != "bool":
            results += [x.at[i].add(row), x.at[i, j].multiply(value)]
        if dtype not in ("bool", "complex64"):
            results += [x.at[i].min(row), x.at[i, j].max(value)]
        return results

    update = jax.jit(update)
    for i in (0, 4, 5, -1, -5, -6, 2**31 - 1, -(2**31)):
        for j in (0, 299, 300, -300, -301):
            check(xpu, cpu, update, x, row, value, np.int32(i), np.int32(j))


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("sign", ["int", "uint"])
def test_one_index_of_every_type(xpu, sign, bits) -> None:
    """An index of 8 bits counts fewer rows than the operand has; XLA's CPU backend then drops what
    is in bounds.
    """
    x, row = scaled((300, 3), "float32"), scaled((2, 3), "float32")
    numbers = lax.ScatterDimensionNumbers((0, 1), (), (0,))

    @jax.jit
    def update(x, row, start):
        return lax.scatter_add(x, start, row, numbers, mode="drop")

    limits = np.iinfo(f"{sign}{bits}")
    for start in {0, 5, 126, limits.max, limits.min, min(limits.max, 298), min(limits.max, 299)}:
        expected = x.copy()
        if 0 <= start <= 298:
            expected[start : start + 2] += row
        index = jax.device_put(np.array([start], limits.dtype), xpu)
        np.testing.assert_array_equal(update(x, row, index), expected)


def test_a_loop_of_scatters_with_one_index(xpu, cpu) -> None:
    def run(x, count):
        def step(i, state):
            x, total = state
            x = x.at[i * 7 % 50].add(x[i % 50]).at[-i].set(total)
            return x, total + x[i % 60]

        return lax.fori_loop(0, count, step, (x, x[0]))

    check(xpu, cpu, jax.jit(run), scaled((50,), "float32"), 100)


_PLACES = np.array([3, 7, 3, 49, 50, -1, 0], np.int32)
_PAIRS = np.random.default_rng(0).integers(0, 50, (100, 2)).astype(np.int32)
_OVERLAP = lax.ScatterDimensionNumbers((1,), (), (0,))


def _forces(x):
    force = 0.01 * (x[_PAIRS[:, 0]] - x[_PAIRS[:, 1]])
    return jnp.zeros_like(x).at[_PAIRS[:, 0]].add(-force).at[_PAIRS[:, 1]].add(force)


# The body of a loop, from its counter and its state of 50 rows of 3.
LOOPS = {
    "indices that repeat": lambda k, x: x.at[(_PLACES + k) % 60].add(0.1 * x[:7]),
    "the last of equal indices": lambda k, x: x.at[(_PLACES + k) % 60].set(0.9 * x[k % 40]),
    "minimum": lambda k, x: x.at[_PLACES].min(jnp.sin(k + x[:7])),
    "pairs": lambda k, x: x + _forces(x),
    "unique indices": lambda k, x: x.at[(jnp.arange(9) * 5 + k) % 50].multiply(
        0.9, unique_indices=True
    ),
    "single elements": lambda k, x: x.at[(_PLACES + k) % 50, (_PLACES + k) % 3].add(0.5),
    "segments": lambda k, x: x + 0.1 * jax.ops.segment_sum(x, jnp.arange(50) // 5, 50),
    "windows that overlap": lambda k, x: x.at[:, 0].set(
        lax.scatter_add(
            x[:, 0], np.array([[1], [3], [2]], np.int32), 0.1 * x[:3, :3], _OVERLAP
        )
    ),
    "a batch": lambda k, x: jax.vmap(lambda row, i: row.at[jnp.stack([i, i])].add(0.5))(
        x, (jnp.arange(50) + k) % 4
    ),
    "no updates": lambda k, x: x.at[jnp.zeros(0, jnp.int32)].add(jnp.zeros((0, 3), x.dtype)) + 1,
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_scatters_in_a_loop(xpu, cpu, name) -> None:
    run = jax.jit(lambda x, count: lax.fori_loop(0, count, LOOPS[name], x))
    check(xpu, cpu, run, scaled((50, 3), "float32"), 20)


def test_a_loop_keeps_the_operand_of_a_scatter(xpu, cpu) -> None:
    """The operand is in the next step's state, too, so the scatter writes to other memory."""

    def step(k, state):
        return state[0].at[_PLACES].add(0.1 * state[1][:7]), state[0]

    x = scaled((50, 3), "float32")
    check(xpu, cpu, jax.jit(lambda x: lax.fori_loop(0, 9, step, (x, 2 * x))), x)


def test_a_scatter_in_a_branch(xpu, cpu) -> None:
    x = scaled((50, 3), "float32")
    run = jax.jit(lambda p, x: lax.cond(p, lambda x: x.at[_PLACES].add(1), lambda x: x * 2, x))
    for predicate in (True, False):
        check(xpu, cpu, run, predicate, x)
