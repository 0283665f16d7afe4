"""Programs that run on arrays of any size."""

from __future__ import annotations

import numpy as np
import pytest

from tests.c_api.pjrt import Api, Client, PjrtError
from tests.c_api.programs import compile_program, execute

ATTRIBUTE = 'mhlo.frontend_attributes = {onexpu_resizable = "SIZES"}'
# x + 2 y, of arrays of one shape; and the difference.
FLAT = """
module @flat attributes {ATTRIBUTE} {
  func.func @main(%x: tensor<4096xf32>, %y: tensor<4096xf32>, %scale: tensor<f32>)
      -> (tensor<4096xf32>, tensor<4096xf64>) {
    %factor = stablehlo.broadcast_in_dim %scale, dims = []
        : (tensor<f32>) -> tensor<4096xf32>
    %0 = stablehlo.multiply %y, %factor : tensor<4096xf32>
    %1 = stablehlo.add %x, %0 : tensor<4096xf32>
    %2 = stablehlo.subtract %x, %y : tensor<4096xf32>
    %3 = stablehlo.convert %2 : (tensor<4096xf32>) -> tensor<4096xf64>
    return %1, %3 : tensor<4096xf32>, tensor<4096xf64>
  }
}
"""
ROWS = """
module @rows attributes {ATTRIBUTE} {
  func.func @main(%x: tensor<30x50xf32>, %row: tensor<50xf32>, %column: tensor<30x1xf32>)
      -> tensor<30x50xf32> {
    %0 = stablehlo.broadcast_in_dim %row, dims = [1] : (tensor<50xf32>) -> tensor<30x50xf32>
    %1 = stablehlo.broadcast_in_dim %column, dims = [0, 1]
        : (tensor<30x1xf32>) -> tensor<30x50xf32>
    %2 = stablehlo.multiply %x, %0 : tensor<30x50xf32>
    %3 = stablehlo.add %2, %1 : tensor<30x50xf32>
    return %3 : tensor<30x50xf32>
  }
}
"""
OTHERS = {
    "a reduction": """
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %1 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
            : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
        %0 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<64xf32>""",
    "numbers of places": """
        %1 = stablehlo.iota dim = 0 : tensor<64xf32>
        %0 = stablehlo.add %x, %1 : tensor<64xf32>""",
    "elements of other places": """
        %1 = stablehlo.reverse %x, dims = [0] : tensor<64xf32>
        %0 = stablehlo.add %x, %1 : tensor<64xf32>""",
    "a cut": """
        %1 = stablehlo.slice %x [1:64] : (tensor<64xf32>) -> tensor<63xf32>
        %2 = stablehlo.slice %x [0:1] : (tensor<64xf32>) -> tensor<1xf32>
        %0 = stablehlo.concatenate %1, %2, dim = 0
            : (tensor<63xf32>, tensor<1xf32>) -> tensor<64xf32>""",
    "a constant of one size": f"""
        %1 = stablehlo.constant dense<[{", ".join(f"{i}.0" for i in range(64))}]> : tensor<64xf32>
        %0 = stablehlo.add %x, %1 : tensor<64xf32>""",
    "the argument itself": """
        %0 = stablehlo.reshape %x : (tensor<64xf32>) -> tensor<64xf32>""",
}


OTHER = """
module @other attributes {ATTRIBUTE} {
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    BODY
    return %0 : tensor<64xf32>
  }
}
"""
# One work-item, parts of a vector and of a work-group, several work-groups.
SHAPES = [(), (1,), (5,), (16,), (1024,), (1025,), (4096,), (3, 7, 11), (0,), (2, 0), (200_001,)]


def _compile(client: Client, text: str, sizes: str) -> int:
    return compile_program(client, text.replace("ATTRIBUTE", ATTRIBUTE.replace("SIZES", sizes)))


def _random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("shape", SHAPES)
def test_arrays_of_one_shape(client: Client, shape: tuple[int, ...]) -> None:
    flat = _compile(client, FLAT, "1x4096")
    x, y, scale = _random(*shape), _random(*shape, seed=1), np.array(2, np.float32)
    arguments = [client.put(one) for one in (x, y, scale)]
    # The first runs of a program are where its place is chosen.
    for _ in range(30):
        results = execute(client, flat, arguments, 2)
        np.testing.assert_allclose(
            client.get(results[0], shape, np.float32), x + 2 * y, rtol=1e-6, atol=1e-6
        )
        difference = client.get(results[1], shape, np.float64)
        np.testing.assert_array_equal(difference, (x - y).astype(np.float64))
        client.destroy(*results)
    client.destroy(*arguments)


