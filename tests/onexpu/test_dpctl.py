"""Memory and queues shared with dpctl. What has dpnp's arrays is in test_dpnp.py."""

from __future__ import annotations

import gc
import sys
import threading
import weakref

import jax
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from jax._src.dispatch import runtime_tokens

import onexpu

# isort: split
# After onexpu, which prepares the environment of SYCL.
import dpctl
import dpctl.memory as memory

pytestmark = pytest.mark.usefixtures("on_xpu")

MEGABYTE = 1 << 20


class Array:
    """An array of floats in dpctl's memory, as dpctl describes them."""

    def __init__(self, values, queue, kind="Device", is_set: bool = True, **changes) -> None:
        values = np.ascontiguousarray(values)
        self.memory = getattr(memory, f"MemoryUSM{kind}")(values.nbytes, queue=queue)
        if is_set:
            self.memory.copy_from_host(values.tobytes())
        self.__interface = {
            "data": (self.memory._pointer, False),
            "shape": values.shape,
            "strides": None,
            "typestr": values.dtype.str,
            "version": 1,
            "syclobj": queue,
            "offset": 0,
            **changes,
        }

    @property
    def __sycl_usm_array_interface__(self) -> dict:
        return self.__interface

    def numpy(self) -> np.ndarray:
        raw = np.frombuffer(self.memory.copy_to_host(), self.__interface["typestr"])
        return raw.reshape(self.__interface["shape"])


@pytest.fixture(scope="module")
def queue() -> dpctl.SyclQueue:
    return onexpu.dpctl_queue()


@pytest.fixture(scope="module")
def other_context(queue) -> dpctl.SyclQueue:
    """On the same device, in a context of its own."""
    context = dpctl.SyclContext([queue.sycl_device])
    assert context != queue.sycl_context
    return dpctl.SyclQueue(context, queue.sycl_device)


@pytest.fixture(scope="module")
def slow_copy(queue):
    """(destination, source, megabytes): a copy behind much other work, which is not waited for."""
    large = [memory.MemoryUSMDevice(64 * MEGABYTE, queue=queue) for _ in range(2)]

    def copy(destination, source, megabytes: int = 64, after=()) -> dpctl.SyclEvent:
        before = queue.memcpy_async(*large, megabytes * MEGABYTE, list(after))
        return queue.memcpy_async(destination, source, destination.nbytes, [before])

    return copy


@pytest.fixture
def array(xpu) -> jax.Array:
    return jax.device_put(np.arange(4096, dtype=np.float32), xpu) * 2.0


def on_host(memory) -> np.ndarray:
    return np.frombuffer(memory.copy_to_host(), np.float32)


# -- The queue -----------------------------------------------------------------------------------


def test_the_queue_is_dpctls_own(queue, xpu) -> None:
    assert queue is onexpu.dpctl_queue(xpu)
    assert queue == dpctl.get_device_cached_queue(queue.sycl_device)
    assert queue.sycl_context == dpctl.SyclQueue(queue.sycl_device).sycl_context
    with pytest.raises(IndexError, match="no xpu device 99"):
        onexpu.dpctl_queue(99)


def test_what_is_not_installed(array, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "dpnp", None)
    with pytest.raises(ImportError, match="pip install 'dpnp>=0.20'"):
        onexpu.to_dpnp(array)
    monkeypatch.setitem(sys.modules, "dpctl", None)
    for export in (onexpu.to_dpctl, onexpu.to_dpnp):
        with pytest.raises(ImportError, match="pip install dpctl"):
            export(array)


# -- Out -----------------------------------------------------------------------------------------


def test_to_dpctl_shares_the_memory(array) -> None:
    np.asarray(array)
    for x in (array, onexpu.to_tensor(array)):
        before = onexpu.transfer_statistics()
        shared = onexpu.to_dpctl(x)
        assert (onexpu.transfer_statistics() - before).total_bytes == 0
        assert isinstance(shared, memory.MemoryUSMDevice)
        assert shared._pointer == array.unsafe_buffer_pointer() == onexpu.buffer_address(shared)
        assert shared.nbytes == array.nbytes
        np.testing.assert_array_equal(on_host(shared), array)


