"""Changes of protocol buffers that keep to their schema: fields, not bytes.

What a reader of bytes refuses at once teaches little. A message whose fields each could stand
there, and do not fit each other, reaches what lies behind.
"""

from __future__ import annotations

import random
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

# Names and source locations that no pass reads.
_DULL = {
    "metadata",
    "stack_frame_index",
    "profile_info",
    "buffer_assignment",
    "frontend_attributes",
}
_INTEGERS = (
    0,
    1,
    -1,
    2,
    3,
    4,
    7,
    8,
    64,
    127,
    1 << 31,
    (1 << 31) - 1,
    1 << 40,
    (1 << 62),
    -(1 << 63),
    (1 << 63) - 1,
)
_FLOATS = (0.0, -1.0, float("inf"), float("nan"), 1e300)
_BITS = {
    FieldDescriptor.TYPE_INT32: (-(1 << 31), (1 << 31) - 1),
    FieldDescriptor.TYPE_INT64: (-(1 << 63), (1 << 63) - 1),
    FieldDescriptor.TYPE_UINT32: (0, (1 << 32) - 1),
    FieldDescriptor.TYPE_UINT64: (0, (1 << 64) - 1),
    FieldDescriptor.TYPE_SINT64: (-(1 << 63), (1 << 63) - 1),
}
_REPEATED = FieldDescriptor.LABEL_REPEATED


def _is_repeated(field: FieldDescriptor) -> bool:
    return field.is_repeated if hasattr(field, "is_repeated") else field.label == _REPEATED


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _messages(message: Message) -> list[Message]:
    """Returns the message and every message in it."""
    found = [message]
    for field, value in message.ListFields():
        if field.message_type is None or field.name in _DULL or _is_map(field):
            continue
        for part in value if _is_repeated(field) else [value]:
            found += _messages(part)
    return found


class ProtoMutator:
    """Mutates one message type after another, with values out of the module itself.

    Parameters
    ----------
    generator : random.Random
        Decides everything: the same state gives the same mutant.
    """

    def __init__(self, generator: random.Random) -> None:
        self._random = generator

    def mutate(self, root: Message) -> None:
        """Changes one field of `root` or of a message in it, in place."""
        everything = _messages(root)
        for _ in range(20):
            message = self._random.choice(everything)
            fields = [
                f for f in message.DESCRIPTOR.fields if f.name not in _DULL and not _is_map(f)
            ]
            # What is set says more about the module than what could be.
            present = [f for f, _ in message.ListFields() if f in fields]
            if present and self._random.random() < 0.8:
                fields = present
            if fields and self._change(message, self._random.choice(fields), everything):
                return

    def _change(self, message: Message, field: FieldDescriptor, everything: list[Message]) -> bool:
        if _is_repeated(field):
            return self._change_list(getattr(message, field.name), field, everything)
        if field.message_type is not None:
            other = self._other(everything, field.message_type)
            if message.HasField(field.name) and self._random.random() < 0.3:
                message.ClearField(field.name)
            elif other is not None:
                _copy(getattr(message, field.name), other)
            else:
                getattr(message, field.name).SetInParent()
            return True
        if self._random.random() < 0.1:
            message.ClearField(field.name)
        else:
            same = [
                getattr(m, field.name) for m in everything if m.DESCRIPTOR is message.DESCRIPTOR
            ]
            setattr(message, field.name, self._scalar(field, getattr(message, field.name), same))
        return True

    def _change_list(self, values: Any, field: FieldDescriptor, everything: list[Message]) -> bool:
        r = self._random
        action = r.choice(("delete", "duplicate", "swap", "set", "set", "set", "append", "clear"))
        if action != "append" and not values:
            return False
        where = r.randrange(len(values)) if values else 0
        if action == "clear":
            del values[:]
        elif action == "delete":
            del values[where]
        elif field.message_type is not None:
            copy = type(values[0])() if values else None
            if action in ("duplicate", "set") or copy is None:
                other = self._other(everything, field.message_type)
                if other is None:
                    values.add()
                elif action == "set":
                    _copy(values[where], other)
                else:
                    _copy(values.add(), other)
            else:
                second = r.randrange(len(values))
                copy.CopyFrom(values[where])
                values[where].CopyFrom(values[second])
                values[second].CopyFrom(copy)
        elif action == "swap":
            second = r.randrange(len(values))
            values[where], values[second] = values[second], values[where]
        elif action == "duplicate":
            values.append(values[where])
        elif action == "append":
            values.append(self._scalar(field, values[0] if values else None, list(values)))
        else:
            values[where] = self._scalar(field, values[where], list(values))
        return True

    def _other(self, everything: list[Message], kind: Any) -> Message | None:
        same = [message for message in everything if message.DESCRIPTOR is kind]
        return self._random.choice(same) if same else None

    def _scalar(self, field: FieldDescriptor, value: Any, others: list[Any]) -> Any:
        r = self._random
        if others and r.random() < 0.4:
            return r.choice(others)
        if field.type == FieldDescriptor.TYPE_BOOL:
            return not value
        if field.enum_type is not None:
            return r.choice([v.number for v in field.enum_type.values])
        if field.type == FieldDescriptor.TYPE_STRING:
            return r.choice([*_TEXTS, str(value) + "x"])
        if field.type == FieldDescriptor.TYPE_BYTES:
            return (value or b"")[: r.randrange(9)] + r.choice((b"", b"\xff" * 8))
        if field.cpp_type in (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE):
            return r.choice(_FLOATS)
        low, high = _BITS.get(field.type, _BITS[FieldDescriptor.TYPE_INT64])
        near = int(value or 0) + r.choice((-1, 1))
        return max(low, min(high, r.choice((near, r.choice(_INTEGERS), r.randrange(10)))))


