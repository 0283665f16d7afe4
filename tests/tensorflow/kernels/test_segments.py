"""Segment reductions, also of rows that indices pick, their gradients, and numbers that are
wrong.
"""

from __future__ import annotations

from typing import Any

import both
import compare
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering, every

R = tf.raw_ops
FLOATING = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
RANDOM = np.random.RandomState(0)
ROWS = RANDOM.randn(12, 3, 2) * 4
NUMBERS = np.array([0, 0, 0, 1, 3, 3, 3, 3, 4, 6, 6, 9])  # with gaps
INDICES = RANDOM.randint(0, 12, 12)

SEGMENT = ["SegmentSum", "SegmentMean", "SegmentProd", "SegmentMin", "SegmentMax"]
SPARSE = ["SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"]


@covering(wide=[False, True], dtype=every(2, [*FLOATING, np.int32, np.int64]), op=SEGMENT)
def test_segments(op: str, dtype: Any, wide: bool) -> None:
    ids = NUMBERS.astype(np.int64 if wide else np.int32)
    both.check(lambda: getattr(R, op)(data=ROWS.astype(dtype), segment_ids=ids), modes=("eager",))


@covering(wide=[(False, False), (True, False), (True, True)], dtype=every(2, FLOATING), op=SPARSE)
def test_sparse_segments(op: str, dtype: Any, wide: tuple[bool, bool]) -> None:
    inputs = {
        "data": ROWS.astype(dtype),
        "indices": INDICES.astype(np.int64 if wide[0] else np.int32),
        "segment_ids": NUMBERS.astype(np.int64 if wide[1] else np.int32),
    }
    both.check(lambda: getattr(R, op)(**inputs), modes=("eager",))
    both.check(lambda: getattr(R, op + "WithNumSegments")(**inputs, num_segments=12))


@covering(dtype=every(2, FLOATING), op=SPARSE)
def test_gradients_of_sparse_segments(op: str, dtype: Any) -> None:
    slopes = RANDOM.randn(10, 3, 2).astype(dtype)
    indices, ids = INDICES.astype(np.int32), NUMBERS.astype(np.int32)
    both.check(
        lambda: getattr(R, op + "Grad")(
            grad=slopes, indices=indices, segment_ids=ids, output_dim0=15
        )
    )


@covering(wide=[(False, False), (True, False), (True, True)], dtype=every(2, FLOATING), op=SPARSE)
def test_gradients_of_the_rows_that_have_indices(
    op: str, dtype: Any, wide: tuple[bool, bool]
) -> None:
    given = {
        "grad": RANDOM.randn(10, 3, 2).astype(dtype),
        "indices": INDICES.astype(np.int64 if wide[0] else np.int32),
        "segment_ids": NUMBERS.astype(np.int64 if wide[1] else np.int32),
    }
    both.check(lambda: getattr(R, op + "GradV2")(**given, dense_output_dim0=12), modes=("eager",))


def test_gradients_of_many_rows() -> None:
    ids = np.sort(RANDOM.randint(0, 3000, 100_000)).astype(np.int32)
    slopes, indices = (
        RANDOM.randn(3000, 33).astype(np.float32),
        RANDOM.randint(0, 5000, 100_000).astype(np.int32),
    )
    both.check(
        lambda: R.SparseSegmentSumGradV2(
            grad=slopes, indices=indices, segment_ids=ids, dense_output_dim0=5000
        ),
        modes=("eager",),
    )


def test_no_gradients() -> None:
    none = tf.zeros([0], tf.int32)
    both.check(
        lambda: R.SparseSegmentSumGradV2(
            grad=tf.ones([4, 2]), indices=none, segment_ids=none, dense_output_dim0=5
        ),
        modes=("eager",),
    )


@pytest.mark.parametrize("indices", [[0, 5], [-1, 0]])
def test_gradients_of_no_row(indices: list[int]) -> None:
    both.check_refused(
        lambda: R.SparseSegmentSumGradV2(
            grad=tf.ones([2, 2]), indices=indices, segment_ids=[0, 1], dense_output_dim0=5
        )
    )