@pytest.mark.parametrize(
    "rows, columns", [(1, 1), (1, 50), (30, 1), (2, 3), (7, 16), (30, 50), (513, 65), (3, 5000)]
)
def test_rows_and_columns(client: Client, rows: int, columns: int) -> None:
    program = _compile(client, ROWS, "30x50")
    x, row, column = _random(rows, columns), _random(columns, seed=1), _random(rows, 1, seed=2)
    arguments = [client.put(one) for one in (x, row, column)]
    (result,) = execute(client, program, arguments, 1)
    np.testing.assert_allclose(
        client.get(result, x.shape, np.float32), x * row + column, rtol=1e-6, atol=1e-6
    )
    client.destroy(*arguments, result)


def test_rows_of_several_dimensions(client: Client) -> None:
    program = _compile(client, ROWS, "30x50")
    x, row, column = _random(2, 3, 4, 5), _random(4, 5, seed=1), _random(2, 3, 1, 1, seed=2)
    arguments = [client.put(one) for one in (x, row, column)]
    (result,) = execute(client, program, arguments, 1)
    np.testing.assert_allclose(
        client.get(result, x.shape, np.float32), x * row + column, rtol=1e-6, atol=1e-6
    )
    client.destroy(*arguments, result)


@pytest.mark.parametrize(
    "shapes, message",
    [
        (((4, 6), (5,), (4, 1)), "do not make up 24"),
        (((4, 6), (6,), (3, 1)), "do not make up 24"),
        (((4, 6), (24,), (4, 1)), "do not make up 24"),
    ],
)
def test_arguments_that_do_not_fit(client: Client, shapes: tuple, message: str) -> None:
    program = _compile(client, ROWS, "30x50")
    arguments = [client.put(_random(*shape)) for shape in shapes]
    with pytest.raises(PjrtError, match=message):
        execute(client, program, arguments, 1)
    client.destroy(*arguments)


def test_arrays_of_several_shapes(client: Client) -> None:
    flat = _compile(client, FLAT, "1x4096")
    scalar = np.array(2, np.float32)
    for x, y, scale, message in (
        (_random(6), _random(5), scalar, "argument 1 .* differs from another one in size"),
        (_random(6), _random(2, 3), scalar, "argument 1 .* must have the dimensions of"),
        (_random(6), _random(6), _random(2), "argument 2 .* must have one element"),
        (_random(6).astype(np.float64), _random(6), scalar, "argument 0 .* must be f32"),
    ):
        arguments = [client.put(one) for one in (x, y, scale)]
        with pytest.raises(PjrtError, match=message):
            execute(client, flat, arguments, 2)
        client.destroy(*arguments)


@pytest.mark.parametrize("what", OTHERS)
def test_other_modules_are_refused(client: Client, what: str) -> None:
    with pytest.raises(PjrtError, match="UNIMPLEMENTED|arrays of any size") as error:
        _compile(client, OTHER.replace("BODY", OTHERS[what]), "1x64")
    assert "Compile the module for each shape" in str(error.value)


@pytest.mark.parametrize("sizes", ["64", "0x64", "64x64", "1x1", "axb", "1x64x2"])
def test_sizes_that_are_not_understood(client: Client, sizes: str) -> None:
    with pytest.raises(PjrtError, match="ROWSxCOLUMNS"):
        _compile(client, FLAT, sizes)


def test_a_resizable_program_from_storage(api: Api, client: Client) -> None:
    """It is the same program after it was serialized."""
    flat = _compile(client, FLAT, "1x4096")
    executable = api.call("PJRT_LoadedExecutable_GetExecutable", loaded_executable=flat).executable
    args = api.call("PJRT_Executable_Serialize", executable=executable)
    loaded = api.call(
        "PJRT_Executable_DeserializeAndLoad",
        client=client.handle,
        serialized_executable=args.serialized_bytes,
        serialized_executable_size=args.serialized_bytes_size,
    ).loaded_executable
    x = _random(77)
    arguments = [client.put(one) for one in (x, x, np.array(1, np.float32))]
    results = execute(client, loaded, arguments, 2)
    np.testing.assert_array_equal(client.get(results[0], (77,), np.float32), x + x)
    client.destroy(*arguments, *results)
