"""A module that does not build: the error has the compiler's log, the kernel and its source."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests.level_zero.lab import Lab

# Compiles a program, breaks its SPIR-V, and loads it again. IGC aborts the process on what is not
# valid, so for GPUs the broken program is a valid one: it asks for more local memory than there is.
_PROGRAM = """
import struct, sys, zlib, jax, jax.numpy as jnp

OP_MEMORY_MODEL, OP_TYPE_ARRAY, OP_CONSTANT = 14, 28, 43

def broken(executable):
    data = bytearray(executable)
    header = data.index(b"ONEXPUPG")
    at = data.index(struct.pack("<I", 0x07230203)) + 20
    constants = {}
    while True:
        code, words = struct.unpack_from("<2H", data, at)
        operands = struct.unpack_from(f"<{words - 1}I", data, at + 4)
        if code == OP_CONSTANT:
            constants[operands[1]] = at + 12
        if code == OP_TYPE_ARRAY and "local memory" in sys.argv:
            struct.pack_into("<I", data, constants[operands[2]], 1 << 20)
            break
        if code == OP_MEMORY_MODEL and "memory model" in sys.argv:
            struct.pack_into("<I", data, at + 4, 77)
            break
        at += 4 * words
    first, size = struct.unpack_from("<2Q", data, header + 24)
    blobs = data[header + first : header + first + size]
    struct.pack_into("<I", data, header + 44, zlib.crc32(blobs))
    struct.pack_into("<I", data, header + 60, zlib.crc32(data[header : header + 60]))
    return bytes(data)

def row_sums(x):
    return (x * 2).sum(1)

compiled = jax.jit(row_sums).lower(jnp.ones((64, 4096))).compile()
client = jax.devices()[0].client
executable = client.serialize_executable(compiled.runtime_executable())
try:
    client.deserialize_executable(broken(executable), jax.devices()[:1])
except jax.errors.JaxRuntimeError as error:
    print(error)
"""


def _check(message: str, log: str) -> None:
    assert "program 'jit_row_sums'" in message
    assert re.search(r"kernel '\w+_k0' \(op '\w+', \S+program.py:\d+ ", message), message
    assert "(jit(row_sums)/reduce_sum)" in message
    assert re.search(log, message), message


@pytest.mark.parametrize("device", ("dg2", "bmg"))
def test_the_log_of_the_gpus_compiler(lab: Lab, device: str) -> None:
    run = lab.run(device, _PROGRAM, arguments=["local memory"]).check()
    _check(run.stdout, "OUT_OF_DEVICE_MEMORY.*The log of the device's compiler: ")


def test_the_log_of_the_cpus_compiler(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    environment = {**os.environ, "ONEXPU_DEVICE": "cpu"}
    command = [sys.executable, program, "memory model"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr[-4000:]
    _check(done.stdout, "InvalidAddressingModel: Expects 0-2. Actual addressing mode is 77")
