"""Includes follow the table of docs/developer/architecture.md, and go one way.

A room is a folder of that table. A unit is a header with its source: `x.h` and `x.cc` are one.
"""

from __future__ import annotations

import collections
import itertools
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
    ("oneapi/tbb/", "oneTBB"),
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
    "oneTBB": {"oneTBB"},
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
    (room / "bad.cc").write_text(
        '#include "xla/shape.h"\n#include "pjrt_core/compiler/pipeline.h"\n'
    )
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    assert _violations("pjrt_core/runtime", {"SYCL"}) == [
        "pjrt_core/runtime/bad.cc includes xla/shape.h (XLA)",
        "pjrt_core/runtime/bad.cc includes pjrt_core/compiler/pipeline.h (compiler)",
    ]


# Circles of units that are inherent, one tuple each.
_INHERENT_CIRCLES = {
    # An operand of a fused instruction is emitted by the context, and an element by the emitter.
    (
        "pjrt_core/compiler/codegen/elemental/elemental_emitter",
        "pjrt_core/compiler/codegen/elemental/fusion_context",
    ),
}
_TOPS = ("pjrt_core", "tf_plugin", "custom_kernels", "onexpu")


def _units(root: pathlib.Path) -> dict[str, set[str]]:
    """Returns, by unit, the units that it includes."""
    sources = {
        str(path.relative_to(root))
        for top in _TOPS
        for path in (root / top).rglob("*")
        if path.suffix in _SUFFIXES
    }
    units: dict[str, set[str]] = {source.rsplit(".", 1)[0]: set() for source in sources}
    for source in sources:
        unit = source.rsplit(".", 1)[0]
        for include in _INCLUDE.findall((root / source).read_text()):
            if include in sources:
                units[unit].add(include.rsplit(".", 1)[0])
    return {unit: includes - {unit} for unit, includes in units.items()}


def _circles(graph: dict[str, set[str]]) -> set[tuple[str, ...]]:
    """Returns the strongly connected components of more than one node (Kosaraju's algorithm)."""
    reverse = collections.defaultdict(set)
    for node, targets in graph.items():
        for target in targets:
            reverse[target].add(node)

    def visit(start: str, edges: dict[str, set[str]], seen: set[str]) -> list[str]:
        order, stack = [], [(start, iter(sorted(edges.get(start, ()))))]
        seen.add(start)
        while stack:
            node, targets = stack[-1]
            following = next((target for target in targets if target not in seen), None)
            if following is None:
                order.append(stack.pop()[0])
            else:
                seen.add(following)
                stack.append((following, iter(sorted(edges.get(following, ())))))
        return order

    seen: set[str] = set()
    finished: list[str] = []
    for node in sorted(graph):
        if node not in seen:
            finished += visit(node, graph, seen)
    seen = set()
    components = [visit(node, reverse, seen) for node in reversed(finished) if node not in seen]
    return {tuple(sorted(component)) for component in components if len(component) > 1}


def _folder_circles(graph: dict[str, set[str]]) -> set[tuple[str, ...]]:
    """Returns circles among the sub-folders of one folder, each with all that it contains.

    A folder's own files are free: they are what the sub-folders share, or what puts them together.
    """
    folders: dict[str, dict[str, set[str]]] = collections.defaultdict(
        lambda: collections.defaultdict(set)
    )
    for unit, includes in graph.items():
        for include in includes:
            parts, other = unit.split("/")[:-1], include.split("/")[:-1]
            common = len(
                list(
                    itertools.takewhile(
                        lambda pair: pair[0] == pair[1], zip(parts, other, strict=False)
                    )
                )
            )
            if common and common < min(len(parts), len(other)):
                folders["/".join(parts[:common])]["/".join(parts[: common + 1])].add(
                    "/".join(other[: common + 1])
                )
    return set().union(*(_circles(children) for children in folders.values()))


def test_units_include_each_other_one_way() -> None:
    assert _circles(_units(ROOT)) == _INHERENT_CIRCLES


def test_folders_include_each_other_one_way() -> None:
    assert _folder_circles(_units(ROOT)) == set()


def test_circles_would_be_seen(tmp_path: pathlib.Path) -> None:
    for name, include in (
        ("pjrt_core/a/x.h", "pjrt_core/b/y.h"),
        ("pjrt_core/b/y.h", "pjrt_core/b/z.h"),
        ("pjrt_core/b/y.cc", "pjrt_core/b/y.h"),
        ("pjrt_core/b/z.h", "string"),
        ("pjrt_core/b/z.cc", "pjrt_core/a/w.h"),
        ("pjrt_core/a/w.h", "pjrt_core/root.h"),
        ("pjrt_core/root.h", "pjrt_core/b/y.h"),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#include "{include}"\n')
    units = _units(tmp_path)
    assert _circles(units) == {
        ("pjrt_core/a/w", "pjrt_core/b/y", "pjrt_core/b/z", "pjrt_core/root")
    }
    assert _folder_circles(units) == {("pjrt_core/a", "pjrt_core/b")}


# Where the kind of device is known. Other code asks compiler/target/policy.h for the decision that
# it makes, or device/device_traits.h for the difference that concerns it.
_KIND_OF_DEVICE = re.compile(r"\b(is_cpu|is_gpu|gpu_schedules)\b")
_KNOWS_THE_KIND = (
    "pjrt_core/target/",
    "pjrt_core/compiler/target/",
    "pjrt_core/device/device_traits.",
    "pjrt_core/runtime/sycl_device/target_description.cc",
    "pjrt_core/runtime/sycl_device/discovery/",
    "pjrt_core/c_api/topology/target_catalog.cc",
    "custom_kernels/builtin/support/schedule.cc",
    "custom_kernels/include/onexpu/custom_kernel.h",  # for users' handlers
    "custom_kernels/kernel_target.cc",
)


def _asks_for_the_kind_of_device(root: pathlib.Path) -> list[str]:
    found = []
    for path in sorted(
        path for top in ("pjrt_core", "custom_kernels") for path in (root / top).rglob("*")
    ):
        name = str(path.relative_to(root))
        if path.suffix in _SUFFIXES and not name.startswith(_KNOWS_THE_KIND):
            lines = enumerate(path.read_text().splitlines(), 1)
            found += [f"{name}:{n}" for n, line in lines if _KIND_OF_DEVICE.search(line)]
    return found


def test_policies_and_traits_know_the_kind_of_device() -> None:
    assert not _asks_for_the_kind_of_device(ROOT)


def test_a_question_for_the_kind_would_be_seen(tmp_path: pathlib.Path) -> None:
    for name in ("custom_kernels/z.cc", "pjrt_core/runtime/x.cc", "pjrt_core/target/y.cc"):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text("\nif (device.is_cpu()) return;\n")
    found = ["custom_kernels/z.cc:2", "pjrt_core/runtime/x.cc:2"]
    assert _asks_for_the_kind_of_device(tmp_path) == found
