"""Pads, also negative and interior ones, of types narrower than a byte, which take a byte here.

The reference is the same pad of int32: XLA:CPU corrupts its heap on some programs of these types.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

_PADDINGS = [
    ((0, -1, 0), (1, 0, 0)),
    ((-1, 2, 0), (0, -2, 1)),
    ((2, -3, 1), (-1, -1, 0)),
    ((-1, -1, 0), (-2, 0, 0)),
]


@pytest.mark.parametrize("dtype", ["int2", "uint2", "int4", "uint4", "float4_e2m1fn", "int8"])
def test_pads(xpu, dtype: str) -> None:
    x = np.arange(20).reshape(4, 5) % 2

    def pads(x):
        one = jnp.ones((), x.dtype)
        return [lax.pad(x + one - one, one, padding) for padding in _PADDINGS]

    operand = jax.device_put(jnp.asarray(x).astype(dtype), xpu)
    expected = jax.jit(pads)(jax.device_put(x.astype(np.int32), xpu))
    for result, wanted in zip(jax.jit(pads)(operand), expected, strict=True):
        np.testing.assert_array_equal(np.asarray(result).astype(np.int32), wanted)
