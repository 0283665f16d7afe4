"""The package's name and version, read from the one place that states them: pyproject.toml."""

from __future__ import annotations

import tomllib
from typing import Any

from tools.environment import ROOT


def project() -> dict[str, Any]:
    """Returns the [project] table of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
