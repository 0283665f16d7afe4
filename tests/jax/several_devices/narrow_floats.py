"""Floats of 4 and 8 bits, and narrow integers, in programs of several devices."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import NamedSharding

from tests.jax.several_devices.meshes import COUNT, P, mesh

FLOATS = [
    "float8_e4m3fn", "float8_e5m2", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fnuz",
    "float8_e5m2fnuz", "float8_e3m4", "float8_e8m0fnu", "float4_e2m1fn",
]  # fmt: skip
INTEGERS = ["int4", "uint4", "int2", "uint2"]
# A value of every type. So are the sums of up to eight, except in e8m0, which holds powers of two
# only, and in e2m1.
ONE = np.ones((COUNT, COUNT), np.float32)


def _run(function, x, result_spec):
    grid = mesh("xpu")
    mapped = jax.shard_map(
        function, mesh=grid, in_specs=P("x"), out_specs=result_spec, check_vma=False
    )
    result = jax.jit(mapped)(jax.device_put(x, NamedSharding(grid, P("x"))))
    assert {device.platform for device in result.devices()} == {"xpu"}
    return np.asarray(result.astype(jnp.float32))


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_collectives(dtype: str) -> None:
    x = jnp.asarray(ONE).astype(dtype)
    assert _run(lambda x: lax.pmax(x, "x"), x, P()).tolist() == ONE[:1].tolist()
    gathered = _run(lambda x: lax.all_gather(x, "x", tiled=True), x, P())
    np.testing.assert_array_equal(gathered, ONE)
    ring = [(i, (i + 1) % COUNT) for i in range(COUNT)]
    np.testing.assert_array_equal(_run(lambda x: lax.ppermute(x, "x", ring), x, P("x")), ONE)
    swapped = _run(lambda x: lax.all_to_all(x, "x", 1, 1, tiled=True), x, P("x"))
    np.testing.assert_array_equal(swapped, ONE)


@pytest.mark.parametrize("dtype", FLOATS[:-2])
def test_sums(dtype: str) -> None:
    x = jnp.asarray(ONE).astype(dtype)
    assert _run(lambda x: lax.psum(x, "x"), x, P()).tolist() == (COUNT * ONE[:1]).tolist()


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_constraints_and_operands(dtype: str) -> None:
    grid = mesh("xpu")
    rows = NamedSharding(grid, P("x"))
    x = jax.device_put(jnp.asarray(ONE), rows)

    @jax.jit
    def quantise(x):
        return lax.with_sharding_constraint(x.astype(dtype), rows).astype(jnp.float32)

    np.testing.assert_array_equal(np.asarray(quantise(x)), ONE)
    widen = jax.shard_map(
        lambda x: x.astype(jnp.float32), mesh=grid, in_specs=P("x"), out_specs=P("x")
    )
    placed = jax.device_put(jnp.asarray(ONE).astype(dtype), rows)
    np.testing.assert_array_equal(np.asarray(jax.jit(widen)(placed)), ONE)
