"""Meshes of eight devices of xpu and of JAX's CPU backend, and what comes out of a function on
both.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tests.jax.compare import assert_same

P = PartitionSpec
COUNT = 8
EPS = float(np.finfo(np.float32).eps)


def units(roundings: int) -> float:
    """How far two results that each come of so many roundings may be apart, in units of eps.

    A rounding is off by up to half a unit, up or down: the difference of the two has a standard
    deviation of sqrt(roundings / 6) units. These are five of them. A unit is of the largest
    element, which partial sums of random numbers seldom exceed, or of each element, where all are
    positive.
    """
    return 5 * math.sqrt(roundings / 6)


# Of sums of eight numbers in another order.
SUM = units(COUNT - 1)


def mesh(platform: str, shape: tuple[int, ...] = (COUNT,)) -> Mesh:
    names = ("x", "y", "z")[: len(shape)]
    devices = jax.devices(platform)
    assert len(devices) >= COUNT
    return Mesh(np.array(devices[: int(np.prod(shape))]).reshape(shape), names)


def values(shape, dtype=np.float32, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    if np.dtype(dtype) == np.bool_:
        return random.integers(0, 2, shape).astype(bool)
    if np.issubdtype(np.dtype(dtype), np.integer):
        return random.integers(1, 5, shape).astype(dtype)
    if np.issubdtype(np.dtype(dtype), np.complexfloating):
        return (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(dtype)
    return np.array(jnp.asarray(random.standard_normal(shape)).astype(dtype))


def agree(actual, wanted, ulps=0.0, rtol: float = 0.0) -> None:
    """Compares arrays as `assert_same` does, with `ulps` of all or of each; or by `rtol`."""
    ones, others = jax.tree.leaves(actual), jax.tree.leaves(wanted)
    for one, other, few in zip(ones, others, np.broadcast_to(ulps, len(ones)), strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        assert one.sharding.spec == other.sharding.spec
        if rtol:
            np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=rtol)
        else:
            assert_same(np.asarray(one), np.asarray(other), few)


def on_both(function, in_specs, out_specs, arrays, shape=(COUNT,), **tolerance) -> None:
    """A shard map of `function`, on a mesh of each platform."""
    results = {}
    for platform in ("xpu", "cpu"):
        grid = mesh(platform, shape)
        mapped = jax.jit(
            jax.shard_map(
                function, mesh=grid, in_specs=in_specs, out_specs=out_specs, check_vma=False
            )
        )
        placed = [
            jax.device_put(array, NamedSharding(grid, spec))
            for array, spec in zip(arrays, in_specs, strict=True)
        ]
        results[platform] = mapped(*placed)
        for leaf in jax.tree.leaves(results[platform]):
            assert {device.platform for device in leaf.devices()} == {platform}
    agree(results["xpu"], results["cpu"], **tolerance)
