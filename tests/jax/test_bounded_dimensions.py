"""Modules with bounded dynamic dimensions (StableHLO's `set_dimension_size`): elements beyond the
size must not take part in any result."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax._src import compiler, xla_bridge
from jax._src.interpreters import mlir
from jax._src.lib import xla_client

from tests.exhaustive import covering

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


# Instructions on `%x`, five rows of two numbers of which `%n` are real. Each gives `%y`, and numpy
# says what that is.
B = "tensor<?x2xf32, #stablehlo.bounds<{}, ?>>"
ROWS = B.format(5)
INSTRUCTIONS = {
    "running sum": (
        """%z = stablehlo.constant dense<0.0> : tensor<f32>
        %y = "stablehlo.reduce_window"(%x, %z) <{
            padding = dense<[[4, 0], [0, 0]]> : tensor<2x2xi64>,
            window_dimensions = array<i64: 5, 1>}> ({
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %s = stablehlo.add %a, %b : tensor<f32>
            stablehlo.return %s : tensor<f32>
        }) : (X, tensor<f32>) -> Y""",
        ROWS,
        lambda x: np.cumsum(x, 0),
    ),
    "sum of neighbours": (
        """%z = stablehlo.constant dense<0.0> : tensor<f32>
        %y = "stablehlo.reduce_window"(%x, %z) <{
            window_strides = array<i64: 2, 1>, window_dimensions = array<i64: 2, 1>}> ({
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %s = stablehlo.add %a, %b : tensor<f32>
            stablehlo.return %s : tensor<f32>
        }) : (X, tensor<f32>) -> Y""",
        B.format(2),
        lambda x: x[: len(x) // 2 * 2].reshape(-1, 2, 2).sum(1),
    ),
    "slice from the third": (
        "%y = stablehlo.slice %x [2:5, 0:2] : (X) -> Y",
        B.format(3),
        lambda x: x[2:],
    ),
    "slice of the first two": (
        "%y = stablehlo.slice %x [0:2, 0:2] : (X) -> Y",
        B.format(2),
        lambda x: x[:2],
    ),
    "slice with a stride": (
        "%y = stablehlo.slice %x [1:5:2, 0:2] : (X) -> Y",
        B.format(2),
        lambda x: x[1::2],
    ),
    "pad": (
        """%z = stablehlo.constant dense<7.0> : tensor<f32>
        %y = stablehlo.pad %x, %z, low = [1, 0], high = [1, 0], interior = [1, 0]
            : (X, tensor<f32>) -> Y""",
        B.format(11),
        lambda x: np.pad(
            np.insert(x, np.arange(1, len(x)), 7.0, 0), ((1, 1), (0, 0)), constant_values=7.0
        ),
    ),
    "negative pad": (
        """%z = stablehlo.constant dense<7.0> : tensor<f32>
        %y = stablehlo.pad %x, %z, low = [-1, 0], high = [-1, 0], interior = [0, 0]
            : (X, tensor<f32>) -> Y""",
        B.format(3),
        lambda x: x[1:-1],
    ),
    "reverse": (
        "%y = stablehlo.reverse %x, dims = [0] : Y",
        ROWS,
        lambda x: x[::-1],
    ),
    "concatenation": (
        "%y = stablehlo.concatenate %x, %x, dim = 0 : (X, X) -> Y",
        B.format(10),
        lambda x: np.concatenate([x, x]),
    ),
    "Fourier transform of each row": (
        """%c = stablehlo.complex %x, %x : tensor<?x2xcomplex<f32>, #stablehlo.bounds<5, ?>>
        %f = stablehlo.fft %c, type = FFT, length = [2]
            : (tensor<?x2xcomplex<f32>, #stablehlo.bounds<5, ?>>)
            -> tensor<?x2xcomplex<f32>, #stablehlo.bounds<5, ?>>
        %y = stablehlo.real %f : (tensor<?x2xcomplex<f32>, #stablehlo.bounds<5, ?>>) -> Y""",
        ROWS,
        lambda x: np.fft.fft(x + 1j * x, axis=1).real if len(x) else x,
    ),
}


def weighted_sum(x: np.ndarray) -> float:
    """Differs if rows are missing, in another order, or too many."""
    return float((x * np.arange(1, len(x) + 1)[:, None]).sum())


@covering(size=range(N + 1), name=INSTRUCTIONS)
def test_values_and_size(name: str, size: int) -> None:
    body, result, function = INSTRUCTIONS[name]
    bound = int(result.split("<")[-1].split(",")[0])
    text = f"""
    func.func @main(%p: tensor<5x2xf32>, %n: tensor<i32>) -> (tensor<f32>, tensor<i32>) {{
      %x = "stablehlo.set_dimension_size"(%p, %n) <{{dimension = 0 : i64}}>
          : (tensor<5x2xf32>, tensor<i32>) -> X
      {body}
      %count = "stablehlo.get_dimension_size"(%y) <{{dimension = 0 : i64}}> : (Y) -> tensor<i32>
      %i = stablehlo.iota dim = 0 : tensor<{bound}x2xf32>
      %one = stablehlo.constant dense<1.0> : tensor<{bound}x2xf32>
      %from1 = stablehlo.add %i, %one : tensor<{bound}x2xf32>
      %weights = "stablehlo.set_dimension_size"(%from1, %count) <{{dimension = 0 : i64}}>
          : (tensor<{bound}x2xf32>, tensor<i32>) -> Y
      %weighted = stablehlo.multiply %y, %weights : Y
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %sum = stablehlo.reduce(%weighted init: %zero)
          applies stablehlo.add across dimensions = [0, 1] : (Y, tensor<f32>) -> tensor<f32>
      return %sum, %count : tensor<f32>, tensor<i32>
    }}
    """.replace("X", ROWS).replace("Y", result)
    x = np.arange(3.0, 13.0, dtype=np.float32).reshape(5, 2)
    total, count = run(text, x, np.array(size, np.int32))
    expected = function(x[:size])
    assert int(count) == len(expected)
    np.testing.assert_allclose(total, weighted_sum(expected), rtol=1e-6)


def test_a_transform_along_a_bounded_dimension_is_rejected() -> None:
    x = "tensor<2x?xcomplex<f32>, #stablehlo.bounds<?, 5>>"
    module = f"""
    func.func @main(%p: tensor<2x5xcomplex<f32>>, %n: tensor<i32>) -> tensor<complex<f32>> {{
      %x = "stablehlo.set_dimension_size"(%p, %n) <{{dimension = 1 : i64}}>
          : (tensor<2x5xcomplex<f32>>, tensor<i32>) -> {x}
      %y = stablehlo.fft %x, type = FFT, length = [5] : ({x}) -> {x}
      %zero = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
      %sum = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1]
          : ({x}, tensor<complex<f32>>) -> tensor<complex<f32>>
      return %sum : tensor<complex<f32>>
    }}
    """
    with pytest.raises(Exception, match=r"UNIMPLEMENTED.*c64\[2,<=5\].*pad to a known size"):
        run(module, np.zeros([2, 5], np.complex64), np.array(3, np.int32))
