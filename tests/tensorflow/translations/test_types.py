"""Types that an op's definition allows, and its translation or its kernel on TensorFlow's CPU does
not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import compare
import numpy as np
import pytest
import tensorflow as tf

import onexpu

R = tf.raw_ops
NUMBERS = np.arange(8, dtype=np.float32)
TWO_PRECISIONS: dict[str, Callable[[], Any]] = {
    "Signature mismatch: in=complex64 out=double": lambda: R.ComplexAbs(
        x=NUMBERS * 1j, Tout=tf.float64
    ),
    "Wrong types for forward real FFT: in=float out=complex128": lambda: R.RFFT(
        input=NUMBERS, fft_length=[8], Tcomplex=tf.complex128
    ),
    "Wrong types for forward real FFT: in=double out=complex64": lambda: R.RFFTND(
        input=NUMBERS.astype(np.float64), fft_length=[8], axes=[0], Tcomplex=tf.complex64
    ),
    "Wrong types for backward real FFT: in=complex64 out=double": lambda: R.IRFFT(
        input=NUMBERS * 1j, fft_length=[8], Treal=tf.float64
    ),
}


@pytest.mark.parametrize("words", TWO_PRECISIONS)
@pytest.mark.parametrize("mode", compare.MODES)
def test_two_precisions_are_refused_as_on_the_cpu(words: str, mode: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        compare.on("/XPU:0", TWO_PRECISIONS[words], mode)
    if "out=complex64" not in words:  # the CPU has no kernel for transforms of any rank
        with pytest.raises(tf.errors.InvalidArgumentError, match=words.partition(":")[0]):
            compare.on("/CPU:0", TWO_PRECISIONS[words])


@pytest.mark.parametrize("op", ["Range", "SplitV"])
def test_the_cpu_has_what_xla_does_not_read(op: str) -> None:
    def split():
        return R.SplitV(
            value=NUMBERS, size_splits=tf.constant([3, 5], tf.int8), axis=0, num_split=2
        )

    call = split if op == "SplitV" else lambda: tf.range(*map(tf.constant, np.float16([1, 3, 0.5])))
    with tf.device("/CPU:0"):
        expected = call()
    compare.assert_same(compare.on("/XPU:0", call), expected)
    report = onexpu.placement_report(compare.on, "/XPU:0", call)
    assert op in report.counts["host"]
    assert all(reason.startswith("no kernel for XPU with ") for reason in report.reasons[op])


@pytest.mark.parametrize("index_type", [tf.int16, tf.int32, tf.int64])
@pytest.mark.parametrize(
    "dtype", [tf.bfloat16, tf.float16, tf.float32, tf.int8, tf.uint16, tf.uint64]
)
def test_top_k_with_places_of_each_type(dtype: tf.DType, index_type: tf.DType) -> None:
    x = tf.constant(np.random.RandomState(0).permutation(60).reshape(3, 20), dtype)
    for mode in compare.MODES:
        compare.check(lambda: R.TopKV2(input=x, k=np.int64(7), index_type=index_type), mode)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have last dimension >= k"):
        compare.on("/XPU:0", lambda: R.TopKV2(input=x, k=21))


def test_places_that_their_type_cannot_hold() -> None:
    words = "Second dimension of flattened input must be <= 32767"
    for device in ("/CPU:0", "/XPU:0"):
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            compare.on(
                device, lambda: R.TopKV2(input=tf.zeros([2, 40_000]), k=1, index_type=tf.int16)
            )
