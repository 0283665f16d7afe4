"""Executables: compiled, described, executed, stored, loaded."""

from __future__ import annotations

import ctypes
import threading

import numpy as np
import pytest

from tests.c_api.pjrt import CONSTANTS, HEADER, Api, Client, PjrtError, buffer_type, pointers
from tests.c_api.programs import (
    DONATE,
    MULTIPLY_ADD,
    ONE_DEVICE,
    compile_program,
    execute,
    program_struct,
)

A = np.arange(32, dtype=np.float32).reshape(4, 8)
B = A[::-1].copy()
CODE = {name.removeprefix("PJRT_Error_Code_"): value for name, value in CONSTANTS.items()}


@pytest.fixture(scope="module")
def loaded(client: Client) -> int:
    return compile_program(client, MULTIPLY_ADD)


@pytest.fixture(scope="module")
def executable(api: Api, loaded: int) -> int:
    return api.call("PJRT_LoadedExecutable_GetExecutable", loaded_executable=loaded).executable


def _check_run(client: Client, loaded: int, **options) -> None:
    arguments = [client.put(A), client.put(B)]
    out, seven = execute(client, loaded, arguments, 2, **options)
    np.testing.assert_array_equal(client.get(out, A.shape, np.float32), A * B + A)
    assert client.get(seven, (), np.int32) == 7
    client.destroy(*arguments, out, seven)


def test_it_runs(client: Client, loaded: int) -> None:
    _check_run(client, loaded)


def test_it_runs_where_it_is_told(client: Client, loaded: int) -> None:
    _check_run(client, loaded, device=client.device)


def test_the_completion_event_comes(api: Api, client: Client, loaded: int) -> None:
    arguments = [client.put(A), client.put(B)]
    out, seven, event = execute(client, loaded, arguments, 2, want_event=True)
    api.await_event(event)
    client.destroy(*arguments, out, seven)


def test_threads_share_an_executable(client: Client, loaded: int) -> None:
    failures = []

    def work() -> None:
        try:
            for _ in range(20):
                _check_run(client, loaded)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def _string(args, name: str) -> str:
    return ctypes.string_at(getattr(args, name), getattr(args, name + "_size")).decode()


def test_it_describes_itself(api: Api, client: Client, loaded: int, executable: int) -> None:
    def ask(function: str):
        return api.call("PJRT_Executable_" + function, executable=executable)

    assert _string(ask("Name"), "executable_name") == "multiply_add"
    assert ask("NumReplicas").num_replicas == ask("NumPartitions").num_partitions == 1
    assert ask("NumOutputs").num_outputs == 2
    assert ask("SizeOfGeneratedCodeInBytes").size_in_bytes > 0
    types = ask("OutputElementTypes")
    assert list((ctypes.c_int * types.num_output_types).from_address(types.output_types)) == [
        buffer_type(np.float32), buffer_type(np.int32)
    ]  # fmt: skip
    dims = ask("OutputDimensions")
    ranks = list((ctypes.c_size_t * dims.num_outputs).from_address(dims.dim_sizes))
    assert ranks == [2, 0]
    assert list((ctypes.c_int64 * sum(ranks)).from_address(dims.dims)) == [4, 8]
    kinds = ask("OutputMemoryKinds")
    names = pointers(kinds.memory_kinds, kinds.num_outputs)
    assert [ctypes.string_at(name) for name in names] == [b"device", b"device"]
    assert _string(ask("Fingerprint"), "executable_fingerprint")
    assert (
        api.call("PJRT_LoadedExecutable_Fingerprint", executable=loaded).executable_fingerprint_size
        > 0
    )
    stats = ask("GetCompiledMemoryStats")
    assert stats.argument_size_in_bytes == 2 * A.nbytes
    assert stats.output_size_in_bytes == A.nbytes + 4
    cost = ask("GetCostAnalysis")
    names = {
        _string(
            HEADER.structs["PJRT_NamedValue"].from_address(
                cost.properties + i * ctypes.sizeof(HEADER.structs["PJRT_NamedValue"])
            ),
            "name",
        )
        for i in range(cost.num_properties)
    }
    assert {"flops", "bytes accessed"} <= names
    devices = api.call("PJRT_LoadedExecutable_AddressableDevices", executable=loaded)
    assert pointers(devices.addressable_devices, devices.num_addressable_devices) == [client.device]


