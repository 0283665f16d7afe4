"""Clients, devices, descriptions, memories, topologies."""

from __future__ import annotations

import ctypes

import pytest

from tests.c_api.pjrt import CONSTANTS, HEADER, Api, Client, PjrtError, pointers


def _string(args, name: str) -> str:
    return ctypes.string_at(getattr(args, name), getattr(args, name + "_size")).decode()


def test_the_platform_is_xpu(api: Api, client: Client) -> None:
    assert (
        _string(api.call("PJRT_Client_PlatformName", client=client.handle), "platform_name")
        == "xpu"
    )
    version = _string(
        api.call("PJRT_Client_PlatformVersion", client=client.handle), "platform_version"
    )
    assert version.startswith("onexpu ")
    assert api.call("PJRT_Client_ProcessIndex", client=client.handle).process_index == 0


def _named_values(**values: int) -> tuple[ctypes.Array, list[ctypes.Array]]:
    """Options of a client, and the memory of their names."""
    struct = HEADER.structs["PJRT_NamedValue"]
    names = [ctypes.create_string_buffer(name.encode()) for name in values]
    array = (struct * len(values))()
    for option, name, value in zip(array, names, values.values(), strict=True):
        option.struct_size = ctypes.sizeof(struct)
        option.name, option.name_size = ctypes.addressof(name), len(name.value)
        option.type, option.value_size = CONSTANTS["PJRT_NamedValue_kInt64"], 1
        option.int64_value = value
    return array, names


@pytest.mark.parametrize("node", [0, 1])
def test_a_program_of_several_processes_is_rejected(api: Api, node: int) -> None:
    options, _names = _named_values(node_id=node, num_nodes=2)
    with pytest.raises(PjrtError, match="num_nodes is 2.*num_processes=1") as error:
        api.call(
            "PJRT_Client_Create", create_options=ctypes.addressof(options), num_options=len(options)
        )
    assert error.value.code == CONSTANTS["PJRT_Error_Code_UNIMPLEMENTED"]


def test_a_program_of_one_process_hears_of_its_state(api: Api) -> None:
    options, _names = _named_values(node_id=0, num_nodes=1)
    created = api.call(
        "PJRT_Client_Create", create_options=ctypes.addressof(options), num_options=len(options)
    )
    process = HEADER.structs["PJRT_ProcessInfo"]()
    process.struct_size = ctypes.sizeof(process)
    process.state = CONSTANTS["PJRT_ProcessState_kConnected"]
    for count in (0, 1):
        api.call(
            "PJRT_Client_UpdateGlobalProcessInfo",
            client=created.client,
            process_infos=ctypes.addressof(process),
            num_process_infos=count,
        )
    api.call("PJRT_Client_Destroy", client=created.client)


def test_there_are_no_tracking_events(api: Api, client: Client) -> None:
    args = api.call("PJRT_Device_CreateAsyncTrackingEvent", device=client.device, event=1)
    assert args.event is None
    api.call("PJRT_AsyncTrackingEvent_Destroy", event=args.event)
    with pytest.raises(PjrtError, match="creates none"):
        api.call("PJRT_AsyncTrackingEvent_Destroy", event=1)


def test_two_clients_share_the_core_but_not_their_handles(api: Api, client: Client) -> None:
    other = Client(api)
    assert len(other.devices) == len(client.devices)
    assert not set(other.devices) & set(client.devices)
    api.call("PJRT_Client_Destroy", client=other.handle)
    assert api.call("PJRT_Device_IsAddressable", device=client.device).is_addressable


def test_devices_are_found_by_their_ids(api: Api, client: Client) -> None:
    devices = api.call("PJRT_Client_Devices", client=client.handle)
    assert pointers(devices.devices, devices.num_devices) == client.devices
    for device in client.devices:
        description = api.call("PJRT_Device_GetDescription", device=device).device_description
        number = api.call("PJRT_DeviceDescription_Id", device_description=description).id
        assert (
            api.call("PJRT_Client_LookupDevice", client=client.handle, id=number).device == device
        )
        local = api.call("PJRT_Device_LocalHardwareId", device=device).local_hardware_id
        found = api.call(
            "PJRT_Client_LookupAddressableDevice", client=client.handle, local_hardware_id=local
        )
        assert found.addressable_device == device
        assert api.call("PJRT_Device_IsAddressable", device=device).is_addressable


