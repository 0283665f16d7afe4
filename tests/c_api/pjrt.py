"""Calls the table of ``pjrt_plugin_xpu.so`` as a C caller would."""

from __future__ import annotations

import ctypes
import pathlib
import sysconfig
from typing import Any

import numpy as np

from tests.c_api.pjrt_header import Header, header_path

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = Header(
    header_path(),
    header_path("pjrt_c_api_ffi_extension.h"),
    header_path("pjrt_c_api_layouts_extension.h"),
    header_path("pjrt_c_api_memory_descriptions_extension.h"),
    header_path("../../backends/profiler/plugin/profiler_c_api.h"),
    header_path("pjrt_c_api_profiler_extension.h"),
    ROOT / "pjrt_core/c_api/extensions/launch.h",
)
CONSTANTS = HEADER.constants

_ENTRY = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class PjrtError(Exception):
    """A PJRT_Error, released.

    Attributes
    ----------
    code : int
        A ``PJRT_Error_Code``.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def library_path() -> pathlib.Path:
    """Returns the installed plugin."""
    return pathlib.Path(sysconfig.get_path("purelib")) / "onexpu/lib/pjrt_plugin_xpu.so"


class Api:
    """The table and what is chained to it."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(library_path()))
        self.library.GetPjrtApi.restype = ctypes.c_void_p
        self.address = self.library.GetPjrtApi()
        self.table = HEADER.structs["PJRT_Api"].from_address(self.address)

    def call(self, function: str, *, struct_size: int | None = None, **fields: Any) -> Any:
        """Calls an entry; returns its argument struct, or raises `PjrtError`."""
        return self.call_pointer(
            getattr(self.table, function), function + "_Args", struct_size, **fields
        )

    def call_pointer(
        self, pointer: int, struct: str, struct_size: int | None = None, **fields: Any
    ) -> Any:
        """Calls any function that takes one struct and returns an error."""
        args = HEADER.structs[struct]()
        args.struct_size = ctypes.sizeof(args) if struct_size is None else struct_size
        for name, value in fields.items():
            setattr(args, name, value)
        error = _ENTRY(pointer)(ctypes.addressof(args))
        if error:
            raise self.take(error)
        return args

    def take(self, error: int) -> PjrtError:
        """Reads and releases an error."""
        message = HEADER.structs["PJRT_Error_Message_Args"]()
        message.struct_size, message.error = ctypes.sizeof(message), error
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.table.PJRT_Error_Message)(
            ctypes.addressof(message)
        )
        text = ctypes.string_at(message.message, message.message_size).decode(errors="replace")
        code = self.call("PJRT_Error_GetCode", error=error).code
        self.destroy_error(error)
        return PjrtError(code, text)

    def destroy_error(self, error: int | None) -> None:
        """PJRT_Error_Destroy, which returns nothing."""
        args = HEADER.structs["PJRT_Error_Destroy_Args"]()
        args.struct_size, args.error = ctypes.sizeof(args), error
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.table.PJRT_Error_Destroy)(
            ctypes.addressof(args)
        )

    def extension(self, kind: int) -> int | None:
        """Returns the address of the extension of a type."""
        base = self.table.extension_start
        while base:
            link = HEADER.structs["PJRT_Extension_Base"].from_address(base)
            if link.type == kind:
                return base
            base = link.next
        return None

    def await_event(self, event: int) -> None:
        """Waits for an event and destroys it; raises its error."""
        try:
            self.call("PJRT_Event_Await", event=event)
        finally:
            self.call("PJRT_Event_Destroy", event=event)


def pointers(address: int, count: int) -> list[int]:
    """Reads an array of pointers."""
    return list((ctypes.c_void_p * count).from_address(address)) if count else []


def int64s(values: Any) -> ctypes.Array:
    """Makes an array of int64_t."""
    return (ctypes.c_int64 * len(values))(*values)


_BUFFER_TYPES = {
    "bool": "PRED", "int8": "S8", "int16": "S16", "int32": "S32", "int64": "S64",
    "uint8": "U8", "uint16": "U16", "uint32": "U32", "uint64": "U64",
    "float16": "F16", "float32": "F32", "float64": "F64", "bfloat16": "BF16",
    "complex64": "C64", "complex128": "C128", "float8_e4m3fn": "F8E4M3FN",
    "float8_e5m2": "F8E5M2", "int4": "S4", "uint4": "U4",
}  # fmt: skip


def buffer_type(dtype: Any) -> int:
    """Returns the PJRT_Buffer_Type of a numpy type."""
    return CONSTANTS["PJRT_Buffer_Type_" + _BUFFER_TYPES[np.dtype(dtype).name]]


class Client:
    """A PJRT_Client and the calls that tests make most."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.handle = api.call("PJRT_Client_Create").client
        devices = api.call("PJRT_Client_AddressableDevices", client=self.handle)
        self.devices = pointers(devices.addressable_devices, devices.num_addressable_devices)
        self.device = self.devices[0]

    def put(self, array: np.ndarray, *, semantics: str = "kImmutableOnlyDuringCall", **fields: Any):
        """Makes a buffer of an array with any strides; returns when the host memory is free."""
        dims = int64s(array.shape)
        strides = int64s(array.strides)
        args = self.api.call(
            "PJRT_Client_BufferFromHostBuffer",
            client=self.handle,
            data=array.ctypes.data,
            type=buffer_type(array.dtype),
            dims=ctypes.addressof(dims),
            num_dims=array.ndim,
            byte_strides=ctypes.addressof(strides),
            num_byte_strides=array.ndim,
            host_buffer_semantics=CONSTANTS["PJRT_HostBufferSemantics_" + semantics],
            **{"device": self.device, **fields},
        )
        self.api.await_event(args.done_with_host_buffer)
        return args.buffer

    def get(self, buffer: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Copies a buffer to the host, row-major."""
        array = np.empty(shape, dtype)
        strides = int64s(array.strides)
        layout = HEADER.structs["PJRT_Buffer_MemoryLayout"]()
        layout.struct_size = ctypes.sizeof(layout)
        layout.type = CONSTANTS["PJRT_Buffer_MemoryLayout_Type_Strides"]
        layout.strides.struct_size = ctypes.sizeof(layout.strides)
        layout.strides.byte_strides = ctypes.addressof(strides)
        layout.strides.num_byte_strides = array.ndim
        args = self.api.call(
            "PJRT_Buffer_ToHostBuffer",
            src=buffer,
            host_layout=ctypes.addressof(layout),
            dst=array.ctypes.data,
            dst_size=array.nbytes,
        )
        self.api.await_event(args.event)
        return array

    def destroy(self, *buffers: int) -> None:
        """Destroys buffers."""
        for buffer in buffers:
            self.api.call("PJRT_Buffer_Destroy", buffer=buffer)
