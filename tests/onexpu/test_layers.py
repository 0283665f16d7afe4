"""Sub-packages of onexpu import what docs/developer/architecture.md permits, and never in a
circle.
"""

from __future__ import annotations

import ast
import graphlib
import pathlib
import re
from collections.abc import Iterator

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "developer" / "architecture.md"
# Modules at the package's root that every module may import.
_FREE = {"_bounded_cache", "_errors", "_library", "_native", "_types"}


def _permitted() -> dict[str, set[str]]:
    """Returns, by sub-package, what the table permits. The package itself is the public names."""
    layers = {}
    for line in TABLE.read_text().split("may import |")[1].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        folder = re.fullmatch(r"`onexpu/(\w+)/`", cells[0])
        if folder:
            public = {"onexpu"} if "the public names" in cells[-1] else set()
            layers[folder.group(1)] = set(re.findall(r"`(\w+)`", cells[-1])) | public
    return layers


def _imports(source: str) -> Iterator[str]:
    """Yields what a module imports of onexpu, at any depth: `onexpu`, or a name in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "onexpu":
            modules = [f"onexpu.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            modules = [node.module or ""]
        else:
            continue
        for module in modules:
            package, *names = module.split(".")
            if package == "onexpu":
                yield names[0] if names else package


def _imported_by(package: pathlib.Path) -> set[str]:
    return {name for path in package.rglob("*.py") for name in _imports(path.read_text())}


def test_table_names_every_sub_package() -> None:
    packages = {path.parent.name for path in (ROOT / "onexpu").glob("*/__init__.py")}
    assert packages == set(_permitted())


@pytest.mark.parametrize("name", sorted(_permitted()))
def test_sub_package_imports_only_what_the_table_permits(name: str) -> None:
    imported = _imported_by(ROOT / "onexpu" / name) - _FREE - {name}
    assert imported <= _permitted()[name]


def test_the_table_has_no_circle() -> None:
    assert list(graphlib.TopologicalSorter(_permitted()).static_order())


@pytest.mark.parametrize("name", sorted(_FREE - {"_native"}))
def test_modules_at_the_root_import_no_sub_package(name: str) -> None:
    assert not set(_imports((ROOT / "onexpu" / f"{name}.py").read_text()))


def test_imports_are_found_at_any_depth() -> None:
    source = """
import numpy, onexpu
from onexpu import _native, kernels
if TYPE_CHECKING:
    from onexpu._launch.shapes import Operand
def f():
    import onexpu._source.source
    from onexpu_other import x
"""
    assert sorted(_imports(source)) == ["_launch", "_native", "_source", "kernels", "onexpu"]
