"""Sequences of calls of the C API, in any order, with handles that are valid when they are passed.

A sequence makes buffers, executables, events and topologies, passes them to any entry that takes
one, destroys them early and late, and leaves out now and then what it should give: a handle, an
array, the size of a struct.
"""

from __future__ import annotations

import collections
import ctypes
import random
from typing import Any

from tests.c_api.pjrt import HEADER, Api, PjrtError, pointers
from tests.c_api.programs import DONATE, MULTIPLY_ADD, ONE_DEVICE, program_struct

# Of one sequence.
CALLS = 40
_VOID = {"PJRT_Error_Destroy", "PJRT_Error_Message", "PJRT_Error_GetCode"}
# The client stays, because the sequence holds its objects; no call sets an event for Await.
_LEFT_OUT = _VOID | {"PJRT_Client_Destroy", "PJRT_Client_Create", "PJRT_Event_Await"}
# What an argument is, by its name; an executable is a loaded one in the functions of those.
_HANDLES = {
    "client": "client",
    "device": "device",
    "dst_device": "device",
    "execute_device": "device",
    "memory": "memory",
    "dst_memory": "memory",
    "buffer": "buffer",
    "src": "buffer",
    "event": "event",
    "loaded_executable": "loaded",
    "topology": "topology",
    "context": "context",
    "device_description": "description",
}
# What a successful call gives to the caller.
_RESULTS = {
    "PJRT_Event_Create": {"event": "event"},
    "PJRT_Client_Compile": {"executable": "loaded"},
    "PJRT_Client_BufferFromHostBuffer": {"buffer": "buffer", "done_with_host_buffer": "event"},
    "PJRT_Client_CreateUninitializedBuffer": {"buffer": "buffer"},
    "PJRT_Client_CreateErrorBuffer": {"buffer": "buffer"},
    "PJRT_Client_CreateViewOfDeviceBuffer": {"buffer": "buffer"},
    "PJRT_LoadedExecutable_GetExecutable": {"executable": "executable"},
    "PJRT_Executable_DeserializeAndLoad": {"loaded_executable": "loaded"},
    "PJRT_Buffer_CopyToDevice": {"dst_buffer": "buffer"},
    "PJRT_Buffer_CopyToMemory": {"dst_buffer": "buffer"},
    "PJRT_Buffer_ToHostBuffer": {"event": "event"},
    "PJRT_Buffer_CopyRawToHost": {"event": "event"},
    "PJRT_Buffer_ReadyEvent": {"event": "event"},
    "PJRT_TopologyDescription_Create": {"topology": "topology"},
    "PJRT_TopologyDescription_Deserialize": {"topology": "topology"},
    "PJRT_ExecuteContext_Create": {"context": "context"},
    "PJRT_Compile": {"executable": "executable"},
}
_DELETERS = (
    ("serialized_executable_deleter", "serialized_executable"),
    ("serialized_topology_deleter", "serialized_topology"),
    ("serialized_device_assignment_deleter", "serialized_device_assignment"),
    ("serialized_compile_options_deleter", "serialized_compile_options"),
)
_DESTROY = {
    "buffer": ("PJRT_Buffer_Destroy", "buffer"),
    "event": ("PJRT_Event_Destroy", "event"),
    "loaded": ("PJRT_LoadedExecutable_Destroy", "executable"),
    "executable": ("PJRT_Executable_Destroy", "executable"),
    "topology": ("PJRT_TopologyDescription_Destroy", "topology"),
    "context": ("PJRT_ExecuteContext_Destroy", "context"),
}
_HOST_BYTES = 1 << 20