@pytest.mark.parametrize("columns", [1, 7, 64])
def test_many_rows(columns: int) -> None:
    rows = RANDOM.randn(100_000, columns).astype(np.float32)
    ids = np.sort(RANDOM.randint(0, 3000, len(rows))).astype(np.int32)
    # Sums of some dozen numbers of the order of one.
    both.check(lambda: R.SegmentSum(data=rows, segment_ids=ids), modes=("eager",), ulps=64)
    both.check(lambda: R.SegmentMax(data=rows, segment_ids=ids), modes=("eager",), ulps=0)


def test_nan_and_infinities_stay_in_their_segment() -> None:
    rows = np.array([[1.0], [np.nan], [np.inf], [2.0], [-np.inf], [3.0]], np.float32)
    with tf.device("/XPU:0"):
        sums = R.SegmentSum(data=rows, segment_ids=[0, 1, 2, 2, 3, 4])
    np.testing.assert_array_equal(sums[:, 0], [1, np.nan, np.inf, -np.inf, 3])


def test_nothing() -> None:
    empty = tf.zeros([0], tf.int32)
    both.check(lambda: R.SegmentSum(data=tf.zeros([0, 3]), segment_ids=empty), modes=("eager",))
    both.check(lambda: R.SegmentSum(data=tf.zeros([3, 0]), segment_ids=[0, 1, 1]), modes=("eager",))
    both.check(
        lambda: R.SparseSegmentMeanWithNumSegments(
            data=tf.ones([4, 2]), indices=empty, segment_ids=empty, num_segments=3
        )
    )


def test_wrong_numbers() -> None:
    data = tf.ones([3, 2])
    for ids in ([2, 1, 3], [-1, 1, 3], [0, 1, -2], [0, 1], [[0, 1, 2]]):
        both.check_refused(lambda ids=ids: R.SegmentSum(data=data, segment_ids=ids))
    for indices in ([0, 3], [-1, 0], [0]):
        both.check_refused(
            lambda i=indices: R.SparseSegmentSum(data=data, indices=i, segment_ids=[0, 0])
        )
    for segments in (4, -1):
        both.check_refused(
            lambda n=segments: R.SparseSegmentSumWithNumSegments(
                data=data, indices=[0, 1], segment_ids=[0, 4], num_segments=n
            )
        )


def test_an_embedding_trains() -> None:
    """The gradient of a lookup of bags, as tf.nn.embedding_lookup_sparse makes it."""
    table = tf.constant(RANDOM.randn(20, 4).astype(np.float32))
    bags = tf.SparseTensor(
        [[0, 0], [0, 1], [2, 0], [3, 0], [3, 1]], tf.constant([3, 7, 3, 19, 0], tf.int64), [4, 2]
    )

    def slope() -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(table)
            y = tf.nn.embedding_lookup_sparse(table, bags, None, combiner="mean")
            loss = tf.reduce_sum(y * y)
        return tf.convert_to_tensor(tape.gradient(loss, table))

    expected = compare.on("/CPU:0", slope)
    compare.assert_same(compare.on("/XPU:0", slope), expected)


@covering(columns=[1, 4, 21], dtype=every(2, [np.float32, np.float64, np.float16]))
def test_the_extreme_of_a_segment_with_nan_is_nan(dtype: type, columns: int) -> None:
    """TensorFlow's CPU kernel drops or keeps NaN depending on the order of rows and the number of
    columns.
    """
    random = np.random.default_rng(0)
    rows = random.normal(size=(60, columns)).astype(dtype)
    rows[random.random(rows.shape) < 0.1] = np.nan
    ids = np.sort(random.integers(0, 17, 60))
    for op, extreme in ((tf.math.segment_max, np.max), (tf.math.segment_min, np.min)):
        with tf.device("/XPU:0"):
            actual = op(rows, ids).numpy()
        for segment in np.unique(ids):
            np.testing.assert_array_equal(actual[segment], extreme(rows[ids == segment], axis=0))
