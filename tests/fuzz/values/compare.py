"""Decides whether a result is wrong, in up to three stages of rising cost.

1. Elements that agree within the error of one rounding step are right (`ULPS`).
2. The CPU back end repeats the program with rounding noise on every inexact value. Elements that
   move with the noise are ill-conditioned, and a difference within that movement is right.
3. The CPU back end repeats the program with float64 in place of every narrower float. Elements
   for which the device under test is at least as close to that as the reference are right.

What remains is a difference. Integers and Booleans have no tolerance: stage 1 compares them
exactly, and only an element that rounding noise changes (a tie, a comparison of nearly equal
values, the floor of a value beside an integer) may differ.

The freedoms that this file grants, beyond rounding, have names:

`sign-of-zero`
    0.0 equals -0.0. XLA leaves open which of them `maximum` or a sum of zeros yields.
`nan-payload`
    All NaNs are equal.
`subnormals`
    Results below the smallest normal number may be flushed to zero (`_flushed`). XLA's CPU back end
    runs with flush-to-zero and denormals-are-zero.
`complex-infinity`
    A complex number with an infinite or NaN component equals any other such number: XLA does not
    say which component of a product or quotient becomes NaN.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from tests.fuzz.values.inputs import COMPLEX, FLOATS, SIGNIFICANT_BITS, short_name

# What may differ without asking for the conditioning, in units in the last place: two back ends'
# elementary functions, each within a few ulps of the exact result. In narrow types both round an
# f32 result, so they differ in the last place only. XLA:CPU's log1p of float64 is off by 118 ulps
# at -0.414 (measured; ours by 0.55), and nothing wider can tell who is right: 256 ulps are 6e-14,
# in which no fault of an element hides.
ULPS = {"f8e4m3fn": 0, "f8e5m2": 0, "f16": 1, "bf16": 1, "f32": 8, "f64": 256}
# Amplitudes of the noise by sample, in ulps of the type. The error of an elementary function in f32
# is 1 to 4 ulps, and a value in a narrow type may or may not be rounded (excess precision), which
# is half an ulp; twice that leaves room for a decision that eight samples miss.
AMPLITUDES = {"wide": (1, 2, 4, 8, 8, 4, 8, 8), "narrow": (0.5, 1, 1, 1, 1, 1, 1, 1)}
SAMPLES = 8
# The share of these amplitudes by which the largest element of a Fourier transform moves the rest.
# Errors of xpu and XLA:CPU are up to 2 ulps of that element in f32 (measured for 13 shapes of up to
# 16383 elements), and noise on the operand shows them unless the rest is zero.
LARGEST = 0.125
# How far beyond the movement of the samples a result may be: eight samples of a uniform
# distribution miss its ends, and errors of independent statements add.
_SPREAD_FACTOR = 2.0

Arrays = Sequence[np.ndarray]


@dataclasses.dataclass(frozen=True)
class Difference:
    """An output with elements that no stage accepts.

    Attributes
    ----------
    output : int
        Which output.
    what : str
        "shape", "dtype", "nan", "infinity" or "value".
    count, size : int
        How many elements differ, of how many.
    index : tuple of int
        The first of them.
    got, want : str
        Its values on the device under test and on the reference.
    detail : str
        The movement under noise and the float64 value at that index.
    """

    output: int
    what: str
    count: int = 0
    size: int = 0
    index: tuple[int, ...] = ()
    got: str = ""
    want: str = ""
    detail: str = ""

    def __str__(self) -> str:
        return (
            f"output {self.output}: {self.what}: {self.count} of {self.size} elements, first at"
            f" {list(self.index)}: got {self.got}, want {self.want}{self.detail}"
        )


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What the judge found, and how far it had to go.

    Attributes
    ----------
    differences : list of Difference
        Empty if the result is right.
    stage : int
        The last stage that was needed.
    """

    differences: list[Difference]
    stage: int


def judge(
    got: Arrays,
    want: Arrays,
    noisy: Callable[[int], Arrays],
    wide: Callable[[], Arrays],
) -> Verdict:
    """Compares the results of a program.

    Parameters
    ----------
    got, want
        Outputs of the device under test, and of the reference.
    noisy : callable
        Returns the outputs of the reference with rounding noise, for a sample's number.
    wide : callable
        Returns the outputs of the reference in float64; may raise.
    """
    for i, (one, other) in enumerate(zip(got, want, strict=True)):
        if one.shape != other.shape:
            if any(noisy(k)[i].shape != other.shape for k in range(SAMPLES)):
                return Verdict([], 2)  # the number of distinct inexact values, for example
            return Verdict([Difference(i, "shape", got=str(one.shape), want=str(other.shape))], 2)
        if one.dtype != other.dtype:
            return Verdict([Difference(i, "dtype", got=str(one.dtype), want=str(other.dtype))], 1)
    suspects = [_disagree(one, other) for one, other in zip(got, want, strict=True)]
    if not _any(suspects):
        return Verdict([], 1)
    samples = [noisy(i) for i in range(SAMPLES)]
    if any([one.shape for one in sample] != [one.shape for one in want] for sample in samples):
        # Rounding decides what a mask or a loop keeps.
        return Verdict([], 2)
    suspects = [
        mask & ~_moves(one, other, [sample[i] for sample in samples]) if mask.any() else mask
        for i, (one, other, mask) in enumerate(zip(got, want, suspects, strict=True))
    ]
    if not _any(suspects):
        return Verdict([], 2)
    try:
        exact: Arrays | None = wide()
    except Exception:  # not every program can be widened
        exact = None
    if exact is not None and [one.shape for one in exact] == [one.shape for one in want]:
        suspects = [
            mask & ~_no_worse(*arrays)
            for mask, *arrays in zip(suspects, got, want, exact, strict=True)
        ]
    else:
        exact = None
    differences = []
    for i, mask in enumerate(suspects):
        if mask.any():
            moved = [sample[i] for sample in samples]
            differences.append(
                _describe(i, mask, got[i], want[i], moved, exact[i] if exact is not None else None)
            )
    return Verdict(differences, 3)


