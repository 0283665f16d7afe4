"""Stored programs as objects of their schema, and the container around them."""

from __future__ import annotations

import importlib
import pathlib
import re
import struct
import subprocess
import sys
import zlib
from typing import Any

import flatbuffers

_SOURCES = pathlib.Path(__file__).resolve().parents[2] / "pjrt_core" / "program"
SCHEMA = _SOURCES / "program.fbs"
MAGIC, _HEADER_BYTES, _ALIGNMENT = b"ONEXPUPG", 64, 64
_VERSION = int(
    re.search(
        r"kProgramFormatVersion = (\d+)", (_SOURCES / "container_format.h").read_text()
    ).group(1)
)


def generate_schema(directory: pathlib.Path) -> None:
    """Writes the schema's classes as Python below `directory`, and makes them importable."""
    if not (directory / "onexpu").is_dir():
        directory.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["flatc", "--python", "--gen-object-api", "-o", str(directory), str(SCHEMA)], check=True
        )
        # Beside the package that users import, which has the same name.
        (directory / "onexpu").rename(directory / "onexpu_schema")
        for file in (directory / "onexpu_schema").rglob("*.py"):
            file.write_text(file.read_text().replace("onexpu.program", "onexpu_schema.program"))
        (directory / "onexpu").mkdir()  # says that it is done
    if str(directory) not in sys.path:
        sys.path.insert(0, str(directory))


def schema(name: str) -> Any:
    """Returns the module of one of the schema's types; `generate_schema` comes before."""
    return importlib.import_module(f"onexpu_schema.program.{name}")


def flatbuffer(data: bytes) -> bytes:
    """Returns the FlatBuffer of a container."""
    (size,) = struct.unpack_from("<Q", data, 16)
    return data[_HEADER_BYTES : _HEADER_BYTES + size]


def read(data: bytes) -> tuple[Any, bytes]:
    """Returns a container's program as an object, and its blobs."""
    offset, length = struct.unpack_from("<QQ", data, 24)
    module = schema("Program")
    root = module.Program.GetRootAs(flatbuffer(data), 0)
    return module.ProgramT.InitFromObj(root), data[offset : offset + length]


def pack(program: Any, blobs: bytes) -> bytes:
    """Returns the container of a program, with checksums that fit."""
    builder = flatbuffers.Builder(4096)
    builder.Finish(program.Pack(builder), b"OXPU")
    return seal(bytes(builder.Output()), blobs)


def seal(flatbuffer: bytes, blobs: bytes) -> bytes:
    """Returns the container of a FlatBuffer."""
    offset = -(-(_HEADER_BYTES + len(flatbuffer)) // _ALIGNMENT) * _ALIGNMENT
    header = MAGIC + struct.pack(
        "<IIQQQII12x",
        _VERSION,
        _HEADER_BYTES,
        len(flatbuffer),
        offset,
        len(blobs),
        zlib.crc32(flatbuffer),
        zlib.crc32(blobs),
    )
    header += struct.pack("<I", zlib.crc32(header))
    return (header + flatbuffer).ljust(offset, b"\0") + blobs
