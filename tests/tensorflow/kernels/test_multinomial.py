"""Multinomial and StatelessMultinomial, which tf.random.categorical and stateless_categorical call.

Their frequencies, their seeds, the CPU's samples, and what is never drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import both
import compare
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering

FLOATING = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
DRAWN = 40_000


def draw(logits: Any, count: int = DRAWN, seed: int = 3, out: tf.DType = tf.int64) -> np.ndarray:
    with tf.device("/XPU:0"):
        samples = tf.raw_ops.Multinomial(
            logits=logits, num_samples=count, seed=seed, seed2=5, output_dtype=out
        )
    assert "XPU" in samples.device
    return samples.numpy()


def assert_frequencies(samples: np.ndarray, probabilities: np.ndarray) -> None:
    """Each within five standard deviations of what is expected: one test in two million fails by
    chance.
    """
    for row, p in zip(samples, probabilities, strict=True):
        seen = np.bincount(row, minlength=len(p))
        assert len(seen) == len(p)
        expected = len(row) * p
        np.testing.assert_array_less(
            np.abs(seen - expected), 5 * np.sqrt(expected * (1 - p)) + 1e-9 + (p > 0)
        )


def softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


@covering(out=[tf.int32, tf.int64], dtype=FLOATING)
def test_frequencies(dtype: Any, out: tf.DType) -> None:
    logits = np.random.RandomState(0).randn(3, 7).astype(dtype)
    samples = draw(logits, out=out)
    assert samples.dtype == out.as_numpy_dtype and samples.shape == (3, DRAWN)
    assert_frequencies(samples, softmax(logits.astype(np.float64)))


@pytest.mark.parametrize("classes", [1, 15, 17, 100, 1023, 1024, 1025, 5000])
def test_many_classes(classes: int) -> None:
    logits = 2 * np.random.RandomState(1).randn(2, classes).astype(np.float32)
    samples = draw(logits)
    # Of classes in hundreds, so that each is expected.
    groups = np.arange(classes) * min(classes, 50) // classes
    probabilities = np.stack([np.bincount(groups, p) for p in softmax(logits.astype(np.float64))])
    assert_frequencies(groups[samples], probabilities)


def test_rare_classes() -> None:
    # Each has 4e-8 of the whole: less than what a 32-bit float can add to it.
    logits = np.full([1, 1000], -17, np.float32)
    logits[0, 0] = 0
    samples = draw(logits, 1_000_000)
    rare = softmax(logits.astype(np.float64))[:, 1:].sum()
    assert_frequencies(np.minimum(samples, 1), np.array([[1 - rare, rare]]))


def test_far_logits() -> None:
    samples = draw(np.float32([[1000.0, 1000.0, -1000.0], [-1e30, -2e30, -3e30]]))
    assert_frequencies(samples, np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]))


def test_what_is_not_finite_is_never_drawn() -> None:
    logits = np.float32([[0.0, -np.inf, np.nan, 0.0, np.inf], [-np.inf] * 5])
    samples = draw(logits)
    assert set(samples[0]) == {0, 3}
    assert set(samples[1]) == {5}
    with tf.device("/CPU:0"):  # the same there
        cpu = tf.raw_ops.Multinomial(logits=logits, num_samples=100, seed=3, seed2=5).numpy()
    assert set(cpu[0]) == {0, 3} and set(cpu[1]) == {5}


def test_seeds() -> None:
    logits = np.zeros([2, 100], np.float32)

    def seeded(seed: int) -> tuple[np.ndarray, np.ndarray]:
        tf.random.set_seed(0)  # forgets the state of kernels
        return draw(logits, 50, seed), draw(logits, 50, seed)

    first, again, other = seeded(1), seeded(1), seeded(2)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(*first)  # the state goes on
    assert not np.array_equal(*first[0])  # rows have numbers of their own

    @tf.function
    def twice() -> tuple[tf.Tensor, tf.Tensor]:
        return tf.random.categorical(logits, 50, seed=1), tf.random.categorical(logits, 50, seed=1)

    with tf.device("/XPU:0"):
        one, two = twice(), twice()
    assert not np.array_equal(one[0], two[0])


# [rows, classes] and samples for which TensorFlow's CPU kernel takes one thread, whatever the
# machine has: one row, or few samples.
SMALL = [(1, 7, 1000), (1, 5000, 1000), (1, 1, 3), (3, 7, 5), (5, 16, 1), (3, 17, 5)]


def assert_nearly_all_same(actual: Any, expected: Any) -> None:
    """The CPU adds weights in double precision: a sample differs if it is within 1e-7 or so of
    where two classes meet.
    """
    for a, e in zip(tf.nest.flatten(actual), tf.nest.flatten(expected), strict=True):
        assert (a.dtype, a.shape) == (e.dtype, e.shape)
        assert np.count_nonzero(a.numpy() != e.numpy()) <= 1e-3 * a.numpy().size


@pytest.mark.parametrize("out", [tf.int32, tf.int64])
@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize(("rows", "classes", "count"), SMALL)
def test_the_cpus_samples(rows: int, classes: int, count: int, dtype: Any, out: tf.DType) -> None:
    logits = 2 * np.random.RandomState(2).randn(rows, classes).astype(dtype)

    def draws() -> list[tf.Tensor]:
        tf.random.set_seed(0)  # forgets the state of kernels
        # The state behind samples is the CPU's, too.
        return [
            tf.raw_ops.Multinomial(
                logits=logits, num_samples=count, seed=3, seed2=5, output_dtype=out
            )
            for _ in range(3)
        ]

    assert_nearly_all_same(compare.on("/XPU:0", draws), compare.on("/CPU:0", draws))


@pytest.mark.parametrize(
    "seed", [tf.constant([1, 2]), tf.constant([-(2**40), 7], tf.int64)], ids=["int32", "int64"]
)
@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize(("rows", "classes", "count"), SMALL)
def test_the_cpus_samples_of_a_seed(
    rows: int, classes: int, count: int, dtype: Any, seed: tf.Tensor
) -> None:
    logits = tf.constant(2 * np.random.RandomState(2).randn(rows, classes).astype(dtype))

    def draws() -> list[tf.Tensor]:
        return [
            tf.random.stateless_categorical(logits, count, seed, out)
            for out in (tf.int32, tf.int64)
        ]

    expected = compare.on("/CPU:0", draws)
    alone = compare.on("/XPU:0", draws)
    assert all("XPU" in samples.device for samples in alone)
    assert_nearly_all_same(alone, expected)
    for mode in ("graph", "jit"):
        for a, e in zip(compare.on("/XPU:0", draws, mode), alone, strict=True):
            np.testing.assert_array_equal(a, e)


FAR = [[1e8, 1e8 + 1], [1e300, 0.0], [-1e39, -1e39], [1e9, 1e9 - 2]]


@pytest.mark.parametrize("mode", compare.MODES)
@pytest.mark.parametrize("row", FAR, ids=str)
def test_float64_is_not_float32(row: list[float], mode: str) -> None:
    logits = tf.constant([row], tf.float64)  # a graph's own constants would be folded on the host

    def draws() -> tf.Tensor:
        return tf.random.stateless_categorical(logits, 1000, [1, 2])

    assert_nearly_all_same([compare.on("/XPU:0", draws, mode)], [compare.on("/CPU:0", draws)])


@pytest.mark.parametrize("mode", compare.MODES)
def test_rows_of_few_finite_logits(mode: str) -> None:
    logits = tf.constant([[0.0, -np.inf, np.nan, 0.0, np.inf], [-np.inf] * 5])

    def draws() -> tf.Tensor:
        return tf.random.stateless_categorical(logits, 20, [1, 2], tf.int32)

    assert_nearly_all_same([compare.on("/XPU:0", draws, mode)], [compare.on("/CPU:0", draws)])


# What a compiled function gives has sizes that are known; so the samples are added up, or their
# classes counted.
ROWS = tf.constant([True, False, True, True])
CLASSES = tf.constant([True, True, False, True, False, True, True, True, False])


@pytest.mark.parametrize("dtype", FLOATING)
def test_rows_and_classes_that_only_the_program_knows(dtype: Any) -> None:
    values = 2 * np.random.RandomState(3).randn(4, 9)
    values[2] = -np.inf  # draws the number of classes
    logits = tf.constant(values.astype(dtype))

    def draws() -> list[tf.Tensor]:
        fewer_rows = tf.boolean_mask(logits, ROWS)
        return [
            tf.reduce_sum(tf.random.stateless_categorical(fewer_rows, 6, [1, 2]), 0),
            tf.random.stateless_categorical(tf.boolean_mask(logits, CLASSES, axis=1), 6, [1, 2]),
            tf.reduce_sum(
                tf.random.stateless_categorical(
                    tf.boolean_mask(fewer_rows, CLASSES, axis=1), 6, [1, 2]
                ),
                0,
            ),
        ]

    assert_nearly_all_same(compare.on("/XPU:0", draws, "jit"), compare.on("/CPU:0", draws))


def test_samples_that_only_the_program_knows() -> None:
    logits = tf.constant(2 * np.random.RandomState(3).randn(4, 9).astype(np.float32))
    some = tf.constant([5, 0, 7, 0])

    def of_a_row() -> tf.Tensor:
        return tf.reduce_sum(
            tf.random.stateless_categorical(logits[:1], tf.size(tf.where(some > 0)), [1, 2]), 1
        )

    def of_rows() -> list[tf.Tensor]:
        """Other samples than the CPU's behind the first row, as many of them."""
        count = tf.size(tf.where(some > 0))
        drawn = {
            9: tf.random.stateless_categorical(tf.boolean_mask(logits, ROWS), count, [1, 2]),
            6: tf.random.categorical(tf.boolean_mask(logits, CLASSES, axis=1), count),
        }
        return [
            tf.reduce_sum(tf.cast((0 <= found) & (found < classes), tf.int32))
            for classes, found in drawn.items()
        ]

    assert_nearly_all_same(
        [compare.on("/XPU:0", of_a_row, "jit")], [compare.on("/CPU:0", of_a_row)]
    )
    assert [int(count) for count in compare.on("/XPU:0", of_rows, "jit")] == [3 * 2, 4 * 2]


