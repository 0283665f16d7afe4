"""Arrays of dpnp: hand-over in both directions, and kernels called with them."""

from __future__ import annotations

import contextlib
import gc
import threading
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

import onexpu
from onexpu._interop.dpctl import has_usm_arrays

onexpu.memory_info()  # the core finds the CPU device's driver
import dpctl  # noqa: E402  (SYCL starts with that driver)
import dpnp  # noqa: E402  (the same)

pytestmark = pytest.mark.usefixtures("on_xpu")

# dpnp's first operations initialise what threads would wait for with Python's lock in their hands.
dpnp.ones(2) + 1
dpnp.ones((2, 2)) @ dpnp.ones((2, 2))

# Where many waits follow each other. dpnp's own queue is not in order, and waits for such a queue
# deadlock in the CPU device's driver, if seldom (docs/buffers.md).
IN_ORDER = dpctl.SyclQueue(onexpu.dpctl_queue().sycl_device, property="in_order")


def address(x) -> int:
    return x.get_array()._pointer


@pytest.fixture
def array(xpu) -> jax.Array:
    return jax.device_put(np.arange(4096, dtype=np.float32), xpu) * 2.0


@pytest.mark.parametrize(
    "convert", [onexpu.to_dpnp, lambda x: dpnp.from_dlpack(onexpu.to_dlpack(x))]
)
def test_out(array, convert) -> None:
    for x in (array, onexpu.to_tensor(array)):
        before = onexpu.transfer_statistics()
        y = convert(x)
        assert (onexpu.transfer_statistics() - before).total_bytes == 0
        assert address(y) == onexpu.buffer_address(x) == onexpu.buffer_address(y)
        assert y.sycl_queue == onexpu.dpctl_queue() == dpnp.ones(1).sycl_queue
        np.testing.assert_array_equal(dpnp.asnumpy(y), np.asarray(array))
        assert not y.flags.writable
        with pytest.raises(ValueError, match="read-only"):
            y[0] = 1.0
        assert dpnp.sum(y) == np.asarray(array).sum()


def test_in(array) -> None:
    x = dpnp.sin(onexpu.to_dpnp(array))
    expected = dpnp.asnumpy(x)
    before = onexpu.transfer_statistics()
    taken = [
        onexpu.to_jax(x), onexpu.to_tensor(x), onexpu.to_jax(x.get_array()), onexpu.from_dlpack(x),
        onexpu.from_dlpack(x.__dlpack__()),
        onexpu.from_dlpack(x.__dlpack__(max_version=(1, 0)), "tensorflow"),
    ]  # fmt: skip
    assert (onexpu.transfer_statistics() - before).total_bytes == 0
    for y in taken:
        assert onexpu.buffer_address(y) == address(x)
        np.testing.assert_array_equal(np.asarray(y), expected)


@pytest.mark.parametrize("shape", [(), (3, 5), (0, 4)])
@pytest.mark.parametrize(
    "dtype",
    [np.bool_, np.int8, np.uint16, np.int32, np.uint32, np.float16, np.float32, np.complex64],
)
def test_types_and_shapes(xpu, dtype, shape) -> None:
    values = (np.arange(np.prod(shape)).reshape(shape) % 2).astype(dtype)
    x = onexpu.to_dpnp(jax.device_put(values, xpu))
    assert x.shape == shape and x.dtype == dtype
    np.testing.assert_array_equal(dpnp.asnumpy(x), values)
    back = onexpu.to_jax(x)
    assert back.shape == shape and back.dtype == dtype
    np.testing.assert_array_equal(back, values)


def test_what_dpnp_lacks(xpu) -> None:
    with pytest.raises(TypeError, match="dpnp has no arrays of type bfloat16"):
        onexpu.to_dpnp(jax.device_put(np.ones(3, ml_dtypes.bfloat16), xpu))


def test_writable_on_request(xpu) -> None:
    x = jax.device_put(np.zeros(8, np.float32), xpu)
    y = onexpu.to_dpnp(x, writable=True)
    y[:] = 5.0
    back = onexpu.to_jax(y)
    np.testing.assert_array_equal(jax.jit(lambda v: v + 1)(back), np.full(8, 6.0))


def test_parts_of_arrays() -> None:
    x = dpnp.arange(24, dtype="float32").reshape(4, 6)
    np.testing.assert_array_equal(onexpu.to_jax(x[1:3]), np.arange(6, 18).reshape(2, 6))
    for part in (x.T, x[:, 1:], x[::2], x[::-1]):
        for take in (onexpu.to_jax, onexpu.to_tensor, onexpu.from_dlpack):
            with pytest.raises(ValueError, match="ascontiguousarray"):
                take(part)
        np.testing.assert_array_equal(
            onexpu.to_jax(dpnp.ascontiguousarray(part)), dpnp.asnumpy(part)
        )


def test_another_context(array) -> None:
    device = onexpu.dpctl_queue().sycl_device
    foreign = dpnp.ones(
        8, dtype="float32", sycl_queue=dpctl.SyclQueue(dpctl.SyclContext([device]), device)
    )
    for take in (onexpu.to_jax, onexpu.to_tensor, onexpu.from_dlpack):
        with pytest.raises(ValueError, match="of SYCL context 0x.*xpu:0 .* of context 0x"):
            take(foreign)
    with pytest.raises(ValueError, match="of SYCL context 0x.*xpu:0 .* of context 0x"):
        onexpu.to_dpnp(array, queue=foreign.sycl_queue)


