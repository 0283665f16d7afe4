"""`jax.profiler` shows what the devices did: which commands, of which program, when."""

from __future__ import annotations

import json
import pathlib

import pytest

from tests.jax.process import run

# Prints the device planes of the traces that a program writes into the folders it is given.
READ = """
import glob, json, time
import jax, jax.numpy as jnp, numpy as np

def planes(folder):
    [path] = glob.glob(f"{folder}/**/*.xplane.pb", recursive=True)
    data = jax.profiler.ProfileData.from_file(path)
    return [
        {
            "name": plane.name,
            "stats": dict(plane.stats),
            "lines": {
                line.name: [
                    {"name": event.name, "start": event.start_ns, "end": event.end_ns,
                     "stats": dict(event.stats)}
                    for event in line.events
                ]
                for line in plane.lines
            },
        }
        for plane in data.planes
        if plane.name.startswith("/device:")
    ]
"""
COMPUTE = "Stream #0 (compute)"


def traced(program: str, folder: pathlib.Path) -> list[dict]:
    """Runs `program`, which traces into FOLDER; returns the device planes."""
    text = f"FOLDER = {str(folder)!r}\n{READ}\n{program}\nprint(json.dumps(planes(FOLDER)))"
    return json.loads(run(text).output.splitlines()[-1])


def test_the_commands_of_a_program_are_on_the_devices_line(tmp_path: pathlib.Path) -> None:
    [plane] = traced(
        """
@jax.jit
def step(x):
    return jax.nn.softmax(x @ x, axis=1)

x = jnp.ones((300, 300))
before = step(x).block_until_ready()
with jax.profiler.trace(FOLDER):
    for _ in range(5):
        during = step(x)
    np.asarray(during)
assert (np.asarray(before) == np.asarray(during)).all()
assert (np.asarray(before) == np.asarray(step(x))).all()
""",
        tmp_path,
    )
    assert plane["name"] == "/device:GPU:0"
    assert plane["stats"]["device_type_string"]
    commands = plane["lines"][COMPUTE]
    assert len(commands) == 10
    assert {command["stats"]["hlo_module"] for command in commands} == {"jit_step"}
    assert [command["stats"]["kind"] for command in commands] == ["gemm", "kernel"] * 5
    assert commands[0]["name"].startswith("gemm ")
    assert commands[0]["stats"]["tf_op"] == "jit(step)/dot_general"
    assert commands[0]["stats"]["source"].startswith("<string>:")
    assert len({command["stats"]["run_id"] for command in commands}) == 5
    for command, following in zip(commands, commands[1:], strict=False):
        assert command["start"] < command["end"] <= following["start"]
    [copy] = plane["lines"]["Stream #1 (device_to_host)"]
    assert copy["stats"]["bytes_transferred"] == 300 * 300 * 4
    assert copy["end"] >= commands[-1]["end"]


def test_times_are_those_of_the_hosts_clock(tmp_path: pathlib.Path) -> None:
    """Large enough a program that its time on the device is nearly all that the host sees."""
    [plane] = traced(
        """
step = jax.jit(lambda x: jnp.sin(jnp.exp(x)).sum())
x = jnp.ones((64 << 20,))
step(x).block_until_ready()
with jax.profiler.trace(FOLDER):
    with jax.profiler.TraceAnnotation("host"):
        begin = time.perf_counter_ns()
        step(x).block_until_ready()
        took = time.perf_counter_ns() - begin
[path] = glob.glob(f"{FOLDER}/**/*.xplane.pb", recursive=True)
[host] = [
    event
    for plane in jax.profiler.ProfileData.from_file(path).planes
    for line in plane.lines
    for event in line.events
    if event.name == "host"
]
commands = [c for plane in planes(FOLDER) for c in plane["lines"]["Stream #0 (compute)"]]
busy = sum(c["end"] - c["start"] for c in commands)
assert 0.5 * took < busy <= took, (busy, took)
assert all(c["start"] > host.start_ns and c["end"] < host.end_ns for c in commands)
""",
        tmp_path,
    )
    assert plane["lines"][COMPUTE]


def test_loops_and_kernels_of_users_are_shown_step_by_step(tmp_path: pathlib.Path) -> None:
    [plane] = traced(
        """
import onexpu
@jax.jit
def loop(x):
    return jax.lax.while_loop(lambda c: c[1] < 3, lambda c: (jnp.tanh(c[0] @ c[0]), c[1] + 1),
                              (x, 0))[0]
twice = onexpu.sycl_kernel(
    source="ONEXPU_KERNEL void twice(const float* x, float* y) {"
           " size_t i = onexpu::global_id(); y[i] = 2 * x[i]; }",
    inputs=["x"], outputs={"y": onexpu.like("x")}, range=lambda x: x.size)
x = jnp.ones((256, 256))
loop(x); jax.jit(lambda x: twice(x) + 1)(x).block_until_ready()
with jax.profiler.trace(FOLDER):
    loop(x)
    jax.jit(lambda x: twice(x) + 1)(x).block_until_ready()
    twice(x).block_until_ready()
""",
        tmp_path,
    )
    commands = plane["lines"][COMPUTE]
    assert sum(c["name"].startswith("gemm ") for c in commands) == 3
    assert not any("while" in c["stats"]["kind"] for c in commands)
    assert sum("twice" in c["name"] or c["stats"]["kind"] == "custom call" for c in commands) == 2


