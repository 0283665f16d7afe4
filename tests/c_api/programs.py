"""StableHLO programs and their executables, without JAX."""

from __future__ import annotations

import ctypes
from typing import Any

from tests.c_api.pjrt import HEADER, Client, pointers

# xla.CompileOptionsProto: executable_build_options { num_replicas: 1 num_partitions: 1 }
ONE_DEVICE = bytes([0x1A, 0x04, 0x20, 0x01, 0x28, 0x01])

MULTIPLY_ADD = """
module @multiply_add {
  func.func @main(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<i32>) {
    %0 = stablehlo.multiply %a, %b : tensor<4x8xf32>
    %1 = stablehlo.add %0, %a : tensor<4x8xf32>
    %2 = stablehlo.constant dense<7> : tensor<i32>
    return %1, %2 : tensor<4x8xf32>, tensor<i32>
  }
}
"""

DONATE = """
module @donate {
  func.func @main(%a: tensor<1024xf32> {tf.aliasing_output = 0 : i32}) -> tensor<1024xf32> {
    %0 = stablehlo.add %a, %a : tensor<1024xf32>
    return %0 : tensor<1024xf32>
  }
}
"""


def program_struct(code: bytes, format_name: bytes = b"mlir") -> tuple[Any, tuple]:
    """Makes a PJRT_Program; returns it and what it points to."""
    program = HEADER.structs["PJRT_Program"]()
    program.struct_size = ctypes.sizeof(program)
    text, name = (
        ctypes.create_string_buffer(code, max(len(code), 1)),
        ctypes.create_string_buffer(format_name),
    )
    program.code, program.code_size = ctypes.addressof(text), len(code)
    program.format, program.format_size = ctypes.addressof(name), len(format_name)
    return program, (text, name)


def compile_program(
    client: Client,
    code: str | bytes,
    format_name: bytes = b"mlir",
    options: bytes = ONE_DEVICE,
    behind: bytes = b"",
) -> int:
    """Returns a PJRT_LoadedExecutable. `behind` follows the code in memory."""
    data = code.encode() if isinstance(code, str) else code
    program, _keep = program_struct(data + behind, format_name)
    program.code_size = len(data)
    text = ctypes.create_string_buffer(options, max(len(options), 1))
    return client.api.call(
        "PJRT_Client_Compile",
        client=client.handle,
        program=ctypes.addressof(program),
        compile_options=ctypes.addressof(text),
        compile_options_size=len(options),
    ).executable


def execute(
    client: Client,
    executable: int,
    arguments: list[int],
    num_outputs: int,
    *,
    non_donatable: list[int] = (),
    want_event: bool = False,
    device: int | None = None,
) -> list[int]:
    """Executes on one device; returns the outputs, followed by the completion event if wanted."""
    options = HEADER.structs["PJRT_ExecuteOptions"]()
    options.struct_size = ctypes.sizeof(options)
    indices = (ctypes.c_int64 * max(len(non_donatable), 1))(*non_donatable)
    options.non_donatable_input_indices = ctypes.addressof(indices)
    options.num_non_donatable_input_indices = len(non_donatable)
    inner = (ctypes.c_void_p * max(len(arguments), 1))(*arguments)
    outer = (ctypes.c_void_p * 1)(ctypes.addressof(inner))
    outputs = (ctypes.c_void_p * max(num_outputs, 1))()
    output_lists = (ctypes.c_void_p * 1)(ctypes.addressof(outputs))
    events = (ctypes.c_void_p * 1)()
    client.api.call(
        "PJRT_LoadedExecutable_Execute",
        executable=executable,
        options=ctypes.addressof(options),
        argument_lists=ctypes.addressof(outer),
        num_devices=1,
        num_args=len(arguments),
        output_lists=ctypes.addressof(output_lists),
        device_complete_events=ctypes.addressof(events) if want_event else None,
        execute_device=device,
    )
    results = pointers(ctypes.addressof(outputs), num_outputs)
    return [*results, events[0]] if want_event else results
