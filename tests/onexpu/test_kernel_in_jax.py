"""Kernels from source in JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import onexpu
from tests.exhaustive import every


def reference(x, beta: float):
    return x * jax.nn.sigmoid(beta * x)


@pytest.fixture
def x(xpu: jax.Device) -> jax.Array:
    return jax.device_put(np.linspace(-4, 4, 1001, dtype=np.float32), xpu)


# exp on the device is good for 3 ulp in float32; the narrow types round every step to their own
# epsilon.
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float32", 1e-6), ("float16", 4e-3), ("bfloat16", 3e-2)]
)
def test_eager_call(swish, x, dtype: str, tolerance: float) -> None:
    operand = x.astype(dtype)
    y = swish(operand, beta=1.5)
    assert y.dtype == operand.dtype and y.devices() == x.devices()
    np.testing.assert_allclose(
        np.asarray(y, np.float32),
        reference(np.asarray(operand, np.float32), 1.5),
        rtol=tolerance,
        atol=tolerance,
    )


def test_inside_of_a_compiled_program(swish, x) -> None:
    @jax.jit
    def f(x):
        return swish(2.0 * x, beta=0.5).sum() + swish(x, beta=2.0)[3]

    # Sums of a thousand float32 values of size 4 in different orders.
    np.testing.assert_allclose(f(x), reference(2 * x, 0.5).sum() + reference(x, 2.0)[3], rtol=1e-5)


def test_one_call_in_the_program(swish, x) -> None:
    text = jax.jit(lambda x: swish(x, beta=1.0)).lower(x).compile().as_text()
    assert text.count('custom_call_target="onexpu.kernel"') == 1


def test_gradient(swish, x) -> None:
    gradient = jax.jit(jax.grad(lambda x: swish(x, beta=1.5).sum()))(x)
    expected = jax.grad(lambda x: reference(x, 1.5).sum())(x)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)


def test_vmap(swish, x) -> None:
    batch = jnp.stack([x, 2 * x, -x])
    np.testing.assert_array_equal(
        jax.vmap(lambda row: swish(row, beta=1.0))(batch), swish(batch, beta=1.0)
    )


def test_scan(swish, x) -> None:
    def step(carry, _):
        return swish(carry, beta=1.0), None

    looped, _ = jax.lax.scan(step, x, None, length=5)
    expected = x
    for _ in range(5):
        expected = swish(expected, beta=1.0)
    np.testing.assert_array_equal(looped, expected)


def test_abstract_evaluation_gives_shapes(swish) -> None:
    shape = jax.eval_shape(lambda x: swish(x, beta=1.0), jax.ShapeDtypeStruct((3, 5), jnp.float32))
    assert (shape.shape, shape.dtype) == ((3, 5), jnp.float32)


def test_several_outputs_shapes_and_scalars(xpu) -> None:
    kernel = onexpu.sycl_kernel(
        source="""
        ONEXPU_KERNEL void rows(const float* x, float* sums, int32_t* counts, double scale,
                                bool negate, int columns, size_t n) {
          const size_t row = onexpu::global_id();
          if (row >= n) return;
          double sum = 0;
          for (int j = 0; j < columns; ++j) sum += x[row * columns + j];
          sums[row] = float(negate ? -scale * sum : scale * sum);
          counts[row] = int32_t(n);
        }
        """,
        inputs=["x"],
        outputs={
            "sums": onexpu.like("x", shape=lambda x: x.shape[:1]),
            "counts": onexpu.array(lambda x: (x.shape[0],), "int32"),
        },
        attributes={"scale": float, "negate": bool, "columns": int},
        range=lambda x: x.shape[0],
    )
    x = jax.device_put(np.arange(12, dtype=np.float32).reshape(3, 4), xpu)
    sums, counts = kernel(x, scale=0.5, negate=True, columns=4)
    np.testing.assert_array_equal(sums, [-3.0, -11.0, -19.0])
    np.testing.assert_array_equal(counts, [3, 3, 3])


def test_local_memory_and_barriers(xpu) -> None:
    kernel = onexpu.sycl_kernel(
        source="""
        ONEXPU_KERNEL void block_sums(const float* x, float* y) {
          auto item = onexpu::item();
          const float sum = sycl::reduce_over_group(item.get_group(), x[item.get_global_id(0)],
                                                    sycl::plus<float>());
          if (item.get_local_id(0) == 0) y[item.get_group(0)] = sum;
        }
        """,
        inputs=["x"],
        outputs={"y": onexpu.like("x", shape=lambda x: (x.size // 64,))},
        range=lambda x: x.size,
        local_size=64,
    )
    x = jax.device_put(np.arange(256, dtype=np.float32), xpu)
    # Whole numbers below 2**24: any order of summation is exact.
    np.testing.assert_array_equal(kernel(x), np.arange(256).reshape(4, 64).sum(1))


def test_three_dimensional_range(xpu) -> None:
    kernel = onexpu.sycl_kernel(
        source="""
        ONEXPU_KERNEL_ND(3) void coordinates(int32_t* y) {
          auto item = onexpu::item<3>();
          const size_t at = (item.get_global_id(0) * 3 + item.get_global_id(1)) * 4 +
          item.get_global_id(2);
          y[at] = int32_t(100 * item.get_global_id(0) + 10 * item.get_global_id(1) +
          item.get_global_id(2));
        }
        """,
        inputs=[],
        outputs={"y": onexpu.array((2, 3, 4), "int32")},
        range=(2, 3, 4),
    )
    i, j, k = np.indices((2, 3, 4))
    with jax.default_device(xpu):
        np.testing.assert_array_equal(kernel(), 100 * i + 10 * j + k)


@pytest.mark.parametrize(
    "dtype", every(2, ["int8", "uint16", "int64", "float64", "complex64", "bool"])
)
def test_element_types(xpu, dtype: str) -> None:
    kernel = onexpu.sycl_kernel(
        source="""
        template <typename T>
        ONEXPU_KERNEL void reverse(const T* x, T* y, size_t n) {
          y[n - 1 - onexpu::global_id()] = x[onexpu::global_id()];
        }
        """,
        inputs=["x"],
        outputs={"y": onexpu.like("x")},
    )
    values = (np.arange(7) - 2).astype(dtype)
    with jax.enable_x64(True):
        np.testing.assert_array_equal(kernel(jax.device_put(values, xpu)), values[::-1])


def test_empty_arrays(swish, xpu) -> None:
    y = swish(jax.device_put(np.zeros((0, 3), np.float32), xpu), beta=1.0)
    assert y.shape == (0, 3)


def test_the_operand_is_read_in_place(xpu) -> None:
    address_of = onexpu.sycl_kernel(
        source="""
        ONEXPU_KERNEL void address_of(const float* x, uint32_t* address) {
          const uint64_t bits = reinterpret_cast<uint64_t>(x);
          address[0] = uint32_t(bits);
          address[1] = uint32_t(bits >> 32);
        }
        """,
        inputs=["x"],
        outputs={"address": onexpu.array((2,), "uint32")},
        range=1,
    )
    x = jax.device_put(np.ones(64, np.float32), xpu)
    low, high = (int(v) for v in np.asarray(address_of(x)))
    assert low | high << 32 == x.unsafe_buffer_pointer()


def test_a_work_item_stores_what_the_others_of_its_sub_group_gave(xpu) -> None:
    # Every store waits for one local id: a compiler may not leave out the other work-items.
    sums = onexpu.sycl_kernel(
        source="""
        [[sycl::reqd_sub_group_size(16)]]
        ONEXPU_KERNEL_ND(1) void sums(const float* x, float* y) {
          auto item = onexpu::item<1>();
          float sum = x[item.get_global_id(0)];
          for (int mask = 8; mask > 0; mask /= 2) {
            sum += sycl::permute_group_by_xor(item.get_sub_group(), sum, mask);
          }
          if (item.get_local_id(0) == 0) y[item.get_group(0)] = sum;
        }
        """,
        inputs=["x"],
        outputs={"y": onexpu.array((4,), "float32")},
        range=64,
        local_size=16,
    )
    x = np.arange(64, dtype=np.float32)
    np.testing.assert_array_equal(sums(jax.device_put(x, xpu)), x.reshape(4, 16).sum(1))


def test_compiled_kernels_are_shared_and_counted(swish, x) -> None:
    swish(x, beta=1.0).block_until_ready()
    before = onexpu.transfer_statistics()
    for _ in range(3):
        swish(x, beta=1.0).block_until_ready()
    used = onexpu.transfer_statistics() - before
    assert used.kernels_launched == 3
    assert used.total_bytes == 0
