"""Loops whose counter wraps run until their condition fails, not as often as without wrapping."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax import lax

# By type: start, condition, step.
_LOOPS = {
    "uint8 below 250": ("uint8", 0, lambda i: i < 250, 100),
    "int8 at most 120": ("int8", 0, lambda i: i <= 120, 50),
    "int8 not positive": ("int8", 0, lambda i: i <= 0, -50),
    "uint16 above": ("uint16", 9, lambda i: i > 3, -4),
    "int8 not negative": ("int8", 0, lambda i: i >= 0, 50),
    "int32 not negative": ("int32", 0, lambda i: i >= 0, 2**30),
    # Without wrapping, these would run once or never.
    "uint8 once": ("uint8", 200, lambda i: i < 250, 100),
    "int8 once": ("int8", 90, lambda i: i < 120, 60),
    "uint32 down": ("uint32", 1, lambda i: i <= 1, -1),
    "int64 once": ("int64", 2**62, lambda i: i < 2**62 + 5, 2**62 + 7),
    "once": ("int32", 5, lambda i: i < 7, 7),
    "never": ("uint8", 5, lambda i: i < 5, 7),
    "no wrapping": ("int32", 0, lambda i: i < 1000, 7),
    "down": ("int16", 100, lambda i: i >= -100, -9),
}


@pytest.mark.parametrize("size", [3, 300_000])
@pytest.mark.parametrize("name", _LOOPS)
def test_trips(xpu, name: str, size: int) -> None:
    dtype, start, condition, step = _LOOPS[name]
    with np.errstate(over="ignore"):
        i, trips = np.array(start, dtype)[()], 0
        while condition(i):
            i, trips = (np.array([i]) + np.array([step]).astype(dtype)).astype(dtype)[0], trips + 1

    def loop(x):
        return lax.while_loop(
            lambda state: condition(state[0]),
            lambda state: (state[0] + np.array(step).astype(dtype), state[1] + 1),
            (np.array(start, dtype), x),
        )

    counter, x = jax.jit(loop)(jax.device_put(np.zeros(size, np.float32), xpu))
    assert int(counter) == int(i)
    np.testing.assert_array_equal(x, np.full(size, trips, np.float32))
