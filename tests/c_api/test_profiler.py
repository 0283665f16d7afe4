"""The profiler extension: sessions, both ways of collecting, what options say."""

from __future__ import annotations

import ctypes

import pytest

from tests.c_api.pjrt import CONSTANTS, HEADER, Api, Client

# tensorflow.ProfileOptions { version: 1 device_tracer_level: N }
WITH_DEVICES = bytes([0x28, 1, 0x18, 1])
WITHOUT_DEVICES = bytes([0x28, 1])

_ENTRY = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class Profiler:
    """The extension's functions, with arguments as XLA makes them: struct_size is not set."""

    def __init__(self, api: Api) -> None:
        link = api.extension(CONSTANTS["PJRT_Extension_Type_Profiler"])
        extension = HEADER.structs["PJRT_Profiler_Extension"].from_address(link)
        self.table = HEADER.structs["PLUGIN_Profiler_Api"].from_address(extension.profiler_api)

    def call(self, function: str, struct: str, **fields):
        args = HEADER.structs[f"PLUGIN_Profiler_{struct}_Args"]()
        args.struct_size = 0xDEAD
        for name, value in fields.items():
            setattr(args, name, value)
        error = _ENTRY(getattr(self.table, function))(ctypes.addressof(args))
        if error:
            raise ValueError(self.take(error))
        return args

    def take(self, error: int) -> tuple[int, str]:
        """Reads and releases an error."""
        void = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        message = HEADER.structs["PLUGIN_Profiler_Error_Message_Args"](error=error)
        void(self.table.error_message)(ctypes.addressof(message))
        text = ctypes.string_at(message.message, message.message_size).decode()
        code = self.call("error_get_code", "Error_GetCode", error=error).code
        destroy = HEADER.structs["PLUGIN_Profiler_Error_Destroy_Args"](error=error)
        void(self.table.error_destroy)(ctypes.addressof(destroy))
        return code, text

    def create(self, options: bytes) -> int:
        self.options = ctypes.create_string_buffer(options, max(len(options), 1))
        return self.call(
            "create",
            "Create",
            options=ctypes.addressof(self.options),
            options_size=len(options),
        ).profiler

    def collect(self, profiler: int) -> bytes:
        args = self.call("collect_data", "CollectData", profiler=profiler, buffer=None)
        if not args.buffer_size_in_bytes:
            return b""
        # Where XLA's caller reads.
        return ctypes.string_at(args.buffer, args.buffer_size_in_bytes)

    def collect_in_two_calls(self, profiler: int) -> bytes:
        """As the header has it."""
        args = self.call("collect_data", "CollectData", profiler=profiler, buffer=None)
        size = args.buffer_size_in_bytes
        buffer = ctypes.create_string_buffer(max(size, 1))
        self.call(
            "collect_data",
            "CollectData",
            profiler=profiler,
            buffer=ctypes.addressof(buffer),
            buffer_size_in_bytes=size,
        )
        return buffer.raw[:size]


@pytest.fixture(scope="module")
def profiler(api: Api, client: Client) -> Profiler:
    return Profiler(api)


@pytest.mark.parametrize("options", [WITH_DEVICES, b"", b"\xff\xff"], ids=["1", "none", "bytes"])
def test_both_ways_of_collecting_give_the_same(profiler: Profiler, options: bytes) -> None:
    session = profiler.create(options)
    profiler.call("start", "Start", profiler=session)
    profiler.call("stop", "Stop", profiler=session)
    collected = profiler.collect(session)
    assert b"/device:GPU:0" in collected
    assert profiler.collect_in_two_calls(session) == collected
    profiler.call("destroy", "Destroy", profiler=session)


def test_a_session_without_devices_collects_nothing(profiler: Profiler) -> None:
    session = profiler.create(WITHOUT_DEVICES)
    profiler.call("start", "Start", profiler=session)
    profiler.call("stop", "Stop", profiler=session)
    assert profiler.collect(session) == profiler.collect_in_two_calls(session) == b""
    profiler.call("destroy", "Destroy", profiler=session)


def test_calls_out_of_order_do_no_harm(profiler: Profiler) -> None:
    session = profiler.create(WITH_DEVICES)
    profiler.call("stop", "Stop", profiler=session)
    assert profiler.collect(session) == b""
    profiler.call("start", "Start", profiler=session)
    profiler.call("start", "Start", profiler=session)
    profiler.call("destroy", "Destroy", profiler=session)
    profiler.call("destroy", "Destroy", profiler=None)


@pytest.mark.parametrize(
    ("function", "struct"),
    [("start", "Start"), ("stop", "Stop"), ("collect_data", "CollectData")],
)
def test_a_null_session_is_an_error(profiler: Profiler, function: str, struct: str) -> None:
    with pytest.raises(ValueError, match=f"PLUGIN_Profiler_{struct}.*profiler") as error:
        profiler.call(function, struct)
    assert error.value.args[0][0] == CONSTANTS["PJRT_Error_Code_INVALID_ARGUMENT"]
