"""Assertions with a text in compiled functions: XLA drops them, as it does on the CPU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

import onexpu

X = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
IMAGES = np.arange(3 * 8 * 8 * 3, dtype=np.float32).reshape(3, 8, 8, 3)

CHECKS: dict[str, Callable[[tf.Tensor], object]] = {
    "Assert": lambda x: tf.debugging.Assert(tf.reduce_all(x > 0), [x]),
    "Assert with a text": lambda x: tf.debugging.Assert(tf.reduce_all(x > 0), ["x is", x]),
    "the raw op": lambda x: tf.raw_ops.Assert(condition=tf.reduce_all(x > 0), data=["x is", x]),
    "assert_equal": lambda x: tf.debugging.assert_equal(tf.reduce_sum(x), 21.0, message="sum"),
    "assert_none_equal": lambda x: tf.debugging.assert_none_equal(x, 0.0),
    "assert_near": lambda x: tf.debugging.assert_near(x, x + 1e-9),
    "assert_greater": lambda x: tf.debugging.assert_greater(x, 0.0, message="must be positive"),
    "assert_greater_equal": lambda x: tf.debugging.assert_greater_equal(x, 1.0),
    "assert_less": lambda x: tf.debugging.assert_less(x, 9.0),
    "assert_less_equal": lambda x: tf.debugging.assert_less_equal(x, 9.0),
    "assert_positive": lambda x: tf.debugging.assert_positive(x),
    "assert_negative": lambda x: tf.debugging.assert_negative(-x),
    "assert_non_negative": lambda x: tf.debugging.assert_non_negative(x),
    "assert_non_positive": lambda x: tf.debugging.assert_non_positive(-x),
    "assert_rank": lambda x: tf.debugging.assert_rank(x, 2, message="rank"),
    "assert_shapes": lambda x: tf.debugging.assert_shapes([(x, ("N", 3))]),
    "assert_integer": lambda x: tf.debugging.assert_integer(tf.cast(x, tf.int32)),
}


def _checked(check: Callable[[tf.Tensor], object]) -> Callable[[tf.Tensor], tf.Tensor]:
    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies([c for c in [check(x)] if c is not None]):
            return tf.identity(x) * 2

    return step


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_that_holds(name: str) -> None:
    with tf.device("/XPU:0"):
        compiled = tf.function(_checked(CHECKS[name]), jit_compile=True, autograph=False)
        np.testing.assert_array_equal(compiled(tf.constant(X)), 2 * X)


@pytest.mark.parametrize("device", ["/CPU:0", "/XPU:0"])
def test_a_check_that_fails(device: str) -> None:
    """A compiled function ignores it; other functions raise."""
    with tf.device(device):
        x = tf.constant(-X)
        step = _checked(CHECKS["assert_greater"])
        np.testing.assert_array_equal(
            tf.function(step, jit_compile=True, autograph=False)(x), -2 * X
        )
        for call in (step, tf.function(step, autograph=False)):
            with pytest.raises(tf.errors.InvalidArgumentError, match="must be positive"):
                call(x)


def test_a_check_that_fails_in_clusters(autoclustering) -> None:
    with (
        tf.device("/XPU:0"),
        pytest.raises(tf.errors.InvalidArgumentError, match="must be positive"),
    ):
        tf.function(_checked(CHECKS["assert_greater"]), autograph=False)(tf.constant(-X))


def test_checks_in_branches_and_loops() -> None:
    def step(x: tf.Tensor) -> tf.Tensor:
        def body(i: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            tf.debugging.assert_greater(y, 0.0, message="in a loop")
            return i + 1, y + 1

        _, y = tf.while_loop(lambda i, _: i < 3, body, [0, x])

        def checked() -> tf.Tensor:
            tf.debugging.assert_less(y, 100.0, message="in a branch")
            return y * 2

        return tf.cond(tf.reduce_sum(y) > 0, checked, lambda: y)

    with tf.device("/XPU:0"):
        np.testing.assert_array_equal(
            tf.function(step, jit_compile=True)(tf.constant(X)), 2 * X + 6
        )


def test_batch_jacobian() -> None:
    def jacobian(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.square(x)
        return tape.batch_jacobian(y, x)

    with tf.device("/XPU:0"):
        np.testing.assert_array_equal(
            tf.function(jacobian, jit_compile=True)(tf.constant(X)), [np.diag(2 * row) for row in X]
        )


@pytest.mark.parametrize("jit_compile", [True, None])
def test_random_crop(jit_compile: bool | None) -> None:
    crop = tf.function(
        lambda x: tf.image.random_crop(x, [3, 4, 5, 3], seed=1), jit_compile=jit_compile
    )
    with tf.device("/XPU:0"):
        places = set()
        for _ in range(20):
            crops = crop(tf.constant(IMAGES)).numpy()
            first = int(crops[0, 0, 0, 0]) // 3
            row, column = first // 8, first % 8
            np.testing.assert_array_equal(crops, IMAGES[:, row : row + 4, column : column + 5])
            places.add((row, column))
    assert len(places) > 5, places


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.image.stateless_random_crop(x, [3, 4, 4, 3], seed=(1, 2)),
        lambda x: tf.image.resize_with_pad(x, 5, 7),
        lambda x: tf.image.pad_to_bounding_box(x, tf.shape(x)[0], 1, 12, 12),
        lambda x: tf.image.crop_to_bounding_box(x, tf.shape(x)[0], 1, 4, 5),
        lambda x: tf.image.resize_with_crop_or_pad(x, 5, 11),
    ],
)
def test_image_functions_with_checks(function: Callable[[tf.Tensor], tf.Tensor]) -> None:
    with tf.device("/CPU:0"):
        expected = function(tf.constant(IMAGES))
    with tf.device("/XPU:0"):
        compiled = tf.function(function, jit_compile=True, autograph=False)(tf.constant(IMAGES))
    np.testing.assert_allclose(compiled, expected, rtol=1e-6)


def test_strings_are_on_the_host_elsewhere() -> None:
    """Outside of compiled functions string constants have no kernel on the device."""
    with tf.device("/XPU:0"):
        function = tf.function(lambda x: (tf.strings.length(tf.constant(["abc"])), x * 2))
        report = onexpu.placement_report(function, tf.constant(X))
        lengths, doubled = function(tf.constant(X))
    assert report.counts.get("host", {}).get("StringLength") == 1
    np.testing.assert_array_equal(lengths, [3])
    np.testing.assert_array_equal(doubled, 2 * X)
