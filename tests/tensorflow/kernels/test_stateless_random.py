"""Stateless random numbers: those of TensorFlow's CPU kernels for the same seeds, keys and
counters.
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
FLOATING = [tf.float16, tf.bfloat16, tf.float32, tf.float64]
INTEGERS = [tf.int32, tf.int64, tf.uint32, tf.uint64]
STREAM: dict[str, Any] = {
    "key": tf.constant([0xFEDCBA9876543210], tf.uint64),
    "counter": tf.constant([(1 << 64) - 9, 5], tf.uint64),
    "alg": 1,
}


def exactly(function: Any) -> None:
    both.check(function, ulps=0, modes=("eager",))


@pytest.mark.parametrize("shape", [[1], [7], [1001], [3, 5, 7], [0, 3], []])
@pytest.mark.parametrize("dtype", FLOATING)
def test_uniform(dtype: tf.DType, shape: list[int]) -> None:
    shape = tf.constant(shape, tf.int32)
    exactly(lambda: R.StatelessRandomUniform(shape=shape, seed=[7, -3], dtype=dtype))
    exactly(lambda: R.StatelessRandomUniformV2(shape=shape, **STREAM, dtype=dtype))


@pytest.mark.parametrize("shape", [[1], [7], [1001], [0, 3]])
@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("op", ["StatelessRandomNormal", "StatelessTruncatedNormal"])
def test_normal(op: str, dtype: tf.DType, shape: list[int]) -> None:
    # Sines and logarithms of two libraries, times numbers up to six; then the rounding to the type.
    epsilon = 8 * np.finfo(np.float64 if dtype == tf.float64 else np.float32).eps
    own = float(ml_dtypes.finfo(dtype.as_numpy_dtype).eps)
    shape = tf.constant(shape, tf.int64)
    seed = tf.constant([7, -3], tf.int64)
    for draw in (
        lambda: getattr(R, op)(shape=shape, seed=seed, dtype=dtype),
        lambda: getattr(R, op + "V2")(shape=shape, **STREAM, dtype=dtype),
    ):
        actual, expected = (compare.on(device, draw).numpy() for device in ("/XPU:0", "/CPU:0"))
        np.testing.assert_allclose(
            actual.astype(np.float64), expected.astype(np.float64), rtol=own, atol=epsilon
        )


@pytest.mark.parametrize(
    ("dtype", "bounds"),
    [
        (tf.int32, (0, 10)),
        (tf.int32, (-5, 2**31 - 1)),
        (tf.int32, (-(2**31), 2**31 - 1)),
        (tf.int64, (0, 10)),
        (tf.int64, (-(2**63), 2**63 - 1)),
    ],
)
def test_integers(dtype: tf.DType, bounds: tuple[int, int]) -> None:
    low, high = (tf.constant(bound, dtype) for bound in bounds)
    exactly(lambda: R.StatelessRandomUniformInt(shape=[1001], seed=[1, 2], minval=low, maxval=high))
    exactly(lambda: R.StatelessRandomUniformIntV2(shape=[1001], **STREAM, minval=low, maxval=high))


@pytest.mark.parametrize("dtype", [tf.uint32, tf.uint64])
def test_unsigned_integers(dtype: tf.DType) -> None:
    """TensorFlow's CPU device has no kernel for them; the words are those of signed ones."""
    low, high = dtype.max - 10, dtype.max
    with tf.device("/XPU:0"):
        numbers = R.StatelessRandomUniformIntV2(
            shape=[1001], **STREAM, minval=tf.constant(low, dtype), maxval=tf.constant(high, dtype)
        ).numpy()
        words = R.StatelessRandomUniformFullIntV2(shape=[1001], **STREAM, dtype=dtype).numpy()
    np.testing.assert_array_equal(numbers, low + words % (high - low))


