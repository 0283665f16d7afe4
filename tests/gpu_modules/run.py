"""Compiles the models and StableHLO's test data for absent GPUs, and checks every module:
`make check-gpus`.

    python -m tests.gpu_modules.run [--targets dg2 pvc] [--data DIRECTORY]

What a target lacks (64-bit floats on dg2) must be refused as UNIMPLEMENTED; such programs are
counted. Exit status 1 when anything else is refused, or when spirv-val or ocloc find a fault.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import sys
import tempfile
from collections.abc import Callable, Iterator

import jax
import jaxlib.mlir.ir as ir
from jax._src.interpreters import mlir as jax_mlir
from jax._src.lib import xla_client
from jax.experimental import topologies
from jaxlib.mlir.dialects import func

import models
from tests.gpu_modules import check

# StableHLO's own test data, where it lies beside the repository.
_TEST_DATA = pathlib.Path(__file__).resolve().parents[3] / "shared" / "data" / "stablehlo_testdata"
_LACKS = re.compile(r"UNIMPLEMENTED: .* is not supported by \w+, which has no ")


def compile_model(name: str, target: str, dump: pathlib.Path) -> None:
    """Compiles a small model for one device of `target`; its modules go to `dump`."""
    program = models.programs(models.Size.SMALL)[name]
    topology = topologies.get_topology_desc(target, "xpu")
    sharding = jax.sharding.SingleDeviceSharding(topology.devices[0])
    shapes = jax.tree.map(
        lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=sharding), program.arguments()
    )
    lowered = jax.jit(program.function, donate_argnums=program.donated).lower(*shapes)
    lowered.compile(compiler_options={"xla_dump_to": str(dump)})


def _return_what_is_checked(module: ir.Module) -> None:
    """The data compares by custom calls that mean nothing to a compiler."""
    main = next(
        operation
        for operation in module.body.operations
        if isinstance(operation, func.FuncOp) and operation.name.value == "main"
    )
    *operations, end = main.entry_block.operations
    checks = [
        operation
        for operation in operations
        if operation.operation.name == "stablehlo.custom_call"
        and operation.attributes["call_target_name"].value.startswith("check.")
    ]
    results = [operation.operands[0] for operation in checks]
    for operation in (*checks, end):
        operation.operation.erase()
    with ir.InsertionPoint(main.entry_block):
        func.ReturnOp(results)
    arguments = [argument.type for argument in main.entry_block.arguments]
    kind = ir.FunctionType.get(arguments, [result.type for result in results])
    main.attributes["function_type"] = ir.TypeAttr.get(kind)
    del main.attributes["res_attrs"]


def compile_file(path: pathlib.Path, target: str, dump: pathlib.Path) -> None:
    """Compiles a file of StableHLO's test data for one device of `target`."""
    devices = topologies.get_topology_desc(target, "xpu").devices[:1]
    options = xla_client.CompileOptions()
    options.env_option_overrides = [("xla_dump_to", str(dump))]
    with jax_mlir.make_ir_context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(path.read_text())
        _return_what_is_checked(module)
        devices[0].client.compile(module, xla_client.DeviceList(tuple(devices)), options)


def _programs(data: pathlib.Path) -> Iterator[tuple[str, Callable[[str, pathlib.Path], None]]]:
    for name in models.programs(models.Size.SMALL):
        yield name, lambda target, dump, name=name: compile_model(name, target, dump)
    for path in sorted(data.glob("*.mlir")):
        yield path.name, lambda target, dump, path=path: compile_file(path, target, dump)


def check_target(target: str, data: pathlib.Path) -> bool:
    """Compiles everything for a target and checks it; prints what is wrong. True when nothing
    is.
    """
    compiled = lacking = faults = 0
    with tempfile.TemporaryDirectory() as directory:
        dump = pathlib.Path(directory)
        for name, compile_program in _programs(data):
            try:
                compile_program(target, dump)
                compiled += 1
            except jax.errors.JaxRuntimeError as error:
                if _LACKS.search(str(error)):
                    lacking += 1
                else:
                    faults += 1
                    print(f"{target}: {name}: {error}", flush=True)
        modules, found = check.find_faults(dump, target)
    for module, fault in found.items():
        print(f"{target}: {module}: {fault}", flush=True)
    print(
        f"{target}: {compiled} programs compiled, {lacking} refused for what it lacks, {faults} "
        f"for other reasons; {modules - len(found)} of {modules} modules pass spirv-val and ocloc",
        flush=True,
    )
    return faults == 0 and not found and compiled > 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--targets", nargs="+", default=["dg2", "pvc"])
    parser.add_argument("--data", type=pathlib.Path, default=_TEST_DATA)
    arguments = parser.parse_args()
    if not any(arguments.data.glob("*.mlir")):
        parser.error(f"--data: no StableHLO test data in {arguments.data}")
    return 0 if all([check_target(target, arguments.data) for target in arguments.targets]) else 1


if __name__ == "__main__":
    sys.exit(main())
