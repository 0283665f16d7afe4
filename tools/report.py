"""What the set-up says while it works, and the one way in which it stops."""

from __future__ import annotations

import sys
import time

_START = time.monotonic()


class SetupError(Exception):
    """Something that the user has to put right; the message says how."""


def step(message: str) -> None:
    """Prints one line of progress with the seconds since the start."""
    print(f"[{time.monotonic() - _START:6.1f} s] {message}", flush=True)


def fail(error: Exception) -> int:
    """Prints `error` and returns the exit status of a failed set-up."""
    print(f"onexpu: {error}", file=sys.stderr, flush=True)
    return 1
