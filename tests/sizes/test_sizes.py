"""Every operation at every extent from 1 to 70, compared with numpy.

`make test` runs boundary extents of every fourth operation in one dtype, half of the pairs with
each set of schedules; `make test-all` and `make sweep-sizes` run all.
"""

from __future__ import annotations

import os

import pytest

from tests.exhaustive import every, exhaustive
from tests.sizes.families import FAMILIES, boundary_cases, cases_of
from tests.sizes.packing import check


@pytest.mark.parametrize("name", every(4, FAMILIES))
def test_boundaries(xpu, name) -> None:
    # The other half is tested with the other schedules: see tests/jax/test_the_other_schedules.py.
    half = int(os.environ.get("ONEXPU_SCHEDULES") == "gpu")
    check(boundary_cases(FAMILIES[name])[half::2], xpu)


@exhaustive
@pytest.mark.parametrize(
    "name, dtype", [(name, dtype) for name, family in FAMILIES.items() for dtype in family.dtypes]
)
def test_every_extent(xpu, name, dtype) -> None:
    check(cases_of(FAMILIES[name], dtype), xpu)
