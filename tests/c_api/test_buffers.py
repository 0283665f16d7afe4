"""PJRT_Buffer: every way to make one, to read one, to end one."""

from __future__ import annotations

import ctypes
import threading

import ml_dtypes
import numpy as np
import pytest

from tests.c_api.pjrt import (
    CONSTANTS,
    HEADER,
    Api,
    Client,
    PjrtError,
    buffer_type,
    int64s,
    pointers,
)

DTYPES = [
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, np.float32, np.float64, np.complex64, np.complex128,
    ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4,
    ml_dtypes.uint4,
]  # fmt: skip
SEMANTICS = [
    "kImmutableOnlyDuringCall",
    "kImmutableUntilTransferCompletes",
    "kImmutableZeroCopy",
    "kMutableZeroCopy",
]
CODE = {name.removeprefix("PJRT_Error_Code_"): value for name, value in CONSTANTS.items()}


def _array(dtype, shape=(3, 5, 2)) -> np.ndarray:
    values = np.arange(np.prod(shape)) % 7
    return values.astype(dtype).reshape(shape)


def _tiled(minor_to_major: list[int], tiles: list[int] = ()):
    """A tiled layout, and what it points to."""
    layout = HEADER.structs["PJRT_Buffer_MemoryLayout"]()
    layout.struct_size = ctypes.sizeof(layout)
    layout.type = CONSTANTS["PJRT_Buffer_MemoryLayout_Type_Tiled"]
    layout.tiled.struct_size = ctypes.sizeof(layout.tiled)
    order, dims = int64s(minor_to_major), int64s(tiles)
    sizes = (ctypes.c_size_t * 1)(len(tiles))
    layout.tiled.minor_to_major = ctypes.addressof(order)
    layout.tiled.minor_to_major_size = len(minor_to_major)
    layout.tiled.tile_dims = ctypes.addressof(dims)
    layout.tiled.tile_dim_sizes = ctypes.addressof(sizes)
    layout.tiled.num_tiles = 1 if tiles else 0
    return layout, (order, dims, sizes)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_every_type_goes_there_and_back(client: Client, dtype) -> None:
    array = _array(dtype)
    buffer = client.put(array)
    np.testing.assert_array_equal(client.get(buffer, array.shape, dtype), array)
    client.destroy(buffer)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2), (1, 1, 1, 1, 1, 1, 1, 2)])
def test_odd_shapes_go_there_and_back(client: Client, shape) -> None:
    array = _array(np.float32, shape)
    buffer = client.put(array)
    result = client.get(buffer, shape, np.float32)
    assert result.shape == shape
    np.testing.assert_array_equal(result, array)
    client.destroy(buffer)


@pytest.mark.parametrize("semantics", SEMANTICS)
def test_every_semantics_copies_right(client: Client, semantics: str) -> None:
    array = _array(np.float32, (256, 33))
    expected = array.copy()
    buffer = client.put(array, semantics=semantics)
    if "ZeroCopy" not in semantics:
        array[...] = -1  # done_with_host_buffer has come: the memory is ours again
    np.testing.assert_array_equal(client.get(buffer, expected.shape, np.float32), expected)
    client.destroy(buffer)


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a.T,
        lambda a: a[::2, :, ::-1],
        lambda a: a[:, 1:4],
        lambda a: np.broadcast_to(a[:1], (4, *a.shape[1:])),
        lambda a: a.transpose(1, 0, 2),
        np.asfortranarray,
    ],
    ids=["transposed", "reversed", "sliced", "broadcast", "swapped", "fortran"],
)
@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.complex128], ids=["s8", "f32", "c128"])
def test_strided_host_arrays_are_read_as_they_lie(client: Client, view, dtype) -> None:
    array = view(_array(dtype, (6, 5, 4)))
    buffer = client.put(array)
    np.testing.assert_array_equal(client.get(buffer, array.shape, dtype), array)
    client.destroy(buffer)


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 2, 0], [2, 1, 0], [0, 2, 1]])
def test_a_device_layout_is_kept(api: Api, client: Client, order: list[int]) -> None:
    array = _array(np.float32)
    layout, _keep = _tiled(order)
    buffer = client.put(array, device_layout=ctypes.addressof(layout))
    np.testing.assert_array_equal(client.get(buffer, array.shape, np.float32), array)
    answer = api.call("PJRT_Buffer_GetMemoryLayout", buffer=buffer).layout
    assert answer.type == CONSTANTS["PJRT_Buffer_MemoryLayout_Type_Tiled"]
    assert list((ctypes.c_int64 * 3).from_address(answer.tiled.minor_to_major)) == order
    # Without a host layout the bytes come as they lie on the device.
    raw = np.empty(array.size, np.float32)
    args = api.call(
        "PJRT_Buffer_ToHostBuffer", src=buffer, dst=raw.ctypes.data, dst_size=raw.nbytes
    )
    api.await_event(args.event)
    np.testing.assert_array_equal(raw, array.transpose(order[::-1]).ravel())
    client.destroy(buffer)


