"""Every model trains and infers on XPU with the CPU's numbers, on the device alone: op by op, as a graph, compiled."""

from __future__ import annotations

import functools
import os

import numpy as np
import onexpu
import pytest

from tests.exhaustive import exhaustive
from tests.models_tf import agreement, host_ops
from tests.models_tf.catalogue import APPLICATIONS, MODELS, name
from tests.models_tf.drive import Record, train
from tests.models_tf.training import Size

Case = tuple[str, str, str]
_PRECISIONS = ("mixed_bfloat16", "mixed_float16")
# The image classifiers that take longest; ResNet50 stands for them.
_LONG = ("convnext", "densenet", "efficientnet_v2", "mobilenet_v3")
_QUICK_AS_GRAPHS = ("dqn", "sparse_embeddings", "vae", "gan", "ragged_text", "recurrent")


def _cases() -> list[Case]:
    """Model, mode and precision: those for which there is always time, or all."""
    found = [(m, "jit", "float32") for m in MODELS]
    # A graph compiles every op alone: the larger ones have no time for that here.
    found += [(m, "graph", "float32") for m in _QUICK_AS_GRAPHS]
    found += [(m, "eager", "float32") for m in _QUICK_AS_GRAPHS[:3]]
    found += [("vae", "jit", precision) for precision in _PRECISIONS]
    if os.environ.get("ONEXPU_TF_MODELS") != "all":
        return found
    modes = ("eager", "graph", "jit")
    found += [(m, mode, "float32") for m in MODELS for mode in modes]
    found += [(m, "jit", precision) for m in MODELS for precision in _PRECISIONS]
    return list(dict.fromkeys(found))


# By model, so that the CPU's numbers are kept no longer than they are needed.
CASES = sorted(_cases(), key=lambda case: (case[0], case[2]))
over_cases = pytest.mark.parametrize(
    ("model", "mode", "precision"),
    [pytest.param(*case, marks=exhaustive) if case[0] in _LONG else case for case in CASES],
    ids=["-".join(case) for case in CASES],
)


@functools.lru_cache(maxsize=2)
def _on_cpu(model: str, precision: str) -> Record:
    return train(model, "/CPU:0", "graph", precision)


@functools.lru_cache(maxsize=1)
def _exact(model: str, precision: str) -> Record:
    """The training that one in half precision rounds."""
    return train(model, "/CPU:0", "graph", reference_of=precision)


def _parted(numbers: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The optimisers' slots, and all others."""
    slots = {name: array for name, array in numbers.items() if name.startswith("slot")}
    return slots, {name: array for name, array in numbers.items() if name not in slots}


def _unexplained(report: onexpu.PlacementReport) -> dict[str, str]:
    """Ops on the host, with a reason that is none of the expected ones."""
    return {op: why for op, why in report.reasons.items() if why not in host_ops.REASONS}


def _check_transfers(report: onexpu.PlacementReport, mode: str) -> None:
    """Nothing is copied: inputs were on the device before, and nobody asks for metrics.

    But without compilation TensorFlow has shapes, conditions and bounds of integers on the host:
    eight bytes at most. Eager Python's literals are there, too, and the numbers of a batch's rows
    that gathers make: some dozen bytes each.
    """
    largest = {"jit": 0, "graph": 8, "eager": 64}[mode]
    for count, size in report.transfers.transfers.values():
        assert size <= largest * count, str(report.transfers)


@over_cases
def test_a_model_agrees_with_the_cpu(model: str, mode: str, precision: str) -> None:
    record = train(model, "/XPU:0", mode, precision)
    actual, expected = record.numbers, _on_cpu(model, precision).numbers
    tolerance = agreement.TOLERANCES[precision]
    if precision != "float32":
        # Slots are sums of gradients, in half precision tens of percents of roundings in some layers, on either device.
        (slots, actual), (on_cpu, expected) = _parted(actual), _parted(expected)
        numbers = _exact(model, precision).numbers
        exact = {name: numbers[name] for name in slots}
        assert agreement.less_exact(slots, on_cpu, exact, agreement.GRADIENTS * tolerance) == {}
    found = agreement.errors(actual, expected)
    assert {name: error for name, error in found.items() if not error <= tolerance} == {}
    assert _unexplained(record.report) == {}
    _check_transfers(record.report, mode)


@pytest.mark.parametrize("model", [pytest.param(name(m), marks=exhaustive) for m in APPLICATIONS])
def test_a_published_network_is_as_exact_as_the_cpus(model: str) -> None:
    """Of full depth, where the CPU's float32 itself is percents away from its float64; see `agreement`."""
    record = train(model, "/XPU:0", "jit", size=Size.FULL)
    float32 = train(model, "/CPU:0", "graph", size=Size.FULL).numbers
    float64 = train(
        model, "/CPU:0", "graph", "float64", size=Size.FULL, reference_of="float32"
    ).numbers
    tolerance = agreement.TOLERANCES["float32"]
    assert agreement.less_exact(record.numbers, float32, float64, tolerance) == {}
    assert _unexplained(record.report) == {}
    _check_transfers(record.report, "jit")
