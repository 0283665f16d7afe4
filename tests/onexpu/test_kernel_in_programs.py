"""One kernel object in all places that a program may come from: equal results, on the buffers as
they lie, with no copy.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import onexpu
from tests.exhaustive import covering

pytestmark = pytest.mark.usefixtures("on_xpu")

ROOT = pathlib.Path(__file__).resolve().parents[2]
X = np.linspace(-4, 4, 1001, dtype=np.float32)
WAYS: dict[str, tuple[str, Callable[[Callable], Callable]]] = {
    "jax": ("jax", lambda f: f),
    "jax.jit": ("jax", jax.jit),
    "tensorflow": ("tensorflow", lambda f: f),
    "tf.function": ("tensorflow", tf.function),
    "jit_compile": ("tensorflow", tf.function(jit_compile=True)),
}


@pytest.fixture(scope="module")
def witness() -> onexpu.SyclKernel:
    """Changes `x` in place, and says where it and the other result lie."""
    return onexpu.sycl_kernel(
        source="""
        ONEXPU_KERNEL void witness(float* x, float* y, uint32_t* addresses, float beta) {
          const size_t i = onexpu::global_id();
          y[i] = x[i] / (1.0f + sycl::exp(-beta * x[i]));
          x[i] += 1.0f;
          if (i != 0) return;
          const uint64_t at[] = {reinterpret_cast<uint64_t>(x), reinterpret_cast<uint64_t>(y)};
          for (int k = 0; k < 4; ++k) addresses[k] = uint32_t(at[k / 2] >> (k % 2 * 32));
        }
        """,
        inputs=["x"],
        outputs={
            "x": onexpu.like("x"),
            "y": onexpu.like("x"),
            "addresses": onexpu.array((4,), "uint32"),
        },
        attributes={"beta": float},
        range=lambda x: x.size,
    )


def test_results_and_addresses_are_the_same_everywhere(witness, xpu) -> None:
    results = {}
    for way, (framework, compiled) in WAYS.items():
        run = compiled(lambda x: witness(x, beta=0.75))
        x = jax.device_put(X, xpu) if framework == "jax" else tf.constant(X)
        run(x)  # compiles
        jax.block_until_ready(x)
        before = onexpu.transfer_statistics()
        changed, y, addresses = run(x)
        used = onexpu.transfer_statistics() - before
        # The operand lives on, so it is copied where it would be changed: on the device.
        assert used.total_bytes == 0, way
        parts = [int(v) for v in np.asarray(addresses)]
        assert parts[0] | parts[1] << 32 == onexpu.buffer_address(changed), way
        assert parts[2] | parts[3] << 32 == onexpu.buffer_address(y), way
        np.testing.assert_array_equal(x, X)
        np.testing.assert_array_equal(changed, X + 1)
        results[way] = np.asarray(y)
    for way, y in results.items():
        np.testing.assert_array_equal(y, results["jax"], err_msg=way)


def test_one_buffer_through_all_of_them(witness, xpu) -> None:
    """What one way has made is the next one's operand, where it lies."""
    given = onexpu.sycl_kernel(
        source="""
        ONEXPU_KERNEL void given(const float* x, float* y, uint32_t* address) {
          y[onexpu::global_id()] = x[onexpu::global_id()] + 1.0f;
          address[0] = uint32_t(reinterpret_cast<uint64_t>(x));
          address[1] = uint32_t(reinterpret_cast<uint64_t>(x) >> 32);
        }
        """,
        inputs=["x"],
        outputs={"y": onexpu.like("x"), "address": onexpu.array((2,), "uint32")},
        range=lambda x: x.size,
    )
    value = jax.device_put(np.round(X), xpu)
    for way, (framework, compiled) in WAYS.items():
        value = (
            onexpu.to_jax(value) if framework == "jax" else onexpu.to_tensor(onexpu.to_jax(value))
        )
        expected = onexpu.buffer_address(value)
        value, address = compiled(given)(value)
        low, high = (int(v) for v in np.asarray(address))
        assert low | high << 32 == expected, way
    np.testing.assert_array_equal(value, np.round(X) + len(WAYS))


@pytest.fixture(scope="module")
def ramp() -> onexpu.SyclKernel:
    return onexpu.sycl_kernel(
        source="""
        ONEXPU_KERNEL void ramp(const float* x, float* y) {
          y[onexpu::global_id()] = x[onexpu::global_id()] + onexpu::global_id();
        }
        """,
        inputs=["x"],
        outputs={"y": onexpu.like("x")},
    )


@pytest.mark.parametrize("place", ["transposed operand", "transposed result", "factor"])
@pytest.mark.parametrize("way", ["jax.jit", "tf.function", "jit_compile"])
def test_arrays_lie_by_rows(ramp, xpu, way: str, place: str) -> None:
    """Whatever order would suit what stands around the kernel."""
    framework, compiled = WAYS[way]
    a = np.random.default_rng(0).random((96, 192), np.float32)
    b = np.random.default_rng(1).random((7, 192), np.float32)
    transpose, matmul = (
        (jnp.transpose, jnp.matmul) if framework == "jax" else (tf.transpose, tf.matmul)
    )
    counted = np.arange(a.size, dtype=np.float32)
    function, expected = {
        "transposed operand": (
            lambda a, b: ramp(transpose(a) + 1.0),
            a.T + 1 + counted.reshape(192, 96),
        ),
        "transposed result": (
            lambda a, b: transpose(ramp(a)) + 1.0,
            (a + counted.reshape(a.shape)).T + 1,
        ),
        "factor": (
            lambda a, b: matmul(b, transpose(ramp(a))),
            b @ (a + counted.reshape(a.shape)).T,
        ),
    }[place]
    operands = [jax.device_put(x, xpu) if framework == "jax" else tf.constant(x) for x in (a, b)]
    # Sums of 192 products.
    np.testing.assert_allclose(compiled(function)(*operands), expected, rtol=2e-6)


