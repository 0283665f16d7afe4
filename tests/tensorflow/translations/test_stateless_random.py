"""Stateless random numbers in compiled functions: those that the same function gives before it is
compiled.
"""

from __future__ import annotations

import compare
import numpy as np
import pytest
import tensorflow as tf

import onexpu

R = tf.raw_ops
SEEDS = [[1, 2], [-5, 7], np.array([2**40 + 3, -(2**35)])]


def check(draw, ulps: float = 0) -> None:
    expected = compare.on("/CPU:0", draw)
    for mode in ("eager", "jit"):
        compare.assert_same(compare.on("/XPU:0", draw, mode), expected, ulps)


@pytest.mark.parametrize("seed", SEEDS, ids=str)
@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32, tf.float64])
def test_floats(dtype: tf.DType, seed) -> None:
    check(lambda: tf.random.stateless_uniform([7, 9], seed, dtype=dtype))
    # Sines and logarithms of two libraries.
    check(lambda: tf.random.stateless_normal([7, 9], seed, dtype=dtype), ulps=8)
    check(lambda: tf.random.stateless_truncated_normal([7, 9], seed, dtype=dtype), ulps=8)


@pytest.mark.parametrize("seed", SEEDS, ids=str)
def test_integers(seed) -> None:
    for dtype in (tf.int32, tf.int64):
        check(lambda dtype=dtype: tf.random.stateless_uniform([63], seed, -3, 100, dtype))
    for dtype in (tf.int32, tf.int64, tf.uint32, tf.uint64):
        check(lambda dtype=dtype: tf.random.stateless_uniform([63], seed, None, None, dtype))


@pytest.mark.parametrize(
    ("seed_type", "seed"),
    [(tf.int32, SEEDS[0]), (tf.int32, SEEDS[1]), *((tf.int64, seed) for seed in SEEDS)],
    ids=str,
)
def test_ops_of_the_first_version(seed_type: tf.DType, seed) -> None:
    seed = tf.constant(seed, seed_type)
    shape = [7, 9]
    check(lambda: R.StatelessRandomUniform(shape=shape, seed=seed))
    check(lambda: R.StatelessRandomNormal(shape=shape, seed=seed), ulps=8)
    check(lambda: R.StatelessTruncatedNormal(shape=shape, seed=seed), ulps=8)
    low, high = tf.constant(-3, tf.int64), tf.constant(100, tf.int64)
    check(lambda: R.StatelessRandomUniformInt(shape=shape, seed=seed, minval=low, maxval=high))
    check(lambda: R.StatelessRandomUniformFullInt(shape=shape, seed=seed, dtype=tf.uint32))


def test_bounds_that_are_computed() -> None:
    bound = tf.constant([3, 9], tf.int64)
    check(lambda: tf.random.stateless_uniform([63], [1, 2], 0, tf.reduce_sum(bound), tf.int64))


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64, tf.uint32, tf.uint64])
def test_no_integer_is_between_the_bounds(dtype: tf.DType) -> None:
    def draw() -> tf.Tensor:
        key, counter = tf.constant([77], tf.uint64), tf.constant([5, 0], tf.uint64)
        bounds = {"minval": tf.constant(dtype.max, dtype), "maxval": tf.constant(dtype.max, dtype)}
        return R.StatelessRandomUniformIntV2(shape=[3], key=key, counter=counter, alg=1, **bounds)

    for mode in ("eager", "jit"):
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=f"Need minval < maxval, got {dtype.max} >= {dtype.max}",
        ):
            compare.on("/XPU:0", draw, mode)


def test_no_elements() -> None:
    check(lambda: tf.random.stateless_uniform([0, 3], [1, 2]))


@pytest.mark.parametrize("algorithm", [1, 2])
def test_any_bounds_where_there_is_nothing_to_draw(algorithm: int) -> None:
    def draw() -> tf.Tensor:
        key, counter = tf.constant([77], tf.uint64), tf.constant([5, 0], tf.uint64)
        return R.StatelessRandomUniformIntV2(
            shape=[0, 3], key=key, counter=counter, alg=algorithm, minval=5, maxval=5
        )

    for mode in ("eager", "jit"):
        assert compare.on("/XPU:0", draw, mode).shape == (0, 3)


def test_seeds_from_seeds() -> None:
    check(lambda: [tf.random.split([1, 2], 3), tf.random.fold_in([1, 2], 3)])


def test_a_generator_goes_on_alike() -> None:
    def draw(device: str, mode: str) -> list[np.ndarray]:
        with tf.device(device):
            numbers = tf.random.Generator.from_seed(3)

            def step():
                return (numbers.uniform([5]), numbers.uniform([6], 0, 10, tf.int64))

            function = step if mode == "eager" else tf.function(step, jit_compile=True)
            return [t.numpy() for _ in range(3) for t in function()]

    expected = draw("/CPU:0", "eager")
    for mode in ("eager", "jit"):
        for actual, e in zip(draw("/XPU:0", mode), expected, strict=True):
            np.testing.assert_array_equal(actual, e)


@pytest.mark.parametrize("draw", [tf.random.stateless_uniform, tf.random.stateless_normal])
def test_three_fry_is_that_of_a_compiled_cpu(draw) -> None:
    """No device has it outside of programs."""

    def function() -> tf.Tensor:
        return draw([7, 9], [1, 2], alg="threefry")

    actual = compare.on("/XPU:0", function, "jit")
    compare.assert_same(actual, compare.on("/CPU:0", function, "jit"), ulps=8)


def test_nobody_waits_for_a_seed() -> None:
    with tf.device("/XPU:0"):
        seed = tf.Variable(tf.constant([1, 2], tf.int64))
        function = tf.function(lambda: tf.random.stateless_uniform([63], tf.cast(seed, tf.int32)))
        function()
        before = onexpu.transfer_statistics()
        function()
        moved = onexpu.transfer_statistics() - before
    assert moved.total_bytes == 0, str(moved)
