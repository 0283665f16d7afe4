"""Cases that `make test-all` adds to those of `make test`.

A change is tested in minutes, by cases that differ in kind. What more sizes, types and modes have
to say is asked before an issue is resolved.
"""

from __future__ import annotations

import itertools
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


def covering(**parameters: Iterable[Any]) -> pytest.MarkDecorator:
    """Parametrises a test with all combinations of values, of which most are exhaustive.

    Each value of each parameter stays in at least one combination. What `every` marked stays
    exhaustive.
    """
    of_every = type(pytest.param())
    values = [list(each) for each in parameters.values()]
    kept = [
        [i for i, value in enumerate(each) if not isinstance(value, of_every)] for each in values
    ]
    chosen = {
        # Another partner each time round, so that parameters of equal lengths are not in step for
        # ever.
        tuple(each[(i + i // len(each)) % len(each)] for each in kept)
        for i in range(max(map(len, kept)))
    }

    def case(indices: tuple[int, ...]) -> Any:
        found = [each[i] for each, i in zip(values, indices, strict=True)]
        plain = [value.values[0] if isinstance(value, of_every) else value for value in found]
        return pytest.param(*plain, marks=() if indices in chosen else exhaustive)

    combinations = itertools.product(*(range(len(each)) for each in values))
    return pytest.mark.parametrize(list(parameters), [case(indices) for indices in combinations])
