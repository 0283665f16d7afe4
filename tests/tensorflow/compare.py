"""Runs a function on XPU and on TensorFlow's CPU device and compares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf

# Relative to the largest element, in rounding errors of the type: sums are added in another order
# and elementary functions are other polynomials, which differ by some units; chains of operations
# by some dozen.
ULPS = 64

MODES = ("eager", "graph", "jit")

# All types of whole bytes that kernels only move or compare.
TYPES = [
    np.bool_,
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
    np.float16,
    ml_dtypes.bfloat16,
    np.float32,
    np.float64,
    np.complex64,
    np.complex128,
]


def on(device: str, function: Callable[[], Any], mode: str = "eager") -> Any:
    """Calls `function` on `device` as it is, as a graph, or as a compiled program; returns its
    tensors.
    """
    with tf.device(device):
        if mode == "eager":
            return function()
        return tf.function(function, autograph=False, jit_compile=mode == "jit" or None)()


def assert_same(actual: Any, expected: Any, ulps: float = ULPS) -> None:
    """Compares nests of tensors: numbers to `ulps` rounding errors of the largest, everything else
    exactly.
    """
    tf.nest.assert_same_structure(actual, expected)
    for a, e in zip(tf.nest.flatten(actual), tf.nest.flatten(expected), strict=True):
        # A bfloat16 scalar is no array to np.asarray, its value is.
        a, e = (np.asarray(x.numpy() if tf.is_tensor(x) else x) for x in (a, e))
        assert (a.shape, a.dtype) == (e.shape, e.dtype)
        if e.dtype.kind not in "fcV":
            np.testing.assert_array_equal(a, e)
            continue
        wide = np.complex128 if e.dtype.kind == "c" else np.float64
        epsilon = float(ml_dtypes.finfo(e.dtype).eps)
        finite = e.astype(wide)[np.isfinite(e.astype(wide))]
        scale = float(np.max(np.abs(finite))) if finite.size else 1.0
        np.testing.assert_allclose(
            a.astype(wide), e.astype(wide), rtol=0, atol=ulps * epsilon * max(scale, 1e-30)
        )


def check(function: Callable[[], Any], mode: str = "eager", ulps: float = ULPS) -> Any:
    """Asserts that `function` gives the same on both devices; returns what XPU gave."""
    result = on("/XPU:0", function, mode)
    assert_same(result, on("/CPU:0", function), ulps)
    return result