def test_exported_for_another_process(swish, xpu, tmp_path) -> None:
    exported = jax.export.export(jax.jit(lambda x: 2.0 * swish(x, beta=1.5)), platforms=["xpu"])(
        jax.ShapeDtypeStruct(X.shape, jnp.float32)
    )
    expected = exported.call(jax.device_put(X, xpu))
    (tmp_path / "program").write_bytes(exported.serialize())
    script = f"""
import json, pathlib, sys
import jax, numpy as np
from tests.onexpu.conftest import make_swish

serialized = pathlib.Path({str(tmp_path / "program")!r}).read_bytes()
program = jax.export.deserialize(bytearray(serialized))
x = jax.device_put(np.linspace(-4, 4, 1001, dtype=np.float32), jax.devices("xpu")[0])
try:
    program.call(x)
except Exception as error:
    message = f"{{type(error).__name__}}: {{error}}"
make_swish().spirv("float32")
print(json.dumps([message, np.asarray(program.call(x)).tolist()]))
"""
    message, found = json.loads(_run(script))
    assert message.startswith("JaxRuntimeError: NOT_FOUND: onexpu: no kernel 'swish<float32>-")
    assert "kernel.spirv('float32')" in message
    np.testing.assert_array_equal(np.float32(found), expected)


@covering(jit_compile=[False, True], rows=[3, None])
def test_a_saved_model_runs_where_nobody_defined_the_kernel(
    swish, tmp_path, rows, jit_compile: bool
) -> None:
    module = tf.Module()
    signature = [tf.TensorSpec([rows, 1001], tf.float32)]

    @tf.function(input_signature=signature, jit_compile=jit_compile)
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = swish(x, beta=1.5)
        return y, tape.gradient(y, x)

    module.run = run
    x = np.stack([X, 2 * X, -X])
    expected = run(tf.constant(x))
    tf.saved_model.save(module, str(tmp_path / "model"))
    script = f"""
import json
import numpy as np, tensorflow as tf

x = np.linspace(-4, 4, 1001, dtype=np.float32)
with tf.device("/XPU:0"):
    loaded = tf.saved_model.load({str(tmp_path / "model")!r})
    y, slope = loaded.run(tf.constant(np.stack([x, 2 * x, -x])))
print(json.dumps([y.device, y.numpy().tolist(), slope.numpy().tolist()]))
"""
    device, y, slope = json.loads(_run(script))
    assert "XPU" in device
    np.testing.assert_array_equal(np.float32(y), expected[0])
    np.testing.assert_array_equal(np.float32(slope), expected[1])


def _run(script: str) -> str:
    """Runs Python in a process of its own; returns its last line."""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.splitlines()[-1]


def test_shard_map(swish, xpu) -> None:
    """Of operands that vary over the mesh, and of one that is the same everywhere, with
    gradients.
    """
    product = onexpu.sycl_kernel(
        source="""
        ONEXPU_KERNEL void product(const float* x, const float* y, float* z, int columns) {
          z[onexpu::global_id()] = x[onexpu::global_id()] * y[onexpu::global_id() % columns];
        }
        """,
        inputs=["x", "y"],
        outputs={"z": onexpu.like("x")},
        attributes={"columns": int},
    )
    mesh = Mesh(np.array([xpu]), ("i",))
    spec = PartitionSpec("i")
    x = jax.device_put(np.stack([X, 2 * X]), NamedSharding(mesh, spec))
    y = jax.device_put(X, NamedSharding(mesh, PartitionSpec()))

    def inside(x, y):
        return swish(product(x, y, columns=X.size), beta=1.0)

    mapped = jax.jit(
        jax.shard_map(inside, mesh=mesh, in_specs=(spec, PartitionSpec()), out_specs=spec)
    )
    np.testing.assert_array_equal(mapped(x, y), inside(x, y))
    alone = jax.shard_map(lambda x: swish(x, beta=1.0), mesh=mesh, in_specs=spec, out_specs=spec)
    slope = jax.jit(jax.grad(lambda x: alone(x).sum()))(x)
    np.testing.assert_array_equal(slope, jax.grad(lambda x: swish(x, beta=1.0).sum())(x))


def test_auto_clustering_takes_the_kernel_in(swish) -> None:
    tf.config.optimizer.set_jit("autoclustering")
    try:

        @tf.function
        def run(x):
            return tf.exp(swish(2.0 * x + 1.0, beta=1.0) * 0.5) + x

        x = tf.constant(X)
        run(x)
        before = onexpu.transfer_statistics()
        y = run(x)
        launches = (onexpu.transfer_statistics() - before).eager_launches
    finally:
        tf.config.optimizer.set_jit(False)
    z = 2 * X + 1
    # The sum cancels out around 0.
    np.testing.assert_allclose(y, np.exp(0.5 * z / (1 + np.exp(-z))) + X, rtol=2e-6, atol=2e-7)
    assert launches == 0  # neither the kernel nor an op is launched by itself


def test_types_that_spirv_is_asked_for(swish) -> None:
    with pytest.raises(TypeError, match="'swish' has 1 template parameters .T., not 2"):
        swish.spirv("float32", "float32")
    with pytest.raises(
        TypeError, match="T of kernel 'swish' is one of float32, bfloat16, float16, not int8"
    ):
        swish.spirv("int8")
