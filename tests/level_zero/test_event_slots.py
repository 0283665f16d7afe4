"""Launches take no event slots that they do not give back."""

from __future__ import annotations

import pytest

from tests.exhaustive import covering, every
from tests.level_zero.lab import CPP_HEADERS, Lab

# 12 launches and a copy a run; what is used from the start is there after some of them.
_PROGRAM = """
import jax, jax.numpy as jnp
x = jnp.ones((64, 64))
@jax.jit
def step(x):
    for i in range(6):
        x = jnp.sort(x * 1.5, i % 2)
    return x
def resident():
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmRSS"))
def run(times):
    for _ in range(times):
        for _ in range(100):
            y = step(x)
        y.block_until_ready()
run(17)
before = resident()
run(17)
print("KiB:", resident() - before)
"""


@covering(device=("dg2", "pvc", "bmg"), adapter=(1, 2))
def test_event_pools_and_memory_do_not_grow(lab: Lab, device: str, adapter: int) -> None:
    environment = {"SYCL_UR_USE_LEVEL_ZERO_V2": str(adapter - 1)}
    run = lab.run(device, _PROGRAM, env=environment, record=adapter == 1).check()
    if adapter == 1:
        assert len(run.of("launch")) > 40_000
        assert len(run.of("event pool")) < 10
    grown = int(run.stdout.split("KiB: ")[1])
    assert grown < 1_000, f"{grown} KiB in 20,400 launches"


# Custom kernels and TensorFlow's built-in kernels submit their commands elsewhere.
_OTHER_COMMANDS = """
import sys
import jax, jax.numpy as jnp, numpy as np
import onexpu
import tensorflow as tf

def custom():
    source = "template <typename T> ONEXPU_KERNEL void add(const T* x, T* y) { "
    source += "const size_t i = onexpu::global_id(); y[i] = x[i] + 1; }"
    add = onexpu.sycl_kernel(source, inputs=["x"], outputs={"y": onexpu.like("x")},
                             dtypes={"T": ["float32"]})
    x = jnp.ones(1000)
    step = jax.jit(lambda x: add(add(add(add(x)))))
    return lambda: step(x), lambda y: y.block_until_ready()

def builtin():
    with tf.device("/XPU:0"):
        draw = lambda: tf.raw_ops.StatelessRandomUniformV2(
            shape=[100], key=[1], counter=[1, 2], alg=1)
    return lambda: [draw() for _ in range(4)], lambda _: tf.test.experimental.sync_devices()

run, wait = {"custom": custom, "builtin": builtin}[sys.argv[1]]()
for _ in range(15):
    for _ in range(100):
        y = run()
    wait(y)
"""


@pytest.mark.parametrize(
    ("commands", "kernel"),
    every(2, (("custom", "__sycl_kernel_add"), ("builtin", "random_uniform")), unpack=True),
)
def test_other_commands_take_no_event_pools(lab: Lab, commands: str, kernel: str) -> None:
    run = lab.run("dg2", _OTHER_COMMANDS, arguments=[commands], shown=CPP_HEADERS).check()
    # A pool has 256 slots.
    assert sum(kernel in one["name"] for one in run.of("launch")) >= 6_000
    assert len(run.of("event pool")) < 10
