"""`python -m onexpu cache`: the compiled programs and kernels that are kept on disk."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from onexpu._diagnostics.text import render

if TYPE_CHECKING:
    import rich.console

_DAY = 24 * 3600


@dataclasses.dataclass(frozen=True)
class Limits:
    """What the cache may hold.

    Attributes
    ----------
    bytes : int
    seconds : int
        Since an entry was used last.
    """

    bytes: int
    seconds: int


@dataclasses.dataclass(frozen=True)
class Removed:
    """What `prune` removed.

    Attributes
    ----------
    entries, bytes : int
    """

    entries: int
    bytes: int


# Limits that no entry fits into.
NOTHING = Limits(0, -1)


@dataclasses.dataclass(frozen=True)
class CacheEntry:
    """A file of the cache.

    Attributes
    ----------
    path, kind : str
    bytes : int
    last_used : int
        Seconds since the epoch. It is recorded once an hour.
    """

    path: str
    kind: str
    bytes: int
    last_used: int


@dataclasses.dataclass(frozen=True)
class CacheReport:
    """The cache as it is. Made by `report`.

    Attributes
    ----------
    directory : str
    limits : Limits
    entries : tuple of CacheEntry
    """

    directory: str
    limits: Limits
    entries: tuple[CacheEntry, ...]

    @property
    def bytes(self) -> int:
        """How much the entries are together."""
        return sum(entry.bytes for entry in self.entries)

    def __rich__(self) -> rich.console.Group:
        import rich.table
        import rich.text

        table = rich.table.Table(title=self.directory or "no cache directory", title_justify="left")
        table.add_column("what", no_wrap=True)
        for column in ("entries", "bytes", "used last", "longest unused"):
            table.add_column(column, justify="right")
        for kind in sorted({entry.kind for entry in self.entries}):
            self._add_row(table, kind, [entry for entry in self.entries if entry.kind == kind])
        self._add_row(table, "all", self.entries)
        limits = (
            f"Kept within {self.limits.bytes:,} bytes (ONEXPU_CACHE_LIMIT); what is not used for "
            f"{self.limits.seconds // _DAY} days (ONEXPU_CACHE_DAYS) is removed."
        )
        return rich.console.Group(table, rich.text.Text(limits))

    def _add_row(self, table: rich.table.Table, kind: str, entries: Sequence[CacheEntry]) -> None:
        now = time.time()
        times = sorted((entry.last_used for entry in entries), reverse=True)
        ages = [_age(now - last_used) for last_used in times]
        total = sum(entry.bytes for entry in entries)
        recent, oldest = (ages[0], ages[-1]) if ages else ("", "")
        table.add_row(kind, f"{len(entries):,}", f"{total:,}", recent, oldest)

    def __str__(self) -> str:
        return render(self)


def _age(seconds: float) -> str:
    """Returns a duration in the largest unit that it has at least two of."""
    for unit, size in (("days", _DAY), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"


def prune(limits: Limits) -> Removed:
    """Removes what has not been used for too long, then what was used least recently."""
    from onexpu import _native

    return Removed(*_native.prune_cache(limits.bytes, limits.seconds))


def report() -> CacheReport:
    """Returns what the cache holds, and its limits.

    Raises
    ------
    ValueError
        ONEXPU_CACHE_LIMIT or ONEXPU_CACHE_DAYS is not understood.

    Examples
    --------
    >>> from onexpu._diagnostics import disk_cache
    >>> disk_cache.report().bytes >= 0
    True
    """
    from onexpu import _native

    cache = _native.read_cache()
    entries = tuple(CacheEntry(*entry) for entry in cache["entries"])
    return CacheReport(cache["directory"], Limits(*cache["limits"]), entries)
