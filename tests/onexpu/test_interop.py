"""Buffers from one framework to the other: no copy, right order, ownership on both sides."""

from __future__ import annotations

import gc
import threading

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

import onexpu

pytestmark = pytest.mark.usefixtures("on_xpu")


@pytest.fixture
def tensor(on_xpu) -> tf.Tensor:
    return tf.constant(np.arange(4096, dtype=np.float32)) * 2.0


@pytest.fixture
def array(xpu) -> jax.Array:
    return jax.device_put(np.arange(4096, dtype=np.float32), xpu) * 2.0


def test_to_jax_shares_the_memory(tensor, xpu) -> None:
    tensor.numpy()
    before = onexpu.transfer_statistics()
    array = onexpu.to_jax(tensor)
    assert (onexpu.transfer_statistics() - before).total_bytes == 0
    assert array.unsafe_buffer_pointer() == onexpu.buffer_address(tensor)
    assert array.devices() == {xpu}
    np.testing.assert_array_equal(array, tensor.numpy())


def test_to_tensor_shares_the_memory(array) -> None:
    array.block_until_ready()
    before = onexpu.transfer_statistics()
    tensor = onexpu.to_tensor(array)
    assert (onexpu.transfer_statistics() - before).total_bytes == 0
    assert onexpu.buffer_address(tensor) == array.unsafe_buffer_pointer()
    assert "XPU:0" in tensor.device
    np.testing.assert_array_equal(tensor.numpy(), array)


def test_there_and_back(tensor) -> None:
    back = onexpu.to_tensor(onexpu.to_jax(tensor))
    assert onexpu.buffer_address(back) == onexpu.buffer_address(tensor)
    assert back.dtype == tensor.dtype and back.shape == tensor.shape


@pytest.mark.parametrize(
    "dtype", [np.bool_, np.int8, np.uint8, np.uint32, np.float16, ml_dtypes.bfloat16, np.complex64]
)
@pytest.mark.parametrize("shape", [(), (3, 5), (0, 4)])
def test_types_and_shapes(xpu, dtype, shape) -> None:
    values = (np.arange(np.prod(shape)).reshape(shape) % 2).astype(dtype)
    array = jax.device_put(values, xpu)
    tensor = onexpu.to_tensor(array)
    assert tensor.shape == shape and tensor.dtype.as_numpy_dtype == dtype
    np.testing.assert_array_equal(tensor.numpy(), values)
    again = onexpu.to_jax(tensor)
    assert again.shape == shape and again.dtype == array.dtype
    np.testing.assert_array_equal(again, values)


def test_each_side_keeps_the_memory_alive(tensor, array) -> None:
    expected = tensor.numpy()
    from_tensor = onexpu.to_jax(tensor)
    del tensor
    from_array = onexpu.to_tensor(array)
    expected_array = np.asarray(array)
    del array
    gc.collect()
    with tf.device("/XPU:0"):  # would take the memory if it were free
        fillers = [tf.fill([4096], float(i)) for i in range(64)]
    np.testing.assert_array_equal(from_tensor, expected)
    np.testing.assert_array_equal(from_array.numpy(), expected_array)
    del fillers


def test_donating_a_shared_buffer_does_not_touch_the_other_side(tensor) -> None:
    expected = tensor.numpy()
    array = onexpu.to_jax(tensor)
    result = jax.jit(lambda x: x + 1, donate_argnums=0)(array)
    np.testing.assert_array_equal(result, expected + 1)
    np.testing.assert_array_equal(tensor.numpy(), expected)
    assert array.is_deleted()


def test_a_variable_gives_its_present_value() -> None:
    variable = tf.Variable(tf.ones([256]))
    array = onexpu.to_jax(variable)
    variable.assign_add(tf.ones([256]))
    np.testing.assert_array_equal(array, np.ones(256))
    np.testing.assert_array_equal(variable.numpy(), 2 * np.ones(256))


