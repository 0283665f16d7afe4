"""Scatters into arrays and variables, and AMSGrad, which keeps the maximum of second moments."""

from __future__ import annotations

from typing import Any

import both
import compare
import numpy as np
import pytest
import tensorflow as tf

R = tf.raw_ops
X = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
TYPES = [np.float32, np.float64, np.int32, np.int64]


@pytest.mark.parametrize("dtype", [*TYPES, np.complex64])
def test_scatter_nd_non_aliasing_add(dtype: Any) -> None:
    x = X.astype(dtype)
    both.check(lambda: R.ScatterNdNonAliasingAdd(input=x, indices=[[1], [3], [1]], updates=x[:3]))
    both.check(
        lambda: R.ScatterNdNonAliasingAdd(input=x, indices=[[0, 2], [3, 1]], updates=x[:2, 0])
    )


def test_updates_that_do_not_fit() -> None:
    both.check_refused(lambda: R.ScatterNdNonAliasingAdd(input=X, indices=[[1]], updates=X))
    both.check_refused(lambda: R.InplaceAdd(x=X, i=[0, 1], v=X))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", ["InplaceUpdate", "InplaceAdd", "InplaceSub"])
def test_rows(op: str, dtype: Any) -> None:
    rows = X[:2].astype(dtype) * 3
    for numbers in ([2, 0], [-1, 5]):  # these wrap around
        expected = X.astype(dtype)
        for number, row in zip(numbers, rows, strict=True):
            i = number % 4
            expected[i] = {
                "InplaceUpdate": row,
                "InplaceAdd": expected[i] + row,
                "InplaceSub": expected[i] - row,
            }[op]
        for mode in both.MODES:
            x = tf.constant(X.astype(dtype))
            actual = compare.on(
                "/XPU:0", lambda x=x, n=numbers: getattr(R, op)(x=x, i=n, v=rows), mode
            )
            np.testing.assert_array_equal(actual, expected)


def test_deep_copies() -> None:
    with tf.device("/XPU:0"):
        np.testing.assert_array_equal(R.DeepCopy(x=tf.constant(X)), X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_variables(dtype: Any) -> None:
    indices = [[3, 0], [1, 2], [3, 0]]
    updates = (X[0] * 7 - 20).astype(dtype)

    def run(device: str) -> list[tf.Tensor]:
        with tf.device(device):
            variable = tf.Variable(X.astype(dtype))
            read = R.ResourceGatherNd(
                resource=variable.handle, indices=indices, dtype=variable.dtype
            )
            R.ResourceScatterNdMax(ref=variable.handle, indices=indices, updates=updates)
            first = variable.read_value()
            R.ResourceScatterNdMin(ref=variable.handle, indices=indices, updates=-updates)
            return [read, first, variable.read_value()]

    compare.assert_same(run("/XPU:0"), run("/CPU:0"))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_amsgrad(dtype: Any) -> None:
    random = np.random.RandomState(0)
    gradients = [random.randn(5, 3).astype(dtype) * s for s in (1, 3, 0.1)]
    scalars = {
        name: tf.constant(value, dtype)
        for name, value in (("lr", 0.1), ("beta1", 0.9), ("beta2", 0.99))
    }

    def run(device: str) -> list[tf.Tensor]:
        with tf.device(device):
            variable, m, v, greatest = (
                tf.Variable(tf.fill([5, 3], tf.constant(x, dtype))) for x in (1, 0, 0, 0)
            )
            for step, gradient in enumerate(gradients, 1):
                R.ResourceApplyAdamWithAmsgrad(
                    var=variable.handle,
                    m=m.handle,
                    v=v.handle,
                    vhat=greatest.handle,
                    beta1_power=tf.constant(0.9**step, dtype),
                    beta2_power=tf.constant(0.99**step, dtype),
                    epsilon=tf.constant(1e-3, dtype),
                    grad=gradient,
                    **scalars,
                )
            return [variable.read_value(), m.read_value(), v.read_value(), greatest.read_value()]

    compare.assert_same(run("/XPU:0"), run("/CPU:0"))
