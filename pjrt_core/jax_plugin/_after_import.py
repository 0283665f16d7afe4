"""Rules for modules of JAX that few programs import, and that take long to import.

They are registered when the module is imported.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType


def call(name: str, function: Callable[[ModuleType], None]) -> None:
    """Calls ``function`` with a module: now, if it has been imported, else right after it will be.

    Parameters
    ----------
    name : str
        The module's full name.
    function : callable
        Takes the module. Harmless when repeated.
    """
    module = sys.modules.get(name)
    if module is not None:
        function(module)
    elif not any(isinstance(f, _Finder) and f.name == name for f in sys.meta_path):
        sys.meta_path.insert(0, _Finder(name, function))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module as the other finders do, once, and gives it a loader that calls back."""

    def __init__(self, name: str, function: Callable[[ModuleType], None]) -> None:
        self.name = name
        self._function = function

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._function)
        return spec


class _Loader(importlib.abc.Loader):
    """Loads as another loader does, then calls a function with the module."""

    def __init__(
        self, loader: importlib.abc.Loader, function: Callable[[ModuleType], None]
    ) -> None:
        self._loader = loader
        self._function = function

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        module.__loader__ = module.__spec__.loader = self._loader
        self._function(module)