def test_types_without_a_name_in_sycl(xpu) -> None:
    values = np.arange(7).astype(ml_dtypes.bfloat16)
    shared = onexpu.to_dpctl(jax.device_put(values, xpu))
    np.testing.assert_array_equal(np.frombuffer(shared.copy_to_host(), ml_dtypes.bfloat16), values)


def test_pinned_memory_is_host_memory(xpu) -> None:
    values = np.arange(100, dtype=np.float32)
    pinned = jax.device_put(
        values, jax.sharding.SingleDeviceSharding(xpu, memory_kind="pinned_host")
    )
    shared = onexpu.to_dpctl(pinned)
    assert isinstance(shared, memory.MemoryUSMHost)
    np.testing.assert_array_equal(np.frombuffer(shared, np.float32), values)


def test_empty_arrays(xpu) -> None:
    with pytest.raises(ValueError, match=r"no memory of no bytes.*\(0, 3\)"):
        onexpu.to_dpctl(jax.device_put(np.zeros((0, 3), np.float32), xpu))


def test_memory_is_read_only_unless_asked_for(array) -> None:
    values = np.asarray(array)
    shared = onexpu.to_dpctl(array)
    assert shared.__sycl_usm_array_interface__["data"][1] is True
    source = memory.MemoryUSMDevice(array.nbytes, queue=onexpu.dpctl_queue())
    for write in (
        lambda: shared.copy_from_host(bytes(array.nbytes)),
        lambda: shared.copy_from_device(source),
        lambda: shared.memset(),
    ):
        with pytest.raises(ValueError, match="read-only.*writable=True"):
            write()
    np.testing.assert_array_equal(on_host(shared), values)


def test_what_is_written_on_request_is_seen(xpu) -> None:
    x = jax.device_put(np.zeros(16, np.float32), xpu)
    onexpu.to_dpctl(x, writable=True).copy_from_host(np.arange(16, dtype=np.float32).tobytes())
    np.testing.assert_array_equal(jax.jit(lambda v: v + 1)(x), np.arange(16) + 1)


# -- In ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Device", "Shared", "Host"])
def test_memory_of_every_kind_comes_in(queue, kind) -> None:
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = Array(values, queue, kind)
    before = onexpu.transfer_statistics()
    in_jax, in_tensorflow = onexpu.to_jax(x), onexpu.to_tensor(x)
    again = onexpu.from_dlpack(x)
    assert (onexpu.transfer_statistics() - before).total_bytes == 0
    for y in (in_jax, in_tensorflow, again):
        assert onexpu.buffer_address(y) == x.memory._pointer == onexpu.buffer_address(x)
        np.testing.assert_array_equal(np.asarray(y), values)


def test_untyped_memory_is_bytes(queue) -> None:
    x = Array(np.arange(8, dtype=np.uint8), queue).memory
    np.testing.assert_array_equal(onexpu.to_jax(x), np.arange(8, dtype=np.uint8))


def test_offsets_and_strides(queue) -> None:
    values = np.arange(12, dtype=np.float32)
    part = Array(values, queue, shape=(4,), offset=3)
    np.testing.assert_array_equal(onexpu.to_jax(part), values[3:7])
    assert onexpu.buffer_address(part) == part.memory._pointer + 12
    dense = Array(values, queue, shape=(3, 1, 4), strides=(4, 77, 1))
    np.testing.assert_array_equal(onexpu.to_jax(dense), values.reshape(3, 1, 4))
    for shape, strides in (((6,), (2,)), ((4, 3), (1, 4)), ((3, 2), (4, 1)), ((5,), (0,))):
        strided = Array(values, queue, shape=shape, strides=strides)
        for take in (onexpu.to_jax, onexpu.to_tensor, onexpu.from_dlpack):
            with pytest.raises(ValueError, match="not row-major and would have to be copied"):
                take(strided)
    x = Array(values, queue)
    crooked = Array(values, queue, shape=(2,), data=(x.memory._pointer + 2, False), strides=(1,))
    with pytest.raises(ValueError, match="not aligned to its elements"):
        onexpu.to_jax(crooked)


