"""Cases that `make test-all` adds to those of `make test`.

A change is tested in minutes, by cases that differ in kind. What more sizes, types and modes have to say is asked before an
issue is resolved.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

exhaustive = pytest.mark.exhaustive


def every(step: int, cases: Iterable[Any], *, unpack: bool = False) -> list[Any]:
    """Marks all but each `step`-th case of a parametrised test as exhaustive; the first stays.

    Parameters
    ----------
    unpack
        Each case is a tuple of several arguments.
    """
    return [
        case if i % step == 0 else pytest.param(*(case if unpack else (case,)), marks=exhaustive)
        for i, case in enumerate(cases)
    ]