def test_tiles_and_wrong_orders_are_refused(client: Client) -> None:
    array = _array(np.float32)
    layout, _keep = _tiled([2, 1, 0], [8, 128])
    with pytest.raises(PjrtError, match="tile") as error:
        client.put(array, device_layout=ctypes.addressof(layout))
    assert error.value.code == CODE["UNIMPLEMENTED"]
    for order in ([0, 1], [0, 1, 1], [0, 1, 3]):
        layout, _keep = _tiled(order)
        with pytest.raises(PjrtError, match="not an order") as error:
            client.put(array, device_layout=ctypes.addressof(layout))
        assert error.value.code == CODE["INVALID_ARGUMENT"]


@pytest.mark.parametrize(
    ("dims", "message"), [([-1, 2], "negative"), ([1 << 40, 1 << 40], "64 bits")]
)
def test_impossible_dimensions_are_refused(api: Api, client: Client, dims, message: str) -> None:
    sizes = int64s(dims)
    with pytest.raises(PjrtError, match=message) as error:
        api.call(
            "PJRT_Client_CreateUninitializedBuffer",
            client=client.handle,
            shape_dims=ctypes.addressof(sizes),
            shape_num_dims=len(dims),
            shape_element_type=buffer_type(np.float32),
            device=client.device,
        )
    assert error.value.code == CODE["INVALID_ARGUMENT"]


def test_more_than_memory_is_resource_exhausted_and_harms_nobody(api: Api, client: Client) -> None:
    array = _array(np.float32)
    buffer = client.put(array)
    sizes = int64s([1 << 44])
    with pytest.raises(PjrtError) as error:
        api.call(
            "PJRT_Client_CreateUninitializedBuffer",
            client=client.handle,
            shape_dims=ctypes.addressof(sizes),
            shape_num_dims=1,
            shape_element_type=buffer_type(np.float32),
            device=client.device,
        )
    assert error.value.code == CODE["RESOURCE_EXHAUSTED"]
    np.testing.assert_array_equal(client.get(buffer, array.shape, np.float32), array)
    client.destroy(buffer)


def test_a_buffer_tells_its_shape_and_place(api: Api, client: Client) -> None:
    array = _array(np.int16, (4, 6))
    buffer = client.put(array)
    assert api.call("PJRT_Buffer_ElementType", buffer=buffer).type == buffer_type(np.int16)
    for function, field in (("Dimensions", "dims"), ("UnpaddedDimensions", "unpadded_dims")):
        args = api.call(f"PJRT_Buffer_{function}", buffer=buffer)
        assert list((ctypes.c_int64 * args.num_dims).from_address(getattr(args, field))) == [4, 6]
    assert api.call("PJRT_Buffer_DynamicDimensionIndices", buffer=buffer).num_dynamic_dims == 0
    size = api.call("PJRT_Buffer_OnDeviceSizeInBytes", buffer=buffer).on_device_size_in_bytes
    assert size == array.nbytes
    assert api.call("PJRT_Buffer_Device", buffer=buffer).device == client.device
    memory = api.call("PJRT_Buffer_Memory", buffer=buffer).memory
    assert memory == api.call("PJRT_Device_DefaultMemory", device=client.device).memory
    assert not api.call("PJRT_Buffer_IsOnCpu", buffer=buffer).is_on_cpu
    pointer = api.call("PJRT_Buffer_UnsafePointer", buffer=buffer).buffer_pointer
    opaque = api.call("PJRT_Buffer_OpaqueDeviceMemoryDataPointer", buffer=buffer).device_memory_ptr
    assert pointer == opaque and pointer
    client.destroy(buffer)


def test_the_size_query_and_a_destination_that_is_too_small(api: Api, client: Client) -> None:
    buffer = client.put(_array(np.float32))
    query = api.call("PJRT_Buffer_ToHostBuffer", src=buffer)
    assert query.dst_size == 120 and not query.event
    out = np.empty(29, np.float32)
    with pytest.raises(PjrtError, match="120 bytes"):
        api.call("PJRT_Buffer_ToHostBuffer", src=buffer, dst=out.ctypes.data, dst_size=out.nbytes)
    client.destroy(buffer)


