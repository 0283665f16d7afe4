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


@pytest.fixture(scope="session")
def googletest_results(request: pytest.FixtureRequest) -> dict[str, googletest.ProgramResult]:
    """The results of those GoogleTest programs that this session selected."""
    labels = [
        item.callspec.params["program"]
        for item in request.session.items
        if "program" in getattr(getattr(item, "callspec", None), "params", {})
    ]
    return googletest.run(labels)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the counts of the cases inside the GoogleTest programs."""
    # Out of the reports, which also come from other processes.
    counts = [
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == "googletest" and report.when == "call"
    ]
    if not counts:
        return
    cases, failures, skipped = map(sum, zip(*counts, strict=True))
    terminalreporter.write_line(
        f"GoogleTest: {cases - failures - skipped} cases passed, {failures} failed, "
        f"{skipped} skipped, in {len(counts)} programs"
    )
