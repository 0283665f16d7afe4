"""What a check of the self-test is, and how its results are compared with the host's."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

# The statuses of a report's lines. The others are failures.
PASSED = ("ok", "skipped")


class Skip(Exception):
    """The check does not apply to this machine. The text says why."""


@dataclasses.dataclass(frozen=True)
class Value:
    """A result of the device and the host's result.

    Attributes
    ----------
    name : str
        What it is.
    got, want : array_like
        The device's result and the host's.
    tolerance : array_like of float
        The maximum absolute difference, for each element or for all of them. 0 for exact results.
    reason : str
        Why the tolerance is what it is.
    """

    name: str
    got: Any
    want: Any
    tolerance: Any = 0.0
    reason: str = "exact"


@dataclasses.dataclass(frozen=True)
class Note:
    """Text that a check adds to the report.

    Attributes
    ----------
    text : str
        One or more lines.
    """

    text: str


@dataclasses.dataclass(frozen=True)
class Check:
    """One line of the self-test.

    Attributes
    ----------
    name : str
        Unique in its group.
    run : callable
        Returns or yields `Value` objects to compare, and `Note` objects. It may raise `Skip`.
    seconds : float
        The time limit, which includes the compilation of all kernels.
    """

    name: str
    run: Callable[[], Iterable[Value | Note]]
    seconds: float = 120


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a check ended.

    Attributes
    ----------
    name : str
        The check's.
    status : str
        ok, skipped, WRONG, ERROR, CRASHED, TIMED OUT or NOT RUN.
    text : str
        One line: the largest error, the message, the signal.
    seconds : float
        How long it took.
    details : str
        A stack or the end of the process's output if the check failed.
    notes : str
        What the check adds.
    """

    name: str
    status: str
    text: str = ""
    seconds: float = 0.0
    details: str = ""
    notes: str = ""

    @property
    def ok(self) -> bool:
        """Whether it is not a failure."""
        return self.status in PASSED


def judge(values: Iterable[Value]) -> tuple[str, str]:
    """Compares results.

    Parameters
    ----------
    values : iterable of Value
        Of one check.

    Returns
    -------
    status, text : str
        "ok" and the largest error in tolerances, or "WRONG" and the largest error, the tolerance
        and where.
    """
    share, count, has_tolerance = 0.0, 0, False
    for value in values:
        wrong, value_share = _compare(value)
        if wrong:
            return "WRONG", f"{value.name}: {wrong}"
        count += 1
        share = max(share, value_share)
        has_tolerance = has_tolerance or value.reason != Value.reason
    if not count:
        return "ok", ""
    if not has_tolerance:
        return "ok", f"exact ({count} compared)"
    return "ok", f"largest error {share:.2g} of the tolerance ({count} compared)"


def _compare(value: Value) -> tuple[str, float]:
    """Returns what is wrong (empty if nothing is), and the largest error in tolerances."""
    import numpy as np

    got, want = np.asarray(value.got), np.asarray(value.want)
    if got.shape != want.shape:
        return f"shape {got.shape} instead of {want.shape}", 0.0
    if got.size == 0:
        return "", 0.0
    tolerance = np.broadcast_to(np.asarray(value.tolerance, np.float64), want.shape)
    with np.errstate(all="ignore"):
        wide_got, wide_want = _widen(got), _widen(want)
        same = (wide_got == wide_want) | ((wide_got != wide_got) & (wide_want != wide_want))
        error = np.where(same, 0.0, np.abs(_as_float(wide_got) - _as_float(wide_want)))
        shares = np.where(same, 0.0, error / tolerance)
        # Integers beyond 2**53 may differ without an error in float64; they are wrong as well.
        bad = ~same & ~(error <= np.where(tolerance > 0, tolerance, -1.0))
    if not bad.any():
        return "", float(shares.max())
    severity = np.where(bad, np.nan_to_num(shares, nan=np.inf), -1.0)
    where = np.unravel_index(int(severity.argmax()), want.shape)
    index = [int(i) for i in where]
    return (
        f"largest error {error[where]:.3g}, tolerance {tolerance[where]:.3g} ({value.reason}), "
        f"at {index} of {list(want.shape)}: {got[where]} instead of {want[where]}; "
        f"{int(bad.sum()):,} of {bad.size:,} elements are wrong"
    ), float("inf")


def _widen(array: np.ndarray) -> np.ndarray:
    """Returns the values as a type that numpy compares: ml_dtypes' become float64."""
    import numpy as np

    return array if array.dtype.kind in "biufc" else array.astype(np.float64)


def _as_float(array: np.ndarray) -> np.ndarray:
    import numpy as np

    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
