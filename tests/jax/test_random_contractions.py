"""Some of the random products and convolutions of tests/conformance/random_contractions.py."""

from __future__ import annotations

import pytest

from tests.conformance.random_contractions import draw_case, error
from tests.exhaustive import every


@pytest.mark.parametrize("seed", every(2, range(48)))
def test_contraction(xpu, cpu, seed) -> None:
    case = draw_case(seed)
    measured = error(case, seed, xpu, cpu)
    assert measured <= 1, f"{measured:.2f} tolerances: {case.text}"
