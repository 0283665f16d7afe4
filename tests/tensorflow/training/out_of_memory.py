"""What happens where memory does not suffice, as JSON: a program of its own, for the limit is the
process's.

Run with ONEXPU_MEMORY_LIMIT set. Each case asks for too much, for what fits, again for too much,
and for what fits.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from memory_training import WAYS, Training, live_bytes

# Fails on its way forward. Where the way back fails, TensorFlow 2.21's eager tape never lets go of
# the gradients that it has by then, on the CPU device as on this one.
_TOO_LARGE = 4096
_ATTEMPTS = 8


def _error(attempt: Callable[[], Any]) -> dict[str, str]:
    try:
        attempt()
    except tf.errors.OpError as error:
        return {"error": type(error).__name__, "message": str(error)}
    return {"error": "none", "message": ""}


def _case(too_much: Callable[[], Any], fits: Callable[[], Any]) -> dict[str, Any]:
    _error(too_much)
    fits()
    # A graph runs in no fixed order: which of its constants have come before it fails is chance.
    # They stay.
    live = [live_bytes()]
    for _ in range(_ATTEMPTS):
        record: dict[str, Any] = _error(too_much)
        live.append(live_bytes())
        if live[-1] == live[-2]:
            break
    fits()
    return record | {"live": live}


def _training(way: str) -> dict[str, Any]:
    training, twin = Training("/XPU:0", way), Training("/CPU:0", "eager")
    # Reading the loss waits for the step: an error that comes late belongs to it, too.
    training.step(4).numpy()
    twin.step(4)
    before = training.values()
    record = _case(lambda: training.step(_TOO_LARGE).numpy(), lambda: None)
    after = training.values()
    same = [np.array_equal(b, a) for b, a in zip(before, after, strict=True)]
    record["changed"] = [
        v.name for v, kept in zip(training.variables, same, strict=True) if not kept
    ]
    # A graph runs what does not depend on the operation that failed: Adam counts the step, on the
    # CPU, too.
    twin.optimizer.iterations.assign(training.optimizer.iterations.numpy())
    losses = []
    for _ in range(2):
        twin.steps = training.steps
        losses.append([float(training.step(4)), float(twin.step(4))])
    record["losses"] = losses
    pairs = zip(training.values(), twin.values(), strict=True)
    record["errors"] = [float(np.abs(actual - expected).max()) for actual, expected in pairs]
    return record


def _temporaries() -> dict[str, Any]:
    counter = tf.Variable(0.0)

    @tf.function(jit_compile=True)
    def product(x: tf.Tensor) -> tf.Tensor:
        counter.assign_add(1.0)
        return tf.reduce_sum(tf.matmul(x, x, transpose_b=True)[:, ::-1] @ x)

    results = []
    record = _case(
        lambda: product(tf.ones([4096, 4])).numpy(),  # 64 MiB between the products
        lambda: results.append(float(product(tf.ones([64, 4])))),
    )
    return record | {"results": results, "expected": 64.0 * 64 * 4 * 4, "counter": float(counter)}


def _unique() -> dict[str, Any]:
    numbers = tf.constant(np.arange(5 << 19) % 1000)  # 20 MiB; the results take as much again
    results = []
    record = _case(
        lambda: tf.unique(numbers),
        lambda: results.append(int(tf.size(tf.unique(numbers[:2000])[0]))),
    )
    return record | {"results": results, "expected": 1000}


def _crop_and_resize() -> dict[str, Any]:
    image = tf.ones([1, 8, 8, 3])

    def crop(boxes: int) -> tf.Tensor:
        places = tf.constant(np.tile([[0, 0, 1, 1]], (boxes, 1)), tf.float32)
        return tf.image.crop_and_resize(image, places, tf.zeros([boxes], tf.int32), [256, 256])

    results = []
    record = _case(lambda: crop(256), lambda: results.append(float(tf.reduce_mean(crop(2)))))
    return record | {"results": results, "expected": 1.0}


def _constant() -> dict[str, Any]:
    results = []
    record = _case(
        lambda: tf.constant(np.zeros(16 << 20, np.float32)),
        lambda: results.append(float(tf.constant(np.full(1000, 2.0))[999])),
    )
    return record | {"results": results, "expected": 2.0}


def _scratch_of_an_update_in_place() -> dict[str, Any]:
    """Results and operands fit; what the kernel needs to sort the rows does not."""
    table, sums = tf.Variable(tf.ones([1000, 64])), tf.Variable(tf.ones([1000, 64]))

    def update(gradients: tf.Tensor, rows: tf.Tensor) -> float:
        tf.raw_ops.ResourceSparseApplyAdagradV2(
            var=table.handle, accum=sums.handle, lr=0.5, epsilon=0.0, grad=gradients, indices=rows
        )
        return float(table[0, 0])

    many = 178_000  # 43 MiB of gradients
    gradients = tf.zeros([many, 64])
    rows = tf.constant(np.arange(many) % 1000)
    results = []
    record = _case(
        lambda: update(gradients, rows),
        lambda: results.append(update(gradients[:10], rows[:10])),
    )
    return record | {"results": results, "expected": 1.0}


CASES: dict[str, Callable[[], dict[str, Any]]] = {
    **{way: lambda way=way: _training(way) for way in WAYS},
    "temporaries": _temporaries,
    "unique": _unique,
    "crop_and_resize": _crop_and_resize,
    "constant": _constant,
    "scratch": _scratch_of_an_update_in_place,
}


def main() -> None:
    """Prints each case's record."""
    with tf.device("/XPU:0"):
        print(json.dumps({name: case() for name, case in CASES.items()}))
