"""The launch extension: hand-over, prefix views, statistics, kernels from SYCL source."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.c_api.pjrt import CONSTANTS, HEADER, Api, Client, PjrtError, buffer_type, int64s

TYPE = 0x4F58
CODE = {name.removeprefix("PJRT_Error_Code_"): value for name, value in CONSTANTS.items()}


class Launch:
    """The extension's functions."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.table = HEADER.structs["OnexpuLaunchExtension"].from_address(api.extension(TYPE))

    def call(self, function: str, struct: str, **fields):
        return self.api.call_pointer(getattr(self.table, function), struct, **fields)

    def export(self, buffer: int) -> int:
        return self.call("export_buffer", "OnexpuExportBufferArgs", buffer=buffer).device_address

    def cancel(self, address: int) -> None:
        self._call(self.table.cancel_export, address)

    def reset_memory_peaks(self, device: int | None) -> None:
        self._call(self.table.reset_memory_peaks, device)

    def _call(self, function: int, argument: int | None) -> None:
        error = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(function)(argument)
        if error:
            raise self.api.take(error)


@pytest.fixture(scope="module")
def launch(api: Api) -> Launch:
    return Launch(api)


def _take(client: Client, address: int, shape, dtype) -> int:
    """What a framework does with 'host memory' at an address."""
    dims = int64s(shape)
    args = client.api.call(
        "PJRT_Client_BufferFromHostBuffer",
        client=client.handle,
        data=address,
        type=buffer_type(dtype),
        dims=ctypes.addressof(dims),
        num_dims=len(shape),
        device=client.device,
    )
    client.api.await_event(args.done_with_host_buffer)
    return args.buffer


def _address(api: Api, buffer: int) -> int:
    return api.call("PJRT_Buffer_UnsafePointer", buffer=buffer).buffer_pointer


def test_the_extension_is_there(launch: Launch) -> None:
    assert launch.table.version == 5
    assert launch.table.base.struct_size == ctypes.sizeof(launch.table)
    assert all(getattr(launch.table, name) for name, _ in launch.table._fields_ if name != "base")


def test_an_exported_buffer_is_taken_without_a_copy(
    api: Api, client: Client, launch: Launch
) -> None:
    array = np.arange(60, dtype=np.float32)
    source = client.put(array)
    address = launch.export(source)
    other = Client(api)
    alias = _take(other, address, (3, 20), np.float32)
    assert _address(api, alias) == address == _address(api, source)
    client.destroy(source)  # the alias keeps the memory
    np.testing.assert_array_equal(other.get(alias, (3, 20), np.float32), array.reshape(3, 20))
    other.destroy(alias)


def test_an_export_serves_once(api: Api, client: Client, launch: Launch) -> None:
    source = client.put(np.arange(8, dtype=np.int32))
    address = launch.export(source)
    client.destroy(_take(client, address, (8,), np.int32))
    with pytest.raises(PjrtError, match="no buffer is exported"):
        launch.cancel(address)
    client.destroy(source)


def test_a_cancelled_export_is_gone(client: Client, launch: Launch) -> None:
    source = client.put(np.arange(8, dtype=np.int32))
    launch.cancel(launch.export(source))
    client.destroy(source)


def test_an_export_taken_at_another_size_is_refused(client: Client, launch: Launch) -> None:
    source = client.put(np.arange(8, dtype=np.int32))
    address = launch.export(source)
    with pytest.raises(PjrtError, match="32 bytes"):
        _take(client, address, (9,), np.int32)
    client.destroy(source)


def test_a_live_address_is_imported(api: Api, client: Client, launch: Launch) -> None:
    array = np.arange(12, dtype=np.float64)
    source = client.put(array)
    dims = int64s((4, 3))
    slot = launch.call(
        "offer_buffer", "OnexpuOfferBufferArgs", device_address=_address(api, source)
    ).slot
    client.destroy(source)  # the offer keeps it
    wanted = dict(
        client=client.handle, slot=slot,
        element_type=buffer_type(np.float64), dimensions=ctypes.addressof(dims), rank=2,
    )  # fmt: skip
    alias = launch.call("import_buffer", "OnexpuImportBufferArgs", **wanted).buffer
    with pytest.raises(PjrtError, match=f"no buffer is offered in slot {slot}") as error:
        launch.call("import_buffer", "OnexpuImportBufferArgs", **wanted)
    assert error.value.code == CODE["NOT_FOUND"]
    np.testing.assert_array_equal(client.get(alias, (4, 3), np.float64), array.reshape(4, 3))
    client.destroy(alias)


def test_a_dead_address_is_not_found(api: Api, client: Client, launch: Launch) -> None:
    with pytest.raises(PjrtError, match="no live buffer") as error:
        launch.call("offer_buffer", "OnexpuOfferBufferArgs", device_address=0x1000)
    assert error.value.code == CODE["NOT_FOUND"]