def test_raw_bytes_from_an_offset(api: Api, client: Client) -> None:
    array = np.arange(64, dtype=np.uint8)
    buffer = client.put(array)
    out = np.zeros(10, np.uint8)
    args = api.call(
        "PJRT_Buffer_CopyRawToHost", buffer=buffer, dst=out.ctypes.data, offset=5, transfer_size=10
    )
    api.await_event(args.event)
    np.testing.assert_array_equal(out, array[5:15])
    for offset, size in ((-1, 4), (0, 65), (60, 5), (1 << 62, 1 << 62)):
        with pytest.raises(PjrtError, match="64 bytes"):
            api.call(
                "PJRT_Buffer_CopyRawToHost",
                buffer=buffer, dst=out.ctypes.data, offset=offset, transfer_size=size,
            )  # fmt: skip
    client.destroy(buffer)


def test_a_raw_copy_whose_destination_comes_later(api: Api, client: Client) -> None:
    array = np.arange(64, dtype=np.uint8)
    buffer = client.put(array)
    out = np.zeros(8, np.uint8)
    args = api.call("PJRT_Buffer_CopyRawToHostFuture", buffer=buffer, offset=8, transfer_size=8)
    assert not api.call("PJRT_Event_IsReady", event=args.event).is_ready
    answer = HEADER.structs["PJRT_Buffer_CopyRawToHostFuture_Callback_Args"]()
    answer.struct_size = ctypes.sizeof(answer)
    answer.callback_data, answer.dst = args.callback_data, out.ctypes.data
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(args.future_ready_callback)(ctypes.addressof(answer))
    api.await_event(args.event)
    np.testing.assert_array_equal(out, array[8:16])
    client.destroy(buffer)


def test_copies_between_memories(api: Api, client: Client) -> None:
    memories = api.call("PJRT_Device_AddressableMemories", device=client.device)
    device, pinned = pointers(memories.memories, memories.num_memories)
    array = _array(np.float64)
    buffer = client.put(array)
    on_host = api.call("PJRT_Buffer_CopyToMemory", buffer=buffer, dst_memory=pinned).dst_buffer
    assert api.call("PJRT_Buffer_Memory", buffer=on_host).memory == pinned
    back = api.call("PJRT_Buffer_CopyToMemory", buffer=on_host, dst_memory=device).dst_buffer
    client.destroy(buffer, on_host)
    np.testing.assert_array_equal(client.get(back, array.shape, np.float64), array)
    twin = api.call("PJRT_Buffer_CopyToDevice", buffer=back, dst_device=client.device).dst_buffer
    client.destroy(back)
    np.testing.assert_array_equal(client.get(twin, array.shape, np.float64), array)
    client.destroy(twin)


def test_host_data_goes_to_the_memory_that_is_named(api: Api, client: Client) -> None:
    memories = api.call("PJRT_Device_AddressableMemories", device=client.device)
    _, pinned = pointers(memories.memories, memories.num_memories)
    array = _array(np.float32)
    buffer = client.put(array, device=None, memory=pinned)
    assert api.call("PJRT_Buffer_Memory", buffer=buffer).memory == pinned
    np.testing.assert_array_equal(client.get(buffer, array.shape, np.float32), array)
    client.destroy(buffer)


@pytest.mark.parametrize(
    "use",
    [
        ("PJRT_Buffer_ToHostBuffer", "src"),
        ("PJRT_Buffer_UnsafePointer", "buffer"),
        ("PJRT_Buffer_OpaqueDeviceMemoryDataPointer", "buffer"),
        ("PJRT_Buffer_CopyToDevice", "buffer"),
        ("PJRT_Buffer_CopyRawToHost", "buffer"),
        ("PJRT_Buffer_IncreaseExternalReferenceCount", "buffer"),
    ],
    ids=lambda use: use[0],
)
def test_a_deleted_buffer_cannot_be_used(api: Api, client: Client, use: tuple[str, str]) -> None:
    function, field = use
    buffer = client.put(_array(np.float32))
    api.call("PJRT_Buffer_Delete", buffer=buffer)
    assert api.call("PJRT_Buffer_IsDeleted", buffer=buffer).is_deleted
    api.call("PJRT_Buffer_Delete", buffer=buffer)  # again is fine
    out = np.empty((3, 5, 2), np.float32)
    more = {"dst_device": client.device} if "CopyToDevice" in function else {}
    if "ToHost" in function:
        more["dst"] = out.ctypes.data
    if function == "PJRT_Buffer_ToHostBuffer":
        more["dst_size"] = out.nbytes
    with pytest.raises(PjrtError, match="deleted") as error:
        api.call(function, **{field: buffer}, **more)
    assert error.value.code in (CODE["FAILED_PRECONDITION"], CODE["INVALID_ARGUMENT"])
    event = api.call("PJRT_Buffer_ReadyEvent", buffer=buffer).event
    with pytest.raises(PjrtError, match="deleted"):
        api.await_event(event)
    client.destroy(buffer)


