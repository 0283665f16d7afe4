"""PJRT's C header as ctypes: every struct, every enumerator, the table.

The header is read as it is in TensorFlow's wheel, so that what the tests call is what a caller
compiles.
"""

from __future__ import annotations

import ctypes
import importlib.util
import pathlib
import re

_SCALARS = {
    "size_t": ctypes.c_size_t,
    "int64_t": ctypes.c_int64,
    "int32_t": ctypes.c_int32,
    "uint8_t": ctypes.c_uint8,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "int": ctypes.c_int,
    "bool": ctypes.c_bool,
    "float": ctypes.c_float,
    "uintptr_t": ctypes.c_size_t,
    "intptr_t": ctypes.c_ssize_t,
}


def header_path(name: str = "pjrt_c_api.h") -> pathlib.Path:
    """Returns a header of TensorFlow's wheel, without importing TensorFlow."""
    spec = importlib.util.find_spec("tensorflow")
    return pathlib.Path(spec.submodule_search_locations[0]) / "include/xla/pjrt/c" / name


class Header:
    """What headers declare.

    Attributes
    ----------
    structs : dict of str to type
        ctypes structures by name.
    constants : dict of str to int
        Enumerators.
    functions : list of str
        The table's entries, in order.
    """

    def __init__(self, *paths: pathlib.Path) -> None:
        self.structs: dict[str, type[ctypes.Structure]] = {}
        self.constants: dict[str, int] = {}
        self.functions: list[str] = []
        self._enums: set[str] = set()
        for path in paths:
            self._read(path.read_text())

    def _read(self, text: str) -> None:
        text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
        text = re.sub(r"^\s*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
        for body, name in re.findall(r"typedef enum \w*\s*\{([^}]*)\}\s*(\w+);", text):
            self._add_enum(name, body)
        for name, body in re.findall(r"\bstruct (\w+) \{((?:[^{}]|\{[^{}]*\})*)\}\s*\w*;", text):
            if name == "PJRT_Api":
                self.functions = re.findall(r"_PJRT_API_STRUCT_FIELD\((\w+)\);", body)
                body = re.sub(r"_PJRT_API_STRUCT_FIELD\((\w+)\);", r"void* \1;", body)
            self._add_struct(name, body)

    def _add_enum(self, name: str, body: str) -> None:
        self._enums.add(name)
        value = -1
        for entry in filter(None, (part.strip() for part in body.split(","))):
            label, _, number = (part.strip() for part in entry.partition("="))
            value = value + 1 if not number else eval(number.replace("u", ""))
            self.constants[label] = value

    def _add_struct(self, name: str, body: str) -> None:
        fields: list[tuple[str, type]] = []
        anonymous: list[str] = []
        union = re.search(r"union \{([^{}]*)\};", body)
        if union:
            kind = type(
                f"{name}_union", (ctypes.Union,), {"_fields_": self._fields(union.group(1))}
            )
            before, after = body[: union.start()], body[union.end() :]
            fields = [*self._fields(before), ("_union", kind), *self._fields(after)]
            anonymous = ["_union"]
        else:
            fields = self._fields(body)
        self.structs[name] = type(
            name, (ctypes.Structure,), {"_anonymous_": anonymous, "_fields_": fields}
        )

    def _fields(self, body: str) -> list[tuple[str, type]]:
        fields = []
        for declaration in filter(None, (part.strip() for part in body.split(";"))):
            pointer = re.match(r".*\(\*(\w+)\)\s*\(.*\)$", declaration, flags=re.S)
            if pointer:
                fields.append((pointer.group(1), ctypes.c_void_p))
                continue
            kind, name = re.match(r"(.*?)(\w+)$", declaration, flags=re.S).groups()
            fields.append((name, self._type(kind.replace("const", "").strip())))
        return fields

    def _type(self, kind: str) -> type:
        if kind.endswith("*"):
            return ctypes.c_void_p
        kind = kind.removeprefix("struct ").strip()
        if kind in _SCALARS:
            return _SCALARS[kind]
        if kind in self._enums:
            return ctypes.c_int
        # A typedef of a function pointer is all that is left.
        return self.structs.get(kind, ctypes.c_void_p)