def test_a_prefix_view_shares_the_memory(api: Api, client: Client, launch: Launch) -> None:
    array = np.arange(20, dtype=np.float32).reshape(10, 2)
    source = client.put(array)
    dims = int64s((3, 2))
    view = launch.call(
        "prefix_view",
        "OnexpuPrefixViewArgs",
        buffer=source,
        dimensions=ctypes.addressof(dims),
        rank=2,
    ).view
    assert _address(api, view) == _address(api, source)
    client.destroy(source)
    np.testing.assert_array_equal(client.get(view, (3, 2), np.float32), array[:3])
    dims = int64s((30, 2))
    with pytest.raises(PjrtError):
        launch.call(
            "prefix_view",
            "OnexpuPrefixViewArgs",
            buffer=view,
            dimensions=ctypes.addressof(dims),
            rank=2,
        )
    client.destroy(view)


def test_transfers_are_counted(client: Client, launch: Launch) -> None:
    counter = HEADER.structs["OnexpuTransferCounter"]

    def read() -> dict[tuple[bytes, bytes], tuple[int, int]]:
        found = {}

        @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
        def on_transfers(user, counters, count):
            for i in range(count):
                entry = counter.from_address(counters + i * ctypes.sizeof(counter))
                key = (ctypes.string_at(entry.direction), ctypes.string_at(entry.function))
                times, size = found.get(key, (0, 0))
                found[key] = (times + entry.count, size + entry.bytes)

        launch.call(
            "statistics",
            "OnexpuStatisticsArgs",
            on_transfers=ctypes.cast(on_transfers, ctypes.c_void_p).value,
        )
        return found

    before = read()
    array = np.zeros(1000, np.float32)
    buffer = client.put(array)
    client.get(buffer, array.shape, np.float32)
    client.destroy(buffer)
    after = read()
    for key in ((b"host_to_device", b"BufferFromHostBuffer"), (b"device_to_host", b"ToHostBuffer")):
        times, size = before.get(key, (0, 0))
        assert after[key] == (times + 1, size + 4000)


def test_memory_peaks_start_over(client: Client, launch: Launch) -> None:
    def stats():
        return client.api.call("PJRT_Device_MemoryStats", device=client.device)

    kept, gone = (client.put(np.zeros(1 << 18, np.float32)) for _ in range(2))
    client.destroy(gone)
    assert stats().peak_bytes_in_use > stats().bytes_in_use
    launch.reset_memory_peaks(client.device)
    after = stats()
    assert after.peak_bytes_in_use == after.bytes_in_use >= 1 << 20
    assert after.num_allocs == 0 and after.largest_alloc_size == 0
    client.destroy(kept)
    with pytest.raises(PjrtError, match="device is null"):
        launch.reset_memory_peaks(None)


def test_a_source_with_a_syntax_error_gives_the_compilers_log(launch: Launch) -> None:
    source = b"ONEXPU_KERNEL void broken(float* x { x[0] = 1; }"
    text = ctypes.create_string_buffer(source)
    name = ctypes.create_string_buffer(b"broken")
    names = (ctypes.c_void_p * 1)(ctypes.addressof(name))
    with pytest.raises(PjrtError, match="error:") as error:
        launch.call(
            "compile_sycl", "OnexpuCompileSyclArgs",
            source=ctypes.addressof(text), source_size=len(source),
            kernel_names=ctypes.addressof(names), num_kernel_names=1,
        )  # fmt: skip
    assert error.value.code == CODE["INVALID_ARGUMENT"]


def test_a_kernel_that_is_no_spirv_is_refused(launch: Launch) -> None:
    junk = ctypes.create_string_buffer(b"not SPIR-V at all")
    key = ctypes.create_string_buffer(b"junk")
    with pytest.raises(PjrtError) as error:
        launch.call(
            "register_kernel", "OnexpuRegisterKernelArgs",
            key=ctypes.addressof(key), key_size=4,
            entry_point=ctypes.addressof(key), entry_point_size=4,
            spirv=ctypes.addressof(junk), spirv_size=17,
        )  # fmt: skip
    assert error.value.code == CODE["INVALID_ARGUMENT"]


def test_an_unknown_target_is_not_found(api: Api, client: Client, launch: Launch) -> None:
    name = ctypes.create_string_buffer(b"no.such.target")
    with pytest.raises(PjrtError, match="no.such.target") as error:
        handler = HEADER.structs["OnexpuHandler"](name=ctypes.addressof(name), name_size=14)
        launch.call("launch", "OnexpuLaunchArgs", device=client.device, handler=handler)
    assert error.value.code == CODE["NOT_FOUND"]


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("library_faults", "OnexpuLibraryFaultsArgs"),
        ("read_cache", "OnexpuReadCacheArgs"),
        ("describe_gpus", "OnexpuDescribeGpusArgs"),
    ],
)
def test_lists_want_a_callback(launch, function: str, arguments: str) -> None:
    with pytest.raises(PjrtError) as raised:
        launch.call(function, arguments)
    assert raised.value.code == CODE["INVALID_ARGUMENT"]
