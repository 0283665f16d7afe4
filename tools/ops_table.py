"""Writes docs/ops.md: which GPU ops of TensorFlow's CUDA build XPU supports, and how.

Reads the kernel registry of the TensorFlow that is installed, with the plugin, and the list of
built-in kernels. `tools/cuda_build_ops.txt` has the names of the CUDA build's ops (TensorFlow
2.21).

    .venv/bin/python -m tools.ops_table            # writes docs/ops.md
    .venv/bin/python -m tools.ops_table --check    # exits with 1 if docs/ops.md is out of date
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_TABLE = _ROOT / "docs" / "ops.md"

# Why an op of the CUDA build is not a target: the first pattern that matches its name.
_NO_TARGET = {
    r"CudnnRNN.*": (
        "specific to cuDNN; on other devices Keras and TensorFlow use LSTMBlockCell, GRUBlockCell "
        "and while loops"
    ),
    r"CTCLossV2": "specific to cuDNN; on other devices TensorFlow uses CTCLoss",
    r"_?Nccl.*": "specific to NCCL",
    r"Collective.*": "collectives of several processes, which need NCCL",
    (
        r"(Apply|SparseApply)[A-Z].*|Assign|AssignAdd|AssignSub|StridedSliceAssign"
        r"|IsVariableInitialized"
    ): "reference variables of TensorFlow 1; the Resource ops took their place",
    r"Scatter(Add|Div|Max|Min|Mul|Sub|Update)|ScatterNd(Add|Max|Min|Sub|Update)": (
        "reference variables of TensorFlow 1; the Resource ops took their place"
    ),
    r"Variable|VariableV2|TemporaryVariable|DestroyTemporaryVariable|Ref[A-Z].*": (
        "reference variables of TensorFlow 1"
    ),
    r"_?ParallelConcat.*": (
        "writes into a shared tensor; on XPU a graph pass replaces it by a concatenation"
    ),
    (
        r"TensorArray(|V2|Close|CloseV2|Concat|ConcatV2|Gather|GatherV2|Grad|GradV2|Pack|Read"
        r"|ReadV2|Scatter|ScatterV2|Size|SizeV2|Split|SplitV2|Unpack|Write|WriteV2)"
    ): "superseded by version 3, which TensorList superseded",
    r"Quantized.*": "the old quantisation scheme",
    r"_CopyFrom.*|_ScopedAllocator.*|_Fused.*|_Xla.*|XlaLaunch|_SwitchN|CheckPinned": (
        "created for CUDA devices by TensorFlow's graph passes"
    ),
    (
        r"DummyIterationCounter|Sleep.*|ExperimentalSleepDataset|Fact|IsTensorFloat32Enabled"
        r"|SyncDevice"
    ): "for TensorFlow's own tests",
    r".*Dataset(V\d)?|(Unw|W)rapDatasetVariant|GetOptions": (
        "tf.data, which runs on the host; its tensors are copied to XPU"
    ),
    r"BatchFunction": "TensorFlow Serving's batching",
    r"TopK|TileGrad|QuantizeAndDequantize": "superseded by a newer version before TensorFlow 1",
}

# Why a target is not on XPU.
_MISSING = {
    r"DeserializeSparse|RaggedTensorFromVariant": (
        "the CUDA build's kernel reads and writes host memory; TensorFlow's CPU kernel does the "
        "same and runs instead"
    ),
}


@dataclasses.dataclass(frozen=True)
class Route:
    """How an op runs on XPU: the title of its section, and what that means."""

    title: str
    meaning: str


_ROUTES = {
    "sycl": Route("SYCL kernel", "a built-in kernel of `custom_kernels/builtin`"),
    "program": Route("compiled", "compiled to a program: one op, or a cluster of several"),
    "bookkeeping": Route(
        "bookkeeping",
        "a kernel of `tf_plugin/kernels` that forwards buffers or runs small programs",
    ),
    "default": Route(
        "TensorFlow's", "TensorFlow's own kernel for every device, which does not access elements"
    ),
}


def _sycl_ops() -> set[str]:
    """The ops that the list of built-in kernels names."""
    source = (_ROOT / "custom_kernels" / "builtin_kernels.cc").read_text()
    entries = re.findall(r'\{"onexpu\.\w+",\s*((?:"[^"]*"\s*)+),', source)
    names = "".join("".join(re.findall(r'"([^"]*)"', entry)) + ", " for entry in entries)
    return {name.strip() for name in names.split(",") if name.strip()}


def _own_kernels() -> set[str]:
    source = (_ROOT / "tf_plugin" / "registration" / "on_demand_exceptions.cc").read_text()
    return set(re.findall(r'\{"(\w+)", kOwnKernel\}', source))


def _routes(ops: list[str]) -> dict[str, str | None]:
    """Returns the route of each op to XPU, or None if it has none."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import tensorflow as tf
    from tensorflow.python.framework import kernels

    if not tf.config.list_physical_devices("XPU"):
        sys.exit("TensorFlow has no XPU device here; run `make setup` first")
    sycl, own = _sycl_ops(), _own_kernels()

    def route(op: str) -> str | None:
        devices = {
            kernel.device_type for kernel in kernels.get_registered_kernels_for_op(op).kernel
        }
        if "XPU" not in devices:
            return "default" if "DEFAULT" in devices else None
        if op in sycl:
            return "sycl"
        return "program" if "XLA_XPU_JIT" in devices and op not in own else "bookkeeping"

    return {op: route(op) for op in ops}


