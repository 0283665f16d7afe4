"""ONEXPU_KERNEL_CHECKS=1: what kernels do outside of their operands is an error that names them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

# All kernels, in every way to call them, in one process: the variable is read when it starts.
SCRIPT = r'''
import json
import jax, numpy as np, tensorflow as tf, onexpu

module = onexpu.sycl_module("""
ONEXPU_KERNEL void inside(const float* x, float* y, float* s) {
  const size_t i = onexpu::global_id();
  s[i] = x[i];
  y[i] = 2 * s[i];
}
ONEXPU_KERNEL void reads_past(const float* x, float* y) {
  const size_t i = onexpu::global_id();
  y[i] = x[i + 1];
}
ONEXPU_KERNEL void reads_largest(const float* x, float* y) {
  const size_t i = onexpu::global_id();
  y[i] = sycl::fmax(x[2 * i], 0.0f);
}
ONEXPU_KERNEL void reads_before(const float* x, float* y) {
  const long i = onexpu::global_id();
  y[i] = x[i - 2];
}
ONEXPU_KERNEL void writes_past(const float* x, float* y) {
  const size_t i = onexpu::global_id();
  y[i] = 1;
  if (i == 0) y[9] = 1;
}
// Out of sight when compiled.
__attribute__((noinline)) void poke(const float* x) { const_cast<float*>(x)[3] = 5; }
ONEXPU_KERNEL void writes_input(const float* x, float* y) {
  const size_t i = onexpu::global_id();
  y[i] = 1;
  poke(x);
}
ONEXPU_KERNEL void writes_half(const float* x, float* y, int* z) {
  const size_t i = onexpu::global_id();
  if (i % 2) {
    y[i] = 1;
    z[i] = 1;
  }
}
ONEXPU_KERNEL void in_place(float* x) { x[onexpu::global_id()] += 1; }
ONEXPU_KERNEL void counts(const float* x, unsigned* y) {
  sycl::atomic_ref<unsigned, sycl::memory_order::relaxed, sycl::memory_scope::device> count(y[0]);
  count.fetch_add(1);
}
""")
like = onexpu.like
SPECIAL = {
    "inside": dict(scratch={"s": like("x")}),
    "writes_half": dict(outputs={"y": like("x"), "z": like("x", dtype="int32")}),
    "in_place": dict(outputs={"x": like("x")}),
    "counts": dict(
        outputs={"y": onexpu.array((1,), "uint32", zeroed=True)}, range=lambda x: x.size),
}
kernels = {
    name: module.kernel(name, ["x"], **{"outputs": {"y": like("x")}, **SPECIAL.get(name, {})})
    for name in module.names
}
values = np.arange(8, dtype=np.float32)
array = jax.device_put(values, jax.devices("xpu")[0])
with tf.device("/XPU:0"):
    tensor = tf.constant(values)
unknown = [tf.TensorSpec([None], tf.float32)]
ways = {
    "jax": lambda kernel: kernel(array),
    "jax.jit": lambda kernel: jax.jit(kernel)(array),
    "jax.jit, more": lambda kernel: jax.jit(
        lambda x: jax.tree.map(lambda y: y + 0, kernel(x * 1)))(array),
    "tf": lambda kernel: kernel(tensor),
    "tf.function": lambda kernel: tf.function(kernel)(tensor),
    "tf.function, jit": lambda kernel: tf.function(kernel, jit_compile=True)(tensor),
    "tf.function, unknown": lambda kernel: tf.function(kernel, input_signature=unknown)(tensor),
}
found = {}
for name, kernel in kernels.items():
    for way, call in ways.items():
        try:
            results = call(kernel)
            results = results if isinstance(results, (tuple, list)) else [results]
            found[f"{name}: {way}"] = [np.asarray(result).tolist() for result in results]
        except Exception as error:
            found[f"{name}: {way}"] = f"{type(error).__name__}: {error}"
print(json.dumps(found))
'''


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, object]]:
    """What each kernel gave or raised, by kernel and way."""
    environment = {**os.environ, "ONEXPU_KERNEL_CHECKS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr[-4000:]
    by_kernel: dict[str, dict[str, object]] = {}
    for key, value in json.loads(done.stdout.splitlines()[-1]).items():
        kernel, way = key.split(": ")
        by_kernel.setdefault(kernel, {})[way] = value
    assert {len(ways) for ways in by_kernel.values()} == {7}
    return by_kernel


@pytest.mark.parametrize(
    ("kernel", "results"),
    [
        ("inside", [[0, 2, 4, 6, 8, 10, 12, 14]]),
        ("in_place", [[1, 2, 3, 4, 5, 6, 7, 8]]),
        ("counts", [[8]]),
    ],
)
def test_kernels_that_stay_inside(found, kernel: str, results) -> None:
    assert found[kernel] == dict.fromkeys(found[kernel], results)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("reads_past", "reads past the end of 'x', element 8 (it has 8 elements)"),
        ("reads_largest", "reads past the end of 'x', element 8 (it has 8 elements)"),
        ("reads_before", "reads before the start of 'x', element -1 (it has 8 elements)"),
        ("writes_past", "writes past the end of 'y', element 9 (it has 8 elements)"),
        ("writes_input", "writes to its input 'x', element 3 (it has 8 elements)"),
    ],
)
def test_what_kernels_do_outside(found, kernel: str, message: str) -> None:
    for way, error in found[kernel].items():
        assert isinstance(error, str), (way, error)
        assert f"kernel '{kernel}' {message}" in error, (way, error)
        assert error.partition(":")[0] in (
            "JaxRuntimeError",
            "XlaRuntimeError",
            "ValueError",
            "InvalidArgumentError",
        ), (way, error)


def test_what_a_kernel_does_not_write(found) -> None:
    for way, results in found["writes_half"].items():
        y, z = results
        assert [value != value for value in y] == [True, False] * 4, way
        assert [value & 0xFFFFFFFF for value in z] == [0xA5A5A5A5, 1] * 4, way


def test_another_value_is_refused() -> None:
    script = "import jax; jax.devices('xpu')"
    environment = {**os.environ, "ONEXPU_KERNEL_CHECKS": "yes"}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode != 0
    assert "ONEXPU_KERNEL_CHECKS=yes is not understood: it takes 0 or 1" in done.stderr
