"""How far two records of one training are apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# Of the largest magnitude of each array: a sum of terms of both signs is as exact as its terms, not as its result, so
# an element's own magnitude says nothing about its rounding error. bfloat16 has 8 bits (a rounding error of 4e-3) and
# float16 has 11 where float32 has 24.
TOLERANCES = {"float32": 1e-4, "mixed_bfloat16": 2e-2, "mixed_float16": 2e-2}


# What is zero in exact arithmetic, such as the gradient of a bias before a batch normalisation or of an attention's
# bias of keys, is rounding errors of terms as large as other arrays of its kind. It is measured by a hundredth of the
# largest of these.
_SHARE = 1e-2


def _kind(name: str) -> str:
    return name.partition(",")[0]


def _magnitude(array: np.ndarray) -> float:
    return float(np.abs(array.astype(np.float64)).max(initial=0.0))


def errors(actual: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> dict[str, float]:
    """Returns the largest difference in each array of floats, over the array's largest magnitude.

    Of whole numbers, the share that differ. Names begin with the kind of the array, up to a comma.

    Raises
    ------
    AssertionError
        Where names, shapes or types differ, and where a number is not finite.
    """
    assert actual.keys() == expected.keys()
    largest: dict[str, float] = {}
    for name, e in expected.items():
        if e.dtype.kind not in "biu":
            assert np.isfinite(e.astype(np.float64)).all(), f"{name} is not finite on the CPU"
            largest[_kind(name)] = max(largest.get(_kind(name), 0.0), _magnitude(e))
    found = {}
    for name, e in expected.items():
        a = actual[name]
        assert (a.shape, a.dtype) == (e.shape, e.dtype), name
        if e.dtype.kind in "biu":
            found[name] = float(np.mean(a != e)) if e.size else 0.0
            continue
        # A NaN is no error that a comparison would find.
        assert np.isfinite(a.astype(np.float64)).all(), f"{name} is not finite on the device"
        difference = _magnitude(a.astype(np.float64) - e.astype(np.float64))
        scale = max(_magnitude(e), _SHARE * largest[_kind(name)])
        found[name] = difference / scale if scale else float(np.sign(difference))
    return found


# How much further from the exact numbers than the CPU's the device's may be, where the CPU's are further from them than
# the tolerance. A ResNet-50 that has just been initialised makes 3 % of float32's roundings in a single backward pass,
# on the CPU alone; after three steps hardly a digit is left, and which ones is chance.
_CHANCE = 3.0


def disagreements(
    actual: dict[str, np.ndarray],
    expected: dict[str, np.ndarray],
    exact: Callable[[], dict[str, np.ndarray]],
    tolerance: float,
) -> dict[str, str]:
    """Returns what is further from the CPU's numbers than `tolerance`, and worse than these are.

    Parameters
    ----------
    actual, expected : dict
        The device's numbers, and the CPU's in the same precision.
    exact : callable
        The CPU's in the next higher precision. It is asked when something is not within the tolerance.
    tolerance : float
        For `errors`.
    """
    apart = {name: error for name, error in errors(actual, expected).items() if not error <= tolerance}
    if not apart:
        return {}
    best = {name: array.astype(expected[name].dtype) for name, array in exact().items() if name in expected}
    ours, own = errors(actual, best), errors(expected, best)
    # Where outputs are chance, so is how many of a batch are right.
    if any(error > tolerance for name, error in own.items() if _kind(name) == "output"):
        apart = {name: error for name, error in apart.items() if not name.endswith("accuracy")}
    return {
        name: f"{error:.1e} from the CPU's, {ours[name]:.1e} from exact ones; the CPU's {own[name]:.1e}"
        for name, error in apart.items()
        if not ours[name] <= max(tolerance, _CHANCE * own[name])
    }
