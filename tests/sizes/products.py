"""Families of products: dots in every layout, batches, and small convolutions."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.sizes.cases import Case, family, signs, small, wide

TYPES = ("bfloat16", "float32", "float64", "int32")
TYPES_TOO = ("int8", "float16", "float32", "complex64")


def product(lhs: np.ndarray, rhs: np.ndarray, dimensions, preferred: str | None = None) -> Case:
    """A dot of small integers, whose sums are exact in every order. The result is rounded once to
    its dtype.
    """

    def reference(x, y):
        x, y = wide(x), wide(y)
        (contract_x, contract_y), (batch_x, batch_y) = dimensions
        letters = iter("abcdefghijk")
        of_x = [next(letters) for _ in x.shape]
        of_y = [next(letters) for _ in y.shape]
        for i, j in zip((*contract_x, *batch_x), (*contract_y, *batch_y), strict=True):
            of_y[j] = of_x[i]
        batch = [of_x[i] for i in batch_x]
        free = [letter for i, letter in enumerate(of_x) if i not in (*contract_x, *batch_x)]
        free += [letter for i, letter in enumerate(of_y) if i not in (*contract_y, *batch_y)]
        return np.einsum(f"{''.join(of_x)},{''.join(of_y)}->{''.join(batch + free)}", x, y)

    return Case(
        lambda x, y: lax.dot_general(
            x, y, dimensions, precision=lax.Precision.HIGHEST, preferred_element_type=preferred
        ),
        (lhs, rhs),
        reference,
    )


# Up to kMaxElementLoopProducts = 32 K multiply-adds (dot_queries.h) each element is a loop, beyond
# that the kernel computes blocks: contracted extents of 3 and 70 cover both.
for _contracted, _types in ((3, TYPES), (70, TYPES_TOO)):

    @family(f"matrix product of {_contracted}", _types)
    def _(m, n, dtype, k=_contracted):
        return product(small((m, k), dtype), signs((k, n), dtype), (((1,), (0,)), ((), ())))

    @family(f"product of a transposed matrix, of {_contracted}", _types)
    def _(m, n, dtype, k=_contracted):
        return product(small((k, m), dtype), signs((k, n), dtype), (((0,), (0,)), ((), ())))

    @family(f"product with a transposed matrix, of {_contracted}", _types)
    def _(m, n, dtype, k=_contracted):
        return product(small((m, k), dtype), signs((n, k), dtype), (((1,), (1,)), ((), ())))


@family("contracted dimension", TYPES)
def _(m, n, dtype):
    return product(small((m, n), dtype), signs((n, 20), dtype), (((1,), (0,)), ((), ())))


@family("contracted dimension of a transposed matrix", TYPES_TOO)
def _(m, n, dtype):
    return product(small((n, 33), dtype), signs((n, m), dtype), (((0,), (0,)), ((), ())))


@family("batch of matrix products", TYPES)
def _(m, n, dtype):
    return product(small((3, m, 5), dtype), signs((3, 5, n), dtype), (((2,), (1,)), ((0,), (0,))))


@family("batch of larger matrix products", TYPES_TOO)
def _(m, n, dtype):
    return product(small((2, m, 40), dtype), signs((2, n, 40), dtype), (((2,), (2,)), ((0,), (0,))))


@family("batch dimension", ("float32", "bfloat16"))
def _(m, n, dtype):
    return product(small((m, 4, n), dtype), signs((m, n, 3), dtype), (((2,), (1,)), ((0,), (0,))))


@family("matrix times vector", TYPES)
def _(m, n, dtype):
    return product(small((m, n), dtype), signs(n, dtype), (((1,), (0,)), ((), ())))


@family("vector times matrix", TYPES_TOO)
def _(m, n, dtype):
    return product(small(m, dtype), signs((m, n), dtype), (((0,), (0,)), ((), ())))


@family("one row times many columns", ("float32", "bfloat16"))
def _(m, n, dtype):
    # 1 to 9 rows; columns that are and are not multiples of 64 and 128 (ColumnsTogether,
    # schedules/dot.cc).
    return product(
        small((1 + m % 9, 70), dtype), signs((70, 448 + n), dtype), (((1,), (0,)), ((), ()))
    )


@family("outer product", ("float32", "int64"))
def _(m, n, dtype):
    return Case(
        lambda x, y: jnp.outer(x, y),
        (small(m, dtype), small(n, dtype, 1)),
        lambda x, y: np.outer(wide(x), wide(y)),
    )


@family("int8 product with int32 sums", ("int8",))
def _(m, n, dtype):
    return product(
        small((m, 70), dtype), small((70, n), dtype, 1), (((1,), (0,)), ((), ())), "int32"
    )


@family("product with bias and ReLU", ("float32", "bfloat16"))
def _(m, n, dtype):
    return Case(
        lambda x, y, b: jnp.maximum(jnp.matmul(x, y, precision="highest") + b, 0),
        (small((m, 24), dtype), signs((24, n), dtype), small(n, dtype, 1)),
        lambda x, y, b: np.maximum(wide(x) @ wide(y) + wide(b), 0),
    )


def _convolution(x: np.ndarray, kernel: np.ndarray) -> Case:
    """An NCHW convolution with stride 1 and no padding."""

    def reference(x, kernel):
        windows = np.lib.stride_tricks.sliding_window_view(
            wide(x), kernel.shape[2:], tuple(range(2, x.ndim))
        )
        space = "xyz"[: x.ndim - 2]
        return np.einsum(
            f"bc{space}{space.upper()},oc{space.upper()}->bo{space}", windows, wide(kernel)
        )

    return Case(
        lambda x, kernel: lax.conv(x, kernel, (1,) * (x.ndim - 2), "VALID", precision="highest"),
        (x, kernel),
        reference,
    )


@family("convolution of a row", ("float32", "bfloat16"))
def _(m, n, dtype):
    return _convolution(small((2, 1 + m % 17, n + 2), dtype), signs((3, 1 + m % 17, 3), dtype))


@family("convolution of a plane", ("float32", "float16", "float64", "int32"))
def _(m, n, dtype):
    return _convolution(small((1, 2, m + 1, n + 2), dtype), signs((3, 2, 2, 3), dtype))