def test_each_side_keeps_the_memory(xpu) -> None:
    gc.collect()
    start = onexpu.memory_info()["bytes_in_use"]
    values = np.arange(1 << 18, dtype=np.float32)
    x = jax.device_put(values, xpu)
    y = onexpu.to_dpnp(x)
    x.delete()
    filler = jax.device_put(-values, xpu)
    np.testing.assert_array_equal(dpnp.asnumpy(y), values)
    z = onexpu.to_jax(y)
    del y, filler
    gc.collect()
    np.testing.assert_array_equal(z, values)
    assert onexpu.memory_info()["bytes_in_use"] - start == values.nbytes
    del z
    gc.collect()
    assert onexpu.memory_info()["bytes_in_use"] == start


def ping_pong(rounds: int, start: float, dpnp_turn: Any = None) -> None:
    """Slow work on one side, then a change on the other."""
    size = 100_000
    x = jax.device_put(np.full(size, start, np.float32), jax.devices("xpu")[0])
    program = jax.jit(lambda v: v + 1.0)
    for i in range(rounds):
        result = program(x)
        with dpnp_turn or contextlib.nullcontext():
            y = onexpu.to_dpnp(result, queue=IN_ORDER)
            if i % 10 == 0:
                slow = dpnp.ones((256, 256), dtype="float32", sycl_queue=IN_ORDER)
                for _ in range(5):
                    slow = slow @ slow / 256.0
                y = y * slow[0, 0]
            y = y + 1.0
        tensor = onexpu.to_tensor(y)
        with tf.device("/XPU:0"):
            x = onexpu.to_jax(tensor + 1.0)
    np.testing.assert_array_equal(x, np.full(size, start + 3 * rounds, np.float32))


def test_a_few_hundred_rounds() -> None:
    ping_pong(300, 0.0)


def test_three_threads() -> None:
    """One at a time in dpnp, whose waits can otherwise deadlock on the CPU (docs/buffers.md)."""
    dpnp_turn = threading.Lock()
    errors: list[BaseException] = []

    def work(start: float) -> None:
        try:
            ping_pong(60, start, dpnp_turn)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(1000.0 * i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise BaseExceptionGroup("threads failed", errors)


# -- Kernels -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def axpy() -> onexpu.SyclKernel:
    return onexpu.sycl_kernel(
        source="""
        template <typename T>
        ONEXPU_KERNEL void axpy(const T* x, const T* y, T* z, double a) {
          const size_t i = onexpu::global_id();
          z[i] = T(a) * x[i] + y[i];
        }
        """,
        inputs=["x", "y"],
        outputs={"z": onexpu.like("x")},
        attributes={"a": float},
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_kernels_give_what_they_get(axpy, dtype) -> None:
    x = dpnp.arange(1000, dtype=dtype, sycl_queue=IN_ORDER)
    y = dpnp.ones(1000, dtype=dtype, sycl_queue=IN_ORDER)
    before = onexpu.transfer_statistics()
    for _ in range(50):
        z = axpy(x, y, a=2.0)
        w = axpy(x.get_array(), y.get_array(), a=2.0)
        x += 0  # comes after the kernel
    assert (onexpu.transfer_statistics() - before).total_bytes == 0
    assert type(z) is dpnp.ndarray and type(w) is type(x.get_array())
    assert z.flags.writable and z.sycl_queue == x.sycl_queue and z.dtype == dtype
    for result in (dpnp.asnumpy(z), dpnp.asnumpy(w)):
        np.testing.assert_array_equal(result, 2 * np.arange(1000) + 1)


def test_scalars_that_change(axpy) -> None:
    x, y = dpnp.arange(1000, dtype="float32"), dpnp.ones(1000, dtype="float32")
    numbers = [0.5, 2, np.float32(3), np.array(4.0), True]
    arrays = [dpnp.asarray(5.0), dpnp.asarray(6), dpnp.asarray(7.0, dtype="float32").get_array()]
    for a in numbers + arrays:
        expected = np.arange(1000, dtype=np.float32) * float(a) + 1
        np.testing.assert_array_equal(dpnp.asnumpy(axpy(x, y, a=a)), expected)
    # One launch for numbers, one for arrays.
    assert len(axpy._dpctl_calls._launches) <= 4
    for wrong, error in (
        (1j, TypeError),
        (dpnp.ones(3), ValueError),
        ("1", TypeError),
        (jax.numpy.float32(1), TypeError),
    ):
        with pytest.raises(error, match="'a' "):
            axpy(x, y, a=wrong)


def test_kernels_and_queued_work_come_in_order(axpy) -> None:
    x = dpnp.zeros(10_000, dtype="float32", sycl_queue=IN_ORDER)
    one = dpnp.ones(10_000, dtype="float32", sycl_queue=IN_ORDER)
    for _ in range(200):
        x = axpy(x + 1.0, one, a=1.0)
        x *= 1.0
    np.testing.assert_array_equal(dpnp.asnumpy(x), np.full(10_000, 400.0))


def test_kernels_take_one_kind_of_array(axpy, array) -> None:
    x = dpnp.zeros(4096, dtype="float32")
    assert has_usm_arrays([array, x]) and not has_usm_arrays([array, np.ones(3)])
    with pytest.raises(TypeError, match="with arrays of dpnp, but 'y' is .*ArrayImpl.*to_dpnp"):
        axpy(x, array, a=1.0)
    z = axpy(x, onexpu.to_dpnp(array), a=1.0)
    np.testing.assert_array_equal(dpnp.asnumpy(z), array)
