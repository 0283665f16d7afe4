"""Modules with bounded dynamic dimensions (StableHLO's `set_dimension_size`): elements beyond the
size must not take part in any result."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax._src import compiler, xla_bridge
from jax._src.interpreters import mlir
from jax._src.lib import xla_client

N = 5


def run(module: str, *arguments: np.ndarray) -> list[np.ndarray]:
    """Compiles a StableHLO module for the device and runs it once."""
    backend = xla_bridge.get_backend("xpu")
    device = backend.local_devices()[0]
    options = compiler.get_compile_options(num_replicas=1, num_partitions=1, backend=backend)
    with mlir.make_ir_context():
        executable = backend.compile_and_load(
            mlir.ir.Module.parse(module), xla_client.DeviceList((device,)), options
        )
    buffers = [jax.device_put(argument, device) for argument in arguments]
    results = executable.execute_sharded(buffers).disassemble_into_single_device_arrays()
    return [np.asarray(result[0]) for result in results]


SCATTER = """
func.func @main(%i: {source}, %u: tensor<5xf32>, %n: tensor<i32>) -> tensor<5xf32> {{
  %zeros = stablehlo.constant dense<0.0> : tensor<5xf32>
  %indices = "stablehlo.set_dimension_size"(%i, %n) <{{dimension = 0 : i64}}>
      : ({source}, tensor<i32>) -> {indices}
  %updates = "stablehlo.set_dimension_size"(%u, %n) <{{dimension = 0 : i64}}>
      : (tensor<5xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<5>>
  %r = "stablehlo.scatter"(%zeros, %indices, %updates) <{{
      scatter_dimension_numbers = #stablehlo.scatter<
        inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }}) : (tensor<5xf32>, {indices}, tensor<?xf32, #stablehlo.bounds<5>>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}}
"""


@pytest.mark.parametrize("size", range(N + 1))
@pytest.mark.parametrize("is_vector", [True, False])
def test_scatter(is_vector: bool, size: int) -> None:
    """ScatterSimplifier writes indices of rank 1 as a column, which must not hide their size."""
    if is_vector:
        module = SCATTER.format(
            source="tensor<5xi32>", indices="tensor<?xi32, #stablehlo.bounds<5>>"
        )
    else:
        module = SCATTER.format(
            source="tensor<5x1xi32>", indices="tensor<?x1xi32, #stablehlo.bounds<5, ?>>"
        )
    indices = np.array([0, 2, 4, 1, 2], np.int32)
    updates = np.arange(1.0, 6.0, dtype=np.float32)
    expected = np.zeros(N, np.float32)
    np.add.at(expected, indices[:size], updates[:size])
    (result,) = run(
        module, indices.reshape([N] if is_vector else [N, 1]), updates, np.array(size, np.int32)
    )
    np.testing.assert_array_equal(result, expected)
