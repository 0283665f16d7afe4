"""Every op with a kernel for XPU launches on a GPU, and none aborts the process.

Sizes that a kernel counts are read from pinned memory, which no kernel writes here: the shim fills
it with numbers. Zeros and ones are valid sizes, negative ones are what a broken device may return.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import signal
from typing import Any

import pytest

from tests.exhaustive import exhaustive
from tests.level_zero.lab import Lab

_SOURCES = pathlib.Path(__file__).resolve().parents[2] / "custom_kernels" / "builtin"
_PROGRAM = "import sys; from tests.level_zero import kernel_sweep; kernel_sweep.main(sys.argv[1:])"
# Ops whose size a kernel counts.
_COUNTED = (
    "DynamicPartition NonMaxSuppressionV3 RaggedFillEmptyRows SparseFillEmptyRows SparseSlice"
    " SparseSplit Unique UniqueWithCounts Where"
).split()
# TensorFlow's own answers on every device, and what sizes of zero are too few for.
_RAISE = {"Bitcast", "_While", "DynamicPartition", "RaggedFillEmptyRows", "SparseFillEmptyRows"}
# Loops go on as long as a flag is true. No kernel writes it here, so it is what its memory held.
_LOOPS = {
    "IgammaGradA", "Igammac", "SelfAdjointEigV2", "StatelessWhile", "While", "XlaWhile", "_While",
}  # fmt: skip
# What the inputs of the op sweep do not reach: other schedules for wide rows and many elements,
# complex and half types, more than one matrix.
_NOT_REACHED = (
    "coordinate_order crop_and_resize_grad_boxes_rows crop_and_resize_round crop_and_resize_rows"
    " csr_batch_lengths csr_compress_pointers csr_conjugate csr_dense_terms csr_matmul_wide"
    " csr_transpose gather_rows kind_count kind_places kind_sum partition_move segment_reduce_rows"
    " split_move stitch_elements unique_tally_share"
).split()


@dataclasses.dataclass
class Sweep:
    """What happened: the ops called, the errors, the calls that aborted, the ops whose call did not
    end, the kernels launched.
    """

    ops: set[str] = dataclasses.field(default_factory=set)
    errors: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    aborted: list[str] = dataclasses.field(default_factory=list)
    endless: set[str] = dataclasses.field(default_factory=set)
    kernels: set[str] = dataclasses.field(default_factory=set)


def _sweep(lab: Lab, device: str, even: int, odd: int, *arguments: str) -> Sweep:
    """Makes all calls, each after one that aborts in a new process."""
    found, first = Sweep(), 0
    env = {
        "ONEXPU_SHIM_COPIES": "1",
        "ONEXPU_SHIM_HOST_EVEN": str(even),
        "ONEXPU_SHIM_HOST_ODD": str(odd),
    }
    while True:
        call = ["--first", str(first), *arguments]
        run = lab.run(device, _PROGRAM, arguments=call, env=env, seconds=900)
        lines = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
        assert lines, run.stderr[-4000:]
        found.ops |= {line["op"] for line in lines if "call" in line}
        found.errors += [line for line in lines if "raised" in line]
        found.kernels |= {one["name"] for one in run.of("launch")}
        if "end" in lines[-1]:
            return found
        last = next(line for line in reversed(lines) if "call" in line)
        if run.returncode == -signal.SIGALRM:
            found.endless.add(last["op"])
        else:
            found.aborted.append(f"{last['call']}: {run.returncode} {run.stderr[-1500:]}")
        first = last["number"] + 1


def test_a_negative_size_is_an_error(lab: Lab) -> None:
    found = _sweep(lab, "bmg", -1, -1, "--ops", *_COUNTED)
    assert not found.aborted and not found.endless
    assert {error["op"] for error in found.errors} == set(_COUNTED)
    for error in found.errors:
        assert error["raised"] == "InternalError", error
        assert "a kernel counted -1 elements" in error["text"]


@exhaustive
@pytest.mark.parametrize("device", ("dg2", "bmg"))
def test_no_op_aborts_with_negative_sizes(lab: Lab, device: str) -> None:
    found = _sweep(lab, device, -1, -1)
    assert not found.aborted and found.endless <= _LOOPS
    refused = {"InternalError", "InvalidArgumentError", "OutOfRangeError"}
    other = [error for error in found.errors if error["raised"] not in refused]
    assert {error["op"] for error in other} <= _RAISE, other


@exhaustive
@pytest.mark.parametrize("device", ("dg2", "bmg"))
def test_every_op_and_every_builtin_kernel_launches(lab: Lab, device: str) -> None:
    zeros = _sweep(lab, device, 0, 0)
    assert not zeros.aborted and zeros.endless <= _LOOPS
    assert {error["op"] for error in zeros.errors} <= _RAISE, zeros.errors
    assert len(zeros.ops) > 600
    # Sparse matrices have an element each.
    ones = _sweep(lab, device, 1, 0)
    assert not ones.aborted and ones.endless <= _LOOPS
    names = {name for path in _SOURCES.rglob("*.?pp") for name in _kernels(path)}
    launched = re.findall(r"__sycl_kernel_(\w+)", " ".join(zeros.kernels | ones.kernels))
    missing = {name for name in names if not any(one.startswith(name) for one in launched)}
    assert missing == set(_NOT_REACHED)


def _kernels(path: pathlib.Path) -> list[str]:
    return re.findall(r"ONEXPU_KERNEL[^\n]*\n?(?:[^;{]*?)\bvoid\s+(\w+)\(", path.read_text())


@exhaustive
@pytest.mark.parametrize("mode", ("graph", "jit"))
def test_every_op_launches_in_functions(lab: Lab, mode: str) -> None:
    found = _sweep(lab, "bmg", 0, 0, "--modes", mode)
    assert not found.aborted and found.endless <= _LOOPS
    assert len(found.ops) > 600
    launched = found.ops - {error["op"] for error in found.errors}
    assert len(launched) > (600 if mode == "graph" else 500)
