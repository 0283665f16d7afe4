"""Tells what fuzzers find, and writes down what makes it again."""

from __future__ import annotations

import collections
import pathlib
import time
from collections.abc import Callable, Iterable

from tests.fuzz.forked import Finding, Result


def report_new(
    results: Iterable[Result],
    judge: Callable[[str, str], Finding | None],
    tell: Callable[[int, Finding], None],
    what: str,
) -> int:
    """Tells each finding when it is made first; prints statistics at the end.

    Parameters
    ----------
    results : iterable of Result
        What `find` yields.
    judge : callable
        Returns what is wrong with a word and a message, for results in which nothing was found.
    tell : callable
        Called with the number and the finding.
    what : str
        What a piece of work is, in the plural.

    Returns
    -------
    int
        The exit status: 1 if anything was found.
    """
    words: collections.Counter[str] = collections.Counter()
    found: collections.Counter[str] = collections.Counter()
    start = time.monotonic()
    for number, word, message, finding in results:
        words[word] += 1
        finding = finding or judge(word, message)
        if finding is None:
            continue
        found[finding.key] += 1
        if found[finding.key] == 1:
            tell(number, finding)
    print(f"{words.total()} {what} in {time.monotonic() - start:.0f} s: {dict(words)}")
    for key, times in found.most_common():
        print(f"{times:6} {key}")
    return 1 if found else 0


def report_all(
    results: Iterable[Result], judge: Callable[[str, str], Finding | None], names: list[str]
) -> int:
    """Prints how each piece of work ended; returns the exit status: 1 if anything was found."""
    worst = 0
    for number, word, message, finding in results:
        finding = finding or judge(word, message)
        print(f"{names[number]}: {finding.key if finding else f'{word}: {message}'}", flush=True)
        worst = max(worst, int(finding is not None))
    return worst


def write_out(path: pathlib.Path, data: bytes, finding: Finding, *notes: str) -> None:
    """Writes what makes a finding again, and its log beside; prints the name and the finding."""
    path.write_bytes(data)
    path.with_name(f"{path.name}.log").write_text("\n".join((finding.key, *notes, finding.log)))
    print(f"{path.name}: {finding.key}", flush=True)
