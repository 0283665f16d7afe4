"""Alternating measurement: the only kind that benchmarks/ reports.

Machines drift: clocks, caches, neighbours. So every figure is the ratio of the medians of runs that
took turns in one process tree, with its spread. A timing that stands alone says nothing and is
printed only to give the scale.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
import statistics
import time
from collections.abc import Callable, Mapping

# Of alternate: more rounds that are not counted, while they take no longer than this.
WARM_ROUNDS = 20
WARM_SECONDS = 0.3
# A neighbour on the machine slows memory down for about as long: a case of short runs has to
# outlast it.
LEAST_SECONDS = 2.0

# Processor time, of all threads, varies less on a busy machine.
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}


@dataclasses.dataclass(frozen=True)
class Sample:
    """Seconds of one contender over all rounds."""

    seconds: list[float]

    @property
    def median(self) -> float:
        """The median over all rounds, in seconds."""
        return statistics.median(self.seconds)


@dataclasses.dataclass(frozen=True)
class Ratio:
    """How many times faster one contender is than another: median, and the quartiles over
    rounds.
    """

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        """Returns the median and the quartiles as text."""
        return f"{self.median:.2f} [{self.low:.2f}, {self.high:.2f}]"


def alternate(
    contenders: Mapping[str, Callable[[], float | None]],
    *,
    seconds: float = 4.0,
    rounds: int = 31,
    warmup: int = 2,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Sample]:
    """Runs the contenders in turn, in a new random order each round.

    Parameters
    ----------
    contenders
        Name -> a function that runs once and waits for the result. A function that returns a number
        gives its own time in seconds (a child process that measured itself); otherwise the call is
        timed.
    seconds
        Stop after this long, but not before 5 rounds.
    rounds
        Stop after so many rounds, if they took `LEAST_SECONDS`.
    warmup
        Rounds that are not counted (compilation, first touch of pages); of short runs some more,
        until what learns from them (which core, which of two ways) has learnt.
    clock
        Returns the seconds that are compared. The limits above are of wall time.

    Returns
    -------
    dict
        Name -> Sample, all of equal length.
    """
    names = list(contenders)
    shuffle = random.Random(0)
    taken: dict[str, list[float]] = {name: [] for name in names}
    begin = time.perf_counter()
    for round_number in range(max(warmup, WARM_ROUNDS)):
        if round_number >= warmup and time.perf_counter() - begin > WARM_SECONDS:
            break
        for name in names:
            contenders[name]()
    begin = time.perf_counter()
    for round_number in itertools.count():
        passed = time.perf_counter() - begin
        if round_number >= 5 and (
            passed > seconds or (round_number >= rounds and passed > LEAST_SECONDS)
        ):
            break
        shuffle.shuffle(names)
        for name in names:
            start = clock()
            own = contenders[name]()
            taken[name].append(clock() - start if own is None else own)
    return {name: Sample(values) for name, values in taken.items()}


def ratio(slower: Sample, faster: Sample) -> Ratio:
    """``slower / faster`` of the medians; the spread is the quartiles of the ratios round by
    round.
    """
    by_round = sorted(s / f for s, f in zip(slower.seconds, faster.seconds, strict=True))
    low, _, high = statistics.quantiles(by_round, n=4) if len(by_round) > 1 else (by_round[0],) * 3
    return Ratio(slower.median / faster.median, low, high)
