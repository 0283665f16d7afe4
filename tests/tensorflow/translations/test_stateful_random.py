"""Random numbers of a generator whose state is a variable: those of TensorFlow's CPU kernels, and
the same state after.
"""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

import onexpu

R = tf.raw_ops
FLOATING = [tf.float16, tf.bfloat16, tf.float32, tf.float64]
INTEGERS = [tf.int32, tf.int64, tf.uint32, tf.uint64]
MODES = ("eager", "graph", "jit")
PHILOX, THREEFRY, AUTO_SELECT = 1, 2, 3

# Low and high word of the counter, the key.
STATES = {
    "small": [1, 2, 3],
    "carries": [-5, 7, -(2**62)],
    "ends": [-1, -1, 2**40 + 3],
    "longer": [1, 2, 3, 4, 5],
}

Draw = Callable[[tf.Tensor], tf.Tensor]


def drawn(device: str, draw: Draw, state: list[int], mode: str = "eager") -> list[np.ndarray]:
    """The numbers of three calls and the states that they leave."""
    with tf.device(device):
        variable = tf.Variable(tf.constant(state, tf.int64))

        def step():
            return draw(variable.handle)

        if mode != "eager":
            step = tf.function(step, autograph=False, jit_compile=mode == "jit" or None)
        results = []
        for _ in range(3):
            numbers = step()
            assert device[1:] in numbers.device
            results += [numbers.numpy(), variable.numpy()]
    return results


def check(draw: Draw, state: list[int], atol: float = 0, rtol: float = 0) -> None:
    expected = drawn("/CPU:0", draw, state)
    for mode in MODES:
        for a, e in zip(drawn("/XPU:0", draw, state, mode), expected, strict=True):
            assert (a.shape, a.dtype) == (e.shape, e.dtype)
            if e.dtype.kind in "fV":  # bfloat16 is of kind V
                np.testing.assert_allclose(
                    a.astype(np.float64), e.astype(np.float64), rtol=rtol, atol=atol
                )
            else:
                np.testing.assert_array_equal(a, e)


def of(op: str, shape: list[int], algorithm: int = PHILOX, **attributes) -> Draw:
    with tf.device("/CPU:0"):  # as functions have their constants
        where = {
            "algorithm": tf.constant(algorithm, tf.int64),
            "shape": tf.constant(shape, tf.int64),
        }
    return lambda handle: getattr(R, op)(resource=handle, **where, **attributes)


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
@pytest.mark.parametrize("dtype", FLOATING)
def test_uniform(dtype: tf.DType, state: list[int]) -> None:
    check(of("StatefulUniform", [7, 9], dtype=dtype), state)


@pytest.mark.parametrize("op", ["StatefulStandardNormalV2", "StatefulTruncatedNormal"])
@pytest.mark.parametrize("dtype", FLOATING)
def test_normal(dtype: tf.DType, op: str) -> None:
    # Sines and logarithms of two libraries, times numbers up to six; then the rounding to the type.
    epsilon = 8 * np.finfo(np.float64 if dtype == tf.float64 else np.float32).eps
    own = float(ml_dtypes.finfo(dtype.as_numpy_dtype).eps)
    for state in STATES.values():
        check(of(op, [7, 9], dtype=dtype), state, atol=epsilon, rtol=own)


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_integers(state: list[int]) -> None:
    for dtype in (tf.int32, tf.int64):  # The CPU has no kernel for others.
        for low, high in ((-3, 100), (dtype.min, dtype.max)):
            bounds = {"minval": tf.constant(low, dtype), "maxval": tf.constant(high, dtype)}
            check(of("StatefulUniformInt", [63], **bounds), state)
    for dtype in INTEGERS:
        check(of("StatefulUniformFullInt", [63], dtype=dtype), state)


@pytest.mark.parametrize("dtype", [tf.uint32, tf.uint64])
def test_unsigned_integers_are_words_between_bounds(dtype: tf.DType) -> None:
    low, high = dtype.max - 10, dtype.max
    bounds = {"minval": tf.constant(low, dtype), "maxval": tf.constant(high, dtype)}
    numbers, *_ = drawn("/XPU:0", of("StatefulUniformInt", [1001], **bounds), STATES["small"])
    words, *_ = drawn("/CPU:0", of("StatefulUniformFullInt", [1001], dtype=dtype), STATES["small"])
    np.testing.assert_array_equal(numbers, low + words % (high - low))