class Sequence:
    """One sequence of calls, and what it has made."""

    def __init__(
        self, api: Api, client: int, devices: list[int], stored: bytes, r: random.Random
    ) -> None:
        self._api, self._random = api, r
        memories = api.call("PJRT_Client_AddressableMemories", client=client)
        self._pools: dict[str, list[int]] = {
            "client": [client],
            "device": devices,
            "description": [],
            "memory": pointers(memories.addressable_memories, memories.num_addressable_memories),
            **{kind: [] for kind in _DESTROY},
        }
        self._pools["description"] = [
            api.call("PJRT_Device_GetDescription", device=device).device_description
            for device in devices
        ]
        self._stored = stored
        self._host = ctypes.create_string_buffer(_HOST_BYTES)
        # Whatever a call points to has to live until the sequence has ended.
        self._kept: list[Any] = []
        self.refused: collections.Counter[str] = collections.Counter()

    def run(self) -> None:
        """Makes the calls, then destroys what is left in any order."""
        functions = [name for name in HEADER.functions if name not in _LEFT_OUT]
        makers = [*_RESULTS, "PJRT_LoadedExecutable_Execute", "PJRT_LoadedExecutable_Execute"]
        for _ in range(CALLS):
            self._call(self._random.choice(functions if self._random.random() < 0.6 else makers))
        left = [(kind, handle) for kind in _DESTROY for handle in self._pools[kind]]
        self._random.shuffle(left)
        for kind, handle in left:
            function, field = _DESTROY[kind]
            self._api.call(function, **{field: handle})

    def _call(self, function: str) -> None:
        destroyed = next((kind for kind, (name, _) in _DESTROY.items() if name == function), None)
        if destroyed is not None:
            self._destroy(destroyed)
            return
        fields = self._arguments(function)
        if fields is None:
            return
        # The whole struct is there in any case: a size says what may be read and written.
        args = HEADER.structs[function + "_Args"]()
        memory = ctypes.create_string_buffer(max(4096, ctypes.sizeof(args)))
        args = type(args).from_buffer(memory)
        args.struct_size = ctypes.sizeof(args)
        if self._random.random() < 0.04:
            # Every version has the fields that hand something over: without them it would be lost.
            last = max(
                (getattr(type(args), field).offset + 8 for field in _RESULTS.get(function, {})),
                default=0,
            )
            sizes = (0, 8, 16, 24, ctypes.sizeof(args) - 8, 4096)
            args.struct_size = self._random.choice(
                [size for size in sizes if size < 16 or size >= last]
            )
        for name, value in fields.items():
            # An error without a message could not be told from one of ours that lost it.
            if self._random.random() < 0.02 and name != "error_message_size":
                value = 0
            setattr(args, name, value)
        error = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(
            getattr(self._api.table, function)
        )(ctypes.addressof(args))
        if error:
            taken = self._api.take(error)
            self.refused[function] += 1
            if "onexpu" not in str(taken) and "made by the caller" not in str(taken):
                raise AssertionError(f"{function}: the error does not say whose it is: {taken}")
            return
        self._harvest(function, args)

    def _destroy(self, kind: str) -> None:
        pool = self._pools[kind]
        if len(pool) > 2:
            function, field = _DESTROY[kind]
            self._api.call(function, **{field: pool.pop(self._random.randrange(len(pool)))})

    def _arguments(self, function: str) -> dict[str, Any] | None:
        special = getattr(self, f"_{function.removeprefix('PJRT_')}", None)
        fields: dict[str, Any] = {}
        results = _RESULTS.get(function, {})
        for name, _ in HEADER.structs[function + "_Args"]._fields_:
            if name in results:
                continue
            kind = _HANDLES.get(name)
            if name == "executable":
                kind = "loaded" if function.startswith("PJRT_LoadedExecutable") else "executable"
            if kind is None or function in ("PJRT_Event_Create",):
                continue
            pool = self._pools[kind]
            if pool and self._random.random() > 0.03:
                fields[name] = self._random.choice(pool)
        if special is not None:
            extra = special(fields)
            if extra is None:
                return None
            fields.update(extra)
        return fields

    def _harvest(self, function: str, args: Any) -> None:
        for field, kind in _RESULTS.get(function, {}).items():
            handle = getattr(args, field)
            if handle:
                self._pools[kind].append(handle)
        for deleter, owner in _DELETERS:
            call = getattr(args, deleter, None)
            if call:
                ctypes.CFUNCTYPE(None, ctypes.c_void_p)(call)(getattr(args, owner))

    # What each function wants beyond handles.

    def _keep(self, value: Any) -> int:
        self._kept.append(value)
        return ctypes.addressof(value)

    def _shape(self, prefix: str = "") -> dict[str, Any]:
        r = self._random
        dims = r.choice(
            ([4, 8], [1024], [], [0], [3, 0, 2], [-1], [1 << 62, 4], [1 << 40], [2] * 12)
        )
        array = (ctypes.c_int64 * max(len(dims), 1))(*dims)
        layout = HEADER.structs["PJRT_Buffer_MemoryLayout"]()
        layout.type = r.choice((0, 1, 1, 7))
        numbers = (ctypes.c_int64 * 64)(
            *r.choice(([1, 0], [0, 1], [0, 0], [7, -1], [32, 4], [-4, 1 << 62]))
        )
        layout.tiled.minor_to_major = layout.strides.byte_strides = self._keep(numbers)
        layout.tiled.minor_to_major_size = r.choice((0, len(dims), 2))
        if layout.type:
            layout.strides.num_byte_strides = r.choice((0, len(dims), 2))
        return {
            f"{prefix}dims": self._keep(array) if r.random() > 0.03 else 0,
            f"{prefix}num_dims": len(dims),
            f"{prefix}layout": self._keep(layout) if r.random() < 0.3 else 0,
        }

    def _type(self) -> int:
        # Eleven is F32, which the programs want.
        return self._random.choice((11, 11, 11, 1, 4, 13, 16, 0, 99, self._random.randrange(40)))

    def _Client_BufferFromHostBuffer(self, _: Any) -> dict[str, Any]:
        shape = self._shape()
        shape["device_layout"] = shape.pop("layout")
        if self._random.random() < 0.5:  # an argument of the programs
            dims = self._random.choice(([4, 8], [1024]))
            shape = {"dims": self._keep((ctypes.c_int64 * 2)(*dims)), "num_dims": len(dims)}
        return {
            **shape,
            "data": ctypes.addressof(self._host),
            "type": self._type(),
            "host_buffer_semantics": self._random.choice((0, 1, 2, 3, 9)),
        }

    def _Client_CreateUninitializedBuffer(self, _: Any) -> dict[str, Any]:
        shape = {f"shape_{name}": value for name, value in self._shape().items()}
        shape["shape_num_dims"] = shape.pop("shape_num_dims")
        return {**shape, "shape_element_type": self._type()}

    def _Client_CreateErrorBuffer(self, fields: Any) -> dict[str, Any]:
        text = ctypes.create_string_buffer(b"made by the caller")
        return {
            **self._Client_CreateUninitializedBuffer(fields),
            "error_code": self._random.choice((0, 3, 13, 99)),
            "error_message": self._keep(text) if self._random.random() > 0.1 else 0,
            "error_message_size": 18,
        }

    def _Client_CreateViewOfDeviceBuffer(self, fields: Any) -> dict[str, Any] | None:
        # A view of memory without an owner would be the caller's mistake.
        shape = self._shape()
        return {**shape, "element_type": self._type(), "device_buffer_ptr": 0}

    def _Client_Compile(self, _: Any) -> dict[str, Any]:
        r = self._random
        text = r.choice((MULTIPLY_ADD, DONATE, "module {", "", MULTIPLY_ADD[: r.randrange(200)]))
        program, kept = program_struct(
            text.encode(), r.choice((b"mlir", b"mlir", b"mlir", b"hlo", b"x"))
        )
        if r.random() < 0.05:
            program.code = 0
        if r.random() < 0.05:
            program.format = 0
        options = r.choice(
            (ONE_DEVICE, ONE_DEVICE, b"", bytes(r.randrange(256) for _ in range(12)))
        )
        self._kept.append(kept)
        return {
            "program": self._keep(program),
            "compile_options": self._keep(ctypes.create_string_buffer(options))
            if r.random() > 0.03
            else 0,
            "compile_options_size": len(options),
        }

    _Compile = _Client_Compile

    def _Executable_DeserializeAndLoad(self, _: Any) -> dict[str, Any]:
        data = self._stored[: self._random.choice((len(self._stored), len(self._stored), 64, 3, 0))]
        return {
            "serialized_executable": self._keep(ctypes.create_string_buffer(data, len(data) + 1)),
            "serialized_executable_size": len(data),
            "overridden_serialized_compile_options": self._random.choice(
                (0, ctypes.addressof(self._host))
            ),
            "overridden_serialized_compile_options_size": self._random.choice((0, 16)),
        }

    def _Executable_OptimizedProgram(self, _: Any) -> dict[str, Any]:
        program = HEADER.structs["PJRT_Program"]()
        program.struct_size = ctypes.sizeof(program)
        program.code, program.code_size = self._random.choice(
            ((0, 0), (ctypes.addressof(self._host), _HOST_BYTES), (ctypes.addressof(self._host), 3))
        )
        return {"program": self._keep(program)}

    def _Buffer_ToHostBuffer(self, _: Any) -> dict[str, Any]:
        shape = self._shape()
        size = self._random.choice((0, 16, 128, 4096, _HOST_BYTES))
        return {
            "host_layout": shape["layout"],
            "dst": self._random.choice((0, ctypes.addressof(self._host))),
            "dst_size": size,
        }

    def _Buffer_CopyRawToHost(self, _: Any) -> dict[str, Any]:
        r = self._random
        return {
            "dst": ctypes.addressof(self._host),
            "offset": r.choice((0, 4, -1, 1 << 62)),
            "transfer_size": r.choice((0, 4, 128, -1, (1 << 63) - 1)),
        }

    def _Buffer_CopyRawToHostFuture(self, _: Any) -> None:
        return None  # the caller must call back once

    def _Event_OnReady(self, _: Any) -> dict[str, Any]:
        return {
            "callback": ctypes.cast(_DROP_ERROR, ctypes.c_void_p).value,
            "user_arg": self._api.address,
        }

    def _Event_Set(self, _: Any) -> dict[str, Any]:
        text = ctypes.create_string_buffer(b"made by the caller")
        return {
            "error_code": self._random.choice((0, 3, 99)),
            "error_message_size": 18,
            "error_message": self._keep(text) if self._random.random() > 0.1 else 0,
        }

    def _Client_LookupDevice(self, _: Any) -> dict[str, Any]:
        return {"id": self._random.choice((0, 1, -1, 1 << 20))}

    def _Client_LookupAddressableDevice(self, _: Any) -> dict[str, Any]:
        return {"local_hardware_id": self._random.choice((0, 1, -1, 1 << 20))}

    def _Client_DefaultDeviceAssignment(self, _: Any) -> dict[str, Any]:
        r = self._random
        return {
            "num_replicas": r.choice((0, 1, 2, -1, (1 << 31) - 1)),
            "num_partitions": r.choice((0, 1, 2, -1, (1 << 31) - 1)),
            "default_assignment_size": r.choice((0, 1, 4)),
            "default_assignment": ctypes.addressof(self._host),
        }

    def _TopologyDescription_Create(self, _: Any) -> dict[str, Any]:
        name = self._random.choice(
            (b"", b"xpu", b"pvc", b"xpu:dg2:2", b"pvc:999999999999", b":", b"\xff" * 40)
        )
        return {
            "topology_name": self._keep(ctypes.create_string_buffer(name))
            if self._random.random() > 0.1
            else 0,
            "topology_name_size": len(name),
        }

    def _TopologyDescription_Deserialize(self, _: Any) -> dict[str, Any]:
        data = self._random.choice(
            (b"", b"OXPUTOP1" + bytes(40), b"OXPUTOP1\x01\0\0\0\xff\xff\xff\xff")
        )
        return {
            "serialized_topology": self._keep(ctypes.create_string_buffer(data, len(data) + 1)),
            "serialized_topology_size": len(data),
        }

    def _LoadedExecutable_Execute(self, _: Any) -> dict[str, Any]:
        r, buffers = self._random, self._pools["buffer"]
        count = r.choice((0, 1, 1, 2, 2, 3))
        inner = (ctypes.c_void_p * 4)(*[r.choice([*buffers, None]) for _ in range(count)])
        outer = (ctypes.c_void_p * 2)(self._keep(inner), self._keep(inner))
        outputs = (ctypes.c_void_p * 4)()
        lists = (ctypes.c_void_p * 2)(self._keep(outputs), self._keep((ctypes.c_void_p * 4)()))
        events = (ctypes.c_void_p * 2)()
        options = HEADER.structs["PJRT_ExecuteOptions"]()
        options.struct_size = r.choice((ctypes.sizeof(options), ctypes.sizeof(options), 32, 0))
        indices = (ctypes.c_int64 * 2)(r.choice((0, 1, -1, 99)), 0)
        options.non_donatable_input_indices = self._keep(indices) if r.random() > 0.1 else 0
        options.num_non_donatable_input_indices = r.choice((0, 1, 2))
        options.context = r.choice([0, *self._pools["context"]])
        if self._pools["loaded"]:
            # Called here and not by `_call`: what it gives are arrays.
            try:
                self._api.call(
                    "PJRT_LoadedExecutable_Execute",
                    executable=r.choice(self._pools["loaded"]),
                    options=self._keep(options) if r.random() > 0.03 else 0,
                    argument_lists=self._keep(outer) if r.random() > 0.03 else 0,
                    num_devices=r.choice((1, 1, 1, 1, 1, 0, 2)),
                    num_args=count,
                    output_lists=self._keep(lists) if r.random() > 0.03 else 0,
                    device_complete_events=r.choice((0, self._keep(events))),
                    execute_device=r.choice([0, 0, *self._pools["device"]]),
                )
            except PjrtError as error:
                self.refused["PJRT_LoadedExecutable_Execute"] += 1
                if "onexpu" not in str(error) and "made by the caller" not in str(error):
                    raise
            else:
                self._pools["buffer"] += [handle for handle in outputs if handle]
                self._pools["event"] += [handle for handle in events if handle]
        return None  # type: ignore[return-value]


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
def _DROP_ERROR(error: int | None, table: int) -> None:
    """A callback of PJRT_Event_OnReady, which owns its error."""
    if error:
        args = HEADER.structs["PJRT_Error_Destroy_Args"]()
        args.struct_size, args.error = ctypes.sizeof(args), error
        destroy = HEADER.structs["PJRT_Api"].from_address(table).PJRT_Error_Destroy
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(destroy)(ctypes.addressof(args))