def test_libraries_keep_their_order_during_a_trace(tmp_path: pathlib.Path) -> None:
    """Commands go through another queue then, and a transform's descriptor was made for the
    first.
    """
    [plane] = traced(
        """
def work(x):
    x = jnp.tanh(x @ x)
    # Long enough to be the library's.
    spectrum = jnp.fft.rfft(jnp.tile(jnp.sin(x), (1, 32)), axis=1)[:, :64] * 2
    triangle = jnp.tril(x) + 40 * jnp.eye(128)
    solved = jax.lax.linalg.triangular_solve(
        triangle, jnp.abs(spectrum), left_side=True, lower=True)
    image = jax.lax.conv_general_dilated(
        solved[None, None], x[:9, :9][None, None], (1, 1), "SAME")[0, 0]
    return jnp.linalg.cholesky(image @ image.T + 1e4 * jnp.eye(128)) + 1

step = jax.jit(work)
x = jnp.asarray(np.random.RandomState(0).rand(128, 128).astype(np.float32))
before = np.asarray(step(x))
with jax.profiler.trace(FOLDER):
    for _ in range(50):
        np.testing.assert_array_equal(step(x), before)
for _ in range(50):
    np.testing.assert_array_equal(step(x), before)
""",
        tmp_path,
    )
    kinds = {command["stats"]["kind"] for command in plane["lines"][COMPUTE]}
    assert {"kernel", "gemm", "fft", "triangular-solve", "cholesky"} <= kinds


def test_a_trace_holds_its_own_time_alone(tmp_path: pathlib.Path) -> None:
    [plane] = traced(
        """
x = jnp.ones(1000)
first = jax.jit(lambda x: x + 1)
def second(x): return x * 2
second = jax.jit(second)
with jax.profiler.trace(FOLDER + "/other"):
    first(x).block_until_ready()
FOLDER += "/this"
second(x).block_until_ready()
with jax.profiler.trace(FOLDER):
    second(x).block_until_ready()
second(x).block_until_ready()
""",
        tmp_path,
    )
    assert [c["stats"]["hlo_module"] for c in plane["lines"][COMPUTE]] == ["jit_second"]


def test_a_trace_may_begin_and_end_while_python_is_called_back(tmp_path: pathlib.Path) -> None:
    """The launcher then waits for Python's lock, which the caller may hold."""
    [plane] = traced(
        """
def slow(x):
    time.sleep(0.5)
    return x
step = jax.jit(lambda x: jax.pure_callback(slow, jax.ShapeDtypeStruct((4,), np.float32), x) + 1)
x = jnp.ones(4)
step(x).block_until_ready()
for _ in range(3):
    step(x)
@jax.jit
def traced(x):
    return x * 3
with jax.profiler.trace(FOLDER):
    traced(x).block_until_ready()
    step(x)
step(x).block_until_ready()
""",
        tmp_path,
    )
    modules = [command["stats"].get("hlo_module") for command in plane["lines"][COMPUTE]]
    assert "jit_traced" in modules


def test_a_trace_may_begin_before_the_device_is_used(tmp_path: pathlib.Path) -> None:
    [plane] = traced(
        """
with jax.profiler.trace(FOLDER):
    jax.jit(lambda x: x + 1)(np.ones(1000, np.float32)).block_until_ready()
""",
        tmp_path,
    )
    assert len(plane["lines"][COMPUTE]) == 1


@pytest.mark.parametrize("devices", [2])
def test_every_device_has_a_plane(tmp_path: pathlib.Path, devices: int) -> None:
    planes = traced(
        f"""
jax.config.update("jax_num_cpu_devices", {devices})
x = [jax.device_put(np.ones(1000, np.float32), device) for device in jax.devices()]
step = jax.jit(lambda x: x + 1)
with jax.profiler.trace(FOLDER):
    for operand in x[1:]:
        step(operand).block_until_ready()
""",
        tmp_path,
    )
    assert [plane["name"] for plane in planes] == [f"/device:GPU:{i}" for i in range(devices)]
    assert [len(plane["lines"].get(COMPUTE, [])) for plane in planes] == [0, 1]
