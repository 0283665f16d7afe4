"""Einsum against TensorFlow's CPU kernel."""

from __future__ import annotations

from typing import Any

import both
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import every

EQUATIONS: list[tuple[str, list[tuple[int, ...]]]] = [
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("ij,kj->ki", [(2, 3), (4, 3)]),
    ("bij,bjk->bik", [(5, 2, 3), (5, 3, 4)]),
    ("...ij,...jk->...ik", [(5, 2, 3), (5, 3, 4)]),
    ("...ij,...jk->...ik", [(1, 2, 3), (5, 3, 4)]),
    ("...ij,jk...->...ik", [(5, 2, 3), (3, 4)]),
    ("i...j,jk->i...k", [(2, 5, 6, 3), (3, 4)]),
    ("abc,cd->abd", [(2, 3, 4), (4, 5)]),
    ("abcd,cdeb->ae", [(2, 3, 4, 5), (4, 5, 6, 3)]),
    ("i,i->", [(7,), (7,)]),
    ("i,j->ij", [(3,), (4,)]),
    ("ij,kl->", [(2, 3), (4, 5)]),
    ("ij,ij->ij", [(2, 3), (2, 3)]),
    ("ij,ij->ji", [(2, 3), (2, 3)]),
    (",ij->ij", [(), (2, 3)]),
    ("iij,j->i", [(2, 2, 3), (3,)]),
    ("ij,jj->i", [(2, 3), (3, 3)]),
    ("ij->ji", [(2, 3)]),
    ("ij->", [(2, 3)]),
    ("ij->i", [(2, 3)]),
    ("ii->i", [(3, 3)]),
    ("ii->", [(3, 3)]),
    ("i->ii", [(3,)]),
    ("i,j->iij", [(3,), (2,)]),
    ("...ij->...ji", [(4, 2, 3)]),
    ("ij,jk->ik", [(2, 0), (0, 4)]),
    ("ij,jk->ik", [(0, 3), (3, 4)]),
    ("ij->i", [(2, 0)]),
]


def operands(shapes: list[tuple[int, ...]], dtype: Any) -> list[tf.Tensor]:
    random = np.random.default_rng(0)
    found = []
    for shape in shapes:
        x = random.normal(size=shape) * 3
        if np.issubdtype(dtype, np.complexfloating):
            x = x + 1j * random.normal(size=shape)
        found.append(tf.constant(np.asarray(x).astype(dtype)))
    return found


def test_equations() -> None:
    calls = [(equation, operands(shapes, np.float32)) for equation, shapes in EQUATIONS]
    both.check(
        lambda: [tf.raw_ops.Einsum(inputs=inputs, equation=equation) for equation, inputs in calls],
        modes=("jit",),
    )


@pytest.mark.parametrize("equation, shapes", every(8, EQUATIONS, unpack=True))
def test_equations_alone(equation: str, shapes: list[tuple[int, ...]]) -> None:
    inputs = operands(shapes, np.float32)
    both.check(lambda: tf.raw_ops.Einsum(inputs=inputs, equation=equation), modes=("eager",))


@pytest.mark.parametrize(
    "dtype",
    [
        np.float16,
        ml_dtypes.bfloat16,
        np.float64,
        np.complex64,
        np.complex128,
        np.int32,
        np.int64,
    ],
)
def test_types(dtype: Any) -> None:
    two, one = operands([(5, 2, 3), (5, 3, 4)], dtype), operands([(2, 2, 3)], dtype)
    both.check(
        lambda: [
            tf.raw_ops.Einsum(inputs=two, equation="bij,bjk->bik"),
            tf.raw_ops.Einsum(inputs=one, equation="iij->ji"),
        ],
        modes=("jit",),
    )


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite(value: float) -> None:
    x = np.ones((3, 3), np.float32)
    x[1, 1] = value
    both.check(
        lambda: tf.raw_ops.Einsum(inputs=[x, np.ones((3, 2), np.float32)], equation="ij,jk->ik")
    )
    both.check(lambda: tf.raw_ops.Einsum(inputs=[x], equation="ii->i"))


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("ij,jk->ik", [(2, 3), (4, 5)]),
        ("ij->i", [(2,)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ii->i", [(2, 3)]),
        ("ij,jk->ik", [(2, 3)]),
    ],
)
def test_refuses(equation: str, shapes: list[tuple[int, ...]]) -> None:
    inputs = operands(shapes, np.float32)
    both.check_refused(lambda: tf.raw_ops.Einsum(inputs=inputs, equation=equation))
