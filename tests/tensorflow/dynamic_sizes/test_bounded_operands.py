"""Compiled functions on operands whose sizes are known only at run time, against TensorFlow's CPU
kernels: values, sizes and gradients of every kind of op (`bounded_cases.py`,
`bounded_array_cases.py`)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import every
from tests.tensorflow.dynamic_sizes import bounded_array_cases, bounded_cases
from tests.tensorflow.dynamic_sizes.bounded_cases import K, N

CASES = {
    **bounded_cases.CASES,
    **bounded_array_cases.CASES,
    **bounded_array_cases.VALUES_ONLY_CASES,
    **bounded_array_cases.NOT_EMPTY_CASES,
}
VALUES_ONLY = {
    *bounded_cases.VALUES_ONLY,
    *bounded_array_cases.VALUES_ONLY_CASES,
    *bounded_array_cases.NOT_EMPTY_CASES,
}
REJECTED = {**bounded_cases.REJECTED, **bounded_array_cases.REJECTED}

# Cases of one program: compiling one for each case takes several times as long.
GROUP = 12
# Beside cases that make the mask a compile-time constant (dynamic_partition), TensorFlow cannot
# translate a loop over no rows or a window larger than no rows, with XLA:CPU's JIT either.
LOOPS = ["map_fn", "vectorized_map", "scan", "foldl"]
ALONE = [*LOOPS, "conv1d over the bounded, VALID"]


def _groups(names: list[str]) -> list[list[str]]:
    """Neighbors among the cases are of one kind: each group has some of every kind."""
    count = -(-len(names) // GROUP)
    return [names[i::count] for i in range(count)]


# Some of the first cases make the mask a constant for their group, and cannot have others with them
# that reject no rows.
FIRST = [name for name in bounded_cases.CASES if name not in ALONE]
GROUPS = _groups(FIRST) + _groups([name for name in CASES if name not in bounded_cases.CASES])
MASKS = {3: [0, 1, 0, 0, 1, 1, 0], 1: [0, 0, 0, 0, 1, 0, 0], 7: [1] * N, 0: [0] * N}
# For no rows, TensorFlow's CPU kernels give the shape of the operand, or gradients that they never
# write; a loop that never runs has no gradient there.
NOT_EMPTY = {
    *LOOPS,
    *bounded_array_cases.NOT_EMPTY_CASES,
    "depthwise conv of batches",
    "conv1d over the bounded, SAME",
    "conv1d over the bounded, VALID",
}
# Both back ends compute in f32, in other orders. The largest difference measured is 2.7e-6, of
# determinants.
TOLERANCE = 1e-5
# More than any case gives.
MOST_ELEMENTS = 400


def operands(mask: list[int]) -> list[Any]:
    random = np.random.RandomState(0)
    x = random.rand(N, K).astype(np.float32) * 2 - 1
    w, r = random.randn(K, 4).astype(np.float32), random.randn(K).astype(np.float32)
    return [tf.constant(a) for a in (x, np.array(mask, bool), w, r)]


def spread(result: Any) -> list[Any]:
    """Returns every element of a tensor, in an array of known size, and the tensor's shape."""
    flat = tf.cast(tf.reshape(result, [-1]), tf.float32)
    indices = tf.range(tf.shape(flat)[0])
    return [tf.math.unsorted_segment_sum(flat, indices, MOST_ELEMENTS), tf.shape(result)]


def evaluate(name: str, x: Any, mask: Any, w: Any, r: Any) -> list[Any]:
    """Returns the results of a case, and their gradients for the operands of known size."""
    with tf.GradientTape() as tape:
        tape.watch([x, w, r])
        v = tf.boolean_mask(x, mask)
        results = tf.nest.flatten(CASES[name](v, bounded_cases.Operands(x, mask, w, r)))
        floats = [y for y in results if y.dtype.is_floating]
        loss = tf.add_n([tf.reduce_sum(tf.cast(tf.sin(y), tf.float32)) for y in floats] or [0.0])
    found = [part for y in results for part in spread(y)]
    if name not in VALUES_ONLY and floats:
        gradients = tape.gradient(loss, [x, w, r])
        found += [tf.convert_to_tensor(g) for g in gradients if g is not None]
    return found


def differences(expected: list[Any], actual: list[Any]) -> list[str]:
    texts = []
    for i, (e, a) in enumerate(zip(expected, actual, strict=True)):
        e, a = e.numpy(), a.numpy()
        if e.shape != a.shape or not np.allclose(a, e, TOLERANCE, TOLERANCE, equal_nan=True):
            texts.append(f"result {i}: {a.ravel()[:8]} instead of {e.ravel()[:8]}")
    return texts


@pytest.mark.parametrize(
    "group", every(5, GROUPS) + [[name] for name in ALONE], ids=lambda group: group[0]
)
def test_values_sizes_and_gradients(group: list[str]) -> None:
    def all_cases(*arguments: Any) -> dict[str, list[Any]]:
        return {name: evaluate(name, *arguments) for name in group}

    compiled = tf.function(all_cases, autograph=False, jit_compile=True)
    wrong = []
    for count, mask in MASKS.items():
        with tf.device("/XPU:0"):
            actual = compiled(*operands(mask))
        for name in group:
            if count == 0 and name in NOT_EMPTY:
                continue
            try:
                with tf.device("/CPU:0"):
                    expected = evaluate(name, *operands(mask))
            except tf.errors.InvalidArgumentError:
                assert count < 2, name  # a row that does not exist
                continue
            wrong += [f"{name}, {count} rows: {d}" for d in differences(expected, actual[name])]
    assert not wrong, "\n".join(wrong)


def rejected(function: Callable[..., Any], *arguments: Any) -> None:
    with tf.device("/XPU:0"):
        tf.function(function, autograph=False, jit_compile=True)(*arguments)


@pytest.mark.parametrize("name", REJECTED)
def test_rejected_by_name(name: str) -> None:
    op, function = REJECTED[name]

    def results(x: Any, mask: Any, w: Any, r: Any) -> list[Any]:
        v = tf.boolean_mask(x, mask)
        found = tf.nest.flatten(function(v, bounded_cases.Operands(x, mask, w, r)))
        return [part for y in found for part in spread(y)]

    with pytest.raises(tf.errors.UnimplementedError, match=f"{op}.*pad.*to a known size"):
        rejected(functools.partial(results), *operands(MASKS[3]))
