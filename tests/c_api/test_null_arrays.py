"""An array that is null and not empty is an error that names it, whatever the function."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.c_api.pjrt import CONSTANTS, HEADER, Api, Client, PjrtError, buffer_type
from tests.c_api.programs import MULTIPLY_ADD, ONE_DEVICE, compile_program, program_struct

F32 = buffer_type(np.float32)


def _program(**fields: Any) -> int:
    program, _program.kept = program_struct(MULTIPLY_ADD.encode())
    for name, value in fields.items():
        setattr(program, name, value)
    _program.kept = (_program.kept, program)
    return ctypes.addressof(program)


def _layout(**fields: Any) -> int:
    layout = _layout.kept = HEADER.structs["PJRT_Buffer_MemoryLayout"]()
    for name, value in fields.items():
        target = layout
        *path, last = name.split("__")
        for part in path:
            target = getattr(target, part)
        setattr(target, last, value)
    return ctypes.addressof(layout)


_DIMS = (ctypes.c_int64 * 2)(4, 8)
_SHAPE = {"dims": ctypes.addressof(_DIMS), "num_dims": 2}
_STRIDES = CONSTANTS["PJRT_Buffer_MemoryLayout_Type_Strides"]
# By function, the fields of one call and the word that its error has.
CALLS: list[tuple[str, Callable[[], dict[str, Any]], str]] = [
    ("Client_BufferFromHostBuffer", lambda: {"type": F32, "num_dims": 2}, "dimensions"),
    (
        "Client_BufferFromHostBuffer",
        lambda: {"type": F32, **_SHAPE, "data": 64, "num_byte_strides": 2},
        "byte_strides",
    ),
    (
        "Client_BufferFromHostBuffer",
        lambda: {
            "type": F32,
            **_SHAPE,
            "data": 64,
            "device_layout": _layout(tiled__minor_to_major_size=2),
        },
        "minor_to_major",
    ),
    (
        "Client_BufferFromHostBuffer",
        lambda: {
            "type": F32,
            **_SHAPE,
            "data": 64,
            "device_layout": _layout(type=_STRIDES, strides__num_byte_strides=2),
        },
        "byte strides",
    ),
    (
        "Client_CreateUninitializedBuffer",
        lambda: {"shape_element_type": F32, "shape_num_dims": 1},
        "dimensions",
    ),
    (
        "Client_Compile",
        lambda: {"program": _program(), "compile_options_size": 6},
        "compile_options",
    ),
    ("Client_Compile", lambda: {"program": _program(code=0)}, "code"),
    ("Client_Compile", lambda: {"program": _program(format=0)}, "format"),
    ("Client_Compile", lambda: {"program": _program(code=0, code_size=0)}, "empty"),
    (
        "Client_DefaultDeviceAssignment",
        lambda: {"num_replicas": 1, "num_partitions": 1, "default_assignment_size": 1},
        "default_assignment",
    ),
]


@pytest.mark.parametrize(("function", "fields", "word"), CALLS)
def test_of_the_client(api: Api, client: Client, function: str, fields, word: str) -> None:
    struct = HEADER.structs[f"PJRT_{function}_Args"]
    device = {"device": client.device} if hasattr(struct, "device") else {}
    with pytest.raises(PjrtError, match=rf"onexpu: .*{word}") as error:
        api.call(f"PJRT_{function}", client=client.handle, **device, **fields())
    assert error.value.code == CONSTANTS["PJRT_Error_Code_INVALID_ARGUMENT"]


@pytest.mark.parametrize(
    ("function", "fields", "word"),
    [
        ("PJRT_TopologyDescription_Create", {"topology_name_size": 3}, "topology_name"),
        (
            "PJRT_TopologyDescription_Deserialize",
            {"serialized_topology_size": 40},
            "serialized_topology",
        ),
    ],
)
def test_of_topologies(api: Api, function: str, fields: dict[str, int], word: str) -> None:
    with pytest.raises(PjrtError, match=rf"onexpu: {function}: {word} is null"):
        api.call(function, **fields)


def test_of_an_event(api: Api) -> None:
    event = api.call("PJRT_Event_Create").event
    with pytest.raises(PjrtError, match="onexpu: PJRT_Event_Set: error_message is null"):
        api.call("PJRT_Event_Set", event=event, error_code=3, error_message_size=4)
    # It was not set by that.
    assert not api.call("PJRT_Event_IsReady", event=event).is_ready
    api.call("PJRT_Event_Set", event=event)
    api.await_event(event)


@pytest.mark.parametrize("field", ["argument_lists", "output_lists", "non_donatable_input_indices"])
def test_of_an_execution(api: Api, client: Client, field: str) -> None:
    loaded = compile_program(client, MULTIPLY_ADD, options=ONE_DEVICE)
    argument = client.put(np.zeros((4, 8), np.float32))
    inner, outputs = (ctypes.c_void_p * 2)(argument, argument), (ctypes.c_void_p * 2)()
    arrays = {
        "argument_lists": (ctypes.c_void_p * 1)(ctypes.addressof(inner)),
        "output_lists": (ctypes.c_void_p * 1)(ctypes.addressof(outputs)),
    }
    options = HEADER.structs["PJRT_ExecuteOptions"]()
    options.struct_size = ctypes.sizeof(options)
    if field == "non_donatable_input_indices":
        options.num_non_donatable_input_indices = 1
    with pytest.raises(PjrtError, match=f"onexpu: .*{field}") as error:
        api.call(
            "PJRT_LoadedExecutable_Execute",
            executable=loaded,
            options=ctypes.addressof(options),
            num_devices=1,
            num_args=2,
            **{name: ctypes.addressof(array) for name, array in arrays.items() if name != field},
        )
    assert error.value.code == CONSTANTS["PJRT_Error_Code_INVALID_ARGUMENT"]
    client.destroy(argument)


def test_strides_beyond_any_memory_are_refused(api: Api, client: Client) -> None:
    # Their sum overflows to something small, which the destination would have room for.
    buffer, room = client.put(np.zeros((4, 8), np.float32)), ctypes.create_string_buffer(4096)
    strides = (ctypes.c_int64 * 2)(1 << 62, 4)
    layout = _layout(
        type=_STRIDES, strides__num_byte_strides=2, strides__byte_strides=ctypes.addressof(strides)
    )
    with pytest.raises(PjrtError, match="onexpu: byte strides of a destination"):
        api.call(
            "PJRT_Buffer_ToHostBuffer",
            src=buffer,
            host_layout=layout,
            dst=ctypes.addressof(room),
            dst_size=4096,
        )
    client.destroy(buffer)


def test_a_name_that_is_no_text_is_shown_as_text(api: Api) -> None:
    name = ctypes.create_string_buffer(b"\xff\xfe")
    with pytest.raises(PjrtError, match=r"no topology is named '\\xff\\xfe'"):
        api.call(
            "PJRT_TopologyDescription_Create",
            topology_name=ctypes.addressof(name),
            topology_name_size=2,
        )
