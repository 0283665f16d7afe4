"""The rooms keep their doors shut: includes follow the table of docs/developer/architecture.md."""

from __future__ import annotations

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs" / "developer" / "architecture.md"

# What an include belongs to, by the first prefix that fits. The names are the table's. None: free
# for every room (the language, Abseil, and the two plain C interfaces that are the boundaries).
_PREFIXES = (
    ("xla/pjrt/c/pjrt_c_api", None),
    ("xla/backends/profiler/plugin/profiler_c_api.h", None),
    ("xla/ffi/api/", None),
    ("absl/", None),
    ("sycl/", "SYCL"),
    ("CL/", "SYCL"),  # SYCL's own headers come with it
    ("oneapi/dnnl/", "oneDNN"),
    ("dnnl", "oneDNN"),
    ("oneapi/mkl", "oneMKL"),
    ("mkl", "oneMKL"),
    ("llvm/", "LLVM"),
    ("llvm-c/", "LLVM"),
    ("flatbuffers/", "FlatBuffers"),
    ("xla/", "XLA"),
    ("tsl/", "XLA"),
    ("mlir/", "XLA"),
    ("stablehlo/", "XLA"),
    ("shardy/", "XLA"),
    ("google/protobuf/", "XLA"),
    ("tensorflow/", "TensorFlow"),
    ("pybind11/", "Python"),
    ("Python.h", "Python"),
    # The compiler's C entry point is a boundary; the rest of its room is not.
    ("pjrt_core/compiler/compiler.h", "compiler's C entry point"),
    ("pjrt_core/c_api/extensions/", "PJRT C API"),
)
# What the words of the table's last column permit.
_GRANTS = {
    "FlatBuffers": {"FlatBuffers"},
    "JAX": set(),  # Python only
    "LLVM 22": {"LLVM"},
    "PJRT C API": {"PJRT C API"},
    "SYCL": {"SYCL"},
    "TensorFlow": set(),  # Python only
    # TensorFlow's wheel holds one XLA, and TensorFlow's compiler headers are written in its terms.
    "TensorFlow C++": {"TensorFlow", "XLA"},
    "XLA FFI C API": set(),  # free for every room
    "XLA from the TensorFlow wheel": {"XLA"},
    "oneDNN": {"oneDNN"},
    "nothing": set(),
    "oneMKL": {"oneMKL"},
    "the PJRT C API table": {"PJRT C API"},
    "the compiler's C entry point": {"compiler's C entry point"},
    "the installed package": {"onexpu"},  # whose headers lie in `include/onexpu/`
}
_ROOM = re.compile(r"^(pjrt_core/\w+|tf_plugin|custom_kernels|onexpu)/")
_INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)
_SUFFIXES = {".h", ".hpp", ".cc", ".cpp"}


def _read_table() -> dict[str, set[str]]:
    """Returns, by room, what its "may include" cell permits. A dash there means no rule."""
    rooms: dict[str, set[str]] = {}
    header_seen = False
    for line in TABLE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            header_seen = False
        elif "may include" in cells[-1]:
            header_seen = True
        elif header_seen and not set(line) <= set("|- :"):
            if cells[-1] == "–":
                continue
            permitted = _read_cell(cells[-1])
            if "pybind11" in cells[1]:
                permitted.add("Python")
            rooms.update((folder, permitted) for folder in re.findall(r"`([\w/]+)/`", cells[0]))
    return rooms


def _read_cell(cell: str) -> set[str]:
    # A sentence after the list ("No SYCL") explains, and permits nothing.
    names = re.sub(r"\s*\(.*?\)", "", cell.split(".")[0].replace("*", ""))
    permitted = set()
    for name in (name.strip() for name in names.split(",")):
        room = re.fullmatch(r"`(\w+)`", name)
        permitted |= {room.group(1)} if room else _GRANTS[name]
    return permitted


def _permission(include: str) -> str | None:
    """Returns the table's name for what `include` belongs to, None where it is free."""
    for prefix, name in _PREFIXES:
        if include.startswith(prefix):
            return name
    room = _ROOM.match(include)
    return room.group(1).removeprefix("pjrt_core/") if room else None


def _violations(room: str, permitted: set[str]) -> list[str]:
    found = []
    for path in sorted((ROOT / room).rglob("*")):
        if path.suffix not in _SUFFIXES:
            continue
        for include in _INCLUDE.findall(path.read_text()):
            name = _permission(include)
            if include.startswith(f"{room}/") or name is None:
                continue
            if name not in permitted:
                found.append(f"{path.relative_to(ROOT)} includes {include} ({name})")
    return found


def test_table_names_every_room() -> None:
    sources = {
        path.relative_to(ROOT)
        for top in ("pjrt_core", "tf_plugin", "custom_kernels", "onexpu")
        for path in (ROOT / top).rglob("*")
        if path.suffix in _SUFFIXES
    }
    rooms = _read_table()
    homeless = [
        str(source)
        for source in sorted(sources)
        if not any(source.is_relative_to(room) for room in rooms)
    ]
    assert not homeless


@pytest.mark.parametrize("room", sorted(_read_table()) if TABLE.exists() else [])
def test_room_includes_only_what_the_table_permits(room: str) -> None:
    assert not _violations(room, _read_table()[room])


def test_a_breach_would_be_seen(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = tmp_path / "pjrt_core" / "runtime"
    room.mkdir(parents=True)
    (room / "bad.cc").write_text('#include "xla/shape.h"\n#include "pjrt_core/compiler/pipeline.h"\n')
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    assert _violations("pjrt_core/runtime", {"SYCL"}) == [
        "pjrt_core/runtime/bad.cc includes xla/shape.h (XLA)",
        "pjrt_core/runtime/bad.cc includes pjrt_core/compiler/pipeline.h (compiler)",
    ]
