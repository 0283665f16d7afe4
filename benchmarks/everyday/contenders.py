"""Everyday programs as cases of run.py: built on both devices, compared, then timed."""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import numpy as np
import tensorflow as tf
from cases import Case, Run, jax_calls, tf_call, waiting

from everyday import PROGRAMS
from everyday.program import Mode, Program

# Of each program: three hundred programs take minutes.
SECONDS = 0.5

_DEVICES = {"xpu": "/XPU:0", "TF CPU": "/CPU:0"}


class DifferentValues(AssertionError):
    """The results of xpu are not the competitor's."""


def _tf_call(program: Program, device: str, mode: Mode) -> Callable:
    function = program.function
    if program.state is not None:
        with tf.device(device):
            function = functools.partial(function, program.state())
    if mode is not Mode.TF_EAGER:
        function = tf.function(function, jit_compile=mode is Mode.TF_JIT)
    return tf_call(function, program.arguments(), device)


def calls(program: Program) -> dict[str, Callable]:
    """Returns a function without arguments for xpu and one for the competitor.

    Each runs the program once and returns its results, which may not be ready yet.
    """
    if program.mode.is_jax:
        jit = program.mode is Mode.JAX_JIT
        return jax_calls(program.function, program.arguments(), jit=jit)
    return {label: _tf_call(program, device, program.mode) for label, device in _DEVICES.items()}


def _reference(program: Program, built: dict[str, Callable]) -> Callable:
    if program.mode is Mode.TF_JIT:
        # TensorFlow's CPU kernels, because XLA's programs there are wrong for some resizes
        # (TensorFlow 2.21: bilinear, 96 to 224).
        return _tf_call(program, "/CPU:0", Mode.TF_GRAPH)
    return built[program.mode.competitor]


def _leaves(results: object) -> list[np.ndarray]:
    if isinstance(results, jax.Array | list | tuple | dict):
        results = jax.tree.map(
            lambda leaf: tf.nest.flatten(leaf, expand_composites=True), results, is_leaf=_is_tensor
        )
        return [np.asarray(leaf) for leaf in jax.tree.leaves(results)]
    return [np.asarray(leaf) for leaf in tf.nest.flatten(results, expand_composites=True)]


def _is_tensor(value: object) -> bool:
    return isinstance(value, tf.Tensor | tf.__internal__.CompositeTensor)


def compare(got: object, expected: object, tolerance: float) -> None:
    """Raises `DifferentValues` if results differ by more than `tolerance` (see `Program`)."""
    ours, theirs = _leaves(got), _leaves(expected)
    if len(ours) != len(theirs):
        raise DifferentValues(f"{len(ours)} results instead of {len(theirs)}")
    for position, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        where = f"result {position}"
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            raise DifferentValues(f"{where}: {a.dtype}{a.shape} instead of {b.dtype}{b.shape}")
        if not np.issubdtype(b.dtype, np.inexact):
            if not np.array_equal(a, b):
                raise DifferentValues(f"{where}: {np.mean(a != b):.2%} of the elements differ")
            continue
        wide = np.complex128 if np.iscomplexobj(b) else np.float64
        a, b = a.astype(wide), b.astype(wide)
        finite = np.isfinite(b)
        if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
            raise DifferentValues(f"{where}: NaN or infinity is not where the competitor's is")
        scale = np.abs(b[finite]).max(initial=0)
        error = np.abs(a[finite] - b[finite]).max(initial=0)
        if not error <= tolerance * scale:
            raise DifferentValues(
                f"{where}: the maximum error is {error:.3g}, the maximum magnitude {scale:.3g}"
            )


def check(program: Program, built: dict[str, Callable]) -> None:
    """Raises `DifferentValues` if xpu does not return what the competitor does.

    Programs with jit_compile are compared with the competitor's graph. Two calls are compared,
    because the second one takes other paths: memos, new shapes, variables.
    """
    reference = _reference(program, built)
    for _ in range(2):
        compare(built["xpu"](), reference(), program.tolerance)


def _synchronized(call: Callable) -> Run:
    def run() -> None:
        results = call()  # alive until the device is done
        tf.test.experimental.sync_devices()
        del results

    return run


def case(program: Program, _) -> Case:
    """Builds, compares and returns the contenders of a program."""
    built = calls(program)
    check(program, built)
    wait = waiting if program.mode.is_jax else _synchronized
    contenders = {label: wait(call) for label, call in built.items()}
    return Case(program.title, contenders, rounds=2001, seconds=SECONDS)


EVERYDAY_CASES = {name: functools.partial(case, program) for name, program in PROGRAMS.items()}
