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


def _compared(name: str, precision: str) -> bool:
    """Metrics and outputs; in single precision also variables.

    In half precision the optimisers, which divide by a gradient's size, make whole steps of the
    roundings of small gradients.
    """
    return precision == "float32" or name.startswith(("step", "output"))


def _with_mean_losses(numbers: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Losses of single pictures as training shows them: their mean.

    In half precision a picture's own is some percent of rounding errors on either device from the third step on, and a
    class that is guessed is chance.
    """
    return {name: array.mean(keepdims=True) if name.endswith("losses") else array for name, array in numbers.items()}


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
    kept = [
        {name: array for name, array in numbers.items() if _compared(name, precision)}
        for numbers in (record.numbers, _on_cpu(model, precision).numbers)
    ]
    found = agreement.errors(*(kept if precision == "float32" else map(_with_mean_losses, kept)))
    tolerance = agreement.TOLERANCES[precision]
    assert {name: error for name, error in found.items() if not error <= tolerance} == {}
    assert _unexplained(record.report) == {}
    _check_transfers(record.report, mode)


@pytest.mark.parametrize("model", [pytest.param(name(m), marks=exhaustive) for m in APPLICATIONS])
def test_a_published_network_is_as_exact_as_the_cpus(model: str) -> None:
    """Of full depth, where the CPU's float32 itself is percents away from its float64; see `agreement`."""
    record = train(model, "/XPU:0", "jit", size=Size.FULL)
    on_cpu = [train(model, "/CPU:0", "graph", precision, Size.FULL).numbers for precision in ("float32", "float64")]
    assert agreement.less_exact(record.numbers, *on_cpu) == {}
    assert _unexplained(record.report) == {}
    _check_transfers(record.report, "jit")