def test_its_output_layouts(api: Api, executable: int) -> None:
    base = api.extension(CONSTANTS["PJRT_Extension_Type_Layouts"])
    layouts = HEADER.structs["PJRT_Layouts_Extension"].from_address(base)
    args = api.call_pointer(
        layouts.PJRT_Layouts_PJRT_Executable_GetOutputLayouts,
        "PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args",
        executable=executable,
    )
    texts = []
    for layout in pointers(args.layouts, args.num_outputs):
        serialized = api.call_pointer(
            layouts.PJRT_Layouts_MemoryLayout_Serialize,
            "PJRT_Layouts_MemoryLayout_Serialize_Args",
            layout=layout,
        )
        texts.append(
            ctypes.string_at(serialized.serialized_bytes, serialized.serialized_bytes_size)
        )
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(serialized.serialized_layout_deleter)(
            serialized.serialized_layout
        )
    assert texts == [b"{1,0}", b"{}"]


def test_its_device_assignment_is_a_proto(api: Api, loaded: int) -> None:
    args = api.call("PJRT_LoadedExecutable_GetDeviceAssignment", executable=loaded)
    data = ctypes.string_at(args.serialized_bytes, args.serialized_bytes_size)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(args.serialized_device_assignment_deleter)(
        args.serialized_device_assignment
    )
    # replica_count: 1, computation_count: 1, computation_devices { replica_device_ids: 0 }
    assert data == bytes([0x08, 1, 0x10, 1, 0x1A, 3, 0x0A, 1, 0])


def test_its_compile_options_come_back(api: Api, executable: int) -> None:
    args = api.call("PJRT_Executable_GetCompileOptions", executable=executable)
    assert ctypes.string_at(args.serialized_bytes, args.serialized_bytes_size) == ONE_DEVICE
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(args.serialized_compile_options_deleter)(
        args.serialized_compile_options
    )


def test_its_optimised_program_comes_in_two_calls(api: Api, executable: int) -> None:
    program = HEADER.structs["PJRT_Program"]()
    program.struct_size = ctypes.sizeof(program)
    call = {"executable": executable, "program": ctypes.addressof(program)}
    api.call("PJRT_Executable_OptimizedProgram", **call)
    assert ctypes.string_at(program.format, program.format_size) == b"hlo_with_config"
    size = program.code_size
    code = ctypes.create_string_buffer(size)
    program.code, program.code_size = ctypes.addressof(code), size - 1
    with pytest.raises(PjrtError, match="code_size"):
        api.call("PJRT_Executable_OptimizedProgram", **call)
    program.code_size = size
    api.call("PJRT_Executable_OptimizedProgram", **call)
    assert b"multiply_add" in code.raw


def _serialize(api: Api, executable: int) -> bytes:
    args = api.call("PJRT_Executable_Serialize", executable=executable)
    data = ctypes.string_at(args.serialized_bytes, args.serialized_bytes_size)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(args.serialized_executable_deleter)(
        args.serialized_executable
    )
    return data


def _load(api: Api, client: Client, data: bytes, options: bytes | None = None) -> int:
    stored = ctypes.create_string_buffer(data, max(len(data), 1))
    more = {}
    if options is not None:
        text = ctypes.create_string_buffer(options)
        more = {
            "overridden_serialized_compile_options": ctypes.addressof(text),
            "overridden_serialized_compile_options_size": len(options),
        }
    return api.call(
        "PJRT_Executable_DeserializeAndLoad",
        client=client.handle,
        serialized_executable=ctypes.addressof(stored),
        serialized_executable_size=len(data),
        **more,
    ).loaded_executable


