"""With a GPU's schedules no kernel runs for seconds: long loops and scatters take several launches.

Drivers kill kernels that do. The limits are estimates, so the programs here exceed them by far.
"""

from __future__ import annotations

import pathlib

import pytest

from tests.jax import process

_LOOPS = """
import jax, jax.numpy as jnp, numpy as np
from jax import lax

def check(name, function, arguments, want):
    got = jax.block_until_ready(jax.jit(function)(*arguments))
    np.testing.assert_array_equal(got, want, err_msg=name)

steps = 1_500_000
check("unknown length", lambda n: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] + 2),
      (0, jnp.zeros(5, jnp.int32)))[1], (steps,), np.full(5, 2 * steps))
check("known length", lambda x: lax.fori_loop(0, steps, lambda i, x: x + i % 3, x), (7,),
      7 + sum(range(3)) * steps // 3)
check("no step", lambda n: lax.while_loop(lambda c: c < n, lambda c: c + 1, 3), (3,), 3)
check("one step", lambda n: lax.while_loop(lambda c: c < n, lambda c: c + 1, 2), (3,), 3)
check("the end depends on the data", lambda x: lax.while_loop(
      lambda c: jnp.sum(c) < 1_000_000, lambda c: c + jnp.arange(3), x), (jnp.zeros(3, jnp.int32),),
      np.arange(3) * 333_334)
check("a loop of unknown length inside", lambda n: lax.fori_loop(
      0, 50, lambda i, s: s + lax.while_loop(lambda c: c < n + i, lambda c: c + 1, 0), 0), (100,),
      sum(range(100, 150)))
check("gcd", lambda a: lax.fori_loop(0, 4, lambda i, s: s + jnp.gcd(a, i + 4), jnp.zeros_like(a)),
      (jnp.arange(20),), sum(np.gcd(np.arange(20), i + 4) for i in range(4)))
check("in a branch", lambda p, n: lax.cond(p, lambda n: lax.while_loop(
      lambda c: c < n, lambda c: c + 1, 0), lambda n: -n, n), (True, 400_000), 400_000)
print("ok")
"""
_SCATTERS = """
import jax, jax.numpy as jnp, numpy as np
from jax import lax
from jax._src.lib import xla_client as xc

random = np.random.default_rng(0)
updates = 250_000
index = random.integers(-3, 1003, updates).astype(np.int32)     # some are out of bounds
inside = (index >= 0) & (index < 1000)
for width in ((), (3,), (40,)):
    x = random.normal(size=(1000, *width)).astype(np.float32)
    v = random.normal(size=(updates, *width)).astype(np.float32)
    want = x.copy()
    want[index[inside]] = v[inside]                             # the last one remains
    numbers = lax.ScatterDimensionNumbers(tuple(range(1, 1 + len(width))), (0,), (0,))
    scatter = jax.jit(lambda x, i, v: lax.scatter(x, i[:, None], v, numbers, mode="drop"))
    np.testing.assert_array_equal(scatter(x, index, v), want)

# Two operands: a pair is replaced if its key is larger, which no atomic does.
module = '''
func.func @main(%k: tensor<1000xi32>, %v: tensor<1000xf32>, %i: tensor<250000x1xi32>,
                %a: tensor<250000xi32>, %b: tensor<250000xf32>)
    -> (tensor<1000xi32>, tensor<1000xf32>) {
  %0:2 = "stablehlo.scatter"(%k, %v, %i, %a, %b) <{
      scatter_dimension_numbers = #stablehlo.scatter<
          inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<f32>, %r: tensor<i32>, %s: tensor<f32>):
    %g = stablehlo.compare GT, %r, %p : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %x = stablehlo.select %g, %r, %p : tensor<i1>, tensor<i32>
    %y = stablehlo.select %g, %s, %q : tensor<i1>, tensor<f32>
    stablehlo.return %x, %y : tensor<i32>, tensor<f32>
  }) : (tensor<1000xi32>, tensor<1000xf32>, tensor<250000x1xi32>, tensor<250000xi32>,
        tensor<250000xf32>) -> (tensor<1000xi32>, tensor<1000xf32>)
  return %0#0, %0#1 : tensor<1000xi32>, tensor<1000xf32>
}'''
device = jax.devices()[0]
executable = device.client.compile_and_load(
    module.encode(), xc.DeviceList((device,)), xc.CompileOptions())
keys = random.permutation(updates).astype(np.int32)
values = random.normal(size=updates).astype(np.float32)
arguments = [np.full(1000, -1, np.int32), np.zeros(1000, np.float32), index[:, None], keys, values]
results = executable.execute_sharded([jax.device_put(one, device) for one in arguments])
got = [np.asarray(one[0]) for one in results.disassemble_into_single_device_arrays()]
order = np.argsort(keys)
order = order[inside[order]]
wanted = [arguments[0].copy(), arguments[1].copy()]
wanted[0][index[order]], wanted[1][index[order]] = keys[order], values[order]
np.testing.assert_array_equal(got[0], wanted[0])
np.testing.assert_array_equal(got[1], wanted[1])
print("ok")
"""


def _thunks(program: str, schedules: str, dump: pathlib.Path) -> list[str]:
    """Runs the program, which prints "ok"; returns the lines of its programs' thunk sequences."""
    done = process.run(
        program,
        ONEXPU_DEVICE="cpu",
        ONEXPU_SCHEDULES=schedules,
        ONEXPU_DETERMINISTIC="1",
        XLA_FLAGS=f"--xla_dump_to={dump}",
        timeout=300,
    )
    assert done.output == "ok\n"
    return [
        line for path in dump.glob("*thunk_sequence.txt") for line in path.read_text().splitlines()
    ]


@pytest.mark.parametrize("schedules", ("cpu", "gpu"))
def test_loops(schedules: str, tmp_path: pathlib.Path) -> None:
    loops = sum("WhileThunk" in line for line in _thunks(_LOOPS, schedules, tmp_path))
    # On a GPU each of the eight programs launches its loop of unknown length (or its long one) in
    # parts. The two with such a loop inside another one launch the steps of the other one, too.
    assert loops == (10 if schedules == "gpu" else 0)


@pytest.mark.parametrize("schedules", ("cpu", "gpu"))
def test_scatters(schedules: str, tmp_path: pathlib.Path) -> None:
    lines = _thunks(_SCATTERS, schedules, tmp_path)
    advances = sum("KernelThunk" in line and "_advance" in line for line in lines)
    # 250,000 updates, 100,000 at a time, in each of four scatters.
    assert advances == (8 if schedules == "gpu" else 0)
