"""Convolutions leave the holes of a dilated source out of their sums: an infinite weight that meets
a hole gives no NaN.

Beside the source, padding counts as a zero in some implementations of oneDNN, and in XLA's CPU
backend if no dimension is dilated: there, NaN is accepted for an infinite weight.
"""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.exhaustive import covering, every


def _convolve(x, w, strides, padding, lhs_dilation, rhs_dilation, groups):
    """Sums over the elements of `x` alone, and where an infinite weight meets padding beside the
    source.

    `x` is (batch, *spatial, channels), `w` (*kernel, channels / groups, outputs).
    """
    spatial = x.shape[1:-1]
    kernel = w.shape[:-2]
    results = [
        ((n - 1) * b + 1 + low + high - (k - 1) * d - 1) // s + 1
        for n, k, s, (low, high), b, d in zip(
            spatial, kernel, strides, padding, lhs_dilation, rhs_dilation, strict=True
        )
    ]
    inputs, outputs = w.shape[-2], w.shape[-1]
    y = np.zeros((x.shape[0], *results, outputs))
    meets_padding = np.zeros(y.shape, bool)
    for at in np.ndindex(*results):
        for tap in np.ndindex(*kernel):
            place = [
                o * s - low + j * d
                for o, s, (low, _), j, d in zip(
                    at, strides, padding, tap, rhs_dilation, strict=True
                )
            ]
            if any(p % b for p, b in zip(place, lhs_dilation, strict=True)):
                continue
            if any(
                not 0 <= p // b < n for p, b, n in zip(place, lhs_dilation, spatial, strict=True)
            ):
                meets_padding[(slice(None), *at)] |= np.isinf(w[tap]).any()
                continue
            element = x[(slice(None), *(p // b for p, b in zip(place, lhs_dilation, strict=True)))]
            for group in range(groups):
                mine = slice(group * outputs // groups, (group + 1) * outputs // groups)
                y[(slice(None), *at, mine)] += (
                    element[:, group * inputs : (group + 1) * inputs] @ w[tap][:, mine]
                )
    return y, meets_padding


def _check(
    xpu, dtype, x_shape, w_shape, strides, padding, lhs_dilation=None, rhs_dilation=None, groups=1
):
    rank = len(strides)
    lhs_dilation, rhs_dilation = lhs_dilation or (1,) * rank, rhs_dilation or (1,) * rank
    random = np.random.default_rng(sum(x_shape) + sum(w_shape))
    # Small integers above zero: sums are exact in every type, and no product is NaN but of a
    # padding zero.
    x = random.integers(1, 3, x_shape).astype(np.float64)
    letters = "DHW"[3 - rank :]
    numbers = (f"N{letters}C", f"{letters}IO", f"N{letters}C")

    def convolve(x, w):
        return lax.conv_general_dilated(
            x, w, strides, padding, lhs_dilation=lhs_dilation, rhs_dilation=rhs_dilation,
            dimension_numbers=numbers, feature_group_count=groups,
        )  # fmt: skip

    compiled = jax.jit(convolve)
    for infinite in itertools.product(*({0, k - 1} for k in w_shape[:-2])):
        w = random.integers(1, 3, w_shape).astype(np.float64)
        w[infinite] = np.inf
        expected, meets_padding = _convolve(
            x, w, strides, padding, lhs_dilation, rhs_dilation, groups
        )
        arguments = jax.device_put([jnp.asarray(a).astype(dtype) for a in (x, w)], xpu)
        actual = np.asarray(compiled(*arguments)).astype(np.float64)
        expected = np.where(meets_padding & np.isnan(actual), np.nan, expected)
        message = (
            f"{x_shape} * {w_shape} {strides} {padding} {lhs_dilation} {rhs_dilation} {groups} "
            f"{infinite}"
        )
        np.testing.assert_array_equal(actual, expected, err_msg=message)


DTYPES = ["float16", "float32", "bfloat16"]


@covering(
    dtype=every(3, DTYPES),
    strides=[(1, 1), (1, 2), (3, 2)],
    lhs_dilation=[(1, 1), (3, 1), (2, 2), (5, 4)],
)
def test_dilated_sources(xpu, dtype, lhs_dilation, strides) -> None:
    for padding, rhs_dilation in (
        (((1, 1), (1, 1)), (1, 1)),
        (((0, 2), (5, 3)), (1, 2)),
        (((-1, 2), (3, -2)), (1, 1)),
        (((6, 7), (-2, 9)), (2, 1)),
    ):
        _check(xpu, dtype, (2, 4, 5, 3), (3, 2, 3, 4), strides, padding, lhs_dilation, rhs_dilation)


@pytest.mark.parametrize("dtype", every(3, DTYPES))
@pytest.mark.parametrize("groups", [1, 2, 16])
def test_groups_and_full_vectors_of_channels(xpu, dtype, groups) -> None:
    for lhs_dilation, strides in (((2, 2), (1, 1)), ((3, 1), (2, 1)), ((1, 1), (2, 1))):
        _check(
            xpu,
            dtype,
            (2, 5, 4, 16),
            (3, 3, 16 // groups, 32),
            strides,
            ((1, 2), (-1, 3)),
            lhs_dilation,
            groups=groups,
        )


@pytest.mark.parametrize("dtype", every(3, DTYPES))
def test_one_and_three_dimensions(xpu, dtype) -> None:
    for padding in ((1, 1), (-2, 5), (9, 0)):
        for base in (1, 2, 4):
            for stride in (1, 3):
                _check(xpu, dtype, (2, 9, 3), (3, 3, 4), (stride,), (padding,), (base,))
    _check(
        xpu,
        dtype,
        (1, 3, 4, 2, 3),
        (2, 3, 2, 3, 4),
        (1, 1, 2),
        ((1, 1), (-1, 2), (3, 0)),
        (2, 3, 1),
    )


def test_results_that_see_padding_alone_are_zero(xpu) -> None:
    for base in (1, 3):
        _check(xpu, "float32", (1, 2, 2, 3), (3, 3, 3, 4), (1, 1), ((9, -9), (1, 1)), (base, base))
    x, w = np.ones((1, 4, 4, 3), np.float32), np.full((3, 3, 3, 2), np.inf, np.float32)
    function = jax.jit(
        lambda x, w: lax.conv_general_dilated(
            x,
            w,
            (1, 1),
            [(20, -10), (1, 1)],
            lhs_dilation=(2, 1),
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )
    )
    np.testing.assert_array_equal(function(*jax.device_put((x, w), xpu)), np.zeros((1, 15, 4, 2)))


@pytest.mark.parametrize("strides", [(2, 2), (3, 1)])
@pytest.mark.parametrize("channels", [3, 16])
def test_gradients_by_the_source(xpu, channels, strides) -> None:
    """They are convolutions of a dilated source: each element has the weights that met it."""
    x = np.ones((2, 6, 7, channels), np.float32)
    for kernel, padding in (
        ((3, 3), ((1, 1), (2, 0))),
        ((1, 1), ((0, 0), (0, 0))),
        ((2, 1), ((1, 2), (3, 1))),
    ):
        w = np.ones((*kernel, channels, 4), np.float32)
        w[0, 0, :, 0] = np.inf

        def convolve(x, w, padding=padding):
            return lax.conv_general_dilated(
                x, w, strides, padding, dimension_numbers=("NHWC", "HWIO", "NHWC")
            )

        y = jax.eval_shape(convolve, x, w)
        by_source = jax.jit(lambda x, w, g: jax.vjp(lambda x: convolve(x, w), x)[1](g)[0])
        gradient = np.asarray(by_source(*jax.device_put((x, w, np.ones(y.shape, y.dtype)), xpu)))
        expected = np.zeros(x.shape)
        for at in np.ndindex(*y.shape[1:3]):
            for tap in np.ndindex(*kernel):
                place = [
                    o * s - low + j
                    for o, s, (low, _), j in zip(at, strides, padding, tap, strict=True)
                ]
                if all(0 <= p < n for p, n in zip(place, x.shape[1:3], strict=True)):
                    expected[:, place[0], place[1]] += w[tap].sum(-1)
        assert np.array_equal(gradient[expected == np.inf], expected[expected == np.inf])
        # An element that some window beyond the result would read has its padding.
        beside = np.isnan(gradient).any((0, 3))
        assert not beside[strides[0] : -strides[0], strides[1] : -strides[1]].any()
        finite = np.isfinite(expected) & ~np.isnan(gradient)
        np.testing.assert_array_equal(
            gradient[finite], expected[finite], err_msg=f"{kernel} {padding}"
        )


@pytest.mark.parametrize("strides", [(2, 2), (3, 1), (1, 4)])
def test_gradients_by_a_kernel_of_one_element(xpu, strides) -> None:
    """Sums over samples of the source: a position in the padding takes no part, whatever its
    gradient is.
    """
    padding = ((1, 2), (3, 1))
    x, w = np.ones((2, 6, 7, 3), np.float32), np.ones((1, 1, 3, 4), np.float32)

    def convolve(x, w):
        return lax.conv_general_dilated(
            x, w, strides, padding, dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    g = np.ones(jax.eval_shape(convolve, x, w).shape, np.float32)
    count = 0
    for at in np.ndindex(*g.shape[1:3]):
        place = [o * s - low for o, s, (low, _) in zip(at, strides, padding, strict=True)]
        if all(0 <= p < n for p, n in zip(place, x.shape[1:3], strict=True)):
            count += x.shape[0]
        else:
            g[:, at[0], at[1]] = np.inf
    by_kernel = jax.jit(lambda x, w, g: jax.vjp(lambda w: convolve(x, w), w)[1](g)[0])
    np.testing.assert_array_equal(
        by_kernel(*jax.device_put((x, w, g), xpu)), np.full(w.shape, count)
    )
