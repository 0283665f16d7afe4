"""A file with compiled programs for the machine that has the GPU.

It is a ZIP file, which the standard library reads. That machine needs no package of this project.
"""

from __future__ import annotations

import json
import pathlib
import zipfile
from collections.abc import Sequence
from typing import Any


class Writer:
    """Writes programs, numbered from 0."""

    def __init__(self, path: pathlib.Path) -> None:
        self._file = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self._programs: list[dict[str, Any]] = []

    def add(
        self,
        name: str,
        plan: dict[str, Any],
        ptx: str,
        parameters: Sequence[bytes],
        constants: dict[str, bytes],
        results: list[Any],
        *,
        is_large: bool,
    ) -> None:
        """Adds a program. `large.py` generates the arguments of large programs."""
        number = len(self._programs)
        self._file.writestr(f"{number}/kernels.ptx", ptx)
        for i, data in enumerate(parameters):
            self._file.writestr(f"{number}/parameter {i}", data)
        for key, data in constants.items():
            self._file.writestr(f"{number}/{key}", data)
        self._programs.append(
            {
                "name": name,
                "plan": plan,
                "parameters": len(parameters),
                "constants": sorted(constants),
                "results": results,
                "is_large": is_large,
            }
        )

    def close(self) -> None:
        """Writes the list of programs."""
        self._file.writestr("programs.json", json.dumps(self._programs))
        self._file.close()


class Bundle:
    """Reads what `Writer` wrote."""

    def __init__(self, path: pathlib.Path) -> None:
        self._file = zipfile.ZipFile(path)
        self.programs: list[dict[str, Any]] = json.loads(self._file.read("programs.json"))

    def ptx(self, number: int) -> str:
        """Returns the kernels of a program."""
        return self._file.read(f"{number}/kernels.ptx").decode()

    def parameters(self, number: int) -> list[bytes]:
        """Returns the arguments of a program, in their memory layouts."""
        count = self.programs[number]["parameters"]
        return [self._file.read(f"{number}/parameter {i}") for i in range(count)]

    def constants(self, number: int) -> dict[str, bytes]:
        """Returns the contents of the allocations that hold constants, by the names in the plan."""
        names = self.programs[number]["constants"]
        return {name: self._file.read(f"{number}/{name}") for name in names}
