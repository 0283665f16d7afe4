"""ResourceSparseApply*: optimisers' updates of the rows that indices pick, against TensorFlow's CPU
kernels.
"""

from __future__ import annotations

from typing import Any

import both
import compare
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering

R = tf.raw_ops
FLOATING = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]

# Op: slots, scalars (named as inputs), flag.
OPS: dict[str, tuple[list[str], dict[str, float], str | None]] = {
    "Adagrad": (["accum"], {"lr": 0.1}, "update_slots"),
    "AdagradV2": (["accum"], {"lr": 0.1, "epsilon": 1e-3}, "update_slots"),
    "ProximalAdagrad": (["accum"], {"lr": 0.1, "l1": 0.25, "l2": 0.5}, None),
    "Adadelta": (["accum", "accum_update"], {"lr": 0.5, "rho": 0.75, "epsilon": 1e-2}, None),
    "Ftrl": (
        ["accum", "linear"],
        {"lr": 0.1, "l1": 0.25, "l2": 0.5, "lr_power": -0.5},
        "multiply_linear_by_lr",
    ),
    "FtrlV2": (
        ["accum", "linear"],
        {"lr": 0.1, "l1": 0.25, "l2": 0.5, "l2_shrinkage": 0.125, "lr_power": -0.75},
        "multiply_linear_by_lr",
    ),
    "KerasMomentum": (["accum"], {"lr": 0.1, "momentum": 0.75}, "use_nesterov"),
}


def updated(
    op: str,
    dtype: Any,
    shape: tuple[int, ...],
    indices: np.ndarray,
    flag: bool | None = None,
    **changed: float,
) -> list[tf.Tensor]:
    """The variable and its slots after two updates."""
    slots, scalars, flag_name = OPS[op]
    random = np.random.RandomState(1)
    variables = [
        tf.Variable(random.uniform(0.5, 1.5, shape).astype(dtype)) for _ in ["var", *slots]
    ]
    flags = {} if flag_name is None or flag is None else {flag_name: flag}
    for _ in range(2):
        getattr(R, "ResourceSparseApply" + op)(
            **{name: v.handle for name, v in zip(["var", *slots], variables, strict=True)},
            **{name: np.array(value, dtype) for name, value in (scalars | changed).items()},
            grad=random.uniform(-1, 1, (len(indices), *shape[1:])).astype(dtype),
            indices=indices,
            **flags,
        )
    return [v.read_value() for v in variables]


# Some operations in a row, each rounded by a unit in the last place or two, quotients and powers
# among them; TensorFlow's half types round after each.
def ulps(dtype: Any) -> float:
    return 64 if np.dtype(dtype).itemsize > 2 else 16


def check(*arguments: Any, **named: Any) -> None:
    both.check(lambda: updated(*arguments, **named), modes=("eager",), ulps=ulps(arguments[1]))


def check_against_float32(op: str, dtype: Any, *arguments: Any) -> None:
    """For what TensorFlow's CPU device has no kernel."""
    wide = compare.on("/CPU:0", lambda: updated(op, np.float32, *arguments))
    narrow = compare.on("/XPU:0", lambda: updated(op, dtype, *arguments))
    for a, e in zip(narrow, wide, strict=True):
        # What is given is rounded, and so is each of two updates.
        np.testing.assert_allclose(
            a.numpy().astype(np.float32), e, rtol=8 * float(ml_dtypes.finfo(dtype).eps)
        )


@covering(flag=[False, True], dtype=FLOATING, op=OPS)
def test_rules(op: str, dtype: Any, flag: bool) -> None:
    has_cpu_kernel = op != "ProximalAdagrad" or np.dtype(dtype).itemsize > 2
    (check if has_cpu_kernel else check_against_float32)(
        op, dtype, (9, 4), np.array([3, 1, 8], np.int32), flag
    )


