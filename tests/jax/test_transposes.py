"""The schedule of transposes against JAX's CPU backend."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.exhaustive import covering
from tests.jax.compare import check, scaled


@covering(
    dtype=["bool", "int8", "float16", "float32", "float64", "complex128"],
    shape=[(8, 8), (33, 65), (1, 100), (3, 40, 70), (2, 3, 9, 130)],
)
def test_transposes(xpu, cpu, dtype, shape) -> None:
    def transposed(x):
        flipped = jnp.swapaxes(x, -1, -2)
        return flipped, jnp.transpose(x), (flipped == flipped) & jnp.swapaxes(x != 0, -1, -2)

    check(xpu, cpu, jax.jit(transposed), scaled(shape, dtype))


# Squares in registers where tiles are whole, of 2, 4 and 8 bytes; the last tiles of 33, 100 and 90
# begin earlier.
@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "int32", "float64", "complex64", "int8", "complex128"]
)
@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((64, 96), (1, 0)),
        ((33, 100), (1, 0)),
        ((3, 32, 5, 90), (0, 3, 2, 1)),
        ((40, 2, 3, 64), (1, 3, 0, 2)),
        ((65, 31), (1, 0)),
    ],
)
def test_turned_memory_is_the_same_bits(xpu, shape, order, dtype) -> None:
    bits = np.random.default_rng(0).integers(
        0, 256, (*shape, np.dtype(jnp.dtype(dtype)).itemsize), np.uint8
    )
    x = bits.view(jnp.dtype(dtype))[..., 0]
    turned = np.asarray(jax.jit(lambda x: jnp.transpose(x, order))(jax.device_put(x, xpu)))
    assert turned.dtype == x.dtype
    np.testing.assert_array_equal(
        np.ascontiguousarray(turned).view(np.uint8), np.transpose(x, order).copy().view(np.uint8)
    )


# Whole tiles; a last one that begins earlier than it would; one that is not whole.
@covering(
    shape=[(64, 96), (1000, 77), (33, 1025), (20, 40), (3, 50, 40)],
    dtype=["bool", "int8", "float32", "complex64"],
)
def test_transposes_beside_other_operations(xpu, cpu, dtype, shape) -> None:
    x = scaled(shape, dtype)
    y = np.swapaxes(x, -1, -2).copy()
    check(xpu, cpu, jax.jit(lambda x: jnp.tril(x.mT)), x)
    check(xpu, cpu, jax.jit(lambda x: jnp.where(x == 0, x, 1 - x if dtype != "bool" else ~x).mT), x)
    # Each element is read and overwritten once, though tiles may overlap.
    placed = jax.device_put((x, y), xpu)
    add = jax.jit(lambda x, y: x.mT + y, donate_argnums=1).lower(*placed).compile()
    assert add.memory_analysis().alias_size_in_bytes == y.nbytes
    np.testing.assert_array_equal(add(*placed), y + y)


@covering(count=[3, 15, 40], dtype=["float32", "complex128"])
def test_transposes_of_more_than_local_memory_holds(xpu, cpu, dtype, count) -> None:
    arrays = [np.roll(scaled((96, 70), dtype), i) for i in range(count)]
    check(
        xpu,
        cpu,
        jax.jit(lambda *arrays: sum((i + 1) * x.mT for i, x in enumerate(arrays))),
        *arrays,
    )


@pytest.mark.parametrize("dtype", ["int4", "float8_e4m3fn", "float32"])
def test_transposes_of_what_is_cut_out(xpu, cpu, dtype) -> None:
    x = scaled((90, 100), dtype)
    cut = jax.jit(lambda x, start: lax.dynamic_slice(x, (start, 2 * start), (70, 60)).mT)
    for start in (-5, 0, 7, 99):
        check(xpu, cpu, cut, x, np.int32(start))


@pytest.mark.parametrize("rank", [3, 4, 5, 8, 11])
def test_reversing_the_dimensions_of_powers_of_two(xpu, cpu, rank) -> None:
    """LLVM finds that the index is the other one with its bits reversed."""
    x = np.arange(2.0**rank, dtype=np.float32)
    check(xpu, cpu, jax.jit(lambda x: x.reshape((2,) * rank).T), x)
