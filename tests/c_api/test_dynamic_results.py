"""Results of bounded dynamic size: their bounds, their sizes, and what is in them."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.c_api.pjrt import CONSTANTS, Api, Client, PjrtError, buffer_type, int64s
from tests.c_api.programs import compile_program, execute

X = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
# A static result, one of dynamic rows, one of dynamic columns, and one of both.
MODULE = """
module @cut {
  func.func @main(%x: tensor<3x4xf32>, %m: tensor<i32>, %n: tensor<i32>)
      -> (tensor<3x4xf32>, tensor<?x4xf32, #stablehlo.bounds<3, ?>>,
          tensor<3x?xf32, #stablehlo.bounds<?, 4>>, tensor<?x?xf32, #stablehlo.bounds<3, 4>>) {
    %rows = "stablehlo.set_dimension_size"(%x, %m) <{dimension = 0 : i64}>
        : (tensor<3x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
    %columns = "stablehlo.set_dimension_size"(%x, %n) <{dimension = 1 : i64}>
        : (tensor<3x4xf32>, tensor<i32>) -> tensor<3x?xf32, #stablehlo.bounds<?, 4>>
    %both = "stablehlo.set_dimension_size"(%rows, %n) <{dimension = 1 : i64}>
        : (tensor<?x4xf32, #stablehlo.bounds<3, ?>>, tensor<i32>)
        -> tensor<?x?xf32, #stablehlo.bounds<3, 4>>
    %y = stablehlo.add %x, %x : tensor<3x4xf32>
    return %y, %rows, %columns, %both
        : tensor<3x4xf32>, tensor<?x4xf32, #stablehlo.bounds<3, ?>>,
          tensor<3x?xf32, #stablehlo.bounds<?, 4>>, tensor<?x?xf32, #stablehlo.bounds<3, 4>>
  }
}
"""
ONE_RESULT = """
module @front {
  func.func @main(%x: tensor<5xf32> {tf.aliasing_output = 0 : i32}, %n: tensor<i32>)
      -> tensor<?xf32, #stablehlo.bounds<5>> {
    %y = "stablehlo.set_dimension_size"(%x, %n) <{dimension = 0 : i64}>
        : (tensor<5xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<5>>
    return %y : tensor<?xf32, #stablehlo.bounds<5>>
  }
}
"""
TWICE = """
module @twice {
  func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %y = stablehlo.add %x, %x : tensor<2x3xf32>
    return %y : tensor<2x3xf32>
  }
}
"""


@pytest.fixture(name="cut", scope="module")
def _cut(client: Client) -> int:
    return compile_program(client, MODULE)


def _dimensions(api: Api, buffer: int, function: str, field: str) -> list[int]:
    args = api.call(f"PJRT_Buffer_{function}", buffer=buffer)
    return list((ctypes.c_int64 * args.num_dims).from_address(getattr(args, field)))


def _dynamic(api: Api, buffer: int) -> list[int]:
    args = api.call("PJRT_Buffer_DynamicDimensionIndices", buffer=buffer)
    if not args.num_dynamic_dims:
        return []
    return list((ctypes.c_size_t * args.num_dynamic_dims).from_address(args.dynamic_dim_indices))


def _run(client: Client, executable: int, m: int, n: int) -> list[int]:
    arguments = [client.put(one) for one in (X, np.array(m, np.int32), np.array(n, np.int32))]
    results = execute(client, executable, arguments, 4)
    client.destroy(*arguments)
    return results


@pytest.mark.parametrize("n", [0, 1, 3, 4])
@pytest.mark.parametrize("m", [0, 2, 3])
def test_sizes_and_elements(api: Api, client: Client, cut: int, m: int, n: int) -> None:
    results = _run(client, cut, m, n)
    expected = [X + X, X[:m], X[:, :n], X[:m, :n]]
    for result, want, dynamic in zip(results, expected, ([], [0], [1], [0, 1]), strict=True):
        assert _dimensions(api, result, "Dimensions", "dims") == [3, 4]
        assert _dimensions(api, result, "UnpaddedDimensions", "unpadded_dims") == list(want.shape)
        assert _dynamic(api, result) == dynamic
        np.testing.assert_array_equal(client.get(result, want.shape, np.float32), want)
    client.destroy(*results)


def test_a_result_has_its_sizes_as_an_argument(client: Client, cut: int) -> None:
    results = _run(client, cut, 2, 3)
    twice = compile_program(client, TWICE)
    (doubled,) = execute(client, twice, [results[3]], 1)
    np.testing.assert_array_equal(client.get(doubled, (2, 3), np.float32), 2 * X[:2, :3])
    with pytest.raises(PjrtError, match="argument 0"):
        execute(client, twice, [results[1]], 1)
    client.destroy(*results, doubled)


def test_the_only_result(api: Api, client: Client) -> None:
    """A program without a tuple; its operand, though donated, has another size."""
    front = compile_program(client, ONE_RESULT)
    x = np.arange(5, dtype=np.float32)
    arguments = [client.put(x), client.put(np.array(3, np.int32))]
    (result,) = execute(client, front, arguments, 1)
    np.testing.assert_array_equal(client.get(result, (3,), np.float32), x[:3])
    assert _dynamic(api, result) == [0]
    client.destroy(*arguments, result)


def test_an_executable_counts_the_results_of_the_caller(api: Api, cut: int) -> None:
    executable = api.call("PJRT_LoadedExecutable_GetExecutable", loaded_executable=cut).executable
    assert api.call("PJRT_Executable_NumOutputs", executable=executable).num_outputs == 4
    args = api.call("PJRT_Executable_OutputDimensions", executable=executable)
    assert list((ctypes.c_int64 * 8).from_address(args.dims)) == [3, 4] * 4


def test_sizes_of_a_failed_program(api: Api, client: Client, cut: int) -> None:
    """The error of an argument is that of the results, which keep their bounds."""
    text, shape = ctypes.create_string_buffer(b"no data"), int64s(X.shape)
    poison = api.call(
        "PJRT_Client_CreateErrorBuffer",
        client=client.handle,
        error_code=CONSTANTS["PJRT_Error_Code_ABORTED"],
        error_message=ctypes.addressof(text),
        error_message_size=len(text.value),
        shape_dims=ctypes.addressof(shape),
        shape_num_dims=len(shape),
        shape_element_type=buffer_type(X.dtype),
        memory=api.call("PJRT_Device_DefaultMemory", device=client.device).memory,
    ).buffer
    sizes = [client.put(np.array(one, np.int32)) for one in (2, 3)]
    results = execute(client, cut, [poison, *sizes], 4)
    for result in results:
        with pytest.raises(PjrtError, match="no data"):
            client.get(result, (3, 4), np.float32)
    client.destroy(poison, *sizes, *results)
