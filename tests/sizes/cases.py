"""Cases of the size sweeps: an operation, its arguments and the result that numpy computes.

A *family* is one operation whose operands have two free extents, m and n. A *case* is a family at
one pair of extents and one element type. Families register themselves with `family`.
"""

from __future__ import annotations

import collections
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

# A sweep has every extent up to this one. It exceeds four vectors of 16 work-items, two tiles of a
# transposition and the shortest row that a work-group reduces. 71 is prime: see `pairs`.
LARGEST = 70

# Extents around the sizes of vectors (8, 16), of tiles (32) and of the shortest row that a
# work-group reduces (64).
BOUNDARIES = (1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65)

# Dtypes of each width. A family is swept in two dtypes of its list and the next family with the
# same list in the next two, so that pads, slices, reductions and so on each have all of them.
MOVED = ("int8", "bfloat16", "float32", "float64", "complex64")
MOVED_TOO = ("bool", "float16", "int32", "int64")
SUMMED = ("int8", "bfloat16", "float32", "float64")
SUMMED_TOO = ("uint8", "float16", "int32", "int64", "complex64")
ORDERED = ("int8", "float16", "int32", "float64")
ORDERED_TOO = ("uint8", "bfloat16", "float32", "int64")
WIDE_FLOATS = ("float32", "float64")


@dataclass(frozen=True)
class Case:
    """One operation at one size.

    Attributes
    ----------
    function
        Takes the arguments as JAX arrays; returns an array or a tuple of arrays.
    reference
        Computes the same results from numpy arrays, in dtypes that are at least as wide.
    ulps
        Tolerance in units of the result dtype's epsilon times the result's largest magnitude. 0
        compares exactly, which requires results that are exact in every order of operations.
    donated
        Whether the first argument is donated.
    """

    function: Callable[..., Any]
    arguments: tuple[np.ndarray, ...]
    reference: Callable[..., Any]
    ulps: float = 0
    donated: bool = False
    name: str = ""


@dataclass(frozen=True)
class Family:
    """An operation with two free extents: `make(m, n, dtype)` returns its case."""

    name: str
    dtypes: tuple[str, ...]
    make: Callable[[int, int, str], Case]

    def case(self, m: int, n: int, dtype: str) -> Case:
        case = self.make(m, n, dtype)
        return Case(**{**vars(case), "name": f"{self.name}, {m} x {n}, {dtype}"})

    @property
    def seed(self) -> int:
        """Depends on the name only, so that other families do not change this one's sizes."""
        return zlib.crc32(self.name.encode())


FAMILIES: dict[str, Family] = {}
_TYPES_OF_A_FAMILY = 2
_families_with: collections.Counter[tuple[str, ...]] = collections.Counter()


def family(
    name: str, dtypes: tuple[str, ...]
) -> Callable[[Callable[[int, int, str], Case]], Callable[[int, int, str], Case]]:
    """Registers the decorated function, (m, n, dtype) -> Case, as a family with the next two of
    `dtypes`.
    """

    def register(make: Callable[[int, int, str], Case]) -> Callable[[int, int, str], Case]:
        assert name not in FAMILIES, name
        first = _TYPES_OF_A_FAMILY * _families_with[dtypes]
        _families_with[dtypes] += 1
        own = {dtypes[(first + i) % len(dtypes)]: None for i in range(_TYPES_OF_A_FAMILY)}
        FAMILIES[name] = Family(name, tuple(own), make)
        return make

    return register


def pairs(seed: int) -> Iterator[tuple[int, int]]:
    """Yields 70 pairs of extents; each of 1 to 70 occurs once as m and once as n.

    n -> k n mod 71 is a permutation of 1 to 70 for every k, and the pairs of all k are all 4900
    pairs.
    """
    k = 1 + seed % LARGEST
    for n in range(1, LARGEST + 1):
        yield n, k * n % (LARGEST + 1)


def boundary_pairs(seed: int) -> Iterator[tuple[int, int]]:
    """Yields 9 pairs of extents in which each of BOUNDARIES occurs."""
    order = np.random.default_rng(seed).permutation(BOUNDARIES).tolist()
    for i in range(0, len(order), 2):
        yield order[i], order[(i + 1) % len(order)]


def _numbers(values: np.ndarray, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    values = values.reshape(shape)
    if dtype == "complex64":
        values = values + 1j * np.flip(values)
    return values.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def distinct(shape: tuple[int, ...] | int, dtype: str, seed: int = 0) -> np.ndarray:
    """Integers that `dtype` represents exactly; all differ if the dtype has enough, and neighbours
    always do.
    """
    shape = (shape,) if isinstance(shape, int) else shape
    count = int(np.prod(shape))
    if dtype == "bool":
        return np.random.default_rng([seed, count]).integers(0, 2, shape).astype(bool)
    period = {"int8": 251, "uint8": 251, "bfloat16": 251, "float16": 2039}.get(dtype, 16777213)
    values = (np.arange(count, dtype=np.int64) * 97 + 11 + 29 * seed) % period
    return _numbers(values if dtype == "uint8" else values - period // 2, shape, dtype)


def small(shape: tuple[int, ...] | int, dtype: str, seed: int = 0) -> np.ndarray:
    """Integers of magnitude 1 to 3: no element is neutral in a sum, and sums of 85 are exact in
    every float dtype.
    """
    shape = (shape,) if isinstance(shape, int) else shape
    random = np.random.default_rng([1 + seed, *shape])
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    values = random.integers(1, 4, int(np.prod(shape)))
    return _numbers(
        values if dtype == "uint8" else values * random.choice([-1, 1], values.shape), shape, dtype
    )


def signs(shape: tuple[int, ...] | int, dtype: str, seed: int = 0) -> np.ndarray:
    """Elements of -1 and 1, whose products are exact."""
    shape = (shape,) if isinstance(shape, int) else shape
    values = np.random.default_rng([2 + seed, *shape]).choice([-1, 1], int(np.prod(shape)))
    return _numbers(values, shape, dtype)


def indices(count: int, extent: int, seed: int = 0) -> np.ndarray:
    """Unsorted int32 indices below `extent`, with duplicates."""
    return (
        np.random.default_rng([3 + seed, count, extent]).integers(0, extent, count).astype(np.int32)
    )


def wide(x: np.ndarray) -> np.ndarray:
    """Widens `x` to a dtype in which numpy's sums of it are exact."""
    if x.dtype.kind == "c":
        return x.astype(np.complex128)
    return x.astype(np.int64 if x.dtype.kind in "iub" else np.float64)
