"""DLPack out and in: no copy, ownership, order, what is refused. The consumers that need dpctl are
in test_dpctl.py.
"""

from __future__ import annotations

import datetime
import gc
import threading

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from jax._src.dispatch import runtime_tokens
from jax.experimental.layout import Format, Layout

import onexpu
from onexpu import _native
from tests.exhaustive import covering

pytestmark = pytest.mark.usefixtures("on_xpu")

MEGABYTE = 1 << 20
FRAMEWORKS = ("jax", "tensorflow")


def capsule_of(x, **options):
    return onexpu.to_dlpack(x, **options).__dlpack__(max_version=(1, 0))


def on_device(framework: str, values: np.ndarray, xpu):
    """Makes an array of the framework's own."""
    return jax.device_put(values, xpu) if framework == "jax" else tf.identity(tf.constant(values))


class Producer:
    """An externally owned array: `memory` seen through another __dlpack__."""

    def __init__(self, memory: onexpu.DLPackArray, device: tuple[int, int] | None = None) -> None:
        self.memory = memory
        self.device = device or memory.__dlpack_device__()
        self.requests: list[dict] = []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **request):
        self.requests.append(request)
        return self.memory.__dlpack__(max_version=request["max_version"])


class OldProducer(Producer):
    """Of before DLPack 1.0."""

    def __dlpack__(self, stream=None):
        return self.memory.__dlpack__(stream=stream)


@pytest.fixture
def array(xpu) -> jax.Array:
    return jax.device_put(np.arange(4096, dtype=np.float32), xpu) * 2.0


@pytest.mark.parametrize("target", FRAMEWORKS)
@pytest.mark.parametrize("source", FRAMEWORKS)
@pytest.mark.parametrize("is_capsule", [False, True])
def test_the_memory_is_shared(xpu, source, target, is_capsule) -> None:
    values = np.arange(6144, dtype=np.float32).reshape(3, 2048)
    x = on_device(source, values, xpu)
    np.asarray(x)
    before = onexpu.transfer_statistics()
    y = onexpu.from_dlpack(capsule_of(x) if is_capsule else onexpu.to_dlpack(x), target)
    assert (onexpu.transfer_statistics() - before).total_bytes == 0
    assert onexpu.buffer_address(y) == onexpu.buffer_address(x)
    assert isinstance(y, jax.Array if target == "jax" else tf.Tensor)
    np.testing.assert_array_equal(np.asarray(y), values)


@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (2, 1, 4), (0, 4)])
@pytest.mark.parametrize(
    "dtype",
    [
        np.bool_, np.int8, np.int16, np.uint8, np.uint16, np.uint32, np.float16, np.float32,
        ml_dtypes.bfloat16, np.complex64, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2,
    ],
)  # fmt: skip
def test_types_and_shapes(xpu, dtype, shape) -> None:
    values = (np.arange(np.prod(shape)).reshape(shape) % 2).astype(dtype)
    x = jax.device_put(values, xpu)
    for framework in FRAMEWORKS:
        y = onexpu.from_dlpack(onexpu.to_dlpack(x), framework)
        on_host = np.asarray(y if framework == "jax" else y.numpy())
        assert y.shape == shape and on_host.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(on_host, values)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.float64, np.complex128])
def test_types_of_eight_bytes_and_more(dtype) -> None:
    values = np.arange(10).astype(dtype)
    x = tf.identity(tf.constant(values))
    np.testing.assert_array_equal(onexpu.from_dlpack(onexpu.to_dlpack(x), "tensorflow"), values)
    with pytest.raises(TypeError, match="without jax_enable_x64"):
        onexpu.from_dlpack(onexpu.to_dlpack(x), "jax")
    with jax.enable_x64(True):
        np.testing.assert_array_equal(onexpu.from_dlpack(onexpu.to_dlpack(x), "jax"), values)


def test_int32_is_shared_among_others_than_tensorflow(xpu) -> None:
    x = jax.device_put(np.arange(5, dtype=np.int32), xpu)
    np.testing.assert_array_equal(onexpu.from_dlpack(onexpu.to_dlpack(x)), np.arange(5))
    with pytest.raises(TypeError, match="int32 in host memory"):
        onexpu.from_dlpack(onexpu.to_dlpack(x), "tensorflow")
    with pytest.raises(TypeError, match="int32 in host memory"):
        onexpu.to_dlpack(tf.range(4))


