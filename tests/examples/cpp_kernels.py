"""Builds kernels in C++, and calls kernels in both frameworks."""

from __future__ import annotations

import pathlib
import subprocess

import jax
import numpy as np
import pytest
import tensorflow as tf

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Sums of 31 products of float32 in another order than numpy's in float64.
TOLERANCE = {"rtol": 1e-5, "atol": 1e-5}


def run_command(*command: str | pathlib.Path) -> None:
    """Runs a command, whose output an error shows."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:]


def raises_in_both(kernel, operand: np.ndarray, message: str, **attributes) -> None:
    """Expects an error of the kernel in JAX, in TensorFlow and in a compiled function."""
    with pytest.raises(jax.errors.JaxRuntimeError, match=message):
        jax.block_until_ready(jax.jit(lambda x: kernel(x, **attributes))(operand))
    with tf.device("/XPU:0"), pytest.raises(tf.errors.OpError, match=message):
        kernel(tf.constant(operand), **attributes)
    compiled = tf.function(lambda x: kernel(x, **attributes), jit_compile=True)
    with tf.device("/XPU:0"), pytest.raises(tf.errors.OpError, match=message):
        tf.nest.map_structure(lambda y: y.numpy(), compiled(tf.constant(operand)))
