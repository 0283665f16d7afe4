"""Changes of stored programs that keep to their schema: fields, elements and tables, not bytes.

A reader of FlatBuffers refuses most changed bytes at once. Tables that each could stand there, and
do not fit each other, reach what lies behind.
"""

from __future__ import annotations

import copy
import random
import re
from typing import Any

import numpy as np

from tests.fuzz.program_file import SCHEMA

_INTEGERS = (
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    16,
    63,
    64,
    65,
    255,
    256,
    1 << 16,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    1 << 40,
    1 << 60,
    (1 << 62),
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 64,
    (1 << 64) - 1,
    -1,
    -2,
    -(1 << 31),
    -(1 << 63),
)
# Not worth a mutation.
_DULL = {"compilerVersion", "fingerprint", "opName", "source", "name"}


class ProgramMutator:
    """Changes one table of a program after another, with values out of the program itself.

    Parameters
    ----------
    generator : random.Random
        Decides everything: the same state gives the same mutant.
    """

    def __init__(self, generator: random.Random) -> None:
        self._random = generator

    def mutate(self, program: Any) -> None:
        """Changes one field or element, in place; `clip` has to follow the last change."""
        tables = _tables(program)
        for _ in range(20):
            table = self._random.choice(tables)
            names = [name for name in vars(table) if name not in _DULL]
            if names and self._change(table, self._random.choice(names), tables):
                return

    def _change(self, table: Any, name: str, tables: list[Any]) -> bool:
        r, value = self._random, getattr(table, name)
        same = [getattr(t, name) for t in tables if type(t) is type(table)]
        if name.endswith("Type") and name[:-4] in vars(table):
            return False  # a union's: it changes with the table
        if isinstance(value, bool):
            setattr(table, name, not value)
        elif isinstance(value, int):
            near = value + r.choice((-1, 1, -16, 16, value))
            setattr(
                table, name, r.choice((near, r.choice(same), r.choice(_INTEGERS), r.randrange(20)))
            )
        elif isinstance(value, float):
            setattr(table, name, r.choice((0.0, -1.0, float("nan"), 1e30, value * 2)))
        elif isinstance(value, (bytes, str)):
            setattr(table, name, r.choice((value[:-1], value * 2, r.choice(same))))
        elif value is None or hasattr(value, "__dict__"):
            donor = r.choice([t for t in tables if type(t) is type(table)])
            setattr(table, name, copy.deepcopy(getattr(donor, name)))
            if name + "Type" in vars(table):
                setattr(table, name + "Type", getattr(donor, name + "Type"))
        else:
            setattr(table, name, self._change_list(list(value), same))
        return True

    def _change_list(self, values: list[Any], same: list[Any]) -> list[Any]:
        r = self._random
        action = r.choice(("delete", "duplicate", "swap", "set", "set", "set", "other", "clear"))
        if action == "other":
            other = r.choice(same)
            return copy.deepcopy(list(other)) if other is not None else []
        if not values or action == "clear":
            return []
        place = r.randrange(len(values))
        if action == "delete":
            del values[place]
        elif action == "duplicate":
            values.insert(r.randrange(len(values) + 1), copy.deepcopy(values[place]))
        elif action == "swap" or hasattr(values[place], "__dict__"):
            second = r.randrange(len(values))
            values[place], values[second] = values[second], values[place]
        else:
            values[place] = r.choice((int(values[place]) + r.choice((-1, 1)), r.choice(_INTEGERS)))
        return values


def _tables(table: Any) -> list[Any]:
    found = [table]
    for value in vars(table).values():
        for part in value if isinstance(value, list) else [value]:
            if hasattr(part, "__dict__"):
                found += _tables(part)
    return found


def clip(program: Any) -> None:
    """Has every number fit its field, in place, so that the program can be packed."""
    for part in _tables(program):
        for name, value in vars(part).items():
            width = _WIDTHS.get((type(part).__name__, name))
            if width is None:
                continue
            if isinstance(value, list) or isinstance(value, np.ndarray):
                setattr(part, name, [_wrap(int(v), width) for v in value])
            elif isinstance(value, int) and not isinstance(value, bool):
                setattr(part, name, _wrap(value, width))


def _wrap(value: int, width: tuple[int, bool]) -> int:
    bits, signed = width
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def _read_widths() -> dict[tuple[str, str], tuple[int, bool]]:
    """Returns, by class and attribute, the bits and the sign of the schema's integers."""
    text = re.sub(r"//[^\n]*", "", SCHEMA.read_text())
    enums = set(re.findall(r"\benum (\w+)", text)) | set(re.findall(r"\bunion (\w+)", text))
    types = {
        "ubyte": (8, False),
        "int32": (32, True),
        "uint32": (32, False),
        "int64": (64, True),
        "uint64": (64, False),
    }
    types.update({name: (8, False) for name in enums})
    widths = {}
    for table, body in re.findall(r"\b(?:table|struct) (\w+) \{(.*?)\}", text, re.DOTALL):
        for field, kind in re.findall(r"(\w+)\s*:\s*\[?(\w+)\]?", body):
            if kind in types:
                first, *rest = field.split("_")
                camel = first + "".join(word.capitalize() for word in rest)
                widths[f"{table}T", camel] = types[kind]
    return widths


_WIDTHS = _read_widths()
