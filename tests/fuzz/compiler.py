"""The compiler library as the fuzzer calls it: in this process, through its C entry."""

from __future__ import annotations

import ctypes
import dataclasses
import pathlib
import sysconfig

import flatbuffers

LIBRARY_DIRECTORY = pathlib.Path(sysconfig.get_path("purelib")) / "onexpu" / "lib"


class _Request(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("code", ctypes.c_char_p),
        ("code_size", ctypes.c_size_t),
        ("format", ctypes.c_char_p),
        ("format_size", ctypes.c_size_t),
        ("compile_options", ctypes.c_char_p),
        ("compile_options_size", ctypes.c_size_t),
        ("target", ctypes.c_char_p),
        ("target_size", ctypes.c_size_t),
        ("spirv_worker", ctypes.c_char_p),
    ]


class _Result(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("code", ctypes.c_int32),
        ("message", ctypes.c_void_p),
        ("message_size", ctypes.c_size_t),
        ("program", ctypes.c_void_p),
        ("program_size", ctypes.c_size_t),
    ]


@dataclasses.dataclass
class Compiled:
    """What one compile gave.

    Attributes
    ----------
    code : int
        An ``absl::StatusCode``.
    message : str
        Of an error.
    program : bytes
        A container, empty after an error.
    """

    code: int
    message: str
    program: bytes


class Compiler:
    """``libonexpu_compiler.so``, opened at once."""

    def __init__(self) -> None:
        library = ctypes.CDLL(str(LIBRARY_DIRECTORY / "libonexpu_compiler.so"))
        self._compile = library.OnexpuCompile
        self._compile.restype = ctypes.POINTER(_Result)
        self._release = library.OnexpuReleaseCompileResult
        self._release.argtypes = [ctypes.POINTER(_Result)]
        self._worker = str(LIBRARY_DIRECTORY / "onexpu-spirv").encode()
        self._targets = {schedules: _target(schedules) for schedules in (0, 1)}

    def compile(
        self, code: bytes, format_name: str, options: bytes = b"", gpu_schedules: bool = False
    ) -> Compiled:
        """Compiles for a CPU device with every type."""
        target, name = self._targets[int(gpu_schedules)], format_name.encode()
        request = _Request(
            ctypes.sizeof(_Request),
            code,
            len(code),
            name,
            len(name),
            options,
            len(options),
            target,
            len(target),
            self._worker,
        )
        result = self._compile(ctypes.byref(request))
        try:
            answer = result.contents
            message = (
                ctypes.string_at(answer.message, answer.message_size) if answer.message else b""
            )
            program = (
                ctypes.string_at(answer.program, answer.program_size) if answer.program else b""
            )
            return Compiled(answer.code, message.decode(errors="replace"), program)
        finally:
            self._release(result)


def _target(schedules: int) -> bytes:
    """Returns a TargetDescription; the slots are program.fbs's."""
    builder = flatbuffers.Builder(256)
    name = builder.CreateString("cpu")
    builder.StartVector(4, 3, 4)
    for size in (32, 16, 8):
        builder.PrependUint32(size)
    sizes = builder.EndVector()
    builder.StartObject(12)
    builder.PrependUOffsetTRelativeSlot(0, name, 0)
    builder.PrependUint8Slot(2, schedules, 0)
    builder.PrependUint32Slot(3, 2, 0)
    builder.PrependUint32Slot(4, 1024, 0)
    builder.PrependUint64Slot(5, 32 << 10, 0)
    builder.PrependUOffsetTRelativeSlot(6, sizes, 0)
    for slot in (7, 9, 10):  # fp64, bf16, 64-bit atomics
        builder.PrependBoolSlot(slot, True, False)
    builder.Finish(builder.EndObject())
    return bytes(builder.Output())
