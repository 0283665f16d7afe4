"""Every model trains and infers on XPU with the CPU's numbers, on the device alone: op by op, as a
graph, compiled.
"""

from __future__ import annotations

import functools
import itertools
import os
from typing import Any

import numpy as np
import pytest

import onexpu
from tests.exhaustive import exhaustive
from tests.models_tf import agreement, host_ops
from tests.models_tf.catalogue import APPLICATIONS, MODELS, name
from tests.models_tf.drive import MODES, Record, train
from tests.models_tf.training import Size

Case = tuple[str, str, str]
_PRECISIONS = ("mixed_bfloat16", "mixed_float16")
# What follows from gradients: the optimisers' slots, and what the steps changed.
_OF_GRADIENTS = ("slot", "update")
# The image classifiers that take longest; ResNet50 stands for them.
_LONG = ("convnext", "densenet", "efficientnet_v2", "mobilenet_v3")
_QUICK_AS_GRAPHS = ("dqn", "sparse_embeddings", "vae", "gan", "ragged_text", "recurrent")
# Op by op and in half precision, what others have too: dense layers and convolutions, recurrences
# of ctc_speech.
_ALIKE = {
    ("dqn", "graph", "float32"),
    ("gan", "graph", "float32"),
    ("recurrent", "graph", "float32"),
    ("recurrent", "jit", "float32"),
    ("vae", "jit", "mixed_bfloat16"),
}


def _cases() -> list[Case]:
    """Model, mode and precision: those for which there is always time, or all."""
    found = [(m, "jit", "float32") for m in MODELS]
    # A graph compiles every op alone: the larger ones have no time for that here.
    found += [(m, "graph", "float32") for m in _QUICK_AS_GRAPHS]
    found += [(m, "eager", "float32") for m in _QUICK_AS_GRAPHS[:3]]
    found += [("vae", "jit", precision) for precision in _PRECISIONS]
    if os.environ.get("ONEXPU_TF_MODELS") != "all":
        return found
    found += itertools.product(MODELS, MODES, ("float32", *_PRECISIONS))
    return list(dict.fromkeys(found))


# By model, so that the CPU's numbers are kept no longer than they are needed.
CASES = sorted(_cases(), key=lambda case: (case[0], case[2]))
over_cases = pytest.mark.parametrize(
    ("model", "mode", "precision"),
    [
        pytest.param(*case, marks=exhaustive) if case[0] in _LONG or case in _ALIKE else case
        for case in CASES
    ],
    ids=["-".join(case) for case in CASES],
)


@functools.lru_cache(maxsize=2)
def _on_cpu(model: str, precision: str) -> Record:
    return train(model, "/CPU:0", "graph", precision)


@functools.lru_cache(maxsize=1)
def _exact(model: str, precision: str) -> Record:
    """The training that one in half precision rounds."""
    return train(model, "/CPU:0", "graph", reference_of=precision)


def _of(kind: str, numbers: dict[str, Any]) -> dict[str, Any]:
    return {name: array for name, array in numbers.items() if name.startswith(kind)}


def _wrong_in_half_precision(
    actual: dict[str, np.ndarray], model: str, mode: str, precision: str
) -> dict[str, tuple[float, float]]:
    """Slots and updates, which follow from gradients: in half precision tens of percents of
    roundings in some layers, on either device.
    """
    cpu, exact = _on_cpu(model, precision).numbers, _exact(model, precision).numbers
    found = {}
    for kind, times in zip(
        _OF_GRADIENTS, (agreement.GRADIENTS[mode], agreement.UPDATES), strict=True
    ):
        arrays = _of(kind, cpu)
        more_exact = {name: exact[name] for name in arrays}
        tolerance = times * agreement.TOLERANCES[precision]
        found |= agreement.less_exact(_of(kind, actual), arrays, more_exact, tolerance)
    return found


