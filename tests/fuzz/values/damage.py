"""Damages one element of a result, as a faulty kernel would: the check of the judge."""

from __future__ import annotations

import random

import numpy as np

from tests.fuzz.values.inputs import COMPLEX, FLOATS, short_name

# By how much a float is off. Narrow types have two to three digits.
_RELATIVE = {"f8e4m3fn": 0.5, "f8e5m2": 0.5, "f16": 0.05, "bf16": 0.1}


def damage(results: list[np.ndarray], rng: random.Random) -> tuple[list[np.ndarray], str] | None:
    """Returns a copy with one element changed, and what was done; None if nothing can be.

    An element becomes zero, its neighbour, off by one (integers), or off by 1 % (f32, f64; more in
    narrower types). The change is one that a person would call wrong: the value of a float moves
    by at least 0.1 % (5 % in types of 16 bits).
    """
    candidates = [i for i, one in enumerate(results) if one.size]
    for _ in range(20):
        if not candidates:
            return None
        output = rng.choice(candidates)
        array = results[output].copy()
        at = rng.randrange(array.size)
        flat = array.reshape(-1)
        old = flat[at].copy()
        how = rng.choice(("zero", "neighbour", "off"))
        name = short_name(array.dtype)
        if how == "zero":
            flat[at] = 0
        elif how == "neighbour":
            flat[at] = flat[(at + 1) % array.size]
        elif array.dtype == np.bool_:
            flat[at] = ~old
        elif name in FLOATS or name in COMPLEX:
            flat[at] = old * array.dtype.type(1 + _RELATIVE.get(name, 0.01))
        else:
            flat[at] = old ^ array.dtype.type(1)
        if _differs(old, flat[at], name):
            changed = list(results)
            changed[output] = array
            return changed, f"output {output}, element {at}: {how}: {old} to {flat[at]}"
    return None


def _differs(old: np.generic, new: np.generic, name: str) -> bool:
    if name not in FLOATS and name not in COMPLEX:
        return bool(old != new)
    wide = np.complex128 if name in COMPLEX else np.float64
    one, other = wide(old), wide(new)
    if np.isnan(one) or np.isnan(other):
        return bool(np.isnan(one) != np.isnan(other))
    if not (np.isfinite(one) and np.isfinite(other)):
        return bool(np.isfinite(one) != np.isfinite(other))
    return bool(abs(one - other) > max(_RELATIVE.get(name, 0.01) / 10, 1e-3) * abs(one) + 1e-6)
