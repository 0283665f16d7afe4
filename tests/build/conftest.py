"""Makes the tree's own tools importable, and runs the GoogleTest programs once."""

from __future__ import annotations

import pathlib
import sys

import pytest

# At the end: the tree's onexpu/ must not hide the installed package.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))
sys.path.append(str(pathlib.Path(__file__).parent))

import googletest


@pytest.fixture(scope="session")
def googletest_results(request: pytest.FixtureRequest) -> dict[str, googletest.ProgramResult]:
    """The results of those GoogleTest programs that this session selected."""
    labels = [
        item.callspec.params["program"]
        for item in request.session.items
        if "program" in getattr(getattr(item, "callspec", None), "params", {})
    ]
    return googletest.run(labels)
