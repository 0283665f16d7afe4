"""Functions of JAX as ops of TensorFlow (jax2tf): both frameworks in one program on XPU."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf
from jax.experimental import jax2tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops

import onexpu

X, Y = np.random.RandomState(0).rand(2, 3, 4).astype(np.float32)


@pytest.fixture(autouse=True)
def _on_the_device():
    with tf.device("/XPU:0"):
        yield


def eager(function):
    return function


def graph(function):
    return tf.function(function, autograph=False)


def compiled(function):
    return tf.function(function, autograph=False, jit_compile=True)


@pytest.mark.parametrize("mode", [eager, graph, compiled])
def test_functions_in_all_modes(mode) -> None:
    converted = jax2tf.convert(lambda x, y: jnp.sin(x @ y.T) + 1)
    result = mode(converted)(tf.constant(X), tf.constant(Y))
    assert "XPU" in result.device
    np.testing.assert_allclose(result, np.sin(X.astype(np.float64) @ Y.T) + 1, rtol=1e-6)


@pytest.mark.parametrize("mode", [eager, graph, compiled])
def test_gradients(mode) -> None:
    converted = jax2tf.convert(lambda x: jnp.tanh(x) ** 2, with_gradient=True)

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(converted(x) * 3.0)
        return tape.gradient(y, x)

    tanh = np.tanh(X.astype(np.float64))
    np.testing.assert_allclose(
        mode(gradient)(tf.constant(X)), 6 * tanh * (1 - tanh**2), rtol=2e-6, atol=1e-6
    )


def test_shapes_that_depend_on_the_call() -> None:
    converted = jax2tf.convert(lambda x: jnp.cumsum(x, 0) / x.shape[0], polymorphic_shapes=["b, 4"])
    function = tf.function(converted, [tf.TensorSpec([None, 4])], autograph=False, jit_compile=True)
    for rows in (1, 3, 2):
        expected = np.cumsum(X[:rows].astype(np.float64), 0) / rows
        np.testing.assert_allclose(function(tf.constant(X[:rows])), expected, rtol=1e-6)


def test_loops_and_branches() -> None:
    def powers(x, n):
        return jax.lax.cond(
            n > 2, lambda: jax.lax.fori_loop(0, n, lambda i, y: y * x, x), lambda: -x
        )

    converted = compiled(jax2tf.convert(powers))
    for n, expected in ((5, X.astype(np.float64) ** 6), (1, -X)):
        np.testing.assert_allclose(converted(tf.constant(X), tf.constant(n)), expected, rtol=1e-6)


def test_library_calls() -> None:
    """What jax lowers to custom calls on this platform runs in TensorFlow as it does in JAX."""
    positive = X @ X.T + np.eye(3, dtype=np.float32)
    for function in (jnp.linalg.cholesky, jnp.linalg.inv, lambda a: jnp.linalg.eigh(a)[0]):
        expected = function(jnp.asarray(positive))
        np.testing.assert_array_equal(
            compiled(jax2tf.convert(function))(tf.constant(positive)), expected
        )


def test_sycl_kernels() -> None:
    """A kernel that a function of JAX calls."""

    doubled = onexpu.sycl_kernel(
        source="ONEXPU_KERNEL void doubled(const float* x, float* y) { "
        "auto i = onexpu::global_id(); y[i] = 2 * x[i]; }",
        inputs=["x"],
        outputs={"y": onexpu.like("x")},
        range=lambda x: x.size,
    )
    np.testing.assert_array_equal(compiled(jax2tf.convert(doubled))(tf.constant(X)), 2 * X)


def test_saved_models_bring_the_module(tmp_path) -> None:
    module = tf.Module()
    module.f = tf.function(
        jax2tf.convert(lambda x: jnp.exp(x) - 1),
        [tf.TensorSpec([3, 4])],
        autograph=False,
        jit_compile=True,
    )
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    np.testing.assert_allclose(
        loaded.f(tf.constant(X)), np.expm1(X.astype(np.float64)), rtol=2e-6, atol=2e-7
    )


@pytest.mark.parametrize("mode", [eager, compiled])
def test_modules_for_other_platforms_are_refused(mode) -> None:
    converted = jax2tf.convert(jnp.sin, native_serialization_platforms=["cpu"])
    with pytest.raises(
        tf.errors.NotFoundError, match=r"XPU is not among.*\[CPU\].*default backend"
    ):
        mode(converted)(tf.constant(X))
    with tf.device("/CPU:0"):
        np.testing.assert_allclose(converted(tf.constant(X)), np.sin(X), rtol=1e-6)


@pytest.mark.parametrize("platforms", [("cpu", "xpu"), ("xpu", "cpu")])
def test_modules_for_several_platforms_know_which_one_runs(platforms) -> None:
    def work(x):
        return x * jax.lax.platform_dependent(cpu=lambda: 2.0, xpu=lambda: 3.0)

    exported = jax.export.export(jax.jit(work), platforms=platforms)(
        jax.ShapeDtypeStruct((3, 4), "float32")
    )
    for device, factor in (("/XPU:0", 3), ("/CPU:0", 2)):
        with tf.device(device):
            (result,) = gen_xla_ops.xla_call_module(
                args=[tf.constant(X)], version=exported.calling_convention_version,
                module=exported.mlir_module_serialized,
                Sout=[[3, 4]], Tout=[tf.float32], platforms=[p.upper() for p in platforms],
            )  # fmt: skip
        np.testing.assert_array_equal(result, X * factor)


def test_platform_check_can_be_disabled() -> None:
    converted = jax2tf.convert(
        lambda x: x * 2 + 1,
        native_serialization_platforms=["cpu"],
        native_serialization_disabled_checks=[jax2tf.DisabledSafetyCheck.platform()],
    )
    np.testing.assert_array_equal(compiled(converted)(tf.constant(X)), X * 2 + 1)