@pytest.mark.parametrize("size", [1, 2, 3, 1001])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_words(dtype: tf.DType, size: int) -> None:
    exactly(lambda: R.StatelessRandomUniformFullInt(shape=[size], seed=[1, 2], dtype=dtype))
    exactly(lambda: R.StatelessRandomUniformFullIntV2(shape=[size], **STREAM, dtype=dtype))


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_keys_of_seeds(dtype: tf.DType) -> None:
    seed = tf.constant([-12345, 678], dtype)
    for function in (
        lambda: R.StatelessRandomGetKeyCounter(seed=seed),
        lambda: R.StatelessRandomGetKeyCounterAlg(seed=seed),
        R.StatelessRandomGetAlg,
    ):
        compare.assert_same(*(compare.on(device, function) for device in ("/XPU:0", "/CPU:0")))


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_tf_random(mode: str) -> None:
    def numbers() -> list[tf.Tensor]:
        seed = tf.random.split([1, 2], 2)
        return [
            tf.random.stateless_uniform([5], seed[0]),
            tf.random.stateless_uniform([5], seed[1], 0, 100, tf.int32),
            tf.random.stateless_uniform([5], tf.random.fold_in(seed[0], 3), None, None, tf.int64),
        ]

    compare.assert_same(
        compare.on("/XPU:0", numbers, mode), compare.on("/CPU:0", numbers, mode), ulps=0
    )


def test_a_generator() -> None:
    def numbers() -> list[tf.Tensor]:
        generator = tf.random.Generator.from_seed(5, alg="philox")
        return [
            generator.uniform([3]),
            generator.uniform([3]),
            generator.uniform([3], 0, 9, tf.int64),
        ]

    exactly(numbers)


def test_refused() -> None:
    both.check_refused(lambda: R.StatelessRandomUniform(shape=[3], seed=[1, 2, 3]))
    both.check_refused(lambda: R.StatelessRandomUniform(shape=[-3], seed=[1, 2]))
    both.check_refused(
        lambda: R.StatelessRandomUniformInt(shape=[3], seed=[1, 2], minval=4, maxval=4)
    )
    both.check_refused(
        lambda: R.StatelessRandomUniformInt(shape=[3], seed=[1, 2], minval=[4], maxval=5)
    )
    both.check_refused(lambda: R.StatelessRandomUniformV2(shape=[3], **(STREAM | {"alg": 7})))
    both.check_refused(
        lambda: R.StatelessRandomUniformV2(
            shape=[3], **(STREAM | {"key": tf.constant([1, 2], tf.uint64)})
        )
    )


THREEFRY = 2


@covering(
    dtype=FLOATING,
    op=["StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2"],
)
def test_threefry_as_compiled(op: str, dtype: tf.DType) -> None:
    """TensorFlow's CPU kernels do not have it: what a compiled function gives is compared."""

    def function() -> tf.Tensor:
        key, counter = tf.constant([77], tf.uint64), tf.constant([5], tf.uint64)
        return getattr(R, op)(shape=[500, 7], key=key, counter=counter, alg=THREEFRY, dtype=dtype)

    with tf.device("/XPU:0"):
        alone, compiled = function(), tf.function(function, jit_compile=True)()
    np.testing.assert_array_equal(alone.numpy(), compiled.numpy())
    numbers = alone.numpy().astype(np.float64)
    mean, deviation = {"Uniform": (0.5, 12**-0.5), "Normal": (0, 1), "Truncat": (0, 0.88)}[
        "Truncat" if "Truncated" in op else "Uniform" if "Uniform" in op else "Normal"
    ]
    assert abs(numbers.mean() - mean) < 0.06 and abs(numbers.std() - deviation) < 0.06


@pytest.mark.parametrize("dtype", INTEGERS)
def test_threefry_integers(dtype: tf.DType) -> None:
    key, counter = tf.constant([77], tf.uint64), tf.constant([5], tf.uint64)
    low, high = tf.constant(3, dtype), tf.constant(11, dtype)

    def function() -> tuple[tf.Tensor, tf.Tensor]:
        stream = {"key": key, "counter": counter, "alg": THREEFRY}
        return (
            R.StatelessRandomUniformIntV2(shape=[400], minval=low, maxval=high, **stream),
            R.StatelessRandomUniformFullIntV2(shape=[400], dtype=dtype, **stream),
        )

    with tf.device("/XPU:0"):
        alone, compiled = function(), tf.function(function, jit_compile=True)()
    for a, c in zip(alone, compiled, strict=True):
        np.testing.assert_array_equal(a, c)
    assert set(alone[0].numpy().tolist()) == set(range(3, 11))


def test_threefry_refused() -> None:
    key, counter = tf.constant([77], tf.uint64), tf.constant([], tf.uint64)
    with (
        pytest.raises(tf.errors.InvalidArgumentError, match="counter at least"),
        tf.device("/XPU:0"),
    ):
        R.StatelessRandomUniformV2(shape=[3], key=key, counter=counter, alg=THREEFRY)