def test_types_that_dlpack_packs(xpu) -> None:
    x = jax.device_put(np.ones(4, ml_dtypes.int4), xpu)
    with pytest.raises(TypeError, match="no arrays of int4"):
        capsule_of(x)


def test_what_a_capsule_says(array) -> None:
    capsule = capsule_of(array.reshape(2, 16, 128))
    tensor = _native.read_capsule(capsule)
    assert (tensor.device_type, tensor.device_id) == onexpu.to_dlpack(array).__dlpack_device__()
    assert tensor.device_type == 14  # kDLOneAPI
    assert tensor.shape == (2, 16, 128) and tensor.strides == (2048, 128, 1)
    assert tensor.dtype == "float32"


def test_memory_is_read_only_unless_asked_for(array) -> None:
    assert _native.read_capsule(capsule_of(array)).is_read_only
    assert not _native.read_capsule(capsule_of(array, writable=True)).is_read_only
    with pytest.raises(BufferError, match=r"read-only.*max_version=\(1, 0\).*writable=True"):
        onexpu.to_dlpack(array).__dlpack__()
    unversioned = onexpu.to_dlpack(array, writable=True).__dlpack__()
    assert onexpu.from_dlpack(unversioned).unsafe_buffer_pointer() == array.unsafe_buffer_pointer()
    assert "read-only" in repr(onexpu.to_dlpack(array))
    assert "writable" in repr(onexpu.to_dlpack(array, writable=True))


def test_producers_are_asked_for_what_they_understand(array) -> None:
    producer = Producer(onexpu.to_dlpack(array))
    assert onexpu.buffer_address(onexpu.from_dlpack(producer)) == onexpu.buffer_address(array)
    assert producer.requests[0]["copy"] is False
    old = OldProducer(onexpu.to_dlpack(array, writable=True))
    assert onexpu.buffer_address(onexpu.from_dlpack(old)) == onexpu.buffer_address(array)


def test_nothing_is_copied_silently(array) -> None:
    shared = onexpu.to_dlpack(array)
    with pytest.raises(BufferError, match="never copies"):
        shared.__dlpack__(max_version=(1, 0), copy=True)
    with pytest.raises(BufferError, match="not copied to kDLCPU 0"):
        shared.__dlpack__(max_version=(1, 0), dl_device=(1, 0))
    assert shared.__dlpack__(max_version=(1, 0), dl_device=shared.__dlpack_device__(), copy=False)
    with pytest.raises(BufferError, match="not copied to kDLCPU 0"):
        np.from_dlpack(shared, device="cpu")


def test_a_capsule_is_consumed_once(array) -> None:
    capsule = capsule_of(array)
    first = onexpu.from_dlpack(capsule)
    for framework in FRAMEWORKS:
        with pytest.raises(ValueError, match="consumed already"):
            onexpu.from_dlpack(capsule, framework)
    np.testing.assert_array_equal(first, array)


def test_a_capsule_that_is_refused_is_not_consumed() -> None:
    capsule = capsule_of(tf.identity(tf.constant(np.arange(5.0))))
    tensor = _native.read_capsule(capsule)
    with pytest.raises(ValueError, match="no USM allocation of SYCL context 0x.*xpu:0"):
        _native.view_memory(0x1000, tensor.dtype, tensor.shape, 0, capsule, 0)
    np.testing.assert_array_equal(onexpu.from_dlpack(capsule, "tensorflow"), np.arange(5.0))


def test_what_is_no_producer(array) -> None:
    with pytest.raises(TypeError, match="expected a DLPack capsule, got"):
        onexpu.from_dlpack(3)
    with pytest.raises(ValueError, match="'datetime.datetime_CAPI' is not a DLPack capsule"):
        onexpu.from_dlpack(datetime.datetime_CAPI)
    with pytest.raises(ValueError, match="framework is 'jax' or 'tensorflow', not 'torch'"):
        onexpu.from_dlpack(onexpu.to_dlpack(array), "torch")


