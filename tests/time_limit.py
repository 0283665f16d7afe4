"""Bounds how long `make test` takes on a slow machine.

After `--further-cases-minutes`, of a parametrised test only the first case runs. The others are
skipped, and the report says so. `make test-all` runs all.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

import pytest

_BEGAN = "ONEXPU_TESTS_BEGAN"  # for the worker processes
_IS_FURTHER = pytest.StashKey[bool]()


def add_option(parser: pytest.Parser) -> None:
    """Adds the command line's option."""
    parser.addoption(
        "--further-cases-minutes",
        type=float,
        default=None,
        help="run only the first case of each parametrised test from then on; default: all cases",
    )


def begin(config: pytest.Config) -> None:
    """Starts the clock in the first process of a run."""
    if not hasattr(config, "workerinput"):
        os.environ[_BEGAN] = str(time.time())


def find_further_cases(items: Iterable[pytest.Item]) -> None:
    """Finds all but the first case of each test."""
    seen = set()
    for item in items:
        test = item.nodeid.partition("[")[0]
        item.stash[_IS_FURTHER] = test in seen
        seen.add(test)


def skip_if_late(item: pytest.Item) -> None:
    """Skips a further case after the time for them."""
    minutes = item.config.getoption("--further-cases-minutes")
    if minutes is None or not item.stash[_IS_FURTHER]:
        return
    if time.time() - float(os.environ[_BEGAN]) > 60 * minutes:
        pytest.skip(f"the tests have taken {minutes:g} minutes; make test-all runs further cases")
