"""CheckNumerics, CheckNumericsV2 and DebugNumericSummaryV2, what tf.debugging asks of tensors."""

from __future__ import annotations

from typing import Any

import both
import numpy as np
import pytest
import tensorflow as tf

import onexpu
from tests.exhaustive import covering, every

R = tf.raw_ops
FLOATING = [np.float16, tf.bfloat16.as_numpy_dtype, np.float32, np.float64]
INF, NAN = np.inf, np.nan


@covering(
    op=["CheckNumerics", "CheckNumericsV2"],
    dtype=FLOATING,
    shape=[(), (0,), (3, 5), (100_000,)],
)
def test_finite_tensors_pass(op: str, dtype: Any, shape: tuple[int, ...]) -> None:
    values = np.random.RandomState(0).randn(*shape)
    both.check(
        lambda: getattr(R, op)(tensor=tf.constant(values, dtype), message="x"),
        ulps=0,
        modes=("eager", "graph"),
    )


@pytest.mark.parametrize(
    ("values", "first", "second"),
    [
        ([1, NAN], "NaN", "NaN"),
        ([INF, 1], "Inf", r"\+Inf"),
        ([-INF, 1], "Inf", "-Inf"),
        ([-INF, INF], "Inf", r"-Inf and \+Inf"),
        ([NAN, INF], "Inf and NaN", r"\+Inf and NaN"),
        ([NAN, INF, -INF], "Inf and NaN", r"-Inf, \+Inf, and NaN"),
    ],
)
@pytest.mark.parametrize("dtype", FLOATING)
def test_the_error_says_what_was_found(
    dtype: Any, values: list[float], first: str, second: str
) -> None:
    for op, found in ((R.CheckNumerics, first), (R.CheckNumericsV2, second)):
        for device in ("/CPU:0", "/XPU:0"):
            with (
                tf.device(device),
                pytest.raises(
                    tf.errors.InvalidArgumentError, match=f"here : Tensor had {found} values"
                ),
            ):
                op(tensor=tf.constant(values, dtype), message="here")


def test_enable_check_numerics_names_the_op() -> None:
    tf.debugging.enable_check_numerics()
    try:
        with (
            tf.device("/XPU:0"),
            pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)Log.*-Inf"),
        ):
            tf.function(lambda x: tf.math.log(x) + 1.0)(tf.constant([1.0, 0.0]))
        with tf.device("/XPU:0"):
            report = onexpu.placement_report(tf.math.log, tf.constant([1.0, 2.0]))
        assert report.counts["on_demand"]["Log"] == 1 and not report.counts["host"]
    finally:
        tf.debugging.disable_check_numerics()


CURT_HEALTH, CONCISE_HEALTH, FULL_HEALTH, SHAPE, THREE_SLOTS = 2, 3, 4, 5, 8


@covering(
    out=[tf.float32, tf.float64],
    mode=[CURT_HEALTH, CONCISE_HEALTH, FULL_HEALTH, SHAPE, THREE_SLOTS],
    values=[[], [1, -2, 0, -0.0, 3], [NAN, 1], [INF, -1], [-INF], [NAN, -INF, INF, INF, 0, -1, 7]],
    dtype=every(2, [np.float16, np.float32, np.float64]),
)
def test_summaries(dtype: Any, values: list[float], mode: int, out: tf.DType) -> None:
    x = np.array(values, dtype)
    both.check(
        lambda: R.DebugNumericSummaryV2(
            input=x, output_dtype=out, tensor_debug_mode=mode, tensor_id=77
        ),
        ulps=0,
    )


@covering(
    dtype=[np.int32, np.int64, np.uint8, np.bool_],
    mode=[CURT_HEALTH, CONCISE_HEALTH, FULL_HEALTH, SHAPE, THREE_SLOTS],
)
def test_summaries_of_integers(dtype: Any, mode: int) -> None:
    x = np.arange(12).reshape(3, 4).astype(dtype)
    both.check(
        lambda: R.DebugNumericSummaryV2(input=x, tensor_debug_mode=mode, tensor_id=1), ulps=0
    )


@pytest.mark.parametrize("rank", [0, 1, 5, 6, 7, 8])
def test_shapes_of_six_dimensions(rank: int) -> None:
    x = np.zeros([2, 1, 3, 1, 2, 1, 2, 3][:rank], np.float32)
    both.check(
        lambda: R.DebugNumericSummaryV2(input=x, tensor_debug_mode=SHAPE, tensor_id=1), ulps=0
    )


def test_more_elements_than_a_float_counts() -> None:
    x = np.ones(2**24 + 7, np.float32)
    with tf.device("/XPU:0"):
        summary = R.DebugNumericSummaryV2(
            input=x, output_dtype=tf.float64, tensor_debug_mode=FULL_HEALTH, tensor_id=1
        )
    assert summary.numpy()[-1] == 2**24 + 7


def test_refused_summaries() -> None:
    x = np.ones(3, np.float32)
    both.check_refused(
        lambda: R.DebugNumericSummaryV2(input=x, tensor_debug_mode=2, tensor_id=2**24 + 1)
    )
    for device in ("/CPU:0", "/XPU:0"):
        with tf.device(device), pytest.raises(tf.errors.UnimplementedError, match="debug mode: 1"):
            R.DebugNumericSummaryV2(input=x, tensor_debug_mode=1, tensor_id=1)
