"""Products and convolutions of 8-bit integers: exact, and modulo 2^32, in the library and in
kernels.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.jax.compare import check


def _s8(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).integers(-128, 128, shape).astype(np.int8)


def _product(a, b, contracting=((1,), (0,)), batch=((), ())):
    return lax.dot_general(a, b, (contracting, batch), preferred_element_type=jnp.int32)


def _convolve(x, w, stride=(1, 1), padding="SAME", numbers=("NHWC", "HWIO", "NHWC"), **options):
    return lax.conv_general_dilated(
        x,
        w,
        stride,
        padding,
        dimension_numbers=numbers,
        preferred_element_type=jnp.int32,
        **options,
    )


@pytest.mark.parametrize(
    "sizes",
    [
        (256, 4096, 128),
        (100, 1000, 333),
        (49, 70, 33),
        (1, 4096, 1024),
        (300, 77, 1),
        (7, 5, 3),
        (4, 0, 5),
    ],
)
def test_products(xpu, cpu, sizes) -> None:
    m, k, n = sizes
    check(xpu, cpu, jax.jit(_product), _s8(m, k), _s8(k, n))
    check(xpu, cpu, jax.jit(lambda a, b: _product(a, b, ((1,), (1,)))), _s8(m, k), _s8(n, k))
    check(xpu, cpu, jax.jit(lambda a, b: _product(a, b, ((0,), (0,)))), _s8(k, m), _s8(k, n))
    batched = jax.jit(lambda a, b: _product(a, b, ((2,), (1,)), ((0,), (0,))))
    check(xpu, cpu, batched, _s8(3, m, k), _s8(3, k, n))


def test_sums_that_need_all_bits_and_sums_that_wrap(xpu, cpu) -> None:
    for terms in (70_000, 140_000):  # 2^14 each
        lowest = np.full((64, terms), -128, np.int8)
        check(xpu, cpu, jax.jit(_product), lowest, lowest.T.copy())
    lowest = np.full((1, 12, 12, 512), -128, np.int8)
    check(xpu, cpu, jax.jit(_convolve), lowest, np.full((3, 3, 512, 32), -128, np.int8))


def test_what_follows_is_computed_on_integers(xpu, cpu) -> None:
    a, b = _s8(512, 600), _s8(600, 512)
    check(xpu, cpu, jax.jit(lambda a, b: jax.nn.relu(_product(a, b) * 1_000_003 + 7)), a, b)
    scaled = jax.jit(lambda a, b: jax.nn.relu(_product(a, b).astype(jnp.float32) * 0.5 + 1))
    check(xpu, cpu, scaled, a, b, ulps=0)


@pytest.mark.parametrize(
    ("x", "w", "options"),
    [
        ((4, 32, 32, 32), (3, 3, 32, 32), {}),
        ((4, 17, 30, 31), (20, 17, 3, 3), {"numbers": ("NCHW", "OIHW", "NCHW")}),
        ((2, 33, 32, 5), (3, 5, 5, 7), {"stride": (2, 1), "padding": "VALID"}),
        ((2, 33, 32, 16), (3, 3, 16, 16), {"rhs_dilation": (2, 2)}),
        ((2, 33, 32, 16), (3, 3, 4, 32), {"feature_group_count": 4}),
        ((2, 33, 32, 16), (3, 3, 1, 16), {"feature_group_count": 16}),
        ((2, 13, 12, 16), (3, 3, 16, 8), {"padding": [(1, 1), (1, 1)], "lhs_dilation": (2, 2)}),
        ((4, 100, 32), (5, 32, 32), {"stride": (1,), "numbers": ("NWC", "WIO", "NWC")}),
        (
            (2, 8, 9, 10, 16),
            (3, 3, 3, 16, 8),
            {"stride": (1, 1, 1), "numbers": ("NDHWC", "DHWIO", "NDHWC")},
        ),
    ],
)
def test_convolutions(xpu, cpu, x, w, options) -> None:
    w = _s8(*w)
    check(xpu, cpu, jax.jit(lambda x, w: _convolve(x, w, **options)), _s8(*x), w)
    # Constant weights are packed once.
    check(xpu, cpu, jax.jit(lambda x: _convolve(x, w, **options)), _s8(*x))