def _any(masks: list[np.ndarray]) -> bool:
    return any(mask.any() for mask in masks)


def _widened(array: np.ndarray) -> np.ndarray:
    """Returns floats as float64, complex numbers as complex128, the rest unchanged."""
    name = short_name(array.dtype)
    if name in COMPLEX:
        return array.astype(np.complex128)
    return array.astype(np.float64) if name in FLOATS else array


def _is_inexact(array: np.ndarray) -> bool:
    return short_name(array.dtype) in FLOATS + COMPLEX


def tolerance(array: np.ndarray) -> np.ndarray:
    """Returns, by element, how far stage 1 lets another result be from it.

    The error of an element is relative to the element or to a typical magnitude of its array,
    whichever is larger: a function such as GELU at -5, or a sum inside a statement, cancels what
    is large beside its result.
    """
    name = {"c64": "f32", "c128": "f64"}.get(short_name(array.dtype), short_name(array.dtype))
    size = np.abs(_widened(array))
    scale = np.maximum(size, _typical(size))
    return ULPS[name] * scale * 2.0 ** (1 - SIGNIFICANT_BITS[name]) + _flushed(name)


def _typical(size: np.ndarray) -> float:
    """Returns a magnitude that a few huge elements do not raise."""
    known = size[np.isfinite(size) & (size > 0)]
    return float(min(known.mean(), 4.0 * np.median(known))) if known.size else 0.0


def _flushed(name: str) -> float:
    """Returns the largest result that flushing subnormals may turn into zero."""
    # Narrow types are computed in f32, in which their subnormals are normal; their own spacing
    # there is an ulp.
    return {"f32": 2.0**-126, "f64": 2.0**-1022, "f16": 2.0**-24, "bf16": 2.0**-126}.get(name, 0.0)


def _disagree(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    if not _is_inexact(got):
        return np.asarray(got != want)
    one, other = _widened(got), _widened(want)
    with np.errstate(all="ignore"):
        far = np.abs(one - other) > tolerance(want)
    if np.iscomplexobj(one):
        odd, other_odd = ~np.isfinite(one), ~np.isfinite(other)
        return (odd != other_odd) | (far & ~odd)
    finite = np.isfinite(one) & np.isfinite(other)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    return np.where(finite, far, ~same)


def _moves(got: np.ndarray, want: np.ndarray, samples: list[np.ndarray]) -> np.ndarray:
    """Returns which elements the noise moves at least as far as the result differs."""
    if not _is_inexact(got):
        return np.any([sample != want for sample in samples], axis=0)
    one, other = _widened(got), _widened(want)
    stack = np.stack([_widened(sample) for sample in samples] + [other])
    with np.errstate(all="ignore"):
        finite = np.isfinite(stack)
        unsteady = ~(finite.all(axis=0)) & (
            finite.any(axis=0)
            | (np.isnan(stack).any(axis=0) & ~np.isnan(stack).all(axis=0))
            | (stack != stack[0]).any(axis=0) & ~np.isnan(stack).all(axis=0)
        )
        spread = np.max(np.abs(stack - other), axis=0)
        near = np.abs(one - other) <= _SPREAD_FACTOR * spread + tolerance(want)
    return unsteady | (finite.all(axis=0) & np.isfinite(one) & near)


def _no_worse(got: np.ndarray, want: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Returns where the result is at least as close to the exact one as the reference."""
    if not _is_inexact(got):
        return np.asarray(got == exact.astype(got.dtype)) & (got != want)
    one, other, truth = _widened(got), _widened(want), _widened(exact)
    with np.errstate(all="ignore"):
        closer = np.abs(one - truth) <= np.abs(other - truth) + tolerance(want)
        same = (one == truth) | (np.isnan(one) & np.isnan(truth))
        # An exact value beyond the type's range is infinite in the type.
        overflows = np.isinf(one) & np.isinf(exact.astype(got.dtype))
        # The reference yields NaN where the program does not: XLA:CPU multiplies what a mask
        # excludes by zero, in convolutions with batch groups for example.
        alone = ~np.isfinite(other) & (np.abs(one - truth) <= 8 * tolerance(got))
    return closer | same | overflows | alone


def _describe(
    output: int,
    mask: np.ndarray,
    got: np.ndarray,
    want: np.ndarray,
    samples: list[np.ndarray],
    exact: np.ndarray | None,
) -> Difference:
    index = tuple(int(i) for i in np.argwhere(mask)[0]) if mask.ndim else ()
    one, other = got[index], want[index]
    what = "value"
    if _is_inexact(got):
        wide = _widened(np.asarray([one, other]))
        if np.isnan(wide[0]) != np.isnan(wide[1]):
            what = "nan"
        elif np.isinf(wide[0]) != np.isinf(wide[1]):
            what = "infinity"
        values = _widened(np.stack([sample[index] for sample in samples]))
        with np.errstate(all="ignore"):
            moved = float(np.max(np.abs(values - _widened(np.asarray(other)))))
        detail = f"; rounding noise moves it by {moved:.3g}"
    else:
        detail = "; rounding noise does not change it"
    if exact is not None:
        detail += f"; in float64 {exact[index]}"
    return Difference(output, what, int(mask.sum()), mask.size, index, str(one), str(other), detail)