def test_other_devices(array) -> None:
    with pytest.raises(ValueError, match="memory is on kDLCPU 0; only .* kDLOneAPI 0"):
        onexpu.from_dlpack(np.ones(4))
    shared = onexpu.to_dlpack(array)
    for device, text in (((2, 1), "kDLCUDA 1"), ((14, 99), "kDLOneAPI 99"), ((77, 0), "type 77 0")):
        with pytest.raises(ValueError, match=f"memory is on .*{text}"):
            onexpu.from_dlpack(Producer(shared, device))
    with pytest.raises(ValueError, match="only memory of one xpu device"):
        onexpu.to_dlpack(jax.device_put(np.ones(4), jax.devices("cpu")[0]))
    with tf.device("/CPU:0"), pytest.raises(ValueError, match="the tensor is on .*CPU"):
        onexpu.to_dlpack(tf.identity(tf.ones([4])))
    with pytest.raises(TypeError, match="JAX arrays with values"):
        onexpu.to_dlpack(np.ones(4))
    with pytest.raises(TypeError, match="JAX arrays with values"):
        jax.jit(onexpu.to_dlpack)(array)


def test_streams_are_queues(array) -> None:
    with pytest.raises(TypeError, match="expected a dpctl.SyclQueue, got int"):
        onexpu.to_dlpack(array).__dlpack__(stream=1, max_version=(1, 0))


def test_other_layouts(xpu) -> None:
    x = jax.device_put(
        np.arange(12, dtype=np.float32).reshape(3, 4),
        Format(Layout((1, 0)), jax.sharding.SingleDeviceSharding(xpu)),
    )
    for export in (onexpu.to_dlpack, onexpu.to_tensor):
        with pytest.raises(ValueError, match="only row-major arrays can be shared"):
            export(x)


# -- Ownership -----------------------------------------------------------------------------------


def in_use() -> int:
    gc.collect()
    return onexpu.memory_info()["bytes_in_use"]