@covering(shape=[(7,), (7, 1), (7, 2, 3), (1, 5), (3000, 17)], op=["Adagrad", "Adadelta", "Ftrl"])
def test_shapes(op: str, shape: tuple[int, ...]) -> None:
    indices = np.random.RandomState(0).permutation(shape[0])[: max(1, shape[0] // 2)]
    check(op, np.float32, shape, indices)


@pytest.mark.parametrize("op", OPS)
def test_gradients_of_one_row_follow_one_another(op: str) -> None:
    check(op, np.float64, (6, 3), np.array([4, 1, 4, 4, 0, 1]))


@pytest.mark.parametrize("power", [-0.5, -1.0, 0.0])
def test_powers_of_ftrl(power: float) -> None:
    check("Ftrl", np.float64, (6, 3), np.array([4, 1]), lr_power=power)


def test_no_penalty() -> None:
    check("ProximalAdagrad", np.float32, (6, 3), np.array([4, 1]), l1=0.0)


@covering(dtype=[np.float32, np.float64], op=OPS)
def test_values_that_are_not_finite(op: str, dtype: Any) -> None:
    """NaN in the variable, in a slot or in the gradient stays, also where l1 shrinks towards 0."""
    special = np.array([1, -1, 0, np.nan, np.inf, -np.inf], dtype)
    values, gradients, states = (a.reshape(-1, 1) for a in np.meshgrid(special, special, special))
    slots, scalars, _ = OPS[op]

    def applied() -> list[tf.Tensor]:
        variables = [tf.Variable(values), *(tf.Variable(np.abs(states)) for _ in slots)]
        getattr(R, "ResourceSparseApply" + op)(
            **{name: v.handle for name, v in zip(["var", *slots], variables, strict=True)},
            **{name: np.array(value, dtype) for name, value in scalars.items()},
            grad=gradients,
            indices=np.arange(len(values)),
        )
        return [v.read_value() for v in variables]

    both.check(applied, modes=("eager",), ulps=ulps(dtype))


def test_nothing() -> None:
    check("Adagrad", np.float32, (6, 3), np.zeros([0], np.int32))


def test_what_was_read_before_stays() -> None:
    with tf.device("/XPU:0"):
        variable, accum = tf.Variable(tf.ones([4, 2])), tf.Variable(tf.ones([4, 2]))
        before = variable.read_value()
        R.ResourceSparseApplyAdagrad(
            var=variable.handle, accum=accum.handle, lr=1.0, grad=tf.ones([1, 2]), indices=[2]
        )
        assert not np.array_equal(variable.numpy(), before.numpy())
        np.testing.assert_array_equal(before, np.ones([4, 2]))


def test_indices_of_no_row_are_left_out() -> None:
    """As TensorFlow's GPU kernels leave them out; nothing else is written."""
    with tf.device("/XPU:0"):
        variable, accum = tf.Variable(tf.ones([4, 2])), tf.Variable(tf.ones([4, 2]))
        R.ResourceSparseApplyAdagrad(
            var=variable.handle,
            accum=accum.handle,
            lr=1.0,
            grad=tf.ones([3, 2]),
            indices=[-1, 2, 4],
        )
        np.testing.assert_array_equal(np.nonzero(variable.numpy() != 1)[0], [2, 2])


def test_refused() -> None:
    def apply(**changed: Any) -> None:
        variable, accum = (
            tf.Variable(tf.ones([4, 2])),
            tf.Variable(tf.ones(changed.pop("slot", [4, 2]))),
        )
        R.ResourceSparseApplyAdagrad(
            **{
                "var": variable.handle,
                "accum": accum.handle,
                "lr": 1.0,
                "grad": tf.ones([1, 2]),
                "indices": [2],
            }
            | changed
        )

    both.check_refused(lambda: apply(slot=[4, 3]))
    both.check_refused(lambda: apply(lr=[1.0]))
    both.check_refused(lambda: apply(grad=tf.ones([2, 2])))
    both.check_refused(lambda: apply(grad=tf.ones([1, 3])))
    both.check_refused(lambda: apply(indices=[[2]]))


@pytest.mark.parametrize("optimizer", ["Adagrad", "Adadelta", "Ftrl"])
def test_an_embedding_learns(optimizer: str) -> None:
    def learned() -> tf.Tensor:
        table = tf.Variable(np.random.RandomState(0).randn(20, 4).astype(np.float32))
        rule = getattr(tf.compat.v1.train, optimizer + "Optimizer")(0.1)
        for step in range(3):
            with tf.GradientTape() as tape:
                rows = tf.nn.embedding_lookup(table, tf.constant([3, 1, 3, step]))
                loss = tf.reduce_sum(rows**2)
            gradient = tape.gradient(loss, table)
            assert isinstance(gradient, tf.IndexedSlices)
            rule.apply_gradients([(gradient, table)])
        return table.read_value()

    both.check(learned, modes=("eager",), ulps=64)
