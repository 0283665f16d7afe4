"""Arrays: to the device and back, their memory, donation."""

from __future__ import annotations

import gc

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax._src.lib import xla_client as xc
from jax.experimental.layout import Format, Layout
from jax.sharding import SingleDeviceSharding

DTYPES = [
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, np.float32, np.float64, np.complex64, np.complex128, ml_dtypes.bfloat16,
    ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4, ml_dtypes.uint4,
]  # fmt: skip


def _array(dtype, shape=(4, 6, 5)) -> np.ndarray:
    return (np.arange(np.prod(shape)) % 7).astype(dtype).reshape(shape)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_every_type_goes_there_and_back(xpu, dtype) -> None:
    array = _array(dtype)
    there = jax.device_put(array, xpu)
    assert there.devices() == {xpu} and there.dtype == array.dtype
    np.testing.assert_array_equal(jax.device_get(there), array)


@pytest.mark.parametrize(
    "view", [lambda a: a.T, lambda a: a[::2, ::-1], np.asfortranarray, lambda a: a[:, :0]]
)
def test_numpy_views_go_there_and_back(xpu, view) -> None:
    array = view(_array(np.float32))
    np.testing.assert_array_equal(np.asarray(jax.device_put(array, xpu)), array)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0, 1)])
def test_arrays_in_other_layouts(xpu, order) -> None:
    array = _array(np.float32)
    layout = Format(Layout(order), SingleDeviceSharding(xpu))
    there = jax.device_put(array, layout)
    assert there.format.layout.major_to_minor == order
    np.testing.assert_array_equal(np.asarray(there), array)
    doubled = jax.jit(lambda x: x * 2, in_shardings=layout, out_shardings=layout)(there)
    assert doubled.format.layout.major_to_minor == order
    np.testing.assert_array_equal(np.asarray(doubled), array * 2)


def test_the_memories_of_a_device(xpu) -> None:
    assert [memory.kind for memory in xpu.addressable_memories()] == ["device", "pinned_host"]
    array = _array(np.float32)
    pinned = SingleDeviceSharding(xpu, memory_kind="pinned_host")
    there = jax.device_put(array, pinned)
    assert there.sharding.memory_kind == "pinned_host"
    back = jax.device_put(there, SingleDeviceSharding(xpu, memory_kind="device"))
    np.testing.assert_array_equal(np.asarray(back), array)


def test_copies_are_copies(xpu) -> None:
    array = jax.device_put(_array(np.float32), xpu)
    copy = jnp.array(array, copy=True)
    assert copy.unsafe_buffer_pointer() != array.unsafe_buffer_pointer()
    np.testing.assert_array_equal(np.asarray(copy), np.asarray(array))


def test_cpu_and_xpu_exchange_arrays(xpu, cpu) -> None:
    array = _array(np.float32)
    there = jax.device_put(jax.device_put(array, cpu), xpu)
    back = jax.device_put(there, cpu)
    assert (there.devices(), back.devices()) == ({xpu}, {cpu})
    np.testing.assert_array_equal(np.asarray(back), array)


def test_donation_reuses_the_address(xpu) -> None:
    step = jax.jit(lambda x: x + 1, donate_argnums=0, device=None)
    array = jax.device_put(np.zeros(4096, np.float32), xpu)
    address = array.unsafe_buffer_pointer()
    for i in range(3):
        previous, array = array, step(array)
        assert previous.is_deleted()
        assert array.unsafe_buffer_pointer() == address
        assert float(array[0]) == i + 1


def test_a_donated_array_cannot_be_another_argument(xpu) -> None:
    array = jax.device_put(_array(np.float32), xpu)
    with pytest.raises(
        jax.errors.JaxRuntimeError, match="donates a buffer that is also argument 1"
    ):
        jax.jit(lambda x, y: x + y, donate_argnums=0)(array, array).block_until_ready()
    np.testing.assert_array_equal(array, _array(np.float32))


def test_a_donated_array_cannot_be_used_again(xpu) -> None:
    array = jax.device_put(np.zeros(4096, np.float32), xpu)
    keep = jax.device_put(np.ones(3, np.float32), xpu)
    jax.jit(lambda x: x * 2, donate_argnums=0)(array)
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(array)
    with pytest.raises((RuntimeError, ValueError), match="deleted"):
        jax.jit(lambda x: x + 1)(array)
    np.testing.assert_array_equal(np.asarray(keep), np.ones(3))


def test_deletion(xpu) -> None:
    array = jax.device_put(np.zeros(16, np.float32), xpu)
    array.delete()
    assert array.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(array)


