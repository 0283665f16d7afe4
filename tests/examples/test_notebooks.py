"""The notebooks of `examples/notebooks` run from the first cell to the last, each in a process."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from tests.jax.process import run

NOTEBOOKS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "notebooks"


def _cells(path: pathlib.Path) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook_runs(path: pathlib.Path) -> None:
    run("\n\n".join("".join(cell["source"]) for cell in _cells(path)), timeout=300)


def test_there_are_three_without_outputs() -> None:
    paths = list(NOTEBOOKS.glob("*.ipynb"))
    assert len(paths) == 3
    for path in paths:
        for cell in _cells(path):
            assert cell["execution_count"] is None, path
            assert not cell["outputs"], path