def test_a_ready_event_outlives_its_buffer(api: Api, client: Client) -> None:
    buffer = client.put(np.zeros(1 << 20, np.float32))
    event = api.call("PJRT_Buffer_ReadyEvent", buffer=buffer).event
    client.destroy(buffer)
    api.await_event(event)


def test_external_references_are_counted(api: Api, client: Client) -> None:
    buffer = client.put(_array(np.float32))
    with pytest.raises(PjrtError):
        api.call("PJRT_Buffer_DecreaseExternalReferenceCount", buffer=buffer)
    api.call("PJRT_Buffer_IncreaseExternalReferenceCount", buffer=buffer)
    api.call("PJRT_Buffer_DecreaseExternalReferenceCount", buffer=buffer)
    client.destroy(buffer)


def test_an_error_buffer_is_its_error(api: Api, client: Client) -> None:
    text = ctypes.create_string_buffer(b"the model is broken")
    sizes = int64s([2, 3])
    memory = api.call("PJRT_Device_DefaultMemory", device=client.device).memory
    buffer = api.call(
        "PJRT_Client_CreateErrorBuffer",
        client=client.handle,
        error_code=CODE["DATA_LOSS"],
        error_message=ctypes.addressof(text),
        error_message_size=len(text.value),
        shape_dims=ctypes.addressof(sizes),
        shape_num_dims=2,
        shape_element_type=buffer_type(np.float32),
        memory=memory,
    ).buffer
    with pytest.raises(PjrtError, match="the model is broken") as error:
        client.get(buffer, (2, 3), np.float32)
    assert error.value.code == CODE["DATA_LOSS"]
    client.destroy(buffer)


def test_a_view_reads_foreign_memory_and_gives_it_back(api: Api, client: Client) -> None:
    array = _array(np.float32, (8, 4))
    owner = client.put(array)
    address = api.call("PJRT_Buffer_UnsafePointer", buffer=owner).buffer_pointer
    gone = threading.Event()
    seen = []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    def on_delete(pointer, user):
        seen.append((pointer, user))
        gone.set()

    sizes = int64s([4, 8])
    view = api.call(
        "PJRT_Client_CreateViewOfDeviceBuffer",
        client=client.handle,
        device_buffer_ptr=address,
        dims=ctypes.addressof(sizes),
        num_dims=2,
        element_type=buffer_type(np.float32),
        device=client.device,
        on_delete_callback=ctypes.cast(on_delete, ctypes.c_void_p).value,
        on_delete_callback_arg=7,
    ).buffer
    assert api.call("PJRT_Buffer_UnsafePointer", buffer=view).buffer_pointer == address
    np.testing.assert_array_equal(client.get(view, (4, 8), np.float32), array.reshape(4, 8))
    client.destroy(view)
    assert gone.wait(10) and seen == [(address, 7)]
    np.testing.assert_array_equal(client.get(owner, array.shape, np.float32), array)
    client.destroy(owner)


def test_an_uninitialized_buffer_has_its_size(api: Api, client: Client) -> None:
    sizes = int64s([16, 16])
    buffer = api.call(
        "PJRT_Client_CreateUninitializedBuffer",
        client=client.handle,
        shape_dims=ctypes.addressof(sizes),
        shape_num_dims=2,
        shape_element_type=buffer_type(np.float64),
        device=client.device,
    ).buffer
    assert client.get(buffer, (16, 16), np.float64).shape == (16, 16)
    client.destroy(buffer)


def test_threads_make_read_and_end_buffers_at_once(client: Client) -> None:
    failures = []

    def work(seed: int) -> None:
        generator = np.random.default_rng(seed)
        try:
            for _ in range(40):
                array = generator.integers(0, 100, generator.integers(1, 4096)).astype(np.int32)
                buffer = client.put(array)
                np.testing.assert_array_equal(client.get(buffer, array.shape, np.int32), array)
                client.destroy(buffer)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
