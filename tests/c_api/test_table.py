"""The table as a whole: sizes, versions, entries that are not supported, struct sizes."""

from __future__ import annotations

import ctypes

import pytest

from tests.c_api.pjrt import CONSTANTS, HEADER, Api, PjrtError

# Documented in pjrt_core/c_api/unsupported.cc.
UNSUPPORTED = [
    name
    for name in HEADER.functions
    if name.startswith(("PJRT_CopyToDeviceStream_", "PJRT_AsyncHostToDeviceTransferManager_"))
] + [
    "PJRT_Client_DmaMap",
    "PJRT_Client_DmaUnmap",
    "PJRT_Client_CreateAliasBuffer",
    "PJRT_Client_FulfillAliasBuffer",
    "PJRT_Client_CreateBuffersForAsyncHostToDevice",
    "PJRT_Buffer_DonateWithControlDependency",
    "PJRT_Device_PoisonExecution",
]
# XLA's client of the C API, which jaxlib and TensorFlow use, aborts the process on an error of
# these entries, and reaches them without another entry's success.
FATAL_ON_ERROR = [
    "PJRT_AsyncTrackingEvent_Destroy",
    "PJRT_Buffer_DecreaseExternalReferenceCount",
    "PJRT_Buffer_Delete",
    "PJRT_Buffer_Destroy",
    "PJRT_Buffer_Device",
    "PJRT_Buffer_Dimensions",
    "PJRT_Buffer_DynamicDimensionIndices",
    "PJRT_Buffer_ElementType",
    "PJRT_Buffer_IsDeleted",
    "PJRT_Buffer_IsOnCpu",
    "PJRT_Buffer_Memory",
    "PJRT_Buffer_ReadyEvent",
    "PJRT_Client_AddressableDevices",
    "PJRT_Client_AddressableMemories",
    "PJRT_Client_Destroy",
    "PJRT_Client_Devices",
    "PJRT_Client_PlatformName",
    "PJRT_Client_PlatformVersion",
    "PJRT_Client_ProcessIndex",
    "PJRT_Client_UpdateGlobalProcessInfo",
    "PJRT_DeviceDescription_Attributes",
    "PJRT_DeviceDescription_DebugString",
    "PJRT_DeviceDescription_Id",
    "PJRT_DeviceDescription_Kind",
    "PJRT_DeviceDescription_ProcessIndex",
    "PJRT_DeviceDescription_ToString",
    "PJRT_Device_AddressableMemories",
    "PJRT_Device_CreateAsyncTrackingEvent",
    "PJRT_Device_GetDescription",
    "PJRT_Device_IsAddressable",
    "PJRT_Device_LocalHardwareId",
    "PJRT_Event_Destroy",
    "PJRT_ExecuteContext_Destroy",
    "PJRT_Executable_Destroy",
    "PJRT_Executable_Name",
    "PJRT_Executable_NumPartitions",
    "PJRT_Executable_NumReplicas",
    "PJRT_Executable_SizeOfGeneratedCodeInBytes",
    "PJRT_LoadedExecutable_AddressableDevices",
    "PJRT_LoadedExecutable_Delete",
    "PJRT_LoadedExecutable_Destroy",
    "PJRT_LoadedExecutable_GetDeviceAssignment",
    "PJRT_LoadedExecutable_GetExecutable",
    "PJRT_LoadedExecutable_IsDeleted",
    "PJRT_Memory_AddressableByDevices",
    "PJRT_Memory_DebugString",
    "PJRT_Memory_Id",
    "PJRT_Memory_Kind",
    "PJRT_Memory_Kind_Id",
    "PJRT_Memory_ToString",
    "PJRT_Plugin_Attributes",
    "PJRT_TopologyDescription_Attributes",
    "PJRT_TopologyDescription_Destroy",
    "PJRT_TopologyDescription_GetDeviceDescriptions",
    "PJRT_TopologyDescription_PlatformName",
    "PJRT_TopologyDescription_PlatformVersion",
]
# Void functions, and those whose null handle or empty struct means something.
NO_NULL_HANDLE = {
    "PJRT_Error_Destroy", "PJRT_Error_Message", "PJRT_Error_GetCode", "PJRT_Plugin_Initialize",
    "PJRT_Plugin_Attributes", "PJRT_Event_Create", "PJRT_Client_Create",
    "PJRT_ExecuteContext_Create", "PJRT_TopologyDescription_Create",
}  # fmt: skip


def test_the_table_is_of_the_headers_size_and_version(api: Api) -> None:
    assert api.table.struct_size == ctypes.sizeof(HEADER.structs["PJRT_Api"])
    version = api.table.pjrt_api_version
    assert (version.major_version, version.minor_version) == (0, 90)


@pytest.mark.parametrize("function", HEADER.functions)
def test_every_entry_is_there(api: Api, function: str) -> None:
    assert getattr(api.table, function)


@pytest.mark.parametrize("function", UNSUPPORTED)
def test_an_unsupported_entry_says_its_name(api: Api, function: str) -> None:
    with pytest.raises(PjrtError, match=rf"\b{function}\b") as error:
        api.call(function)
    assert error.value.code == CONSTANTS["PJRT_Error_Code_UNIMPLEMENTED"]