def _check_that_all_is_trained(numbers: dict[str, np.ndarray]) -> None:
    """A gradient that is lost on both devices would agree."""
    assert [name for name, array in _of("slot", numbers).items() if not array.any()] == []
    updates = [
        a.any() for n, a in _of("update", numbers).items() if not n.endswith(agreement.ROUNDINGS)
    ]
    # Where a rate is small, some steps are less than a rounding of 1, which scales of
    # normalisations are.
    assert np.mean(updates) > 0.9


def _unexplained(report: onexpu.PlacementReport) -> dict[str, set[str]]:
    """Ops on the host, with their reasons that are none of the expected ones."""
    return {
        op: why
        for op, reasons in report.reasons.items()
        if (why := reasons.keys() - host_ops.REASONS.keys())
    }


def _check_placement(record: Record, mode: str) -> None:
    """Every op is on the device, in one program for each function if it is compiled, or
    explained.
    """
    for report in (record.report, record.report_from_host):
        if mode == "jit":
            assert report.total("cluster") > 0
            assert [report.total(route) for route in ("on_demand", "sycl_kernel", "host")] == [
                0,
                0,
                0,
            ]
        assert report.total("cluster") + report.total("on_demand") > 0
        assert _unexplained(report) == {}
    if record.report_uncompiled is not None:
        assert (
            record.report_uncompiled.total("on_demand")
            + record.report_uncompiled.total("sycl_kernel")
            > 0
        )
        unexplained = _unexplained(record.report_uncompiled)
        assert unexplained.keys() <= host_ops.ON_NO_ACCELERATOR, unexplained


def _check_transfers(record: Record, mode: str) -> None:
    """Only inputs and results are copied, and nothing if inputs were on the device and results are
    not read.

    But without compilation TensorFlow has shapes, conditions and bounds of integers on the host:
    eight bytes at most. Eager Python's literals are there, too, and the numbers of a batch's rows
    that gathers make: some dozen bytes each. Together they are two KiB, or sixteen.
    """
    largest, total = {"jit": (0, 0), "graph": (8, 2 << 10), "eager": (64, 16 << 10)}[mode]
    for count, size in record.report.transfers.transfers.values():
        assert size <= min(largest * count, total), str(record.report.transfers)
    added = record.report_from_host.transfers - record.report.transfers
    directions = ("host_to_device", "device_to_host")
    assert [added.bytes(d) for d in directions] == [record.written, record.read], str(added)


@over_cases
def test_a_model_agrees_with_the_cpu(model: str, mode: str, precision: str) -> None:
    record = train(model, "/XPU:0", mode, precision)
    actual, expected = record.numbers, _on_cpu(model, precision).numbers
    _check_that_all_is_trained(expected)
    if precision != "float32":
        assert _wrong_in_half_precision(actual, model, mode, precision) == {}
        actual, expected = (
            {name: array for name, array in numbers.items() if not name.startswith(_OF_GRADIENTS)}
            for numbers in (actual, expected)
        )
    tolerance = agreement.TOLERANCES[precision]
    found = agreement.errors(actual, expected)
    for update in _of("update", found):
        found[update] /= agreement.UPDATES
    assert {name: error for name, error in found.items() if not error <= tolerance} == {}
    _check_placement(record, mode)
    _check_transfers(record, mode)


@pytest.mark.parametrize("model", [pytest.param(name(m), marks=exhaustive) for m in APPLICATIONS])
def test_a_published_network_is_as_exact_as_the_cpus(model: str) -> None:
    """Of full depth, where the CPU's float32 itself is percents away from its float64; see
    `agreement`.
    """
    record = train(model, "/XPU:0", "jit", size=Size.FULL)
    float32 = train(model, "/CPU:0", "graph", size=Size.FULL).numbers
    float64 = train(
        model, "/CPU:0", "graph", "float64", size=Size.FULL, reference_of="float32"
    ).numbers
    tolerance = agreement.TOLERANCES["float32"]
    assert agreement.less_exact(record.numbers, float32, float64, tolerance) == {}
    _check_placement(record, "jit")
    _check_transfers(record, "jit")
