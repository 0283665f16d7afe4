"""Makes the tree's own tools importable, and adds GoogleTest's counts to pytest's report."""

from __future__ import annotations

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# At the end: the tree's onexpu/ must not hide the installed package.
sys.path.append(str(ROOT))
sys.path.append(str(pathlib.Path(__file__).parent))

import googletest  # noqa: E402

_RESULTS = pytest.StashKey[dict[str, googletest.ProgramResult]]()


@pytest.fixture(scope="session")
def googletest_results(request: pytest.FixtureRequest) -> dict[str, googletest.ProgramResult]:
    """The results of those GoogleTest programs that this session selected."""
    labels = [
        item.callspec.params["program"]
        for item in request.session.items
        if "program" in getattr(getattr(item, "callspec", None), "params", {})
    ]
    results = googletest.run(labels)
    request.config.stash[_RESULTS] = results
    return results


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the counts of the cases inside the GoogleTest programs."""
    results = terminalreporter.config.stash.get(_RESULTS, None)
    if results is None:
        return
    cases = sum(result.cases for result in results.values())
    failures = sum(result.failures for result in results.values())
    skipped = sum(result.skipped for result in results.values())
    terminalreporter.write_line(
        f"GoogleTest: {cases - failures - skipped} cases passed, {failures} failed, "
        f"{skipped} skipped, in {len(results)} programs"
    )
