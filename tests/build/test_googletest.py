"""Every GoogleTest program of the tree, as one pytest item each."""

from __future__ import annotations

from collections.abc import Callable

import googletest
import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    metafunc.parametrize("program", googletest.programs())


def test_program(
    program: str,
    googletest_results: dict[str, googletest.ProgramResult],
    record_property: Callable[[str, object], None],
) -> None:
    result = googletest_results[program]
    record_property("googletest", (result.cases, result.failures, result.skipped))
    assert result.status == "PASSED", f"{result.status}\n{result.log}"
    assert result.cases > 0, f"{program} holds no test case"
