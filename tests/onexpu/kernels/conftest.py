"""How tests of the kernels that come along run them: in TensorFlow, and with both schedules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from onexpu.kernels import _quantized_matmul, _team_kernel

MODES = ["eager", "graph", "jit", "graph, unknown shape", "jit, unknown shape"]


@pytest.fixture(params=MODES)
def in_tensorflow(request) -> Callable[..., list[np.ndarray]]:
    """Calls a function of tensors with arrays, eagerly or compiled, with the first of their sizes
    known or not.
    """
    mode = request.param

    def run(
        function: Callable[..., Any], *operands: np.ndarray, known: Sequence[int] = ()
    ) -> list[np.ndarray]:
        call = function
        if mode != "eager":
            unknown = [
                a.ndim > 0 and "unknown" in mode and i not in known for i, a in enumerate(operands)
            ]
            signature = [
                tf.TensorSpec((None, *a.shape[1:]) if first else a.shape, a.dtype)
                for a, first in zip(operands, unknown, strict=True)
            ]
            call = tf.function(function, input_signature=signature, jit_compile="jit" in mode)
        with tf.device("/XPU:0"):
            return [t.numpy() for t in tf.nest.flatten(call(*map(tf.constant, operands)))]

    return run


@pytest.fixture(params=["this device's schedule", "the other schedule"])
def schedule(request, monkeypatch) -> None:
    """A GPU's work-groups on a CPU too, or the other way round."""
    if request.param == "the other schedule":
        other = not _team_kernel.has_cpu_schedules()
        for module in (_team_kernel, _quantized_matmul):
            monkeypatch.setattr(module, "has_cpu_schedules", lambda: other)