def test_memory_stats_follow_arrays(xpu) -> None:
    gc.collect()
    before = xpu.memory_stats()
    array = jax.device_put(np.zeros(1 << 20, np.float32), xpu)
    array.block_until_ready()
    after = xpu.memory_stats()
    assert after["bytes_in_use"] - before["bytes_in_use"] >= 4 << 20
    assert after["peak_bytes_in_use"] >= after["bytes_in_use"]
    assert after["bytes_limit"] > 0
    del array
    gc.collect()
    assert xpu.memory_stats()["bytes_in_use"] <= before["bytes_in_use"]


def test_live_arrays(xpu) -> None:
    array = jax.device_put(np.zeros((3, 1, 4, 1, 5), np.float32), xpu)
    assert any(live is array for live in jax.live_arrays("xpu"))


def test_an_allocation_beyond_memory_is_an_error_and_harms_nobody(xpu) -> None:
    array = jax.device_put(_array(np.float32), xpu)
    with (
        jax.default_device(xpu),
        pytest.raises(jax.errors.JaxRuntimeError, match="RESOURCE_EXHAUSTED"),
    ):
        jnp.zeros((1 << 44,), jnp.float32).block_until_ready()
    np.testing.assert_array_equal(np.asarray(array), _array(np.float32))
    np.testing.assert_array_equal(np.asarray(array + 1), _array(np.float32) + 1)


def test_an_error_of_an_operation_that_is_not_there_names_it(xpu) -> None:
    """Nothing falls back in silence: what cannot be compiled says so, with its shape."""
    infeed = """
        func.func public @main() -> tensor<4xf32> {
          %token = stablehlo.create_token : !stablehlo.token
          %result:2 = "stablehlo.infeed"(%token) {infeed_config = "", layout = [[0]]}
              : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token) loc("my_loss")
          return %result#0 : tensor<4xf32>
        }"""
    with pytest.raises(
        jax.errors.JaxRuntimeError, match=r"UNIMPLEMENTED: onexpu: .*f32\[4\].* infeed.*my_loss"
    ):
        xpu.client.compile_and_load(infeed.encode(), xc.DeviceList((xpu,)), xc.CompileOptions())


@pytest.mark.parametrize("length", [1, 17, 256, 600, 2048, 2053, 4096, 2 * 4099, 8192])
def test_fourier_transforms_of_any_length(xpu, length) -> None:
    rng = np.random.default_rng(length)
    x = rng.standard_normal((2, length))
    z = x + 1j * rng.standard_normal((2, length))
    half = z[:, : length // 2 + 1]
    for name, argument, atol in (
        ("fft", z, 1), ("ifft", z, 1 / length), ("rfft", x, 1), ("irfft", half, 1 / length),
    ):  # fmt: skip
        options = {"n": length} if name == "irfft" else {}
        for single in (False, True):
            given = (
                argument.astype(np.complex64 if np.iscomplexobj(argument) else np.float32)
                if single
                else argument
            )
            eps = np.finfo(given.dtype).eps
            result = getattr(jnp.fft, name)(jax.device_put(given, xpu), **options)
            expected = getattr(np.fft, name)(given.astype(argument.dtype), **options)
            # Rounding errors of `length` terms of size one, of random sign; a chirp has three
            # transforms.
            np.testing.assert_allclose(result, expected, rtol=0, atol=40 * eps * length**0.5 * atol)


def test_a_program_puts_its_result_into_host_memory(xpu) -> None:
    pinned = jax.sharding.SingleDeviceSharding(xpu, memory_kind="pinned_host")
    array = jax.device_put(_array(np.float32), xpu)
    result = jax.jit(lambda x: x * 2, out_shardings=pinned)(array)
    assert result.sharding.memory_kind == "pinned_host"
    np.testing.assert_array_equal(result, _array(np.float32) * 2)


@pytest.mark.parametrize("size", [3, 1000, 100_000])
def test_results_in_host_memory_are_read_when_they_are_there(xpu, size: int) -> None:
    """Of work that has long to go, from many reads that wait at once, and as memory is used
    again.
    """
    pinned = jax.sharding.SingleDeviceSharding(xpu, memory_kind="pinned_host")

    def slow(x: jax.Array, factor: jax.Array) -> jax.Array:
        y = jax.lax.fori_loop(0, 40, lambda _, y: jnp.cos(y), jnp.ones(200_000) * x[0])
        return x * factor + 0 * y[0]

    step = jax.jit(slow, out_shardings=pinned)
    x = jax.device_put(np.arange(size, dtype=np.float32), xpu)
    for _ in range(3):
        results = [step(x, np.float32(factor)) for factor in range(6)]
        for result in results:
            result.copy_to_host_async()
        for factor, result in enumerate(results):
            np.testing.assert_array_equal(result, np.arange(size, dtype=np.float32) * factor)
        del results