def test_an_unknown_device_is_an_error(api: Api, client: Client) -> None:
    with pytest.raises(PjrtError, match="99"):
        api.call("PJRT_Client_LookupDevice", client=client.handle, id=99)


def test_a_device_describes_itself(api: Api, client: Client) -> None:
    handle = api.call("PJRT_Device_GetDescription", device=client.device).device_description
    kind = api.call("PJRT_DeviceDescription_Kind", device_description=handle)
    assert _string(kind, "device_kind")
    text = api.call("PJRT_DeviceDescription_ToString", device_description=handle)
    assert _string(text, "to_string") == "xpu(id=0)"
    assert _string(kind, "device_kind") in _string(
        api.call("PJRT_DeviceDescription_DebugString", device_description=handle), "debug_string"
    )
    assert (
        api.call("PJRT_DeviceDescription_ProcessIndex", device_description=handle).process_index
        == 0
    )
    api.call("PJRT_DeviceDescription_Attributes", device_description=handle)


def test_a_device_has_its_own_and_pinned_host_memory(api: Api, client: Client) -> None:
    memories = api.call("PJRT_Device_AddressableMemories", device=client.device)
    handles = pointers(memories.memories, memories.num_memories)
    kinds = [_string(api.call("PJRT_Memory_Kind", memory=memory), "kind") for memory in handles]
    assert kinds == ["device", "pinned_host"]
    assert api.call("PJRT_Device_DefaultMemory", device=client.device).memory == handles[0]
    assert len({api.call("PJRT_Memory_Id", memory=memory).id for memory in handles}) == 2
    assert len({api.call("PJRT_Memory_Kind_Id", memory=memory).kind_id for memory in handles}) == 2
    for memory in handles:
        users = api.call("PJRT_Memory_AddressableByDevices", memory=memory)
        assert pointers(users.devices, users.num_devices) == [client.device]
        assert _string(api.call("PJRT_Memory_ToString", memory=memory), "to_string")
        assert _string(api.call("PJRT_Memory_DebugString", memory=memory), "debug_string")
    all_memories = api.call("PJRT_Client_AddressableMemories", client=client.handle)
    assert set(handles) <= set(
        pointers(all_memories.addressable_memories, all_memories.num_addressable_memories)
    )


def test_memory_statistics_follow_an_allocation(api: Api, client: Client) -> None:
    import numpy as np

    before = api.call("PJRT_Device_MemoryStats", device=client.device)
    buffer = client.put(np.zeros(1 << 20, np.float32))
    after = api.call("PJRT_Device_MemoryStats", device=client.device)
    assert after.bytes_in_use - before.bytes_in_use >= 4 << 20
    assert after.peak_bytes_in_use_is_set and after.peak_bytes_in_use >= after.bytes_in_use
    assert after.bytes_limit_is_set and after.bytes_limit > 0
    client.destroy(buffer)
    assert (
        api.call("PJRT_Device_MemoryStats", device=client.device).bytes_in_use
        <= before.bytes_in_use
    )


def test_the_default_assignment_fills_the_devices_in_order(api: Api, client: Client) -> None:
    out = (ctypes.c_int * 4)(-1, -1, -1, -1)
    api.call(
        "PJRT_Client_DefaultDeviceAssignment",
        client=client.handle,
        num_replicas=1,
        num_partitions=1,
        default_assignment_size=4,
        default_assignment=ctypes.addressof(out),
    )
    assert list(out) == [0, -1, -1, -1]
    with pytest.raises(PjrtError, match="do not fit"):
        api.call(
            "PJRT_Client_DefaultDeviceAssignment",
            client=client.handle,
            num_replicas=512,
            num_partitions=1,
            default_assignment_size=512,
            default_assignment=ctypes.addressof((ctypes.c_int * 512)()),
        )


