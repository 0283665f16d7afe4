"""Bands and diagonals of matrices against TensorFlow's CPU kernels."""

from __future__ import annotations

from typing import Any

import both
import compare
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering

RAW = tf.raw_ops
SHAPES = [(3, 5), (5, 3), (4, 4), (1, 4), (4, 1), (2, 3, 5), (2, 0, 3, 5), (0, 4), (4, 0)]


def elements(shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    values = np.random.default_rng(0).integers(1, 100, shape)
    return values.astype(dtype)


@pytest.mark.parametrize("shape", SHAPES)
def test_bands(shape: tuple[int, ...]) -> None:
    rows, columns = shape[-2:]
    x = elements(shape)
    counts = [
        (index(lower), index(upper))
        for lower in {-1, 0, min(1, rows), rows}
        for upper in {-5, 0, min(2, columns), columns}
        for index in (np.int32, np.int64)
    ]
    both.check(
        lambda: [
            RAW.MatrixBandPart(input=x, num_lower=lower, num_upper=upper) for lower, upper in counts
        ],
        modes=("jit",),
    )


def test_bands_of_computed_width() -> None:
    x = elements((2, 3, 5))
    for lower, upper in ((1, -1), (0, 2)):
        # Operands of a program, not constants.
        counts = [tf.constant(lower), tf.constant(upper)]
        both.check(
            lambda counts=counts: RAW.MatrixBandPart(
                input=x, num_lower=counts[0], num_upper=counts[1]
            )
        )


@pytest.mark.parametrize("dtype", compare.TYPES)
def test_types(dtype: Any) -> None:
    x, square = elements((2, 3, 5), dtype), elements((2, 3, 2, 3), dtype)

    def results() -> Any:
        found = [
            RAW.MatrixDiagPartV3(input=x, k=[-1, 2], padding_value=dtype(1)),
            RAW.MatrixDiagPartV3(input=x, k=1, padding_value=dtype(0)),
            RAW.MatrixBandPart(input=x, num_lower=1, num_upper=1),
        ]
        if dtype in (np.int32, np.int64, np.float32, np.float64, np.complex64, np.complex128):
            found.append(RAW.DiagPart(input=square))
        return found

    both.check(results, modes=("jit",))


def test_diagonal_of_a_tensor() -> None:
    shapes = [(0, 0), (1, 1), (5, 5), (2, 3, 2, 3), (2, 1, 3, 2, 1, 3)]
    operands = [elements(shape) for shape in shapes]
    both.check(lambda: [RAW.DiagPart(input=x) for x in operands])


@pytest.mark.parametrize("values", [np.nan, np.inf, -0.0])
def test_elements_stay_as_they_are(values: float) -> None:
    x = np.full((3, 3), values, np.float32)
    for function in (
        lambda: RAW.DiagPart(input=x),
        lambda: RAW.MatrixDiagPartV3(input=x, k=[-2, 1], padding_value=1.0),
        lambda: RAW.MatrixBandPart(input=x, num_lower=1, num_upper=0),
    ):
        expected = compare.on("/CPU:0", function).numpy().view(np.int32)
        for mode in both.MODES:
            actual = compare.on("/XPU:0", function, mode).numpy().view(np.int32)
            np.testing.assert_array_equal(actual, expected)


@covering(shape=SHAPES, align=["LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"])
def test_diagonals(shape: tuple[int, ...], align: str) -> None:
    rows, columns = shape[-2:]
    x = elements(shape)
    indices = sorted({0, *range(1 - rows, columns)})
    ranges = [
        lower if lower == upper else [lower, upper]
        for lower in indices
        for upper in indices[indices.index(lower) :: 2]
    ]

    def results() -> Any:
        found = [RAW.MatrixDiagPartV3(input=x, k=k, padding_value=7.0, align=align) for k in ranges]
        if align == "LEFT_LEFT":
            found += [RAW.MatrixDiagPartV2(input=x, k=k, padding_value=7.0) for k in ranges]
        return found

    both.check(results, modes=("jit",))


def test_diagonals_alone() -> None:
    x = elements((2, 3, 5))
    for k in (1, [-1, 2]):
        both.check(lambda k=k: RAW.MatrixDiagPartV3(input=x, k=k, padding_value=7.0))


def test_refuses_diagonals_outside() -> None:
    x = elements((3, 5))
    for k in (5, -3, [1, 5], [2, 1], [0, 1, 2]):
        both.check_refused(lambda k=k: RAW.MatrixDiagPartV3(input=x, k=k, padding_value=0.0))
    both.check_refused(lambda: RAW.DiagPart(input=elements((2, 3, 3, 2))))
