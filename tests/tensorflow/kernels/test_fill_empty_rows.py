"""SparseFillEmptyRows, RaggedFillEmptyRows and their gradients against TensorFlow's CPU kernels."""

from __future__ import annotations

from typing import Any

import both
import compare
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering

R = tf.raw_ops
NUMBERS = [one for one in compare.TYPES if one != np.bool_]
RANDOM = np.random.RandomState(0)


def exactly(function: Any) -> None:
    both.check(function, ulps=0, modes=("eager",))


def sparse(
    count: int, shape: tuple[int, ...], dtype: Any = np.float32, default: int = 7
) -> dict[str, Any]:
    return {
        "indices": np.stack([RANDOM.randint(0, size, count) for size in shape], 1).astype(np.int64),
        "values": RANDOM.randint(0, 100, count).astype(dtype),
        "dense_shape": np.array(shape, np.int64),
        "default_value": np.array(default, dtype),
    }


@pytest.mark.parametrize("dtype", [*NUMBERS, np.bool_])
def test_types(dtype: Any) -> None:
    given = sparse(20, (30, 4), dtype)
    exactly(lambda: R.SparseFillEmptyRows(**given))


@pytest.mark.parametrize(
    "shape", [(1, 1), (50,), (8, 3, 4), (4095, 2), (4096, 2), (4097, 2), (200_000, 3)]
)
@pytest.mark.parametrize("count", [0, 1, 5000])
def test_shapes(shape: tuple[int, ...], count: int) -> None:
    given = sparse(count, shape)
    exactly(lambda: R.SparseFillEmptyRows(**given))


@pytest.mark.parametrize("count", [0, 9])
def test_ragged(count: int) -> None:
    given = sparse(count, (12, 1))
    rows = np.sort(given["indices"][:, 0])
    exactly(
        lambda: R.RaggedFillEmptyRows(
            value_rowids=rows,
            values=given["values"],
            nrows=tf.constant(12, tf.int64),
            default_value=given["default_value"],
        )
    )


def test_no_rows() -> None:
    given = sparse(0, (5, 2)) | {"dense_shape": np.int64([0, 2])}
    exactly(lambda: R.SparseFillEmptyRows(**given))


@covering(dtype=NUMBERS, sizes=[(5, 9), (0, 3), (1, 1), (4000, 9000)])
def test_gradient(sizes: tuple[int, int], dtype: Any) -> None:
    taken, count = sizes
    moved_to = RANDOM.permutation(count)[:taken].astype(np.int64)
    slopes = RANDOM.randint(-2, 3, count).astype(dtype)  # whole numbers: sums are exact
    arguments = {"reverse_index_map": moved_to, "grad_values": slopes}
    exactly(lambda: R.SparseFillEmptyRowsGrad(**arguments))
    exactly(lambda: R.RaggedFillEmptyRowsGrad(**arguments))


@pytest.mark.parametrize("op", ["SparseFillEmptyRowsGrad", "RaggedFillEmptyRowsGrad"])
@pytest.mark.parametrize("slopes", [[], [1.0, 2.0, 4.0]])
def test_gradient_passes_over_places_that_there_are_not(op: str, slopes: list[float]) -> None:
    # As TensorFlow's GPU kernel does; its CPU kernel refuses them.
    with tf.device("/XPU:0"):
        moved, missing = getattr(R, op)(
            reverse_index_map=[-1, 1, 3], grad_values=np.array(slopes, np.float32)
        )
    assert moved.numpy().tolist() == [0.0, 2.0 if slopes else 0.0, 0.0]
    assert missing.numpy() == (5.0 if slopes else 0.0)


@pytest.mark.parametrize("row", [-1, 6])
def test_no_such_row(row: int) -> None:
    given = sparse(4, (6, 2))
    given["indices"][2, 0] = row
    both.check_refused(lambda: R.SparseFillEmptyRows(**given))
    with (
        tf.device("/XPU:0"),
        pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\(2, 0\)"),
    ):
        R.SparseFillEmptyRows(**given)


def test_refused() -> None:
    given = sparse(4, (6, 2))
    for changed in (
        {"indices": given["indices"][0]},
        {"values": given["values"][:2]},
        {"values": given["values"][None]},
        {"dense_shape": np.int64([[6, 2]])},
        {"default_value": np.float32([1])},
        {"dense_shape": np.int64([0, 2])},
    ):
        both.check_call_refused(R.SparseFillEmptyRows, **(given | changed))


def test_an_embedding_of_lists_some_of_them_empty() -> None:
    table = RANDOM.randn(10, 4).astype(np.float32)
    ids = tf.SparseTensor([[0, 0], [0, 1], [2, 0], [4, 3]], np.int64([3, 3, 9, 0]), [5, 4])

    def slopes() -> Any:
        weights = tf.Variable(table)
        with tf.GradientTape() as tape:
            rows = tf.nn.safe_embedding_lookup_sparse(weights, ids, combiner="mean")
            loss = tf.reduce_sum(rows**2)
        return rows, tf.convert_to_tensor(tape.gradient(loss, weights))

    both.check(slopes, modes=("eager",), ulps=16)
