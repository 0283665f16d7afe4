"""Memory that is filled, by one process and by two, in JAX (``--report --full``)."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from onexpu._report.checks import Check, Note, Skip, Value
from onexpu._report.jax_checks import prepare

if TYPE_CHECKING:
    import jax

__all__ = ["CHECKS", "count_wrong", "fill", "prepare"]

_PARTS = 32
# Of a child of `_two_processes`: the memory was not enough, and an error said so.
_EXHAUSTED = 3

_CHILD = """
import pathlib, sys, time
from onexpu._report import jax_memory_checks as checks

mine, other = map(pathlib.Path, sys.argv[1:3])
size, parts = map(int, sys.argv[3:])
list(checks.prepare())
held, error = checks.fill(size, parts)
mine.touch()
deadline = time.monotonic() + 60
while not other.exists() and time.monotonic() < deadline:
    time.sleep(0.1)
wrong = sum(checks.count_wrong(held) for _ in range(5))
sys.exit(1 if wrong else 3 if error else 0)  # as _EXHAUSTED
"""


def _maker(size: int) -> Callable[[int], jax.Array]:
    """Returns a function that computes an array of some bytes on the device from a seed."""
    import jax
    import jax.numpy as jnp

    count = size // 4
    make = jax.jit(lambda seed: jax.lax.iota(jnp.uint32, count) * jnp.uint32(3) + seed)
    return lambda seed: make(jnp.uint32(seed)).block_until_ready()


def fill(size: int, parts: int) -> tuple[list[jax.Array], str]:
    """Makes arrays until there are enough, or until the memory does not hold another.

    Parameters
    ----------
    size : int
        Bytes of an array.
    parts : int
        How many to make.

    Returns
    -------
    held : list of jax.Array
    error : str
        What the device said about the array that did not fit; empty if all did.
    """
    import jax

    make = _maker(size)
    held: list[jax.Array] = []
    # JAX raises a program's error as a ValueError.
    try:
        while len(held) < parts:
            held.append(make(len(held)))
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        return held, str(error)
    return held, ""


def count_wrong(held: list[jax.Array]) -> int:
    """Returns how many arrays of `fill` have a wrong first or last element."""
    wrong = 0
    for seed, array in enumerate(held):
        for index in (0, array.size - 1):
            wrong += int(array[index]) != (3 * index + seed) % (1 << 32)
    return wrong


def _limit() -> int:
    """Returns the bytes that a process may use; raises `Skip` if that is the host's memory."""
    import jax
    import jax.numpy as jnp

    import onexpu

    try:
        jnp.zeros(1 << 46, jnp.uint8).block_until_ready()
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        if "of the host's memory" in str(error):
            raise Skip("the device's memory is the host's") from error
    return onexpu.memory_info()["bytes_limit"]


def _full_memory() -> Iterator[Value | Note]:
    size = _limit() // _PARTS
    held, error = fill(size, _PARTS + 1)
    yield Note(f"{len(held)} arrays of {size:,} bytes, then: {error.splitlines()[:1]}")
    yield Value("the array that does not fit is an error", "RESOURCE_EXHAUSTED" in error, True)
    # Room for what selects the elements.
    held = held[:-1]
    yield Value("arrays with a wrong end", count_wrong(held), 0)
    held.clear()
    yield Value("wrong ends of an array afterwards", count_wrong([_maker(size)(0)]), 0)


def _two_processes() -> Iterator[Value | Note]:
    size = _limit() // _PARTS
    parts = 6 * _PARTS // 10
    with tempfile.TemporaryDirectory() as directory:
        files = [str(pathlib.Path(directory, name)) for name in ("one", "two")]
        start = time.perf_counter()
        children = [
            subprocess.Popen(
                [sys.executable, "-c", _CHILD, mine, other, str(size), str(parts)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for mine, other in (files, files[::-1])
        ]
        statuses = [child.wait() for child in children]
    yield Note(
        f"two processes with {parts * size:,} bytes each: exit statuses {statuses} "
        f"({_EXHAUSTED}: out of memory) after {time.perf_counter() - start:.1f} s"
    )
    ended = [status in (0, _EXHAUSTED) for status in statuses]
    yield Value("processes that computed, or were out of memory", ended, [True, True])


CHECKS = (
    Check("memory until it is full", _full_memory, 300),
    Check("two processes that fill the memory", _two_processes, 600),
)