@pytest.mark.parametrize("shape", [[], [1], [0, 3], [100_003]], ids=str)
def test_shapes(shape: list[int]) -> None:
    check(of("StatefulUniform", shape, dtype=tf.float32), STATES["carries"])


def test_the_device_chooses_philox() -> None:
    check(of("StatefulUniform", [7, 9], AUTO_SELECT, dtype=tf.float32), STATES["small"])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", FLOATING)
def test_threefry_moves_on(dtype: tf.DType, mode: str) -> None:
    """TensorFlow's CPU kernels do not have it. The key, and what is behind it, stay."""
    draw = of("StatefulUniform", [500], THREEFRY, dtype=dtype)
    results = drawn("/XPU:0", draw, [5, 77, 9, 9], mode)
    numbers, states = [x.astype(np.float64) for x in results[::2]], results[1::2]
    counters = [5, *(state[0] for state in states)]
    assert all(a < b for a, b in zip(counters, counters[1:], strict=False))
    assert all(state[1:].tolist() == [77, 9, 9] for state in states)
    assert len({n.tobytes() for n in numbers}) == 3
    # Of 1,500 numbers in [0, 1) the mean's deviation is 0.0075: five of them.
    assert abs(np.mean(numbers) - 0.5) < 0.04 and np.min(numbers) >= 0 and np.max(numbers) < 1
    # The stateless op's numbers for the same place.
    with tf.device("/XPU:0"):
        stream = {
            "key": tf.constant([77], tf.uint64),
            "counter": tf.constant([5], tf.uint64),
            "alg": THREEFRY,
        }
        expected = R.StatelessRandomUniformV2(shape=[500], dtype=dtype, **stream).numpy()
    np.testing.assert_array_equal(results[0], expected)


def test_threefry_integers_move_on() -> None:
    bounds = {"minval": tf.constant(3), "maxval": tf.constant(11)}
    for draw in (
        of("StatefulUniformInt", [400], THREEFRY, **bounds),
        of("StatefulUniformFullInt", [400], THREEFRY),
    ):
        first, state, second, *_ = drawn("/XPU:0", draw, [5, 77])
        assert state[0] > 5 and state[1] == 77 and not np.array_equal(first, second)


def test_a_state_serves_the_ops_of_today_too() -> None:
    """What RngReadAndSkip leaves out is what these draw: two generators of one variable do not
    meet.
    """
    with tf.device("/XPU:0"):
        drawn_from, skipped = (
            tf.Variable(tf.constant(STATES["carries"], tf.int64)) for _ in range(2)
        )
        of("StatefulUniform", [63], dtype=tf.float32)(drawn_from.handle)
        R.RngReadAndSkip(resource=skipped.handle, alg=PHILOX, delta=tf.constant(63, tf.uint64))
        np.testing.assert_array_equal(drawn_from.numpy(), skipped.numpy())


def test_nobody_waits_for_the_state() -> None:
    with tf.device("/XPU:0"):
        variable = tf.Variable(tf.constant(STATES["small"], tf.int64))
        draw = of("StatefulUniform", [63], dtype=tf.float32)
        draw(variable.handle)
        before = onexpu.transfer_statistics()
        draw(variable.handle)
        moved = onexpu.transfer_statistics() - before
    assert moved.total_bytes == 0, str(moved)


@pytest.mark.parametrize("mode", ["eager", "jit"])
@pytest.mark.parametrize(
    ("state", "algorithm", "message"),
    [
        ([1, 2, 3], 7, "Unsupported algorithm id: 7"),
        ([1, 2], PHILOX, "must be at least 3; got 2"),
        ([1], THREEFRY, "must be at least 2; got 1"),
        ([[1, 2, 3]], PHILOX, "one and only one dimension, not 2"),
    ],
)
def test_refused_states(state: list, algorithm: int, message: str, mode: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        drawn("/XPU:0", of("StatefulUniform", [3], algorithm, dtype=tf.float32), state, mode)


def test_refused_bounds() -> None:
    vector = {"minval": tf.constant([4]), "maxval": tf.constant(5)}
    for device in ("/CPU:0", "/XPU:0"):
        with pytest.raises(tf.errors.InvalidArgumentError):
            drawn(device, of("StatefulUniformInt", [3], **vector), STATES["small"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Need minval < maxval, got 4 >= 4"):
        drawn("/XPU:0", of("StatefulUniformInt", [3], minval=4, maxval=4), STATES["small"], "jit")