@pytest.mark.parametrize("options", [None, ONE_DEVICE], ids=["stored", "overridden"])
def test_stored_and_loaded_it_runs_the_same(
    api: Api, client: Client, executable: int, options: bytes | None
) -> None:
    copy = _load(api, client, _serialize(api, executable), options)
    _check_run(client, copy)
    api.call("PJRT_LoadedExecutable_Destroy", executable=copy)


def test_a_corrupt_store_is_an_error_wherever_it_is_corrupt(
    api: Api, client: Client, loaded: int, executable: int
) -> None:
    data = _serialize(api, executable)
    positions = [*range(64), *range(64, len(data), max(len(data) // 200, 1))]
    for position in positions:
        corrupt = bytearray(data)
        corrupt[position] ^= 0xFF
        try:
            copy = _load(api, client, bytes(corrupt))
        except PjrtError:
            continue
        # Only padding between the sections says nothing: then the program is the same.
        assert position >= 64, f"byte {position} of the header is not checked"
        _check_run(client, copy)
        api.call("PJRT_LoadedExecutable_Destroy", executable=copy)
    for length in (0, 1, 63, 64, len(data) // 2, len(data) - 1):
        with pytest.raises(PjrtError):
            _load(api, client, data[:length])
    _check_run(client, loaded)


def test_donation_reuses_the_address_and_ends_the_argument(api: Api, client: Client) -> None:
    loaded = compile_program(client, DONATE)
    array = np.arange(1024, dtype=np.float32)
    argument = client.put(array)
    address = api.call("PJRT_Buffer_UnsafePointer", buffer=argument).buffer_pointer
    (out,) = execute(client, loaded, [argument], 1)
    assert api.call("PJRT_Buffer_IsDeleted", buffer=argument).is_deleted
    assert api.call("PJRT_Buffer_UnsafePointer", buffer=out).buffer_pointer == address
    np.testing.assert_array_equal(client.get(out, (1024,), np.float32), 2 * array)
    with pytest.raises(PjrtError, match="deleted or donated"):
        execute(client, loaded, [argument], 1)
    client.destroy(argument, out)


def test_a_non_donatable_argument_is_copied(api: Api, client: Client) -> None:
    loaded = compile_program(client, DONATE)
    array = np.arange(1024, dtype=np.float32)
    argument = client.put(array)
    (out,) = execute(client, loaded, [argument], 1, non_donatable=[0])
    np.testing.assert_array_equal(client.get(out, (1024,), np.float32), 2 * array)
    np.testing.assert_array_equal(client.get(argument, (1024,), np.float32), array)
    client.destroy(argument, out)


@pytest.mark.parametrize(
    "arrays",
    [[A], [A, B, A], [A, B.T.copy()], [A, B.astype(np.float64)]],
    ids=["too few", "too many", "wrong shape", "wrong type"],
)
def test_wrong_arguments_are_refused(client: Client, loaded: int, arrays) -> None:
    arguments = [client.put(array) for array in arrays]
    with pytest.raises(PjrtError) as error:
        execute(client, loaded, arguments, 2)
    assert error.value.code == CODE["INVALID_ARGUMENT"]
    client.destroy(*arguments)
    _check_run(client, loaded)


def test_a_poisoned_argument_poisons_the_results(api: Api, client: Client, loaded: int) -> None:
    text = ctypes.create_string_buffer(b"broken upstream")
    sizes = (ctypes.c_int64 * 2)(4, 8)
    bad = api.call(
        "PJRT_Client_CreateErrorBuffer",
        client=client.handle, error_code=CODE["ABORTED"], error_message=ctypes.addressof(text),
        error_message_size=len(text.value), shape_dims=ctypes.addressof(sizes), shape_num_dims=2,
        shape_element_type=buffer_type(np.float32),
        memory=api.call("PJRT_Device_DefaultMemory", device=client.device).memory,
    ).buffer  # fmt: skip
    good = client.put(A)
    with pytest.raises(PjrtError, match="broken upstream") as error:
        out, seven = execute(client, loaded, [good, bad], 2)
        client.get(out, A.shape, np.float32)
    assert error.value.code == CODE["ABORTED"]
    client.destroy(good, bad)
    _check_run(client, loaded)


@pytest.mark.parametrize(
    ("code", "format_name"),
    [
        (b"module @m { func.func @main( }", b"mlir"),
        (b"", b"mlir"),
        (b"ML\xefR\x01\x02", b"mlir"),
        (b"\xff\xff\xff\xff", b"hlo"),
        (b"\xff\xff\xff\xff", b"hlo_with_config"),
        (b"anything", b"no such format"),
    ],
)
def test_bad_programs_are_refused(
    client: Client, loaded: int, code: bytes, format_name: bytes
) -> None:
    with pytest.raises(PjrtError, match="onexpu") as error:
        compile_program(client, code, format_name)
    assert error.value.code == CODE["INVALID_ARGUMENT"]
    _check_run(client, loaded)


@pytest.mark.parametrize("length", [1, 20, 200])
def test_a_truncated_program_is_refused(client: Client, length: int) -> None:
    with pytest.raises(PjrtError):
        compile_program(client, MULTIPLY_ADD.encode()[:length])


def test_text_ends_where_its_size_says(client: Client) -> None:
    # MLIR's lexer reads a word up to the first character that does not belong to it.
    code = MULTIPLY_ADD + "#number = 1 : i32"
    _check_run(client, compile_program(client, code, behind=b"7777777"))


def test_compile_options_that_are_no_proto_are_refused(client: Client) -> None:
    with pytest.raises(PjrtError, match="CompileOptionsProto"):
        compile_program(client, MULTIPLY_ADD, options=b"\xff\xff\xff")


def test_a_deleted_executable_does_not_run(api: Api, client: Client) -> None:
    loaded = compile_program(client, MULTIPLY_ADD)
    api.call("PJRT_LoadedExecutable_Delete", executable=loaded)
    assert api.call("PJRT_LoadedExecutable_IsDeleted", executable=loaded).is_deleted
    arguments = [client.put(A), client.put(B)]
    with pytest.raises(PjrtError, match="deleted"):
        execute(client, loaded, arguments, 2)
    client.destroy(*arguments)
    api.call("PJRT_LoadedExecutable_Destroy", executable=loaded)


def _compile_for(api: Api, name: bytes) -> int:
    text = ctypes.create_string_buffer(name)
    topology = api.call(
        "PJRT_TopologyDescription_Create",
        topology_name=ctypes.addressof(text), topology_name_size=len(name),
    ).topology  # fmt: skip
    program, _keep = program_struct(MULTIPLY_ADD.encode())
    options = ctypes.create_string_buffer(ONE_DEVICE)
    return api.call(
        "PJRT_Compile",
        topology=topology,
        program=ctypes.addressof(program),
        compile_options=ctypes.addressof(options),
        compile_options_size=len(ONE_DEVICE),
    ).executable


@pytest.mark.parametrize("target", [b"xpu", b"xpu:cpu"])
def test_ahead_of_time_for_this_machine(api: Api, client: Client, target: bytes) -> None:
    executable = _compile_for(api, target)
    copy = _load(api, client, _serialize(api, executable))
    _check_run(client, copy)


@pytest.mark.parametrize("target", [b"pvc", b"xpu:dg2", b"bmg", b"lnl"])
def test_ahead_of_time_for_an_absent_gpu(api: Api, client: Client, target: bytes) -> None:
    executable = _compile_for(api, target)
    assert api.call("PJRT_Executable_NumOutputs", executable=executable).num_outputs == 2
    # It is not for this machine, which says so instead of running it.
    with pytest.raises(PjrtError, match=target.decode().removeprefix("xpu:")):
        _load(api, client, _serialize(api, executable))
