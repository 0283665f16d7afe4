"""NVIDIA's driver API, as far as running kernels needs it. Uses the standard library only."""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Sequence

_JIT_INPUT_CUBIN, _JIT_INPUT_PTX = 0, 1
_JIT_ERROR_LOG, _JIT_ERROR_LOG_BYTES = 5, 6
# Groups of a launch in any dimension but the first.
_MAX_GROUPS = 65535
_COMPUTE_CAPABILITY_MAJOR, _COMPUTE_CAPABILITY_MINOR = 75, 76


class CudaError(Exception):
    """A call of the driver failed."""


def _library() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


def device_count() -> int:
    """Returns how many NVIDIA GPUs there are; 0 without a driver."""
    library = _library()
    count = ctypes.c_int(0)
    if library is None or library.cuInit(0) or library.cuDeviceGetCount(ctypes.byref(count)):
        return 0
    return count.value


class Device:
    """The first GPU, and its context in this process."""

    def __init__(self) -> None:
        library = _library()
        if library is None:
            raise CudaError("there is no libcuda.so.1")
        self._library = library
        self._call("cuInit", 0)
        self._device = ctypes.c_int()
        self._call("cuDeviceGet", ctypes.byref(self._device), 0)
        context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self._device)
        self._call("cuCtxSetCurrent", context)

    @property
    def name(self) -> str:
        """The GPU's name."""
        buffer = ctypes.create_string_buffer(256)
        self._call("cuDeviceGetName", buffer, 256, self._device)
        return buffer.value.decode()

    @property
    def architecture(self) -> str:
        """What nvcc calls it, e.g. "sm_90"."""
        version = ""
        for attribute in (_COMPUTE_CAPABILITY_MAJOR, _COMPUTE_CAPABILITY_MINOR):
            value = ctypes.c_int()
            self._call("cuDeviceGetAttribute", ctypes.byref(value), attribute, self._device)
            version += str(value.value)
        return f"sm_{version}"

    def link(self, ptx: str, cubin: bytes) -> Module:
        """Compiles PTX and links it with relocatable machine code."""
        log = ctypes.create_string_buffer(8192)
        options = (ctypes.c_int * 2)(_JIT_ERROR_LOG, _JIT_ERROR_LOG_BYTES)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        state = ctypes.c_void_p()
        self._call("cuLinkCreate_v2", 2, options, values, ctypes.byref(state))
        try:
            for kind, data in ((_JIT_INPUT_CUBIN, cubin), (_JIT_INPUT_PTX, ptx.encode() + b"\0")):
                size = ctypes.c_size_t(len(data))
                self._call("cuLinkAddData_v2", state, kind, data, size, b"", 0, None, None)
            image, size = ctypes.c_void_p(), ctypes.c_size_t()
            self._call("cuLinkComplete", state, ctypes.byref(image), ctypes.byref(size))
            module = ctypes.c_void_p()
            self._call("cuModuleLoadData", ctypes.byref(module), image)
        except CudaError as error:
            raise CudaError(f"{error}: {log.value.decode(errors='replace').strip()}") from None
        finally:
            self._library.cuLinkDestroy(state)
        return Module(self, module)

    def allocate(self, size: int) -> int:
        """Returns the address of new device memory."""
        address = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address.value

    def free(self, address: int) -> None:
        """Frees device memory."""
        self._call("cuMemFree_v2", ctypes.c_uint64(address))

    def fill(self, address: int, byte: int, size: int) -> None:
        """Sets each byte of a range."""
        if size:
            arguments = ctypes.c_uint64(address), ctypes.c_ubyte(byte), ctypes.c_size_t(size)
            self._call("cuMemsetD8_v2", *arguments)

    def upload(self, address: int, data: bytes) -> None:
        """Writes bytes to device memory."""
        if data:
            arguments = ctypes.c_uint64(address), data, ctypes.c_size_t(len(data))
            self._call("cuMemcpyHtoD_v2", *arguments)

    def download(self, address: int, size: int) -> bytes:
        """Reads bytes of device memory, after everything that was launched."""
        buffer = ctypes.create_string_buffer(max(size, 1))
        if size:
            arguments = buffer, ctypes.c_uint64(address), ctypes.c_size_t(size)
            self._call("cuMemcpyDtoH_v2", *arguments)
        return buffer.raw[:size]

    def copy(self, source: int, destination: int, size: int) -> None:
        """Copies bytes from device memory to device memory."""
        if size:
            addresses = ctypes.c_uint64(destination), ctypes.c_uint64(source)
            self._call("cuMemcpyDtoD_v2", *addresses, ctypes.c_size_t(size))

    def synchronize(self) -> None:
        """Waits for everything that was launched."""
        self._call("cuCtxSynchronize")

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(self._library, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self._library.cuGetErrorName(status, ctypes.byref(text))
            raise CudaError(f"{name}: {(text.value or b'?').decode()} ({status})")


class Module:
    """Machine code of kernels."""

    def __init__(self, device: Device, handle: ctypes.c_void_p) -> None:
        self._device, self._handle = device, handle
        self._functions: dict[str, ctypes.c_void_p] = {}

    def launch(
        self, kernel: str, grid: Sequence[int], block: Sequence[int], addresses: Sequence[int]
    ) -> None:
        """Launches a kernel whose arguments are addresses of device memory."""
        if kernel not in self._functions:
            function = ctypes.c_void_p()
            name = kernel.encode()
            self._device._call("cuModuleGetFunction", ctypes.byref(function), self._handle, name)
            self._functions[kernel] = function
        values = [ctypes.c_uint64(address) for address in addresses]
        pointers = (ctypes.c_void_p * max(len(values), 1))(*map(ctypes.addressof, values))
        is_flat = max(grid[1:]) > _MAX_GROUPS
        launched = [math.prod(grid), 1, 1] if is_flat else grid
        sizes = [ctypes.c_uint(size) for size in (*launched, *block)]
        function = self._functions[kernel]
        if is_flat:
            self._set_group_counts(grid[0], grid[1])
        self._device._call("cuLaunchKernel", function, *sizes, 0, None, pointers, None)
        if is_flat:
            self._set_group_counts(0, 0)

    def _set_group_counts(self, *counts: int) -> None:
        """Writes a variable of `opencl_builtins.cu`, in order with the launches."""
        address, size = ctypes.c_uint64(), ctypes.c_size_t()
        addresses = ctypes.byref(address), ctypes.byref(size)
        self._device._call("cuModuleGetGlobal_v2", *addresses, self._handle, b"group_counts")
        self._device.upload(address.value, struct.pack("<QQ", *counts))

    def unload(self) -> None:
        """Frees the machine code."""
        self._device._call("cuModuleUnload", self._handle)
