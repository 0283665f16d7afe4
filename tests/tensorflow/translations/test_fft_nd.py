"""Fourier transforms over any number of dimensions, cut and filled up to lengths."""

from __future__ import annotations

import both
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering

R = tf.raw_ops
RANDOM = np.random.RandomState(0)
X = RANDOM.randn(2, 3, 4, 8) + 1j * RANDOM.randn(2, 3, 4, 8)

LENGTHS = [
    ([8], [3]),
    ([4, 8], [2, 3]),
    ([3, 4, 8], [-3, -2, -1]),
    ([2, 3, 4, 8], [0, 1, 2, 3]),
    ([2, 6], [2, 3]),
]


@pytest.mark.parametrize(("length", "axes"), LENGTHS)
@covering(op=["FFTND", "IFFTND", "RFFTND", "IRFFTND"], wide=[False, True])
def test_transforms(wide: bool, op: str, length: list[int], axes: list[int]) -> None:
    x = X.real if op == "RFFTND" else X
    x = tf.constant(x if wide else x.astype(np.float32 if op == "RFFTND" else np.complex64))
    types = {"Tcomplex": tf.complex128 if wide else tf.complex64} if op == "RFFTND" else {}
    if op == "IRFFTND":
        types = {"Treal": tf.float64 if wide else tf.float32}
    both.check(lambda: getattr(R, op)(input=x, fft_length=length, axes=axes, **types))


def test_what_is_longer_is_filled_up() -> None:
    x = tf.constant(X.astype(np.complex64))
    both.check(lambda: R.FFTND(input=x, fft_length=[5, 11], axes=[2, 3]))


def test_arguments_that_do_not_fit() -> None:
    x = tf.constant(X.astype(np.complex64))
    for length, axes in (
        ([3], [1]),
        ([4, 3], [3, 2]),
        ([3, 4], [1, 3]),
        ([4], [2, 3]),
        ([-1], [3]),
    ):
        both.check_refused(lambda n=length, a=axes: R.FFTND(input=x, fft_length=n, axes=a))
    both.check_refused(lambda: R.RFFTND(input=tf.ones([4]), fft_length=[8], axes=[0]))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_inverse_of_the_last_dimension(dtype: type) -> None:
    with_nan = X.copy()
    with_nan[1, 2, 3, 4] = np.nan
    arrays = [X, X[..., :7], with_nan, *(np.ones(shape) for shape in ((1,), (0,), (3, 0), (0, 4)))]
    # Arrays of numpy would become complex64.
    operands = [tf.constant(x.astype(dtype)) for x in arrays]
    both.check(lambda: [R.IFFT(input=x) for x in operands])
    both.check_refused(lambda: R.IFFT(input=tf.constant(dtype(1))))
