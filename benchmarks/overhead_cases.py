"""What a call of a kernel costs, against a program of XLA's that does nothing with the same
operand.

Figures are seconds of one call. Inside of a program: of what a program takes longer for more calls.
Wanted: at most 5 us above an XLA-compiled no-op inside of a program, at most 25 us above a jitted
no-op eagerly.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable

import jax
import numpy as np
import tensorflow as tf
from cases import Case, Run

import onexpu

_CALLS = 64  # so that a program's own cost is small beside them
_EAGER_CALLS = 200

_noop = onexpu.sycl_kernel(
    "ONEXPU_KERNEL void noop(const float* x, float* y) {}",
    inputs=["x"],
    outputs={"y": onexpu.like("x")},
    range=1,
)
_scaled = onexpu.sycl_kernel(
    "ONEXPU_KERNEL void scaled(const float* x, float* y, float rate) {}",
    inputs=["x"],
    outputs={"y": onexpu.like("x")},
    attributes={"rate": float},
    range=1,
)


def _add(x):
    return x + 1.0


# A way to compile a function, to wait for its result, and an operand.
_Framework = tuple[Callable, Callable, object]


def _jax() -> _Framework:
    return (
        jax.jit,
        jax.block_until_ready,
        jax.device_put(np.ones(8, np.float32), jax.devices("xpu")[0]),
    )


def _tensorflow() -> _Framework:
    with tf.device("/XPU:0"):
        return functools.partial(tf.function, jit_compile=True), lambda t: t.numpy(), tf.ones(8)


def _seconds(call: Callable, wait: Callable, count: int = 1) -> float:
    begin = time.perf_counter()
    for _ in range(count):
        result = call()
    wait(result)
    return (time.perf_counter() - begin) / count


def _program(compile_: Callable, *steps: Callable) -> Callable:
    """Calls in turn, each after the one before. What XLA compiles does not fuse with a kernel."""

    def run(x):
        for step in steps:
            x = step(x)
        return x

    return compile_(run)


def _launched(program: Callable, wait: Callable, operand: object) -> int:
    wait(program(operand))
    before = onexpu.transfer_statistics()
    wait(program(operand))
    return (onexpu.transfer_statistics() - before).kernels_launched


def _inside(framework: Callable[[], _Framework], label: str, _) -> Case:
    compile_, wait, operand = framework()
    kernels = _program(compile_, *[_noop] * _CALLS)
    twice = _program(compile_, *[_noop] * 2 * _CALLS)
    mixed = _program(compile_, *[_noop, _add] * _CALLS)
    for program, count in ((kernels, _CALLS), (twice, 2 * _CALLS), (mixed, 2 * _CALLS)):
        launched = _launched(program, wait, operand)
        if launched != count:
            raise AssertionError(f"a program of {count} calls launches {launched}")

    def longer(program: Callable) -> Run:
        def run() -> float:
            both = _seconds(lambda: program(operand), wait)
            return (both - _seconds(lambda: kernels(operand), wait)) / _CALLS

        return run

    contenders = {"xpu": longer(twice), "XLA no-op on xpu": longer(mixed)}
    return Case(f"a kernel call in a program, {label}", contenders, rounds=101, seconds=8.0)


def _eager(framework: Callable[[], _Framework], label: str, _) -> Case:
    compile_, wait, operand = framework()
    add = compile_(_add)
    contenders: dict[str, Run] = {
        "xpu": lambda: _seconds(lambda: _noop(operand), wait, _EAGER_CALLS),
        "jitted no-op on xpu": lambda: _seconds(lambda: add(operand), wait, _EAGER_CALLS),
    }
    return Case(f"a kernel call, eager {label}", contenders, rounds=101, seconds=8.0)


def _eager_numbers(framework: Callable[[], _Framework], label: str, _) -> Case:
    """A learning rate that is another one in each call, and one that stays."""
    compile_, wait, operand = framework()
    add = compile_(_add)
    rates = itertools.count()
    contenders: dict[str, Run] = {
        "xpu": lambda: _seconds(
            lambda: _scaled(operand, rate=1e-3 * next(rates)), wait, _EAGER_CALLS
        ),
        "the same number on xpu": lambda: _seconds(
            lambda: _scaled(operand, rate=0.1), wait, _EAGER_CALLS
        ),
        "jitted no-op on xpu": lambda: _seconds(lambda: add(operand), wait, _EAGER_CALLS),
    }
    return Case(
        f"a kernel call with a new number, eager {label}", contenders, rounds=101, seconds=8.0
    )


OVERHEAD_CASES = {
    f"kernel_call_{where}_{name}": functools.partial(make, framework, label)
    for where, make in (
        ("in_program", _inside),
        ("eager", _eager),
        ("eager_number", _eager_numbers),
    )
    for name, label, framework in (("jax", "JAX", _jax), ("tensorflow", "TensorFlow", _tensorflow))
}
