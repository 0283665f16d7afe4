"""How far two records of one training are apart."""

from __future__ import annotations

import collections

import numpy as np

# Of the largest magnitude of each array: a sum of terms of both signs is as exact as its terms, not
# as its result, so an element's own magnitude says nothing about its rounding error. bfloat16 has 8
# bits (a rounding error of 4e-3) and float16 has 11 where float32 has 24.
TOLERANCES = {"float32": 1e-4, "mixed_bfloat16": 2e-2, "mixed_float16": 2e-2}
# Times the tolerance: a gradient has gone through the roundings of the way there and of the way
# back, and where a program does not keep them in float32, of what lies between its ops. What a step
# adds to a weight is, of most optimisers, a gradient's quotient with its size. The largest errors
# are chance: of eight initial values of the detector, in bfloat16 as a graph, XPU's were 1.3e-2 to
# 4.6e-2 and the CPU's 1.3e-2 to 8.4e-2; of the transformer, 3.0e-2 to 4.6e-2 and 3.2e-2 to 5.9e-2.
# The first value, which is tested, has 5.9e-2 where the CPU has 3.1e-2, and 5.0e-2 where it has
# 3.9e-2.
GRADIENTS = {"jit": 2, "graph": 3, "eager": 3}
UPDATES = 3


# What is zero in exact arithmetic, such as the gradient of a bias before a batch normalisation or
# of an attention's bias of keys, is rounding errors of terms as large as other arrays of its kind.
# It is measured by a hundredth of the largest of these.
_SHARE = 1e-2
_KINDS = ("weight", "update", "slot", "scaling")
_MARGIN = ", margin"
ROUNDINGS = ", roundings"


def _kind(name: str) -> str:
    """What stands before the first comma; of a result its name, for what one is says nothing of
    another's magnitude.
    """
    return name.partition(",")[0] if name.startswith(_KINDS) else name


def _magnitude(array: np.ndarray) -> float:
    return float(np.abs(array.astype(np.float64)).max(initial=0.0))


def _floors(expected: dict[str, np.ndarray]) -> dict[str, float]:
    """The least that arrays of a kind are measured with."""
    largest: dict[str, float] = {}
    for name, e in expected.items():
        if e.dtype.kind not in "biu":
            assert np.isfinite(e.astype(np.float64)).all(), f"{name} is not finite on the CPU"
            largest[_kind(name)] = max(largest.get(_kind(name), 0.0), _magnitude(e))
    return {kind: _SHARE * magnitude for kind, magnitude in largest.items()}


def errors(
    actual: dict[str, np.ndarray], expected: dict[str, np.ndarray], in_one_precision: bool = True
) -> dict[str, float]:
    """Returns the largest difference in each array of floats, over the array's largest magnitude.

    Names of variables, and of what is kept or computed for each, begin with the kind of the array,
    up to a comma. Whole numbers NAME that are the best of some scores come with an array "NAME,
    margin" of how much better than the second best they are: a rounding error decides between equal
    scores. Their error is the largest margin where they differ, over the largest of all; the
    margins are no result. Floats NAME that come with "NAME, roundings" may be as far from what they
    are in exact arithmetic, on either device: so far is no difference.

    Raises
    ------
    AssertionError
        Where names, shapes, types or other whole numbers differ, and where a number is not finite.
    """
    assert actual.keys() == expected.keys()
    floors = _floors(expected)
    found = {}
    for name, e in expected.items():
        if name.endswith((_MARGIN, ROUNDINGS)):
            continue
        a = actual[name]
        assert a.shape == e.shape, name
        assert a.dtype == e.dtype or not in_one_precision, name
        if e.dtype.kind in "biu":
            margin = expected.get(f"{name}{_MARGIN}")
            if margin is None:
                np.testing.assert_array_equal(a, e, err_msg=name)
            else:
                found[name] = _magnitude(margin[a != e]) / _magnitude(margin)
            continue
        # A NaN is no error that a comparison would find.
        assert np.isfinite(a.astype(np.float64)).all(), f"{name} is not finite on the device"
        difference = np.abs(a.astype(np.float64) - e.astype(np.float64))
        if (roundings := f"{name}{ROUNDINGS}") in expected:
            difference = np.maximum(difference - actual[roundings] - expected[roundings], 0.0)
        difference = _magnitude(difference)
        scale = max(_magnitude(e), floors[_kind(name)])
        found[name] = difference / scale if scale else float(np.sign(difference))
    return found


# How many times the CPU's error the device's may be where the CPU's is above the tolerance, which
# roundings a compiler makes being chance: as the median over arrays, and as the largest, which is
# that of one array, or one number.
_CHANCE = 2.0
_CHANCE_OF_ONE = 4.0


def _distance(a: np.ndarray, e: np.ndarray, floor: float) -> float:
    """Euclidean, over the size of `e`."""
    a, e = a.astype(np.float64), e.astype(np.float64)
    size = max(np.linalg.norm(e), np.sqrt(e.size) * floor)
    return float(np.linalg.norm(a - e) / size) if size else float((a != e).any())


def less_exact(
    actual: dict[str, np.ndarray],
    cpu: dict[str, np.ndarray],
    exact: dict[str, np.ndarray],
    tolerance: float,
) -> dict[str, tuple[float, float]]:
    """Returns the kinds, or the arrays, in which the device is less exact than the CPU, and both
    errors.

    For numbers that no device keeps within the tolerance of the same training in a more exact
    precision, `exact`. Each batch normalisation of a network that has just been initialised makes a
    gradient larger (Yang et al. 2019, arXiv:1902.08129), and its roundings with it: at full depth
    the CPU's float32 is percents away from its float64 after three steps, and half precision's
    gradients are tens of percents away at any.

    Of a kind in which all of the CPU's arrays are within the tolerance, all of the device's have to
    be, and the errors are the largest. Of another kind the median over arrays may be no more than
    twice the CPU's, nor the largest four times. Those are errors of single numbers, which are large
    where a rounding decides on which side of a kink one is. As a whole, each array is to be nearer
    to the exact one than halfway from the CPU's to zeros, in the Euclidean norm.
    """
    floors = _floors(exact)
    of_kind: dict[str, list[tuple[float, float]]] = collections.defaultdict(list)
    device, host = (errors(x, exact, in_one_precision=False) for x in (actual, cpu))
    found = {}
    for name, error in device.items():
        of_kind[_kind(name)].append((error, host[name]))
        if exact[name].dtype.kind not in "biu":
            distance, of_cpu = (
                _distance(x[name], exact[name], floors[_kind(name)]) for x in (actual, cpu)
            )
            if not distance <= (1 + of_cpu) / 2:
                found[name] = (distance, of_cpu)
    for kind, pairs in of_kind.items():
        largest, median = np.max(pairs, axis=0), np.median(pairs, axis=0)
        compared = [(largest, 1.0)]
        if largest[1] > tolerance:
            compared = [(median, _CHANCE), (largest, _CHANCE_OF_ONE)]
        for (error, on_cpu), chance in compared:
            if not error <= max(tolerance, chance * on_cpu):
                found[kind] = (float(error), float(on_cpu))
    return found
