"""Binomial numbers, with a state and without: those of TensorFlow's CPU kernels."""

from __future__ import annotations

from typing import Any

import both
import numpy as np
import pytest
import tensorflow as tf

R = tf.raw_ops
MODES = ("eager", "graph", "jit")
RESULTS = [tf.float16, tf.float32, tf.float64, tf.int32, tf.int64]
PARAMETERS = [np.float16, np.float32, np.float64]
PHILOX = 1
# Few successes, few failures, many of both, certain ones, none, and what is no distribution. As
# an integer, NaN is what the memory of TensorFlow's CPU kernel holds.
COUNTS = [5.0, 20.0, 100.0, 400.0, 60.0, 7.0, 0.0, -3.0, 9.0, 1000.0, 9.0]
PROBABILITIES = [0.3, 0.9, 0.5, 0.7, 0.02, 1.0, 0.5, 0.5, 0.0, 0.25, np.nan]


def distributions(parameter: Any, dtype: tf.DType) -> tuple[tf.Tensor, tf.Tensor]:
    last = len(COUNTS) - dtype.is_integer
    return held(COUNTS[:last], parameter), held(PROBABILITIES[:last], parameter)


def held(values: Any, dtype: Any) -> tf.Tensor:
    """Returns an argument, as functions have their constants: on the host."""
    with tf.device("/CPU:0"):
        return tf.identity(np.asarray(values).astype(dtype))


def drawn(
    device: str,
    state: list[int],
    shape: list[int],
    counts: Any,
    probabilities: Any,
    dtype: tf.DType,
    mode: str = "eager",
) -> list[np.ndarray]:
    """Returns the numbers of two calls and the states that they leave."""
    algorithm, size = held(PHILOX, np.int64), held(shape, np.int32)
    with tf.device(device):
        # A sum: the CPU's kernel writes the state to memory that a variable shares with a constant,
        # and not to the variable's.
        variable = tf.Variable(tf.constant(state, tf.int64) + 0)

        def draw():
            return R.StatefulRandomBinomial(
                resource=variable.handle,
                algorithm=algorithm,
                shape=size,
                counts=counts,
                probs=probabilities,
                dtype=dtype,
            )

        if mode != "eager":
            draw = tf.function(draw, autograph=False, jit_compile=mode == "jit" or None)
        results = []
        for _ in range(2):
            numbers = draw()
            assert device[1:] in numbers.device
            results += [numbers.numpy(), variable.numpy()]
    return results


def check(
    state: list[int], shape: list[int], counts: Any, probabilities: Any, dtype: tf.DType
) -> None:
    expected = drawn("/CPU:0", state, shape, counts, probabilities, dtype)
    for mode in MODES:
        for a, e in zip(
            drawn("/XPU:0", state, shape, counts, probabilities, dtype, mode), expected, strict=True
        ):
            assert (a.shape, a.dtype) == (e.shape, e.dtype)
            np.testing.assert_array_equal(a, e)


@pytest.mark.parametrize("dtype", RESULTS)
@pytest.mark.parametrize("parameter", PARAMETERS)
def test_numbers_and_states(parameter: Any, dtype: tf.DType) -> None:
    counts, probabilities = distributions(parameter, dtype)
    check([1, 2, 3], [9, *counts.shape], counts, probabilities, dtype)


@pytest.mark.parametrize(
    "state", [[-5, 7, -(2**62)], [-1, -1, 2**40 + 3], [1, 2, 3, 4, 5]], ids=str
)
def test_states(state: list[int]) -> None:
    check(state, [31, 2], held([50.0, 3.0], np.float32), held([0.4, 0.6], np.float32), tf.int32)


@pytest.mark.parametrize(
    ("shape", "counts", "probabilities"),
    [
        ([4, 3, 2], (3, 1), (2,)),
        ([3, 2], (3, 2), ()),
        ([7], (), ()),
        ([], (), ()),
        ([0, 2], (2,), (1,)),
        ([5, 0], (0,), (1,)),
    ],
    ids=str,
)
def test_shapes(shape: list[int], counts: tuple[int, ...], probabilities: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    n, p = random.integers(1, 60, counts), random.random(probabilities)
    check([1, 2, 3], shape, held(n, np.float32), held(p, np.float32), tf.float32)


def test_moments() -> None:
    """Mean and variance of 200,000 samples, within five standard deviations of theirs."""
    samples = 200_000
    for count, probability in ((12.0, 0.3), (300.0, 0.4), (50.0, 0.95)):
        with tf.device("/XPU:0"):
            generator = tf.random.Generator.from_seed(7, alg="philox")
            x = (
                generator.binomial([samples], count, probability, dtype=tf.float32)
                .numpy()
                .astype(np.float64)
            )
        mean, variance = count * probability, count * probability * (1 - probability)
        assert abs(x.mean() - mean) < 5 * np.sqrt(variance / samples)
        # The fourth moment of a binomial distribution is 3 variance^2 + variance (1 - 6 p (1 - p)).
        fourth = 3 * variance**2 + variance * (1 - 6 * probability * (1 - probability))
        assert abs(x.var() - variance) < 5 * np.sqrt((fourth - variance**2) / samples)
        assert x.min() >= 0 and x.max() <= count and np.array_equal(x, np.round(x))


@pytest.mark.parametrize("dtype", RESULTS)
def test_stateless(dtype: tf.DType) -> None:
    counts, probabilities = distributions(np.float32, dtype)
    for seed in (held([1, 2], np.int32), held([-7, 2**31 - 1], np.int32)):
        both.check(
            lambda seed=seed: R.StatelessRandomBinomial(
                shape=[9, *counts.shape], seed=seed, counts=counts, probs=probabilities, dtype=dtype
            ),
            0,
            MODES,
        )


def test_a_count_that_is_not_a_number_ends() -> None:
    """TensorFlow's CPU kernel does not return."""
    with tf.device("/XPU:0"):
        x = R.StatelessRandomBinomial(
            shape=[2], seed=[1, 2], counts=[np.nan, 4.0], probs=[0.5, 0.5], dtype=tf.float32
        )
    assert np.isnan(x[0]) and not np.isnan(x[1])


def test_refused() -> None:
    three, two = held([1.0, 2.0, 3.0], np.float32), held([0.5, 0.5], np.float32)
    for shape, counts in (([3, 2], three), ([2, 3], two)):
        for device in ("/CPU:0", "/XPU:0"):
            with pytest.raises(tf.errors.InvalidArgumentError):
                drawn(device, [1, 2, 3], shape, counts, two, tf.float32)
    for state in ([1, 2], [[1, 2, 3]]):
        with pytest.raises(tf.errors.InvalidArgumentError):
            drawn("/XPU:0", state, [2], two, two, tf.float32)


def test_random_crop_in_a_compiled_function() -> None:
    image = np.arange(6 * 7 * 3, dtype=np.float32).reshape(6, 7, 3)
    with tf.device("/XPU:0"):
        crop = tf.function(lambda x: tf.image.random_crop(x, [4, 5, 3]), jit_compile=True)
        crops = [crop(tf.constant(image)).numpy() for _ in range(12)]
    first = {int(c.flat[0]) // 3 for c in crops}
    assert len(first) > 1
    for c in crops:
        row, column = divmod(int(c.flat[0]) // 3, 7)
        np.testing.assert_array_equal(c, image[row : row + 4, column : column + 5])