def test_another_context(array, queue, other_context) -> None:
    both = "queue is of SYCL context 0x[0-9a-f]+ .*xpu:0 .* of context 0x[0-9a-f]+"
    foreign = Array(np.ones(8, np.float32), other_context)
    for take in (onexpu.to_jax, onexpu.to_tensor, onexpu.from_dlpack):
        with pytest.raises(ValueError, match=both):
            take(foreign)
    with pytest.raises(ValueError, match=both):
        onexpu.to_dpctl(array, queue=other_context)
    with pytest.raises(ValueError, match=both):
        onexpu.to_dlpack(array).__dlpack__(stream=other_context, max_version=(1, 0))
    # Memory of one context said to be of another.
    lying = Array(np.ones(8, np.float32), other_context, syclobj=queue)
    with pytest.raises(ValueError, match="no USM allocation of SYCL context 0x.*xpu:0"):
        onexpu.to_jax(lying)


def test_another_device(queue) -> None:
    part = queue.sycl_device.create_sub_devices(partition=1)[0]
    foreign = Array(np.ones(8, np.float32), dpctl.SyclQueue(dpctl.SyclContext([part]), part))
    with pytest.raises(ValueError, match="the array is on .*; only memory of xpu:0"):
        onexpu.to_jax(foreign)


def test_what_is_no_queue(queue) -> None:
    with pytest.raises(TypeError, match="expected a dpctl.SyclQueue, got str"):
        onexpu.to_jax(Array(np.ones(8, np.float32), queue, syclobj="opencl:cpu:0"))


# -- Ownership -----------------------------------------------------------------------------------


def in_use() -> int:
    gc.collect()
    return onexpu.memory_info()["bytes_in_use"]