def test_pending_work_comes_first(xpu) -> None:
    # A second of matrix products is queued when the buffers are handed over.
    with tf.device("/XPU:0"):
        a = tf.random.uniform([1024, 1024])
        b = a
        for _ in range(20):
            b = tf.matmul(b, a) / 512.0
    shared = onexpu.to_jax(b)
    in_jax = jax.jit(lambda x: 2.0 * x)(shared)
    back = onexpu.to_tensor(in_jax)
    with tf.device("/XPU:0"):
        total = tf.reduce_sum(back)
    np.testing.assert_allclose(total.numpy(), 2.0 * b.numpy().astype(np.float64).sum(), rtol=1e-4)


def test_wrong_places() -> None:
    with tf.device("/CPU:0"):
        on_cpu = tf.ones([4])
    with pytest.raises(ValueError, match="the tensor is on .*CPU"):
        onexpu.to_jax(on_cpu)
    with pytest.raises(ValueError, match="only memory of one xpu device"):
        onexpu.to_tensor(jax.device_put(np.ones(4), jax.devices("cpu")[0]))


def test_symbolic_values(array) -> None:
    with pytest.raises(TypeError, match="symbolic"):
        tf.function(lambda x: onexpu.to_jax(x))(tf.ones([4]))
    with pytest.raises(TypeError, match="JAX arrays with values"):
        jax.jit(onexpu.to_tensor)(array)


def test_int32_lives_on_tensorflows_host(xpu) -> None:
    with pytest.raises(TypeError, match="int32 in host memory"):
        onexpu.to_tensor(jax.device_put(np.ones(4, np.int32), xpu))
    with pytest.raises(TypeError, match="int32 in host memory"):
        onexpu.to_jax(tf.range(4))


def test_deleted_arrays(array) -> None:
    array.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        onexpu.to_tensor(array)


def test_kernels_see_the_same_address(array) -> None:
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
    tensor = onexpu.to_tensor(array)
    seen = set()
    for value in (array, tensor):
        low, high = (int(v) for v in np.asarray(address_of(value)))
        seen.add(low | high << 32)
    assert seen == {array.unsafe_buffer_pointer()}


def test_three_threads_never_read_stale_data(xpu) -> None:
    """More than a thousand launches of a kernel between programs and ops of both frameworks, each a
    buffer of its own.
    """
    kernel = onexpu.sycl_kernel(
        source="ONEXPU_KERNEL void next(const float* x, float* y) { "
        "y[onexpu::global_id()] = x[onexpu::global_id()] + 1; }",
        inputs=["x"],
        outputs={"y": onexpu.like("x")},
    )
    rounds, size = 150, 10_000
    in_jax = (lambda x: kernel(jnp.tanh(x) * 0.0 + x), jax.jit(lambda x: kernel(x + 1.0) - 1.0))
    in_tensorflow = (
        lambda x: kernel(x + 1.0),
        tf.function(lambda x: kernel(x + 1.0), jit_compile=True),
    )
    steps = 6 * rounds
    errors: list[BaseException] = []

    def work(start: float) -> None:
        try:
            x = jax.device_put(jnp.full(size, start, jnp.float32), xpu)
            for _ in range(rounds):
                for jax_step, tensorflow_step in zip(in_jax, in_tensorflow, strict=True):
                    tensor = onexpu.to_tensor(jax_step(x))
                    with tf.device("/XPU:0"):
                        x = onexpu.to_jax(tensorflow_step(tensor))
            np.testing.assert_array_equal(x, np.full(size, start + steps))
        except BaseException as error:
            errors.append(error)

    before = onexpu.transfer_statistics()
    threads = [threading.Thread(target=work, args=(1000.0 * i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise BaseExceptionGroup("threads failed", errors)
    assert (onexpu.transfer_statistics() - before).kernels_launched >= 3 * 4 * rounds