def _topology(api: Api, name: bytes) -> int:
    text = ctypes.create_string_buffer(name)
    return api.call(
        "PJRT_TopologyDescription_Create",
        topology_name=ctypes.addressof(text),
        topology_name_size=len(name),
    ).topology


def _kinds(api: Api, topology: int) -> list[str]:
    args = api.call("PJRT_TopologyDescription_GetDeviceDescriptions", topology=topology)
    return [
        _string(api.call("PJRT_DeviceDescription_Kind", device_description=handle), "device_kind")
        for handle in pointers(args.descriptions, args.num_descriptions)
    ]


@pytest.mark.parametrize(("name", "count"), [(b"pvc", 1), (b"xpu:dg2", 1), (b"bmg:4", 4)])
def test_a_topology_of_absent_gpus_survives_serialisation(
    api: Api, name: bytes, count: int
) -> None:
    topology = _topology(api, name)
    kinds = _kinds(api, topology)
    assert len(kinds) == count and kinds[0].startswith("Intel")
    serialized = api.call("PJRT_TopologyDescription_Serialize", topology=topology)
    copy = api.call(
        "PJRT_TopologyDescription_Deserialize",
        serialized_topology=serialized.serialized_bytes,
        serialized_topology_size=serialized.serialized_bytes_size,
    ).topology
    assert _kinds(api, copy) == kinds
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(serialized.serialized_topology_deleter)(
        serialized.serialized_topology
    )
    for handle in (topology, copy):
        api.call("PJRT_TopologyDescription_Destroy", topology=handle)


def test_the_clients_topology_is_this_machine(api: Api, client: Client) -> None:
    topology = api.call("PJRT_Client_TopologyDescription", client=client.handle).topology
    assert len(_kinds(api, topology)) == len(client.devices)
    name = api.call("PJRT_TopologyDescription_PlatformName", topology=topology)
    assert _string(name, "platform_name") == "xpu"
    api.call("PJRT_TopologyDescription_PlatformVersion", topology=topology)
    api.call("PJRT_TopologyDescription_Attributes", topology=topology)


def test_a_corrupt_topology_is_an_error_at_every_length(api: Api) -> None:
    topology = _topology(api, b"pvc")
    serialized = api.call("PJRT_TopologyDescription_Serialize", topology=topology)
    data = ctypes.string_at(serialized.serialized_bytes, serialized.serialized_bytes_size)
    for length in range(0, len(data) - 8, 7):
        cut = ctypes.create_string_buffer(data[:length], max(length, 1))
        with pytest.raises(PjrtError, match="topology"):
            api.call(
                "PJRT_TopologyDescription_Deserialize",
                serialized_topology=ctypes.addressof(cut),
                serialized_topology_size=length,
            )


def test_memory_descriptions_need_no_device(api: Api) -> None:
    base = api.extension(CONSTANTS["PJRT_Extension_Type_MemoryDescriptions"])
    extension = HEADER.structs["PJRT_MemoryDescriptions_Extension"].from_address(base)
    topology = _topology(api, b"pvc")
    args = api.call("PJRT_TopologyDescription_GetDeviceDescriptions", topology=topology)
    (device,) = pointers(args.descriptions, args.num_descriptions)
    listed = api.call_pointer(
        extension.PJRT_DeviceDescription_MemoryDescriptions,
        "PJRT_DeviceDescription_MemoryDescriptions_Args",
        device_description=device,
    )
    kinds = []
    for memory in pointers(listed.memory_descriptions, listed.num_memory_descriptions):
        kind = api.call_pointer(
            extension.PJRT_MemoryDescription_Kind,
            "PJRT_MemoryDescription_Kind_Args",
            memory_description=memory,
        )
        kinds.append(_string(kind, "kind"))
    assert kinds == ["device", "pinned_host"] and listed.default_memory_index == 0