def test_dpctl_keeps_the_memory(xpu) -> None:
    values = np.arange(MEGABYTE // 4, dtype=np.float32)
    start = in_use()
    x = jax.device_put(values, xpu)
    x.block_until_ready()
    shared = onexpu.to_dpctl(x)
    x.delete()
    filler = jax.device_put(-values, xpu)
    np.testing.assert_array_equal(on_host(shared), values)
    del filler
    assert in_use() - start == MEGABYTE
    del shared
    assert in_use() == start


def test_the_frameworks_keep_dpctls_memory(queue) -> None:
    values = np.arange(1000, dtype=np.float32)
    x = Array(values, queue)
    in_jax, in_tensorflow = onexpu.to_jax(x), onexpu.to_tensor(x)
    gone = []
    weakref.finalize(x, gone.append, True)
    del x
    gc.collect()
    assert not gone
    np.testing.assert_array_equal(in_jax, values)
    del in_jax
    gc.collect()
    assert not gone
    np.testing.assert_array_equal(in_tensorflow.numpy(), values)
    del in_tensorflow
    gc.collect()
    assert gone


# -- Order ---------------------------------------------------------------------------------------


def test_slow_work_of_dpctl_comes_first(queue, slow_copy) -> None:
    size = 512
    program_of_jax = jax.jit(lambda x: x * 2.0)
    was_pending = 0
    for repeat in range(40):
        values = np.arange(size, dtype=np.float32) + repeat
        x, y = Array(values, queue), Array(np.zeros(size, np.float32), queue)
        written = slow_copy(y.memory, x.memory)
        taken = (onexpu.to_jax if repeat % 2 else onexpu.to_tensor)(y, after=[written])
        result = program_of_jax(taken) if repeat % 2 else taken * 2.0
        was_pending += written.execution_status != dpctl.event_status_type.complete
        np.testing.assert_array_equal(np.asarray(result), 2.0 * values)
    assert was_pending > 20  # nothing has waited on the host


def test_a_queue_without_events_is_waited_for(queue, slow_copy) -> None:
    for take in (onexpu.to_jax, onexpu.to_tensor, onexpu.from_dlpack):
        x, y = Array(np.arange(9, dtype=np.float32), queue), Array(np.zeros(9, np.float32), queue)
        written = slow_copy(y.memory, x.memory)
        taken = take(y)
        assert written.execution_status == dpctl.event_status_type.complete
        np.testing.assert_array_equal(np.asarray(taken), np.arange(9))


def test_a_slow_program_comes_before_dpctls_work(queue, xpu) -> None:
    a = jax.device_put(np.random.default_rng(0).random((512, 512), np.float32), xpu)
    slow = jax.jit(lambda x: jax.lax.fori_loop(0, 20, lambda _, y: y @ x / 256.0, x))
    expected = np.asarray(slow(a)).ravel()
    destination = memory.MemoryUSMHost(expected.nbytes, queue=queue)
    for _ in range(20):
        pending = slow(a)
        shared = onexpu.to_dpctl(pending)
        queue.memcpy_async(destination, shared, shared.nbytes).wait()
        np.testing.assert_array_equal(np.frombuffer(destination, np.float32), expected)


def test_work_that_the_launcher_has_comes_before_dpctls(queue, xpu) -> None:
    """A program that waits for a Python callback has not been submitted when its result is
    shared.
    """

    def slow(x):
        threading.Event().wait(0.05)
        return x + 1

    x = jax.device_put(np.zeros(16, np.float32), xpu)
    called = jax.jit(lambda v: jax.pure_callback(slow, jax.ShapeDtypeStruct(v.shape, v.dtype), v))
    for _ in range(3):
        shared = onexpu.to_dpctl(called(x))
        destination = memory.MemoryUSMHost(64, queue=queue)
        queue.memcpy_async(destination, shared, 64).wait()
        np.testing.assert_array_equal(np.frombuffer(destination, np.float32), np.ones(16))


def test_failed_work_is_an_error_and_no_memory(xpu) -> None:
    def fail(x):
        raise ValueError("no such luck")

    x = jax.device_put(np.ones(16, np.float32), xpu)
    failed = jax.jit(lambda v: jax.pure_callback(fail, jax.ShapeDtypeStruct(v.shape, v.dtype), v))
    with pytest.raises(RuntimeError, match="no such luck"):
        onexpu.to_dpctl(failed(x))
    runtime_tokens.clear()  # which JAX would wait for at the end of the process


def ping_pong(queue, slow_copy, rounds: int, start: float) -> None:
    """The value goes through dpctl, JAX and TensorFlow, each in its own queues.

    Only the device waits for dpctl's queue and its events: on the CPU device, threads that wait
    for a queue that is not in order can deadlock within Intel's OpenCL runtime (docs/buffers.md).
    """
    size = 256
    stale = Array(np.full(size, -1.0, np.float32), queue)
    there = jax.device_put(np.full(size, start, np.float32), jax.devices("xpu")[0])
    program_of_jax = jax.jit(lambda x: x + 1.0)
    kept = []  # dpctl's copies do not keep their arguments
    for i in range(rounds):
        shared = onexpu.to_dpctl(program_of_jax(there))
        y = Array(np.empty(size, np.float32), queue, is_set=False)
        before = queue.memcpy_async(y.memory, stale.memory, y.memory.nbytes)
        written = slow_copy(y.memory, shared, 1 if i % 10 else 32, [before])
        kept.append(shared)
        with tf.device("/XPU:0"):
            there = onexpu.to_jax(onexpu.to_tensor(y, after=[written]) + 1.0)
    np.testing.assert_array_equal(there, np.full(size, start + 2 * rounds, np.float32))


def test_a_few_hundred_rounds(queue, slow_copy) -> None:
    ping_pong(queue, slow_copy, 300, 0.0)


def test_three_threads(queue, slow_copy) -> None:
    errors: list[BaseException] = []

    def work(start: float) -> None:
        try:
            ping_pong(queue, slow_copy, 100, start)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(1000.0 * i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise BaseExceptionGroup("threads failed", errors)


def test_queues_of_ones_own(array, queue) -> None:
    """Any queue of the context may be used, in order or not."""
    own = dpctl.SyclQueue(queue.sycl_device, property="in_order")
    shared = onexpu.to_dpctl(array + 1.0, queue=own)
    assert shared.sycl_queue == own
    destination = memory.MemoryUSMHost(shared.nbytes, queue=own)
    own.memcpy_async(destination, shared, shared.nbytes)
    on_own = memory.MemoryUSMDevice(shared.nbytes, queue=own)
    own.memcpy_async(on_own, destination, shared.nbytes)
    taken = onexpu.to_jax(on_own)
    np.testing.assert_array_equal(np.asarray(taken).view(np.float32), np.asarray(array) + 1)


def test_streams_of_dlpack(array, queue) -> None:
    capsule = onexpu.to_dlpack(array + 1.0).__dlpack__(stream=queue, max_version=(1, 0))
    np.testing.assert_array_equal(onexpu.from_dlpack(capsule), np.asarray(array) + 1)
