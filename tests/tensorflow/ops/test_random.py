"""Random numbers on XPU: reproducible where TensorFlow promises it, new ones each time
otherwise.
"""

from __future__ import annotations

import compare
import numpy as np
import pytest
import tensorflow as tf


@pytest.mark.parametrize("mode", compare.MODES)
def test_stateless_numbers_depend_on_the_seed_alone(mode: str) -> None:
    def numbers(seed: int) -> np.ndarray:
        return compare.on(
            "/XPU:0", lambda: tf.random.stateless_normal([1000], [seed, 2]), mode
        ).numpy()

    np.testing.assert_array_equal(numbers(1), numbers(1))
    assert not np.array_equal(numbers(1), numbers(2))
    # Of 1,000 numbers the mean's deviation is 0.03: five of them.
    assert abs(numbers(1).mean()) < 0.16 and abs(numbers(1).std() - 1) < 0.12


def test_seeded_ops_repeat_tensorflows_numbers() -> None:
    def numbers(device: str) -> list[np.ndarray]:
        tf.random.set_seed(11)
        with tf.device(device):
            return [
                tf.random.uniform([5]).numpy(),
                tf.random.normal([5]).numpy(),
                tf.random.uniform([5]).numpy(),
            ]

    uniform, normal, more = zip(numbers("/XPU:0"), numbers("/CPU:0"), strict=True)
    np.testing.assert_array_equal(*uniform)
    np.testing.assert_allclose(
        *normal, rtol=1e-6, atol=1e-6
    )  # logarithms and sines of another library
    np.testing.assert_array_equal(*more)
    first, _, second = numbers("/XPU:0")
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("mode", compare.MODES)
def test_generator_moves_on(mode: str) -> None:
    with tf.device("/XPU:0"):
        generator = tf.random.Generator.from_seed(3, alg="philox")
    draw = compare.on("/XPU:0", lambda: [generator.normal([100]), generator.normal([100])], mode)
    assert not np.array_equal(*draw)