def _reason(op: str, reasons: dict[str, str] = _NO_TARGET) -> str | None:
    return next((reason for pattern, reason in reasons.items() if re.fullmatch(pattern, op)), None)


def _names(ops: list[str]) -> str:
    return ", ".join(f"`{op}`" for op in ops)


def table() -> str:
    """The document's text."""
    cuda = (_ROOT / "tools" / "cuda_build_ops.txt").read_text().split()
    routes = _routes(cuda)
    targets = [op for op in cuda if _reason(op) is None or routes[op] is not None]
    done = [op for op in targets if routes[op] is not None]
    missing = [op for op in targets if routes[op] is None]
    lines = [
        "# Ops on XPU",
        "",
        "This page is for users who want to know whether XPU supports an op of TensorFlow, and "
        "how.",
        "`python -m tools.ops_table` writes it from TensorFlow's kernel registry; do not edit it.",
        "",
        f"TensorFlow 2.21's CUDA build has GPU kernels for {len(cuda)} ops. "
        f"{len(cuda) - len(targets)} of them exist",
        f"only for CUDA or were superseded (below). Of the other {len(targets)}, XPU supports "
        f"{len(done)}: {100 * len(done) / len(targets):.1f} %.",
        "",
        "| route | ops | meaning |",
        "|---|---|---|",
    ]
    for key, value in _ROUTES.items():
        lines.append(
            f"| {value.title} | {sum(route == key for route in routes.values())} "
            f"| {value.meaning} |"
        )
    without = [op for op in missing if _reason(op, _MISSING) is None]
    if without:
        sys.exit(f"{', '.join(without)}: not on XPU, and {__file__} has no reason in _MISSING")
    for title, reasons, left_out in (
        ("Not on XPU", _MISSING, missing),
        ("Not a target", _NO_TARGET, [op for op in cuda if op not in targets]),
    ):
        lines += ["", f"## {title}", "", "| why | ops |", "|---|---|"]
        for reason in dict.fromkeys(reasons.values()):
            ops = [op for op in left_out if _reason(op, reasons) == reason]
            if ops:
                lines.append(f"| {reason} | {_names(ops)} |")
    for key, value in _ROUTES.items():
        lines += [
            "",
            f"## {value.title}",
            "",
            _names([op for op in cuda if routes[op] == key]) + ".",
        ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check = parser.parse_args().check
    text = table()
    if check:
        return int(_TABLE.read_text() != text)
    _TABLE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