@covering(source=FRAMEWORKS, target=FRAMEWORKS)
def test_memory_lives_until_the_last_holder_is_gone(xpu, source, target) -> None:
    values = np.arange(MEGABYTE // 4, dtype=np.float32)
    start = in_use()
    x = on_device(source, values, xpu)
    np.asarray(x)
    shared = onexpu.to_dlpack(x)
    assert in_use() - start == MEGABYTE
    del x
    assert in_use() - start == MEGABYTE
    capsule = shared.__dlpack__(max_version=(1, 0))
    del shared
    assert in_use() - start == MEGABYTE
    y = onexpu.from_dlpack(capsule, target)
    del capsule
    filler = on_device(source, -values, xpu)  # would take the memory if it were free
    np.testing.assert_array_equal(np.asarray(y), values)
    del filler
    assert in_use() - start == MEGABYTE
    del y
    assert in_use() == start


def test_a_capsule_that_nobody_takes_releases_its_memory(xpu) -> None:
    start = in_use()
    for version in ((1, 0), None):
        x = jax.device_put(np.zeros(MEGABYTE, np.uint8), xpu)
        capsule = onexpu.to_dlpack(x, writable=True).__dlpack__(max_version=version)
        del x
        assert in_use() - start == MEGABYTE
        del capsule
        assert in_use() == start


def test_a_thread_that_drops_the_last_holder(xpu) -> None:
    start = in_use()
    x = jax.device_put(np.zeros(MEGABYTE, np.uint8), xpu)
    held = [onexpu.from_dlpack(onexpu.to_dlpack(x))]
    del x
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert in_use() == start


def test_arrays_that_are_deleted(array) -> None:
    values = np.asarray(array)
    shared = onexpu.to_dlpack(array)
    array.delete()
    np.testing.assert_array_equal(onexpu.from_dlpack(shared), values)
    for export in (onexpu.to_dlpack, onexpu.to_dpctl, onexpu.to_tensor):
        with pytest.raises(RuntimeError, match="deleted"):
            export(array)


def test_empty_arrays_that_are_deleted(xpu) -> None:
    x = jax.device_put(np.zeros((0, 3), np.float32), xpu)
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        onexpu.to_dlpack(x)


def test_donating_what_is_exported_copies(array) -> None:
    values = np.asarray(array)
    shared = onexpu.to_dlpack(array)
    address = array.unsafe_buffer_pointer()
    result = jax.jit(lambda x: x + 1, donate_argnums=0)(array)
    assert result.unsafe_buffer_pointer() != address
    assert array.is_deleted()
    taken = onexpu.from_dlpack(shared)
    assert taken.unsafe_buffer_pointer() == address
    np.testing.assert_array_equal(taken, values)
    np.testing.assert_array_equal(result, values + 1)
    with pytest.raises(RuntimeError, match="deleted or donated|deleted"):
        onexpu.to_dlpack(array)


def test_what_is_imported_is_never_written(array) -> None:
    values = np.asarray(array)
    taken = onexpu.from_dlpack(onexpu.to_dlpack(array))
    jax.jit(lambda x: x * 0, donate_argnums=0)(taken).block_until_ready()
    variable = tf.Variable(onexpu.from_dlpack(onexpu.to_dlpack(array), "tensorflow"))
    variable.assign_add(tf.ones([4096]))
    np.testing.assert_array_equal(variable.numpy(), values + 1)
    np.testing.assert_array_equal(array, values)


def test_a_variable_gives_its_present_value() -> None:
    variable = tf.Variable(tf.ones([256]))
    shared = onexpu.to_dlpack(variable)
    variable.assign_add(tf.ones([256]))
    np.testing.assert_array_equal(onexpu.from_dlpack(shared), np.ones(256))


# -- Order ---------------------------------------------------------------------------------------


def test_pending_work_comes_first(xpu) -> None:
    a = jax.device_put(np.random.default_rng(0).random((768, 768), np.float32), xpu)
    program = jax.jit(lambda x: jax.lax.fori_loop(0, 20, lambda _, y: y @ x / 384.0, x))
    program(a).block_until_ready()
    for framework in FRAMEWORKS:
        pending = program(a)
        shared = onexpu.from_dlpack(onexpu.to_dlpack(pending), framework)
        np.testing.assert_array_equal(np.asarray(shared), np.asarray(program(a)))


def test_failed_work_is_an_error_and_no_memory(xpu) -> None:
    def fail(x):
        raise ValueError("no such luck")

    x = jax.device_put(np.ones(16, np.float32), xpu)
    failed = jax.jit(lambda v: jax.pure_callback(fail, jax.ShapeDtypeStruct(v.shape, v.dtype), v))(
        x
    )
    with pytest.raises(RuntimeError, match="no such luck"):
        capsule_of(failed)
    runtime_tokens.clear()  # which JAX would wait for at the end of the process


def test_three_threads(xpu) -> None:
    rounds, size = 150, 10_000
    program = jax.jit(lambda x: x + 1.0)
    errors: list[BaseException] = []

    def work(start: float) -> None:
        try:
            x = jax.device_put(jnp.full(size, start, jnp.float32), xpu)
            for _ in range(rounds):
                tensor = onexpu.from_dlpack(onexpu.to_dlpack(program(x)), "tensorflow")
                with tf.device("/XPU:0"):
                    x = onexpu.from_dlpack(capsule_of(tensor + 1.0))
            np.testing.assert_array_equal(x, np.full(size, start + 2 * rounds))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(1000.0 * i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise BaseExceptionGroup("threads failed", errors)


def test_threads_that_consume_one_capsule(array) -> None:
    for _ in range(50):
        capsule = capsule_of(array)
        outcomes: list[str] = []
        barrier = threading.Barrier(3)

        def consume(capsule=capsule, outcomes=outcomes, barrier=barrier) -> None:
            barrier.wait()
            try:
                onexpu.from_dlpack(capsule)
                outcomes.append("taken")
            except ValueError as error:
                outcomes.append("refused" if "consumed already" in str(error) else str(error))

        threads = [threading.Thread(target=consume) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["refused", "refused", "taken"]


def test_tensorflows_export_names_ours() -> None:
    with tf.device("/XPU:0"):
        x = tf.ones([4])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Use onexpu\.to_dlpack\(tensor\)"):
        tf.experimental.dlpack.to_dlpack(x)
    with tf.device("/CPU:0"):
        y = tf.identity(np.arange(3))
    shared = tf.experimental.dlpack.from_dlpack(tf.experimental.dlpack.to_dlpack(y))
    np.testing.assert_array_equal(shared, np.arange(3))
