"""First elements of sorted rows, selected instead of sorted, against JAX's CPU backend."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.exhaustive import covering, every
from tests.jax.compare import check, on

FLOATS = ("bfloat16", "float16", "float32", "float64", "float8_e4m3fn")
SPECIAL = (np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf)
# Extents around those at which rows are scanned (64 on a GPU, 128 on a CPU), and rows of several
# levels of nodes, of which the last chunks are empty or not full.
LENGTHS = (1, 5, 63, 64, 65, 127, 128, 129, 257, 1000, 5003, 20011)


def values(shape: tuple[int, ...], dtype: str, distinct: bool = False) -> np.ndarray:
    """Returns values with duplicates, among floats NaN, infinities and zeros of both signs."""
    random = np.random.default_rng([len(dtype), *shape])
    kind = np.dtype(jnp.dtype(dtype))
    if dtype == "bool":
        return random.random(shape) < 0.3
    if jnp.issubdtype(kind, np.integer):
        limits = np.iinfo(kind)
        low, high = (limits.min, limits.max) if distinct else (max(limits.min, -40), 40)
        return random.integers(low, high, shape, kind, endpoint=True)
    drawn = random.standard_normal(shape) * 3
    x = np.array(jnp.asarray(drawn if distinct else np.round(drawn * 4) / 4).astype(kind))
    flat = x.reshape(-1)
    for value in SPECIAL if x.size else ():
        flat[random.integers(0, x.size, 1 + x.size // 30)] = value
    return x


def assert_same_bits(xpu: jax.Device, cpu: jax.Device, function, *args) -> None:
    """Asserts that both devices return the same bits."""
    actual = jax.tree.leaves(on(xpu, jax.jit(function), *args))
    expected = jax.tree.leaves(on(cpu, jax.jit(function), *args))
    for a, e in zip(actual, expected, strict=True):
        assert (a.shape, a.dtype) == (e.shape, e.dtype)
        np.testing.assert_array_equal(
            np.ascontiguousarray(a).view(np.uint8), np.ascontiguousarray(e).view(np.uint8)
        )


def selects(function, *args) -> bool:
    """Returns whether the compiled program selects elements instead of sorting rows."""
    text = jax.jit(function).lower(*args).compile().as_text()
    return "kind=kCustom" in text and "top_k_fusion" in text


@covering(
    length=every(2, LENGTHS),
    part=[0.0, 0.05, 0.25, 1.0],
    batch=[(), (1,), (3,), (2, 9), (40,)],
    dtype=["float32", "bfloat16", "float16", "float64", "int32", "int8", "uint16", "int64", "bool"],
)
def test_elements_and_their_order(xpu, cpu, dtype, batch, part, length) -> None:
    count = max(1, int(part * length))
    x = values((*batch, length), dtype, distinct=length % 2 == 0)
    assert_same_bits(xpu, cpu, lambda x: lax.top_k(x, count), x)
    assert_same_bits(xpu, cpu, lambda x: lax.top_k(x, count)[0], x)
    assert_same_bits(xpu, cpu, lambda x: lax.top_k(x, count)[1], x)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("length", [20, 300, 3000])
def test_nan_and_zeros_are_ordered_by_sign(xpu, cpu, length, dtype) -> None:
    x = values((2, length), dtype)
    assert selects(lambda x: lax.top_k(x, length // 20), jax.device_put(x, xpu))
    assert_same_bits(xpu, cpu, lambda x: lax.top_k(x, length // 20), x)
    assert_same_bits(xpu, cpu, lambda x: lax.top_k(x, length // 4), x)


@pytest.mark.parametrize("shape", [(0, 9), (3, 0), (2, 9)])
def test_no_elements(xpu, cpu, shape) -> None:
    x = values(shape, "float32")
    for count in {0, min(shape[1], 2)}:
        assert_same_bits(xpu, cpu, lambda x, count=count: lax.top_k(x, count), x)


# One value, and the first elements all in one chunk, whose items are 16 apart.
@pytest.mark.parametrize("length", [100, 1000, 30_000])
def test_equal_and_clustered_elements(xpu, cpu, length) -> None:
    position = np.arange(length)
    rows = (
        np.zeros(length),
        position,
        -position,
        np.where(position % 16 == 3, position, -position),
        np.where(position % 16 == 5, 1, 0),
        np.where(position < length // 2, 1, 0),
    )
    x = np.stack(rows).astype(np.float32)
    for count in (1, 2, 12, length // 8):
        assert_same_bits(xpu, cpu, lambda x, count=count: lax.top_k(x, count), x)


def by_value(x, *others, axis: int = -1):
    return lax.sort((x, *others), dimension=axis % x.ndim, num_keys=1, is_stable=True)


@pytest.mark.parametrize("length", [50, 700])
def test_sorts_that_are_sliced(xpu, cpu, length) -> None:
    x = values((6, length), "float32")
    y = values((6, length), "int8")
    iota = lambda x: lax.broadcasted_iota(jnp.int32, x.shape, 1)  # noqa: E731
    cases = (
        lambda x, y: by_value(x, y, iota(x))[2][:, :5],
        lambda x, y: [part[1:4, 2:9:3] for part in by_value(x, y, -y, x * 1j)],
        lambda x, y: (by_value(x, y)[1][:, :3], by_value(x, y)[0][:, 7]),
        lambda x, y: by_value(y)[0][:, :4],
        lambda x, y: by_value(x.T, y.T, axis=0)[1][:5],
        lambda x, y: jnp.argsort(y, 1, stable=True)[:, :3],
        lambda x, y: jnp.argsort(-y, 1, stable=True)[:, 0],
    )
    for case in cases:
        assert selects(case, *jax.device_put((x, y), xpu))
        assert_same_bits(xpu, cpu, case, x, y)


def test_other_sorts_are_left_alone(xpu) -> None:
    x = jax.device_put(values((6, 700), "float32"), xpu)
    for case in (
        lambda x: lax.top_k(x, 600),
        lambda x: jnp.sort(x, 1)[:, -5:],
        lambda x: (jnp.sort(x, 1)[:, :5], jnp.sort(x, 1).sum()),
        lambda x: lax.sort((x, x + 1), num_keys=2)[0][:, :5],
    ):
        assert not selects(case, x)


@pytest.mark.parametrize("function", [lax.approx_max_k, lax.approx_min_k])
def test_approximations_are_exact_and_nan_comes_last(xpu, function) -> None:
    x = values((3, 400), "float32", distinct=True)
    sign = -1 if function is lax.approx_max_k else 1
    is_nan = np.isnan(x)
    order = np.lexsort((np.where(is_nan, 0, sign * x), is_nan))
    for count in (2, 30, 50):  # XLA reduces if it is 1
        found, positions = jax.jit(lambda x, count=count: function(x, count))(
            jax.device_put(x, xpu)
        )
        np.testing.assert_array_equal(np.asarray(positions), order[:, :count])
        np.testing.assert_array_equal(found, np.take_along_axis(x, order[:, :count], 1))


def test_gradients_and_batches(xpu, cpu) -> None:
    x = np.random.default_rng(0).permutation(4 * 5 * 300).reshape(4, 5, 300).astype(np.float32)

    def weighted(x):
        found, positions = lax.top_k(x, 7)
        return (found * jnp.arange(7)).sum() + (found * positions).sum()

    check(xpu, cpu, jax.jit(jax.grad(weighted)), x)
    check(xpu, cpu, jax.jit(jax.vmap(jax.grad(weighted))), x)
    check(xpu, cpu, jax.jit(jax.vmap(lambda x: lax.top_k(x, 9), in_axes=1, out_axes=1)), x)
    check(xpu, cpu, jax.jit(jax.vmap(lambda x: lax.top_k(x, 2), in_axes=2, out_axes=2)), x)
    check(xpu, cpu, jax.jit(lambda x, y: jax.jvp(lambda x: lax.top_k(x, 3)[0], (x,), (y,))), x, x)


# Sampling: each step selects, and the selection decides the next step.
def test_in_loops_and_branches(xpu, cpu) -> None:
    x = np.random.default_rng(1).standard_normal((2, 500)).astype(np.float32)

    def sample(x):
        def step(x, i):
            found, positions = lax.top_k(x, 5)
            pick = positions[:, 2]
            return x.at[jnp.arange(2), pick].add(-found[:, 0] - i), pick

        return lax.scan(step, x, jnp.arange(10, dtype=jnp.float32))

    def until_small(x):
        return lax.while_loop(
            lambda x: lax.top_k(x, 3)[0][0, 2] > 0.5, lambda x: x - lax.top_k(x, 2)[0][:, 1:], x
        )

    check(xpu, cpu, jax.jit(sample), x)
    check(xpu, cpu, jax.jit(until_small), x)
    branch = jax.jit(
        lambda i, x: lax.cond(i > 0, lambda: lax.top_k(x, 4), lambda: lax.top_k(-x, 4))
    )
    for i in (0, 1):
        check(xpu, cpu, branch, i, x)


# Operands and results keep their layouts, and operands that the comparator reads may be computed in
# the same program.
def test_operands_of_other_kernels(xpu, cpu) -> None:
    x = values((30, 7, 200), "float32")
    assert_same_bits(xpu, cpu, lambda x: lax.top_k(x.transpose(2, 1, 0), 3), x)
    assert_same_bits(xpu, cpu, lambda x: [y.mT for y in lax.top_k(jnp.abs(x), 25)], x)
    assert_same_bits(
        xpu, cpu, lambda x: lax.top_k(lax.top_k(x, 40)[0].reshape(30, -1)[:, ::-1], 12), x
    )
