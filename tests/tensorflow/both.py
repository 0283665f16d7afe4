"""Ops with translations or kernels of our own on XPU, alone and in a compiled program, against
TensorFlow's CPU kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import compare
import pytest
import tensorflow as tf

# Alone, an op is a program; in a function with jit_compile it is a part of one.
MODES = ("eager", "jit")


def check(
    function: Callable[[], Any], ulps: float = compare.ULPS, modes: tuple[str, ...] = MODES
) -> None:
    """Asserts that XPU gives in these modes what the CPU gives, and that it was XPU that gave
    it.
    """
    expected = compare.on("/CPU:0", function)
    for mode in modes:
        actual = compare.on("/XPU:0", function, mode)
        if mode == "eager":
            assert all("XPU" in tensor.device for tensor in tf.nest.flatten(actual))
        compare.assert_same(actual, expected, ulps)


def check_refused(function: Callable[[], Any]) -> None:
    """Asserts that both devices refuse with INVALID_ARGUMENT."""
    for device in ("/CPU:0", "/XPU:0"):
        with pytest.raises(tf.errors.InvalidArgumentError), tf.device(device):
            function()


def check_call_refused(op: Callable[..., Any], **arguments: Any) -> None:
    """Asserts that both devices refuse a call of `op` with INVALID_ARGUMENT."""
    check_refused(lambda: op(**arguments))
