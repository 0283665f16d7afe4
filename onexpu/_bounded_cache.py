"""A cache that keeps what was used last."""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

Value = TypeVar("Value")


class BoundedCache(Generic[Value]):
    """Keeps up to `limit` values, by key. The least recently used one is dropped. Thread-safe.

    Parameters
    ----------
    limit : int
        At least 1.

    Examples
    --------
    >>> cache = BoundedCache(2)
    >>> [cache.get(n, lambda: str(n)) for n in (1, 2, 1, 3)]
    ['1', '2', '1', '3']
    >>> list(cache)
    [1, 3]
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: collections.OrderedDict[Hashable, Value] = collections.OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Hashable]:
        with self._lock:
            return iter(list(self._values))

    def find(self, key: Hashable) -> Value | None:
        """Returns the value of `key`, or None. Takes no lock: each step is atomic."""
        value = self._values.get(key)
        if value is not None:
            try:
                self._values.move_to_end(key)
            except KeyError:  # another thread has dropped it
                pass
        return value

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Returns the value of `key`; calls `make` for a missing one, without holding the lock."""
        value = self.find(key)
        if value is not None:
            return value
        made = make()
        with self._lock:
            value = self._values.setdefault(key, made)
            self._values.move_to_end(key)
            while len(self._values) > self._limit:
                self._values.popitem(last=False)
            return value
