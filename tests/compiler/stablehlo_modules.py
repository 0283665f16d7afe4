"""StableHLO modules for compile tests, made by JAX without any device."""

from __future__ import annotations

import io
import pathlib
from collections.abc import Callable
from typing import Any

import jax
from jax._src.interpreters import mlir as jax_mlir
from jaxlib import _jax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func as func_dialect

# What the compiler's XLA understands; JAX serialises down to what a plugin advertises.
STABLEHLO_VERSION = "1.13.7"


def lower(function: Callable[..., Any], *arguments: Any) -> bytes:
    """Returns the portable artifact of a function, jitted unless it is already."""
    jitted = function if hasattr(function, "trace") else jax.jit(function)
    module = jitted.trace(*arguments).lower(lowering_platforms=("xpu",)).compiler_ir("stablehlo")
    with module.context:
        bytecode = io.BytesIO()
        module.operation.write_bytecode(bytecode)
    return _jax.mlir.serialize_portable_artifact(
        bytecode.getvalue(), STABLEHLO_VERSION, use_mixed_serialization=True
    )


def of_test_file(path: pathlib.Path) -> bytes:
    """Returns a file of StableHLO's test data as a module whose results are the checked pairs.

    The file computes its results and gives each, with what is expected, to a `check` call; a
    compiler that runs programs wants both as results instead.
    """
    with jax_mlir.make_ir_context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(path.read_text())
        main = next(
            operation
            for operation in module.body.operations
            if isinstance(operation, func_dialect.FuncOp) and operation.name.value == "main"
        )
        block = main.regions[0].blocks[0]
        checks = [operation for operation in block.operations if _is_check(operation)]
        pairs = [operand for check in checks for operand in check.operands]
        for check in checks:
            check.operation.erase()
        block.operations[len(block.operations) - 1].operation.erase()
        with ir.InsertionPoint(block):
            func_dialect.ReturnOp(pairs)
        main.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get([a.type for a in block.arguments], [p.type for p in pairs])
        )
        for stale in ("arg_attrs", "res_attrs"):
            if stale in main.attributes:
                del main.attributes[stale]
        bytecode = io.BytesIO()
        module.operation.write_bytecode(bytecode)
        return _jax.mlir.serialize_portable_artifact(
            bytecode.getvalue(), STABLEHLO_VERSION, use_mixed_serialization=True
        )


def _is_check(operation: ir.OpView) -> bool:
    if operation.operation.name != "stablehlo.custom_call":
        return False
    target = ir.StringAttr(operation.operation.attributes["call_target_name"]).value
    return target.startswith("check.")