@pytest.mark.parametrize("function", FATAL_ON_ERROR)
def test_an_entry_that_callers_abort_on_is_supported(api: Api, function: str) -> None:
    """With null handles, each succeeds or names the null one; none is UNIMPLEMENTED."""
    assert function in HEADER.functions
    try:
        api.call(function)
    except PjrtError as error:
        assert error.code == CONSTANTS["PJRT_Error_Code_INVALID_ARGUMENT"]


@pytest.mark.parametrize(
    "function",
    [
        name
        for name in HEADER.functions
        if name not in UNSUPPORTED and name not in NO_NULL_HANDLE and not name.endswith("_Destroy")
    ],
)
def test_a_null_handle_is_an_error_and_not_a_crash(api: Api, function: str) -> None:
    with pytest.raises(PjrtError, match="onexpu") as error:
        api.call(function)
    assert error.value.code == CONSTANTS["PJRT_Error_Code_INVALID_ARGUMENT"]


@pytest.mark.parametrize(
    "function",
    [
        name
        for name in HEADER.functions
        if name.endswith("_Destroy") and name not in UNSUPPORTED and name != "PJRT_Error_Destroy"
    ],
)
def test_destroying_null_is_fine(api: Api, function: str) -> None:
    api.call(function)


def test_destroying_a_null_error_is_fine(api: Api) -> None:
    api.destroy_error(None)


def test_initialize_may_be_repeated(api: Api) -> None:
    api.call("PJRT_Plugin_Initialize")


@pytest.mark.parametrize("size", [0, 8, 1 << 20])
def test_a_caller_of_another_major_version_is_told_which_one_is_spoken(api: Api, size: int) -> None:
    with pytest.raises(PjrtError, match=r"PJRT C API 0\.90") as error:
        api.call("PJRT_Plugin_Initialize", struct_size=size)
    assert error.value.code == CONSTANTS["PJRT_Error_Code_FAILED_PRECONDITION"]


def test_fields_beyond_the_callers_struct_are_not_written(api: Api) -> None:
    args = HEADER.structs["PJRT_Plugin_Attributes_Args"]()
    args.num_attributes = 12345
    args.struct_size = type(args).num_attributes.offset
    entry = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(api.table.PJRT_Plugin_Attributes)
    assert entry(ctypes.addressof(args)) is None
    assert args.attributes
    assert args.num_attributes == 12345


def test_fields_beyond_the_callers_struct_are_not_read(api: Api) -> None:
    struct = HEADER.structs["PJRT_TopologyDescription_Create_Args"]
    name = ctypes.create_string_buffer(b"no such topology")
    # The name lies beyond the struct that the caller knows: it counts as empty, which means this
    # machine.
    with pytest.raises(PjrtError, match="no such topology"):
        api.call(
            "PJRT_TopologyDescription_Create",
            topology_name=ctypes.addressof(name),
            topology_name_size=len(name.value),
        )
    api.call(
        "PJRT_TopologyDescription_Create",
        struct_size=struct.topology_name.offset,
        topology_name=ctypes.addressof(name),
        topology_name_size=len(name.value),
    )


def test_a_struct_that_no_version_has_is_refused(api: Api) -> None:
    with pytest.raises(PjrtError, match="struct_size is 8"):
        api.call("PJRT_Plugin_Attributes", struct_size=8)


def test_a_longer_struct_of_a_newer_caller_is_taken(api: Api) -> None:
    buffer = ctypes.create_string_buffer(4096)
    args = HEADER.structs["PJRT_Plugin_Attributes_Args"].from_buffer(buffer)
    args.struct_size = 4096
    entry = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(api.table.PJRT_Plugin_Attributes)
    assert entry(ctypes.addressof(buffer)) is None
    assert args.num_attributes > 0


def test_a_null_struct_is_an_error(api: Api) -> None:
    entry = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(api.table.PJRT_Event_IsReady)
    assert "PJRT_Event_IsReady" in str(api.take(entry(None)))


def test_the_attributes_name_the_stablehlo_that_the_compiler_reads(api: Api) -> None:
    args = api.call("PJRT_Plugin_Attributes")
    values = {}
    for i in range(args.num_attributes):
        value = HEADER.structs["PJRT_NamedValue"].from_address(
            args.attributes + i * ctypes.sizeof(HEADER.structs["PJRT_NamedValue"])
        )
        name = ctypes.string_at(value.name, value.name_size).decode()
        if value.type == CONSTANTS["PJRT_NamedValue_kInt64List"]:
            values[name] = list(
                (ctypes.c_int64 * value.value_size).from_address(value.int64_array_value)
            )
    assert values["stablehlo_current_version"] == [1, 13, 7]
    assert values["stablehlo_minimum_version"] <= [1, 0, 0]


@pytest.mark.parametrize(
    "extension",
    [
        "PJRT_Extension_Type_FFI",
        "PJRT_Extension_Type_Layouts",
        "PJRT_Extension_Type_MemoryDescriptions",
    ],
)
def test_an_extension_is_chained_with_all_its_functions(api: Api, extension: str) -> None:
    struct = {
        "PJRT_Extension_Type_FFI": "PJRT_FFI_Extension",
        "PJRT_Extension_Type_Layouts": "PJRT_Layouts_Extension",
        "PJRT_Extension_Type_MemoryDescriptions": "PJRT_MemoryDescriptions_Extension",
    }[extension]
    address = api.extension(CONSTANTS[extension])
    link = HEADER.structs[struct].from_address(address)
    assert link.base.struct_size == ctypes.sizeof(link)
    assert all(getattr(link, name) for name, _ in link._fields_ if name != "base")
