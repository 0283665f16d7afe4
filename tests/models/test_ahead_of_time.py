"""Every model compiles for GPUs that are not there."""

from __future__ import annotations

import jax
import pytest
from jax.experimental import topologies

from tests.models.compiled import PROGRAMS


@pytest.mark.parametrize("target", ["pvc", "dg2"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_model_compiles_for_an_absent_gpu(name, target) -> None:
    topology = topologies.get_topology_desc(target, "xpu")
    sharding = jax.sharding.SingleDeviceSharding(topology.devices[0])
    program = PROGRAMS[name]
    shapes = jax.tree.map(
        lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=sharding), program.arguments()
    )
    compiled = jax.jit(program.function, donate_argnums=program.donated).lower(*shapes).compile()
    assert compiled.memory_analysis().generated_code_size_in_bytes > 0