def _copy(to: Message, source: Message) -> None:
    # A copy first: the source may hold, or be held by, what it replaces.
    copy = type(source)()
    copy.CopyFrom(source)
    to.CopyFrom(copy)


# Opcodes are strings; so are the names of custom calls.
_TEXTS = (
    "",
    "add",
    "tuple",
    "get-tuple-element",
    "parameter",
    "constant",
    "broadcast",
    "reshape",
    "transpose",
    "reduce",
    "dot",
    "convolution",
    "while",
    "conditional",
    "call",
    "map",
    "sort",
    "gather",
    "scatter",
    "slice",
    "dynamic-slice",
    "dynamic-update-slice",
    "pad",
    "concatenate",
    "iota",
    "select",
    "clamp",
    "convert",
    "bitcast-convert",
    "bitcast",
    "custom-call",
    "fusion",
    "rng",
    "rng-bit-generator",
    "rng-get-and-update-state",
    "fft",
    "cholesky",
    "triangular-solve",
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "collective-permute",
    "all-reduce-start",
    "all-reduce-done",
    "async-start",
    "async-done",
    "async-update",
    "send",
    "recv",
    "send-done",
    "recv-done",
    "infeed",
    "outfeed",
    "after-all",
    "add-dependency",
    "partition-id",
    "replica-id",
    "get-dimension-size",
    "set-dimension-size",
    "dynamic-reshape",
    "batch-norm-training",
    "batch-norm-inference",
    "batch-norm-grad",
    "reduce-window",
    "select-and-scatter",
    "reduce-precision",
    "reverse",
    "copy",
    "copy-start",
    "copy-done",
    "domain",
    "topk",
    "optimization-barrier",
    "ragged-dot",
    "ragged-all-to-all",
    "scan",
    "stochastic-convert",
    "erf",
    "compare",
    "complex",
    "real",
    "tan",
    "Sharding",
    "SPMDFullToShardShape",
    "onednn-matmul",
    "onednn-conv",
    "TopK",
    "annotate_device_placement",
    "xla.sdy.FuncResultSharding",
    "MoveToHost",
    "PadToStatic",
    "SliceToDynamic",
)
