"""All families, by name."""

from __future__ import annotations

from tests.sizes import indexing, movement, products, reductions, rows  # noqa: F401  (registers)
from tests.sizes.cases import FAMILIES, Case, Family, boundary_pairs, pairs

__all__ = ["FAMILIES", "boundary_cases", "cases_of"]


def cases_of(family: Family, dtype: str) -> list[Case]:
    """70 pairs with every extent from 1 to 70 on both sides; the pairs differ between families and
    dtypes.
    """
    seed = family.seed + family.dtypes.index(dtype)
    return [family.case(m, n, dtype) for m, n in pairs(seed)]


def boundary_cases(family: Family) -> list[Case]:
    """Pairs of boundary extents in one dtype of the family."""
    dtype = family.dtypes[family.seed % len(family.dtypes)]
    return [family.case(m, n, dtype) for m, n in boundary_pairs(family.seed)]
