"""Training keeps to the memory that it has, and goes on after a step that did not fit.

ONEXPU_TF_MODELS=all trains a deeper network for 500 steps with eight batch sizes.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
from typing import Any

import process
import pytest
import tensorflow as tf

import onexpu
from tests.tensorflow.training.memory_training import WAYS, Training, batch_sizes, live_bytes

_FULL = os.environ.get("ONEXPU_TF_MODELS") == "all"
_SIZES = (1, 3, 4, 7, 8, 12, 17, 32) if _FULL else (1, 4, 7)
_FILTERS = (8, 16) if _FULL else (8,)
_STEPS = dict.fromkeys(WAYS, 500) if _FULL else {"compiled": 100, "graph": 60, "eager": 30}
_LIMIT = 48 << 20

_STATISTICS = re.compile(
    r"out of memory on xpu:0: (?P<asked>\d+) bytes requested\. "
    r"Pool: (?P<live>\d+) bytes in use \(peak \d+\), (?P<cached>\d+) bytes cached, "
    r"largest free block (?P<largest>\d+), limit (?P<limit>\d+)\."
)


@pytest.mark.parametrize("way", WAYS)
def test_training_with_changing_batches_leaves_live_bytes_where_they_were(way: str) -> None:
    """Before step 10 every batch size comes, and the constants of its programs stay, a few KB."""
    training = Training("/XPU:0", way, _FILTERS)
    readings = {}
    for number, size in enumerate(batch_sizes(_SIZES, _STEPS[way]), 1):
        loss = training.step(size)
        if number in (1, 10, _STEPS[way]):
            readings[number] = live_bytes()
    assert readings[_STEPS[way]] == readings[10]
    assert readings[10] - readings[1] <= len(_SIZES) * 4096
    assert loss.numpy() < 100


def test_memory_info_is_the_pools() -> None:
    with tf.device("/XPU:0"):
        tf.zeros([1 << 20])  # the first one brings scalars along that stay
        before = live_bytes()
        kept = tf.zeros([1 << 20])
        assert live_bytes() - before == kept.dtype.size << 20
    reported = tf.config.experimental.get_memory_info("XPU:0")
    pool = onexpu.memory_info()
    assert reported == {"current": pool["bytes_in_use"], "peak": pool["peak_bytes_in_use"]}


def test_the_peak_starts_over() -> None:
    with tf.device("/XPU:0"):
        tf.zeros([1 << 20])  # and gone
        live_bytes()  # and so is what others left
        tf.config.experimental.reset_memory_stats("XPU:0")
        start = tf.config.experimental.get_memory_info("XPU:0")
        assert start["peak"] == start["current"]
        tf.reduce_sum(tf.zeros([1 << 22])).numpy()
        live_bytes()
    used = tf.config.experimental.get_memory_info("XPU:0")
    assert used["peak"] - start["current"] >= 4 << 22
    assert used["current"] - start["current"] < 4 << 20


@pytest.fixture(scope="module")
def exhausted() -> dict[str, dict[str, Any]]:
    """What each case of out_of_memory.py came to, in a process with little memory."""
    done = process.run(
        "import out_of_memory; out_of_memory.main()",
        timeout=600,
        PYTHONPATH=str(pathlib.Path(__file__).parent),
        ONEXPU_MEMORY_LIMIT=str(_LIMIT),
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


_OPERATIONS = ("temporaries", "unique", "crop_and_resize", "constant", "scratch")


@pytest.mark.parametrize("case", [*WAYS, *_OPERATIONS])
def test_what_does_not_fit_is_refused_with_the_pools_state(exhausted, case: str) -> None:
    record = exhausted[case]
    assert record["error"] == "ResourceExhaustedError", record["message"]
    found = _STATISTICS.search(record["message"])
    assert found, record["message"]
    asked, live, cached, largest, limit = map(int, found.groups())
    assert limit == _LIMIT
    assert largest < asked, "it did fit"
    assert largest <= cached
    assert live + cached <= limit
    assert live + asked > limit or cached > 0
    assert record["live"][-1] == record["live"][-2]
    assert record["live"][-1] - record["live"][0] <= 8192


@pytest.mark.parametrize("way", WAYS)
def test_training_goes_on_after_a_step_that_did_not_fit(exhausted, way: str) -> None:
    record = exhausted[way]
    # A graph runs what does not depend on the operation that failed, on every device.
    assert set(record["changed"]) <= ({"iteration"} if way == "graph" else set())
    for actual, expected in record["losses"]:
        assert actual == pytest.approx(expected, rel=1e-5)
    # Three steps of Adam, 1e-3 each; rounding errors are relative to a step where a gradient is
    # small.
    assert max(record["errors"]) < 1e-5


@pytest.mark.parametrize("case", _OPERATIONS)
def test_what_fits_works_after_what_did_not(exhausted, case: str) -> None:
    assert exhausted[case]["results"] == [exhausted[case]["expected"]] * 2


def test_a_program_without_room_for_its_temporaries_writes_no_variable(exhausted) -> None:
    assert exhausted["temporaries"]["counter"] == 2.0  # the two runs that fitted