def test_a_compiled_function_draws_anew() -> None:
    logits = np.random.RandomState(0).randn(3, 7).astype(np.float32)
    with tf.device("/XPU:0"):
        function = tf.function(lambda: tf.random.categorical(logits, DRAWN), jit_compile=True)
        first, second = function().numpy(), function().numpy()
    assert_frequencies(first, softmax(logits.astype(np.float64)))
    assert_frequencies(second, softmax(logits.astype(np.float64)))
    assert not np.array_equal(first, second)
    assert not np.array_equal(*first[:2])


def test_nothing() -> None:
    assert draw(np.zeros([0, 3], np.float32), 4).shape == (0, 4)
    assert draw(np.zeros([2, 3], np.float32), 0).shape == (2, 0)

    def check(draw: Callable[..., tf.Tensor], shape: list[int], count: int) -> None:
        for mode in compare.MODES:
            drawn = compare.on("/XPU:0", lambda: draw(tf.zeros(shape), count), mode)
            assert drawn.shape == (shape[0], count) and drawn.dtype == tf.int64

    for shape, count in (([0, 3], 4), ([2, 3], 0)):
        check(tf.random.categorical, shape, count)
        check(lambda *a: tf.random.stateless_categorical(*a, seed=[1, 2]), shape, count)


@pytest.mark.parametrize(
    ("shape", "count", "message"),
    [
        ([3], 1, "logits should be a matrix"),
        ([2, 3], -1, "num_samples should be non-negative"),
        ([2, 0], 1, "num_classes should be positive"),
        ([2, 3], [1], None),
    ],
)
def test_refused(shape: list[int], count: Any, message: str | None) -> None:
    logits = np.zeros(shape, np.float32)
    for function in (
        lambda: tf.raw_ops.Multinomial(logits=logits, num_samples=count),
        lambda: tf.raw_ops.StatelessMultinomial(logits=logits, num_samples=count, seed=[1, 2]),
    ):
        both.check_refused(function)
        with pytest.raises(tf.errors.InvalidArgumentError, match=message), tf.device("/XPU:0"):
            function()


def test_refused_seed() -> None:
    logits = np.zeros([2, 3], np.float32)
    both.check_refused(
        lambda: tf.raw_ops.StatelessMultinomial(logits=logits, num_samples=1, seed=[1, 2, 3])
    )


def test_refused_in_a_compiled_function() -> None:
    """Of shapes that the graph does not know."""
    with tf.device("/XPU:0"):
        draw_from = tf.function(
            lambda logits, seed: tf.random.stateless_categorical(logits, 1, seed),
            jit_compile=True,
            autograph=False,
            input_signature=[tf.TensorSpec(None, tf.float32), tf.TensorSpec(None, tf.int32)],
        )
        for shape, seed, message in (
            ([3], [1, 2], "must be rank 2 but is rank 1"),
            ([2, 0], [1, 2], "num_classes should be positive, got 0"),
            ([2, 3], [1], "Dimension must be 2 but is 1"),
        ):  # fmt: skip
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                draw_from(tf.zeros(shape), tf.constant(seed))
