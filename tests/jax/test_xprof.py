"""XProf's tools show what a profile of JAX or TensorFlow contains: steps, kernels, HLO and memory.

The tools' own converters read the profiles. XProf is installed for this test alone, without the
packages of its server.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from tests.jax.process import run
from tests.package_index import pip_install

XPROF = "xprof==2.24.2"

JAX = """
import sys
import jax, jax.numpy as jnp

def loss(w, x):
    return jnp.mean(jax.nn.softmax(jnp.tanh(x @ w), axis=1) ** 2)

step = jax.jit(lambda w, x: w - 0.1 * jax.grad(loss)(w, x))
w, x = jnp.ones((64, 32)), jnp.ones((128, 64))
w = step(w, x).block_until_ready()
with jax.profiler.trace(sys.argv[1]):
    for i in range(3):
        with jax.profiler.StepTraceAnnotation("train", step_num=i):
            w = step(w, x).block_until_ready()
"""
TENSORFLOW = """
import sys
import tensorflow as tf

with tf.device("/XPU:0"):
    model = tf.keras.Sequential([tf.keras.layers.Dense(64, "relu"), tf.keras.layers.Dense(10)])
    model.compile("adam", "mse", jit_compile=True)
    x, y = tf.random.uniform([64, 32]), tf.random.uniform([64, 10])
    model.train_on_batch(x, y)
    tf.profiler.experimental.start(sys.argv[1])
    for i in range(3):
        with tf.profiler.experimental.Trace("train", step_num=i, _r=1):
            model.train_on_batch(x, y)
    tf.profiler.experimental.stop()
"""
CONVERT = """
import glob, json, sys
from xprof.convert import raw_to_tool_data

paths = glob.glob(f"{sys.argv[1]}/**/*.xplane.pb", recursive=True)
data, _ = raw_to_tool_data.xspace_to_tool_data(paths, sys.argv[2], {})
print(data if isinstance(data, str) else data.decode())
"""


@pytest.fixture(scope="module", name="xprof")
def _xprof(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    target = tmp_path_factory.mktemp("xprof")
    pip_install("--no-deps", "--target", target, XPROF)
    return target


@pytest.fixture(scope="module", params=[JAX, TENSORFLOW], ids=["jax", "tensorflow"], name="profile")
def _profile(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("profile")
    run(request.param, str(folder))
    return folder


@pytest.fixture(name="tool")
def _tool(xprof: pathlib.Path, profile: pathlib.Path) -> Any:
    def convert(name: str) -> Any:
        done = run(CONVERT, str(profile), name, PYTHONPATH=str(xprof))
        return json.loads(done.output)

    return convert


def rows(table: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the rows of a table of Google Charts, by column."""
    names = [column["id"] for column in table["cols"]]
    return [
        dict(zip(names, (cell.get("v") for cell in row["c"]), strict=True))
        for row in table.get("rows", [])
    ]


def test_hlo_stats(tool: Any) -> None:
    found = rows(tool("hlo_stats"))
    assert found
    assert {row["occurrences"] for row in found} == {3}
    # The text comes from the program's HLO.
    assert all(row["hlo_op_expression"].startswith(f"%{row['hlo_op_name']} = ") for row in found)
    assert any(row["total_time"] > 0 for row in found)


def test_op_profile(tool: Any) -> None:
    profile = tool("op_profile")
    assert profile["deviceType"] == "GPU"
    programs = [child for child in profile["byProgram"]["children"] if child["name"] != "IDLE"]
    assert programs
    assert all(program["children"] for program in programs)


def test_kernel_stats(tool: Any) -> None:
    kernels = rows(tool("kernel_stats"))
    assert kernels
    sizes = {(kernel["grid_dim"], kernel["block_dim"]) for kernel in kernels}
    assert any(size not in (("0,0,0", "0,0,0"), ("1,1,1", "1,1,1")) for size in sizes)


def test_overview_and_steps(tool: Any) -> None:
    # Commands belong to the step of the host's call that submitted them.
    [steps] = [
        rows(table)
        for table in tool("input_pipeline_analyzer")
        if any(column["id"] == "deviceComputeTimeMs" for column in table["cols"])
    ]
    assert [step["stepnum"] for step in steps] == ["0", "1", "2"]
    assert all(step["deviceComputeTimeMs"] > 0 for step in steps)
    statements = [table.get("p", {}).get("statement", "") for table in tool("overview_page")]
    assert not any("No step time measured" in statement for statement in statements)


def test_memory_profile(tool: Any) -> None:
    profile = tool("memory_profile")["memoryProfilePerAllocator"]["xpu:0"]
    snapshots = profile["sampledTimelineSnapshots"]
    activities = {snapshot["activityMetadata"]["memoryActivity"] for snapshot in snapshots}
    assert activities == {"ALLOCATION", "DEALLOCATION"}
    peak = int(profile["profileSummary"]["peakStats"]["peakBytesInUse"])
    assert 0 < peak < 1 << 24


def test_trace_viewer(tool: Any) -> None:
    events = tool("trace_viewer")["traceEvents"]
    steps = {event["args"]["group_id"] for event in events if "group_id" in event.get("args", {})}
    assert len(steps) >= 3
