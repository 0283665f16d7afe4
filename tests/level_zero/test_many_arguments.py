"""Operations on more arrays than a kernel has arguments, and more values than local memory holds.

Intel's graphics compiler accepts 2,048 bytes of arguments. The same programs compute on the CPU
device, with both sets of schedules.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.exhaustive import every
from tests.level_zero.lab import Lab

_PROGRAM = """
import sys
import jax, jax.numpy as jnp, numpy as np
random = np.random.default_rng(0)
normal = lambda *shape: jnp.asarray(random.normal(size=shape), jnp.float32)
many = lambda *shape: [normal(*shape) for _ in range(130)]
pieces = [normal(i % 5 + 1) for i in range(300)]
rows = [normal(4, 32) for _ in range(300)]
columns = [normal(64, 8) for _ in range(140)]
order = jnp.asarray(random.permutation(20_000), jnp.int32)
zeros = (np.float32(0),) * 140
add = lambda x, y: tuple(p + q for p, q in zip(x, y))
reduce = lambda dimension: lambda *a: jax.lax.reduce(a, zeros, add, (dimension,))
programs = {
    "concatenate": (lambda *a: jnp.concatenate(a), pieces),
    "concatenate of computed": (lambda *a: jnp.concatenate([x * 2 for x in a], 1) + 1, rows),
    "stack": (lambda *a: jnp.stack(a), rows),
    "sort": (lambda k, *a: jax.lax.sort((k, *a)), [order[:50], *many(50)]),
    "sort of a long row": (lambda k, *a: jax.lax.sort((k, *a)), [order, *many(20_000)]),
    "reduce rows": (reduce(1), rows[:140]),
    "reduce columns": (reduce(0), columns),
    "reduce window": (lambda *a: jax.lax.reduce_window(
        a, zeros, add, (1, 2), (1, 2), "VALID"), rows[:140]),
    "sum": (lambda *a: sum(a), rows),
    "one result each": (lambda *a: [x * 2 for x in a], rows),
    "loop": (lambda *a: jax.lax.fori_loop(
        0, 3, lambda i, c: [x + c[k - 1] for k, x in enumerate(c)], list(a)),
        [x[0, :3] for x in rows]),
}
for name, (function, arguments) in programs.items():
    if sys.argv[1:] and name not in sys.argv[1:]:
        continue
    got = jax.block_until_ready(jax.jit(function)(*arguments))
    if jax.devices()[0].client.platform_version.count("Level-Zero"):
        continue
    with jax.default_device(jax.devices("cpu")[0]):
        want = jax.jit(function)(*jax.device_put(arguments, jax.devices("cpu")[0]))
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5, err_msg=name)
"""


@pytest.mark.parametrize("device", every(2, ("dg2", "ptl")))
def test_they_launch(lab: Lab, device: str) -> None:
    run = lab.run(device, _PROGRAM).check()
    tables = [one for one in run.of("launch") if "_table" in one["name"]]
    assert len(tables) > 10


@pytest.mark.parametrize("schedules", every(2, ("gpu", "cpu")))
def test_they_compute(schedules: str) -> None:
    environment = {**os.environ, "ONEXPU_DEVICE": "cpu", "ONEXPU_SCHEDULES": schedules}
    # The CPU driver builds kernels of more parameters than the 255 of SPIR-V's universal limits.
    environment.pop("ONEXPU_VERIFY_SPIRV", None)
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr[-4000:]
