"""Long runs, large arrays, threads and processes in JAX (``--report --full``)."""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from onexpu._report import host
from onexpu._report.checks import Check, Note, Skip, Value
from onexpu._report.jax_checks import device, on_device, prepare

if TYPE_CHECKING:
    import jax

__all__ = ["CHECKS", "prepare"]

_LAUNCHES = 20_000
_STEPS = 1_000
_GIB = 1 << 30

_PROCESS = """
import jax, numpy as np
x = np.arange(1 << 20, dtype=np.int32)
there = jax.device_put(x, jax.devices("xpu")[0])
for i in range(50):
    there = jax.jit(lambda x: x + 1)(there)
np.testing.assert_array_equal(np.asarray(there), x + 50)
"""


def _resident_bytes() -> int:
    pages = pathlib.Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE")


def _need_memory(size: int) -> None:
    """Raises `Skip` if the device or the host has less memory left than that."""
    import onexpu

    info = onexpu.memory_info()
    left = info.get("bytes_limit", 0) - info["bytes_in_use"]
    available = next(
        int(line.split()[1]) * 1024
        for line in pathlib.Path("/proc/meminfo").read_text().splitlines()
        if line.startswith("MemAvailable:")
    )
    if min(left, available) < size:
        raise Skip(f"needs {size / _GIB:g} GiB of device memory and of host memory")


def _launches() -> Iterator[Value | Note]:
    import jax
    import numpy as np

    step = jax.jit(lambda x: x + 1)
    x = jax.device_put(np.zeros(1000, np.float32), device())

    def run(count: int) -> None:
        nonlocal x
        for i in range(count):
            x = step(x)
            if i % 100 == 99:
                x.block_until_ready()

    run(_LAUNCHES // 5)
    before, start = _resident_bytes(), time.perf_counter()
    run(_LAUNCHES)
    seconds, growth = time.perf_counter() - start, _resident_bytes() - before
    yield Value("values", x, np.full(1000, _LAUNCHES * 1.2, np.float32))
    yield Note(
        f"{_LAUNCHES:,} launches: {1e6 * seconds / _LAUNCHES:.1f} us each, "
        f"host memory grew by {growth:,} bytes"
    )
    yield Value(
        "growth of host memory in bytes",
        max(growth, 0),
        0,
        100.0 * _LAUNCHES,
        "100 bytes per launch: leaks of SYCL's Level Zero adapters were larger",
    )


def _steps() -> Iterator[Value | Note]:
    import jax
    import jax.numpy as jnp
    import numpy as np

    x = jax.device_put(host.random(8, 16, 16, 8), device())
    w = jax.device_put((host.random(3, 3, 8, 8), host.random(8, 4, seed=1)), device())

    def loss(w: tuple[jax.Array, jax.Array]) -> jax.Array:
        features = jax.lax.conv_general_dilated(
            x, w[0], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        return jnp.square(jnp.tanh(features.mean((1, 2))) @ w[1]).sum()

    step = jax.jit(lambda w: jax.tree.map(lambda p, g: p - 1e-3 * g, w, jax.grad(loss)(w)))

    def run(count: int) -> None:
        nonlocal w
        for _ in range(count):
            w = jax.block_until_ready(step(w))

    run(_STEPS // 5)
    before = _resident_bytes()
    run(_STEPS)
    growth = _resident_bytes() - before
    yield Note(f"{_STEPS:,} steps: host memory grew by {growth:,} bytes")
    yield Value("finite weights", [bool(np.isfinite(np.asarray(p)).all()) for p in w], [True] * 2)
    yield Value(
        "growth of host memory in bytes",
        max(growth, 0),
        0,
        5_000.0 * _STEPS,
        "5,000 bytes a step: libraries and drivers cache what they compile",
    )


def _threads() -> Iterator[Value]:
    import jax
    import numpy as np

    step = jax.jit(lambda x: x * 2 + 1)

    def rounds(seed: int) -> int:
        rng, wrong = np.random.default_rng(seed), 0
        for i in range(300):
            x = rng.integers(-1000, 1000, 1000 + i).astype(np.int32)[: 1000 + i % 3]
            wrong += not np.array_equal(np.asarray(step(jax.device_put(x, device()))), x * 2 + 1)
        return wrong

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        yield Value("wrong rounds of two threads", list(pool.map(rounds, (0, 1))), [0, 0])


def _builds() -> Iterator[Value]:
    import jax.numpy as jnp
    import numpy as np

    x = host.random(257)

    def build(i: int) -> bool:
        got = on_device(lambda x: jnp.sort(x * 1.0)[: 100 + i] + i, x)
        return np.array_equal(np.asarray(got), np.sort(x)[: 100 + i] + np.float32(i))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        yield Value("32 programs built by 8 threads", list(pool.map(build, range(32))), [True] * 32)


def _processes() -> Iterator[Value]:
    children = [
        subprocess.Popen([sys.executable, "-c", _PROCESS], stdout=subprocess.DEVNULL)
        for _ in range(4)
    ]
    yield Value("exit statuses of 4 processes", [child.wait() for child in children], [0] * 4)


def _large_copy() -> Iterator[Value | Note]:
    import jax
    import numpy as np

    _need_memory(4 * _GIB)
    x = np.arange(_GIB // 4, dtype=np.uint32)
    start = time.perf_counter()
    there = jax.device_put(x, device()).block_until_ready()
    middle = time.perf_counter()
    back = np.asarray(there)
    end = time.perf_counter()
    yield Note(f"1 GiB to the device {middle - start:.2f} s, to the host {end - middle:.2f} s")
    yield Value("1 GiB there and back is equal", np.array_equal(back, x), True)


def _mapped_file() -> Iterator[Value]:
    import jax
    import numpy as np

    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory, "weights.npy")
        x = np.arange(1 << 25, dtype=np.uint32)
        np.save(file, x)
        mapped = np.load(file, mmap_mode="r")
        there = np.asarray(jax.device_put(mapped, device()))
        yield Value("128 MiB of a mapped file are equal", np.array_equal(there, x), True)


def _above_4_gib() -> Iterator[Value]:
    import jax
    import jax.numpy as jnp
    import numpy as np

    _need_memory(12 * _GIB)
    rows, columns = 18, 1 << 28  # 4.5 GiB of bytes
    large = jax.jit(lambda: jax.lax.broadcasted_iota(jnp.uint8, (rows, columns), 0) + 1)()
    picked = jax.jit(lambda x: x[:, 5 :: 1 << 22])(large)
    want = np.broadcast_to(np.arange(1, rows + 1, dtype=np.uint8)[:, None], picked.shape)
    yield Value("elements of an array of 4.5 GiB", picked, want)


def _long_kernel() -> Iterator[Value]:
    import numpy as np

    count = 20_000_000
    index = (np.arange(count, dtype=np.int32) * 7) % 8
    got = on_device(lambda z, i: z.at[i].set(i), np.zeros(8, np.int32), index)
    yield Value("20,000,000 updates of 8 elements", got, np.arange(8))


CHECKS = (
    Check("20,000 launches", _launches, 300),
    Check("1,000 training steps", _steps, 300),
    Check("two threads", _threads, 300),
    Check("builds on 8 threads", _builds, 600),
    Check("four processes", _processes, 600),
    Check("copies of 1 GiB", _large_copy, 300),
    Check("mapped file", _mapped_file),
    Check("array above 4 GiB", _above_4_gib, 300),
    Check("long scatter", _long_kernel, 300),
)
