"""Modules whose bytecode holds types by codes that TensorFlow's MLIR does not know."""

from __future__ import annotations

import io

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec
from jaxlib import _jax

from tests.compiler.stablehlo_modules import STABLEHLO_VERSION
from tests.exhaustive import every

# The types with codes of their own, as JAX names them. The codes follow MLIR's names for them.
DTYPES = [
    "float8_e5m2", "float8_e4m3", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz",
    "float8_e4m3b11fnuz", "float8_e3m4", "float4_e2m1fn", "float8_e8m0fnu",
]  # fmt: skip


def _lower(dtype: str) -> bytes:
    """A function whose intermediate value, of `dtype`, has a sharding constraint."""
    mesh = AbstractMesh((2,), ("x",))
    sharding = NamedSharding(mesh, PartitionSpec("x"))

    def quantise(x):
        return jax.lax.with_sharding_constraint(x.astype(dtype), sharding).astype(jnp.float32)

    x = jax.ShapeDtypeStruct((4, 8), jnp.float32, sharding=sharding)
    module = jax.jit(quantise).trace(x).lower(lowering_platforms=("xpu",)).compiler_ir("stablehlo")
    with module.context:
        bytecode = io.BytesIO()
        module.operation.write_bytecode(bytecode)
    assert b"sdy" in bytecode.getvalue()
    return _jax.mlir.serialize_portable_artifact(
        bytecode.getvalue(), STABLEHLO_VERSION, use_mixed_serialization=True
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_narrow_floats_beside_shardy(compile_module, dtype: str) -> None:
    code = _lower(dtype)
    assert code.startswith(b"ML\xefR")
    compiled = compile_module(code)
    assert compiled.status == 0, compiled.message
    assert dtype.removeprefix("float").replace("_", "") in compiled.dump("before_optimizations.txt")


@pytest.mark.parametrize("step", every(2, [251, 61]))
def test_cut_bytecode_is_an_error(compile_module, step: int) -> None:
    code = _lower("float8_e4m3fn")
    for length in range(4, len(code) - 20, step):
        compiled = compile_module(code[:length])
        assert compiled.status == 1, (length, compiled.message)
        assert "no valid StableHLO module" in compiled.message
