"""Several GPUs: whose memory is resident where, and how data goes from one to another."""

from __future__ import annotations

import pytest

from tests.exhaustive import every
from tests.level_zero.lab import Lab

_MIB = 1 << 20
_PEERS = {"ONEXPU_SHIM_PEERS": "1"}
# One device of each adapter version.
_DEVICES = every(2, ("dg2", "bmg"))

_ONE_ARRAY = """
import jax, jax.numpy as jnp
assert len(jax.devices()) == 2
jax.device_put(jnp.zeros(20 << 20, jnp.uint8), jax.devices()[0]).block_until_ready()
"""

_COPY = """
import jax, jax.numpy as jnp
one, two = jax.devices()
x = jax.device_put(jnp.zeros(20 << 20, jnp.uint8), one)
jax.device_put(x, two).block_until_ready()
jax.device_put(jnp.zeros((), jnp.uint8, device=one), two).block_until_ready()
jax.device_put(jnp.zeros((0, 3), jnp.uint8, device=one), two).block_until_ready()
pinned = jax.sharding.SingleDeviceSharding(two, memory_kind="pinned_host")
jax.device_put(x, pinned).block_until_ready()
"""

_COLLECTIVES = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P
devices = jax.devices()
n = len(devices)
mesh = jax.sharding.Mesh(np.array(devices), ("d",))
rows = NamedSharding(mesh, P("d"))
x = jax.device_put(np.ones((4 * n * n, 512 * n), np.float32), rows)

def run(f, out=P("d")):
    program = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("d"), out_specs=out, check_vma=False))
    for _ in range(3):
        program(x).block_until_ready()

ring = [(i, (i + 1) % n) for i in range(n)]
run(lambda v: v + jax.lax.axis_index("d"))
run(lambda v: jax.lax.psum(v, "d"), P())
run(lambda v: jax.lax.all_gather(v, "d", tiled=True), P())
run(lambda v: jax.lax.psum_scatter(v, "d", tiled=True))
run(lambda v: jax.lax.all_to_all(v, "d", 1, 0, tiled=True))
run(lambda v: jax.lax.ppermute(v, "d", ring))
run(lambda v: jax.lax.ppermute(v, "d", ring[:1]))
jax.device_put(x, NamedSharding(mesh, P(None, "d"))).block_until_ready()
step = jax.jit(jax.grad(lambda w, x: jnp.tanh(x @ w).sum()), in_shardings=(None, rows))
step(jnp.ones((512 * n, 16)), x).block_until_ready()
print("done", n)
"""


@pytest.mark.parametrize("device", _DEVICES)
def test_memory_is_resident_on_its_own_device_alone(lab: Lab, device: str) -> None:
    run = lab.run(device, _ONE_ARRAY, roots=2, env=_PEERS).check()
    # The check of copies has smaller arrays, and a context of both devices for a moment.
    resident = [one for one in run.of("resident") if one["size"] >= 20 * _MIB]
    assert {one["device"] for one in resident} == {0}


@pytest.mark.parametrize("device", _DEVICES)
def test_copies_are_staged_and_overlap(lab: Lab, device: str) -> None:
    run = lab.run(device, _COPY, roots=2).check()
    assert not run.failed_calls()
    chunks = [one["size"] // _MIB for one in run.of("copy") if one["size"] >= 4 * _MIB]
    # To the host and from there, once for the device's memory and once for pinned memory.
    assert sorted(chunks) == [4] * 4 + [8] * 8


def test_copies_are_tried_if_the_driver_reports_peer_access(lab: Lab) -> None:
    # Nothing arrives in the lab, so data is staged, without an error.
    checks = {}
    for choice in ("auto", "never"):
        env = {**_PEERS, "ONEXPU_PEER_COPIES": choice}
        run = lab.run("dg2", _COPY, roots=2, env=env).check()
        checks[choice] = len([one for one in run.of("copy") if one["size"] == _MIB])
        assert [one for one in run.of("copy") if one["size"] == 8 * _MIB]
    assert checks["never"] == 0 < checks["auto"]


@pytest.mark.parametrize("device", _DEVICES)
def test_peers_copy_directly_once_a_copy_has_arrived(lab: Lab, device: str) -> None:
    run = lab.run(device, _COPY, roots=2, env={"ONEXPU_SHIM_PEERS": "2"}).check()
    assert not run.failed_calls()
    # To the device's memory, and to pinned memory.
    assert [one["size"] for one in run.of("copy") if one["size"] > _MIB] == [20 * _MIB] * 2
    # One context: what a peer copies from has to be resident there.
    resident = [one for one in run.of("resident") if one["size"] >= 20 * _MIB]
    assert {one["device"] for one in resident} == {0, 1}


def test_collectives_of_peers(lab: Lab) -> None:
    run = lab.run("dg2", _COLLECTIVES, roots=2, env={"ONEXPU_SHIM_PEERS": "2"}).check()
    assert "done 2" in run.stdout
    assert not run.failed_calls()


@pytest.mark.parametrize(
    ("device", "roots"), every(3, (("pvc", 3), ("dg2", 2), ("bmg", 2)), unpack=True)
)
def test_collectives(lab: Lab, device: str, roots: int) -> None:
    run = lab.run(device, _COLLECTIVES, roots=roots, env=_PEERS).check()
    assert f"done {roots}" in run.stdout
    assert not run.failed_calls()


@pytest.mark.parametrize("hierarchy", every(2, ("FLAT", "COMPOSITE", "COMBINED")))
def test_tiles(lab: Lab, hierarchy: str) -> None:
    env = {"ZE_FLAT_DEVICE_HIERARCHY": hierarchy}
    run = lab.run("pvc", _COLLECTIVES, tiles=2, env=env).check()
    assert "done 2" in run.stdout
