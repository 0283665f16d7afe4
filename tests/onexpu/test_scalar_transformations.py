"""Scalars of kernels in batches, gradients, scans, saved and exported programs."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.monitoring
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf

import onexpu

pytestmark = pytest.mark.usefixtures("on_xpu")
ROOT = pathlib.Path(__file__).resolve().parents[2]
X = np.linspace(-4, 4, 9, dtype=np.float32)


def test_a_scalar_for_each_element_of_a_batch(swish, xpu) -> None:
    x, betas = jax.device_put(X, xpu), jnp.linspace(0.0, 2.0, 5)
    expected = np.stack([swish(x, beta=float(beta)) for beta in betas])
    run = jax.vmap(lambda beta: swish(x, beta=beta))
    np.testing.assert_array_equal(run(betas), expected)
    np.testing.assert_array_equal(jax.jit(run)(betas), expected)
    both = jax.vmap(lambda x, beta: swish(x, beta=beta))
    np.testing.assert_array_equal(jax.jit(both)(jnp.stack([x] * 5), betas), expected)


@pytest.mark.parametrize("rule", ["leading", "rule"])
def test_batches_of_kernels_with_rules(rule: str, xpu) -> None:
    scale = onexpu.sycl_kernel(
        "ONEXPU_KERNEL void scale(const float* x, float* y, float factor) {"
        " y[onexpu::global_id()] = factor * x[onexpu::global_id()]; }",
        inputs=["x"],
        outputs={"y": onexpu.like("x")},
        attributes={"factor": float},
        shapes={"x": "*sizes"},
        vmap="leading" if rule == "leading" else "sequential",
    )
    if rule == "rule":
        scale.defvmap(lambda size, batched, x, factor: (scale(x, factor=factor), True))
    x = jax.device_put(np.arange(6, dtype=np.float32).reshape(2, 3), xpu)
    f = jnp.array([2.0, 3.0])
    for wrap in (lambda f: f, jax.jit):
        np.testing.assert_array_equal(wrap(jax.vmap(lambda x: scale(x, factor=2.0)))(x), 2 * x)
        np.testing.assert_array_equal(wrap(jax.vmap(lambda x: scale(x, factor=f[1])))(x), 3 * x)
        np.testing.assert_array_equal(
            wrap(jax.vmap(lambda x, f: scale(x, factor=f)))(x, f), x * f[:, None]
        )
    text = jax.jit(jax.vmap(lambda x, f: scale(x, factor=f), (0, None))).lower(x, f[0]).as_text()
    assert "while" not in text


def test_gradients_with_traced_scalars(swish, xpu) -> None:
    x = jax.device_put(X, xpu)

    def loss(call: Callable, x: Any, beta: Any) -> Any:
        return (call(x, beta) ** 2).sum()

    reference = jax.grad(lambda x, b: loss(lambda x, b: x * jax.nn.sigmoid(b * x), x, b))
    ours = jax.grad(lambda x, b: loss(lambda x, b: swish(x, beta=b), x, b))
    for call in (ours, jax.jit(ours), jax.jit(ours, static_argnums=1), jax.jit(jax.jit(ours))):
        # exp on the device is good for 3 ulp in float32.
        np.testing.assert_allclose(call(x, 0.7), reference(x, 0.7), rtol=1e-5, atol=1e-6)
    batch = jax.jit(jax.vmap(ours, (None, 0)))(x, jnp.array([0.5, 1.5]))
    np.testing.assert_allclose(batch[1], reference(x, 1.5), rtol=1e-5, atol=1e-6)


def test_the_gradient_gets_numbers_in_eager_calls(xpu) -> None:
    square = onexpu.sycl_kernel(
        "ONEXPU_KERNEL void scale(const float* x, float* y, int n) {"
        " y[onexpu::global_id()] = n * x[onexpu::global_id()]; }",
        inputs=["x"],
        outputs={"y": onexpu.like("x")},
        attributes={"n": int},
    )
    # Python's control flow, and the length of a list.
    square.defgradient(
        lambda inputs, outputs, cotangents, n: [
            sum([cotangents[0]] * n) if n > 1 else cotangents[0]
        ]
    )
    for n in (1, 3):
        run = jax.grad(lambda x, n=n: square(x, n=n).sum())
        np.testing.assert_array_equal(run(jax.device_put(X, xpu)), np.full_like(X, n))
        np.testing.assert_array_equal(jax.jit(run)(jax.device_put(X, xpu)), np.full_like(X, n))


def test_no_derivative_by_an_attribute(swish, xpu) -> None:
    x = jax.device_put(X, xpu)
    message = "kernel 'swish' has no derivative by its attribute 'beta': make it an input"
    run = jax.grad(lambda beta, x: swish(x, beta=beta).sum())
    for call in (run, jax.jit(run)):
        with pytest.raises(NotImplementedError, match=message):
            call(0.5, x)
    stopped = jax.grad(lambda beta: swish(x, beta=jax.lax.stop_gradient(beta)).sum() * beta)
    np.testing.assert_allclose(stopped(0.5), swish(x, beta=0.5).sum(), rtol=1e-6)
    with tf.GradientTape() as tape:
        tensor, beta = tf.constant(X), tf.constant(0.5)
        tape.watch([tensor, beta])
        y = swish(tensor, beta=beta)
    gradients = tape.gradient(y, [tensor, beta])
    assert gradients[0] is not None and gradients[1] is None


def test_scan_over_learning_rates(swish, xpu) -> None:
    x = jax.device_put(X, xpu)
    rates = jnp.array([0.5, 1.0, 2.0])
    looped, _ = jax.lax.scan(lambda x, rate: (swish(x, beta=rate), None), x, rates)
    expected = x
    for rate in rates:
        expected = swish(expected, beta=float(rate))
    np.testing.assert_array_equal(looped, expected)


def test_variables_of_tensorflow(swish) -> None:
    rate, x = tf.Variable(0.5), tf.constant(X)
    step = tf.function(lambda: swish(x, beta=rate))
    for value in (0.5, 2.0):
        rate.assign(value)
        np.testing.assert_array_equal(swish(x, beta=rate), swish(x, beta=value))
        np.testing.assert_array_equal(step(), swish(x, beta=value))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = swish(x, beta=rate)
    assert tape.gradient(y, x) is not None


def test_a_saved_model_takes_scalars(swish, tmp_path) -> None:
    class Module(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([])])
        def __call__(self, x, beta):
            return swish(x, beta=beta)

    tf.saved_model.save(Module(), str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    for beta in (0.5, 2.0):
        np.testing.assert_array_equal(
            loaded(tf.constant(X), tf.constant(beta)), swish(tf.constant(X), beta=beta)
        )


def test_an_exported_program_takes_scalars(swish, xpu, tmp_path) -> None:
    x, beta = jax.ShapeDtypeStruct(X.shape, jnp.float32), jax.ShapeDtypeStruct((), jnp.float32)
    exported = jax.export.export(jax.jit(lambda x, beta: swish(x, beta=beta)), platforms=["xpu"])(
        x, beta
    )
    (tmp_path / "program").write_bytes(exported.serialize())
    script = f"""
import pathlib, jax, jax.numpy as jnp, numpy as np, onexpu
from tests.onexpu.conftest import make_swish
serialized = pathlib.Path({str(tmp_path / "program")!r}).read_bytes()
program = jax.export.deserialize(bytearray(serialized))
x = jax.device_put(np.linspace(-4, 4, 9, dtype=np.float32), jax.devices("xpu")[0])
try:
    program.call(x, jnp.float32(2))
except Exception as error:
    assert "onexpu.lowered(kernel, x, beta=" in str(error), error
else:
    raise AssertionError("the kernel is not known here")
onexpu.lowered(make_swish(), x, beta=jax.ShapeDtypeStruct((), "float32"))
np.testing.assert_allclose(program.call(x, jnp.float32(2)), x / (1 + np.exp(-2 * x)), rtol=1e-6)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=300
    )
    assert done.returncode == 0, done.stderr
