"""Transpose and ConjugateTranspose, with dimensions counted from either end."""

from __future__ import annotations

from typing import Any

import both
import numpy as np
import pytest
import tensorflow as tf

R = tf.raw_ops
OPS = [R.Transpose, R.ConjugateTranspose]


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.int32, np.bool_])
@pytest.mark.parametrize("perm", [[0, 1, 2], [2, 0, 1], [-1, 0, 1], [-2, -1, -3], [-3, 2, -2]])
def test_dimensions(op: Any, dtype: Any, perm: list[int]) -> None:
    values = np.arange(24).reshape(2, 3, 4)
    x = (values * (1 - 2j) if dtype == np.complex64 else values).astype(dtype)
    both.check(lambda: op(x=x, perm=perm), ulps=0)


@pytest.mark.parametrize("op", OPS)
def test_scalars_and_nothing(op: Any) -> None:
    both.check(lambda: op(x=np.float32(3), perm=np.zeros(0, np.int32)), ulps=0)
    both.check(lambda: op(x=np.zeros((0, 3), np.float32), perm=[-1, 0]), ulps=0)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(
    "perm", [[0, 1], [0, 1, 1], [0, 1, 3], [0, 1, -4], [[0, 1, 2]], [0, 1, -2]]
)
def test_refused(op: Any, perm: Any) -> None:
    both.check_refused(lambda: op(x=np.zeros((2, 3, 4), np.float32), perm=perm))
