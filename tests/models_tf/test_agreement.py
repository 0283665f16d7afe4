"""The comparison of two trainings finds what is wrong, and forgives roundings alone."""

from __future__ import annotations

import numpy as np
import pytest

from tests.models_tf import agreement

_TOLERANCE = 1e-2
_EXACT = {f"slot momentum, 0.{i}": np.linspace(-1.0, 1.0, 8) * 2.0**i for i in range(5)}


def _with_errors(*shares: float) -> dict[str, np.ndarray]:
    """Each array's largest number, wrong by a share of itself."""
    found = {}
    for share, (name, array) in zip(shares, _EXACT.items(), strict=True):
        found[name] = array.copy()
        found[name][-1] *= 1 + share
    return found


def test_errors_are_shares_of_the_largest_magnitude() -> None:
    found = agreement.errors(_with_errors(0.0, 0.5, 0.25, -0.5, 0.0), _EXACT)
    assert list(found.values()) == [0.0, 0.5, 0.25, 0.5, 0.0]


def test_what_is_nearly_zero_is_measured_by_its_kind() -> None:
    expected = {"weight, 0, kernel": np.ones(3), "weight, 1, bias": np.full(3, 1e-9)}
    actual = {"weight, 0, kernel": np.ones(3), "weight, 1, bias": np.full(3, 2e-9)}
    assert agreement.errors(actual, expected)["weight, 1, bias"] == pytest.approx(1e-7)


def test_results_are_measured_each_by_itself() -> None:
    expected = {"output, boxes": np.full(3, 64.0), "output, scores": np.full(3, 0.01)}
    actual = {"output, boxes": np.full(3, 64.0), "output, scores": np.zeros(3)}
    assert agreement.errors(actual, expected)["output, scores"] == 1.0


def test_what_storing_rounds_is_no_error() -> None:
    expected = {
        "update, 0, kernel": np.full(3, 1e-3),
        "update, 0, kernel, roundings": np.full(3, 1e-5),
    }
    actual = {
        "update, 0, kernel": np.full(3, 1.03e-3),
        "update, 0, kernel, roundings": np.full(3, 1e-5),
    }
    assert agreement.errors(actual, expected) == {"update, 0, kernel": pytest.approx(1e-2)}


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_finite_is_an_error(wrong: float) -> None:
    with pytest.raises(AssertionError, match="slot momentum, 0.2 is not finite on the device"):
        agreement.errors(_with_errors(0, 0, wrong, 0, 0), _EXACT)


def test_whole_numbers_may_differ_by_a_margin_alone() -> None:
    numbers = {
        "output, best": np.array([1, 2, 3]),
        "output, best, margin": np.array([1.0, 0.001, 2.0]),
    }
    other = {**numbers, "output, best": np.array([1, 0, 3])}
    assert agreement.errors(other, numbers) == {"output, best": 0.0005}
    with pytest.raises(AssertionError, match="count"):
        agreement.errors({"count": np.array(3)}, {"count": np.array(4)})


def test_one_array_is_wrong_where_the_cpus_are_all_exact() -> None:
    on_cpu = _with_errors(1e-3, 1e-3, 9e-3, 1e-3, 1e-3)
    assert agreement.less_exact(on_cpu, on_cpu, _EXACT, _TOLERANCE) == {}
    # Also where it is no more than twice as wrong as one of the CPU's.
    actual = _with_errors(1.1e-2, 0, 0, 0, 0)
    found = agreement.less_exact(actual, on_cpu, _EXACT, _TOLERANCE)
    assert found == {"slot momentum": pytest.approx((1.1e-2, 9e-3))}


def test_arrays_are_as_wrong_as_the_cpus_where_those_are_not_exact() -> None:
    on_cpu = _with_errors(0.1, 0.02, 0.02, 0.02, 0.02)
    as_exact = _with_errors(0.01, 0.3, 0.03, 0.03, 0.03)
    assert agreement.less_exact(as_exact, on_cpu, _EXACT, _TOLERANCE) == {}
    most = _with_errors(0.05, 0.05, 0.05, 0.0, 0.0)
    found = agreement.less_exact(most, on_cpu, _EXACT, _TOLERANCE)
    assert found == {"slot momentum": pytest.approx((0.05, 0.02))}
    one = _with_errors(0.0, 0.0, 0.0, 0.0, 0.5)
    found = agreement.less_exact(one, on_cpu, _EXACT, _TOLERANCE)
    assert found == {"slot momentum": pytest.approx((0.5, 0.1))}


def test_an_array_that_is_lost_is_wrong_however_wrong_the_cpus_is() -> None:
    on_cpu = {name: 0.7 * array for name, array in _EXACT.items()}
    assert agreement.less_exact(on_cpu, on_cpu, _EXACT, _TOLERANCE) == {}
    actual = {**on_cpu, "slot momentum, 0.3": np.zeros(8)}
    found = agreement.less_exact(actual, on_cpu, _EXACT, _TOLERANCE)
    assert found == {"slot momentum, 0.3": pytest.approx((1.0, 0.3))}
