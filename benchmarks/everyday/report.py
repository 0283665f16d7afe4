#!/usr/bin/env python3
"""Writes the table of everyday programs into a page, from the results of run.py.

Usage: report.py [--results JSON] [--page MARKDOWN]

The text between the two markers in the page is replaced. Ratios are the competitor's time divided
by that of xpu, as in run.py: above 1, xpu is faster.
"""

from __future__ import annotations

import argparse
import itertools
import json
import pathlib
import statistics
from collections.abc import Iterable
from typing import Any

BENCHMARKS = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- everyday programs: begin -->", "<!-- everyday programs: end -->"

# Issue 46: how much slower than its competitor a program may be, and how much longer its compile.
RUN_LIMITS = {"XLA:CPU": 1.25, "TF CPU": 1.5}
COMPILE_LIMIT = 2.0
_FRAMEWORKS = {
    "XLA:CPU": "JAX, against XLA:CPU",
    "TF CPU": "TensorFlow, against its CPU device",
}

Row = dict[str, Any]


def time_text(seconds: float) -> str:
    """Returns seconds as text, in a unit that suits them."""
    return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-4 else f"{seconds * 1e6:.2f} us"


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    header = list(header)
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _spread(ratio: dict[str, float]) -> str:
    return f"{ratio['median']:.2f} [{ratio['low']:.2f}, {ratio['high']:.2f}]"


def _compile_text(row: Row) -> str:
    return f"{row['compile']['ratio']:.2f}" if "compile" in row else ""


def _run_ratio(row: Row) -> float:
    return row["ratios"][row["competitor"]]["median"]


def _kinds(rows: list[Row]) -> list[str]:
    lines = []
    for framework, kind_of in itertools.groupby(rows, lambda row: row["competitor"]):
        for kind, group in itertools.groupby(kind_of, lambda row: row["kind"]):
            lines += ["", f"#### {_FRAMEWORKS[framework].split(',')[0]}: {kind}", ""]
            lines += _table(
                ("program", "how", "xpu", "times faster", "compile, times faster"),
                (
                    [row["name"], row["mode"].split(", ")[1], "values differ", "", ""]
                    if "failure" in row
                    else [
                        row["name"],
                        row["mode"].split(", ")[1],
                        time_text(row["medians"]["xpu"]),
                        _spread(row["ratios"][framework]),
                        _compile_text(row),
                    ]
                    for row in group
                ),
            )
    return lines


def _summary(rows: list[Row]) -> list[str]:
    lines = []
    for competitor, framework in _FRAMEWORKS.items():
        ratios = [_run_ratio(row) for row in rows if row["competitor"] == competitor]
        if ratios:
            limit = RUN_LIMITS[competitor]
            slow = sum(ratio < 1 / limit for ratio in ratios)
            lines.append(
                f"- {framework}: {len(ratios)} programs, geometric mean of ratios "
                f"{statistics.geometric_mean(ratios):.2f}, {slow} more than "
                f"{limit} x slower."
            )
    compiled = [row["compile"]["ratio"] for row in rows if "compile" in row]
    if compiled:
        slow = sum(ratio < 1 / COMPILE_LIMIT for ratio in compiled)
        lines.append(
            f"- Cold compile, against XLA:CPU: {len(compiled)} programs, geometric mean of ratios "
            f"{statistics.geometric_mean(compiled):.2f}, {slow} more than "
            f"{COMPILE_LIMIT:.0f} x slower."
        )
    return lines


def _short(rows: list[Row]) -> list[str]:
    """The programs that are slower than a limit, the worst of its limit first."""
    found = []
    for row in rows:
        measures = [("run", _run_ratio(row), RUN_LIMITS[row["competitor"]])]
        if "compile" in row:
            measures.append(("compile", row["compile"]["ratio"], COMPILE_LIMIT))
        found += [(what, 1 / ratio, row) for what, ratio, limit in measures if ratio * limit < 1]
    if not found:
        return ["No program is slower than its limit."]
    found.sort(key=lambda entry: -entry[1])
    return _table(
        ("program", "how", "kind", "what", "times slower", "cause", "tried"),
        (
            [
                row["name"],
                row["mode"],
                row["kind"],
                what,
                f"{slower:.2f}",
                row["cause"],
                row["tried"],
            ]
            for what, slower, row in found
        ),
    )


def markdown(rows: Iterable[Row]) -> str:
    """Returns the summary, what falls short, and the tables by kind.

    Parameters
    ----------
    rows
        Rows of run.py. Those that are not of everyday programs are left out.
    """
    rows = [row for row in rows if "kind" in row]
    measured = [row for row in rows if "failure" not in row]
    failed = [row for row in rows if "failure" in row]
    lines = ["### Summary", "", *_summary(measured)]
    if failed:
        lines += ["", "Not timed, because the program failed or its values differ:", ""]
        lines += [f"- {row['name']} ({row['mode']}): {row['failure']}" for row in failed]
    lines += ["", "### What falls short", "", *_short(measured), "", "### Every program"]
    return "\n".join([*lines, *_kinds(rows)])


def replace(page: str, text: str) -> str:
    """Returns the page with `text` between its markers; without markers, raises ValueError."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    results = BENCHMARKS / "results" / "benchmarks.json"
    parser.add_argument("--results", type=pathlib.Path, default=results)
    page = BENCHMARKS.parent / "docs" / "performance.md"
    parser.add_argument("--page", type=pathlib.Path, default=page)
    arguments = parser.parse_args()
    text = markdown(json.loads(arguments.results.read_text()))
    arguments.page.write_text(replace(arguments.page.read_text(), text))


if __name__ == "__main__":
    main()
