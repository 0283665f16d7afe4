"""Requests for the same bits in each run."""

from __future__ import annotations

import pathlib

import jax
import numpy as np
import pytest
from jax.experimental import topologies

from tests.jax.process import run

# Enough updates that a GPU's schedule prefers atomic operations.
_ROWS, _UPDATES, _WIDTH = 1000, 100, 64

_TWICE = """
import os
import jax, numpy as np
r = np.random.default_rng(0)
table, update = r.standard_normal((1000, 64), np.float32), r.standard_normal((5000, 64), np.float32)
index = r.integers(0, 9, 5000)
add = jax.jit(lambda t, i, u: t.at[i].add(u))
first = np.asarray(add(table, index, update))
assert all(np.array_equal(first, add(table, index, update)) for _ in range(20))
want = table.astype(np.float64)
np.add.at(want, index, update)
# Each row is a sum of some 560 normal numbers, below 128: errors of at most 4e-6 a step, with
# random signs, come to 1e-4.
print(np.abs(first - want).max() < 1e-3, jax.devices()[0].client.platform_version)
"""


def _uses_atomics(directory: pathlib.Path, dtype: str, options: dict[str, bool]) -> bool:
    device, *_ = topologies.get_topology_desc("pvc", "xpu").devices
    sharding = jax.sharding.SingleDeviceSharding(device)
    table, index, update = (
        jax.ShapeDtypeStruct(shape, kind, sharding=sharding)
        for shape, kind in (
            ((_ROWS, _WIDTH), dtype),
            ((_UPDATES,), "int32"),
            ((_UPDATES, _WIDTH), dtype),
        )
    )
    step = jax.jit(lambda t, i, u: t.at[i].add(u), donate_argnums=0).lower(table, index, update)
    step.compile(compiler_options={"xla_dump_to": str(directory), **options})
    texts = [path.read_text() for path in directory.glob("*.spvasm")]
    assert texts
    return any("OpAtomic" in text for text in texts)


@pytest.mark.parametrize(
    ("dtype", "option", "atomics"),
    [
        ("float32", None, True),
        ("float32", "xla_gpu_deterministic_ops", False),
        ("float32", "xla_gpu_exclude_nondeterministic_ops", False),
        ("int32", "xla_gpu_deterministic_ops", True),
    ],
)
def test_scatters_on_a_gpu(
    tmp_path: pathlib.Path, dtype: str, option: str | None, atomics: bool
) -> None:
    options = {} if option is None else {option: True}
    assert _uses_atomics(tmp_path, dtype, options) == atomics


def test_the_variable(tmp_path: pathlib.Path) -> None:
    for schedules in ("cpu", "gpu"):
        result = run(_TWICE, ONEXPU_DETERMINISTIC="1", ONEXPU_SCHEDULES=schedules)
        assert result.output.startswith("True ") and "; deterministic" in result.output
    assert "deterministic" not in run(_TWICE.replace("range(20)", "()")).output
    rejected = run(_TWICE, check=False, ONEXPU_DETERMINISTIC="yes", JAX_PLATFORMS="xpu")
    assert "ONEXPU_DETERMINISTIC=yes is not understood: it takes 0 or 1" in rejected.errors


def test_products_and_convolutions_run_with_the_option(xpu) -> None:
    x = np.ones((2, 8, 8, 4), np.float32)
    kernel = np.ones((3, 3, 4, 4), np.float32)

    def step(x, kernel):
        y = jax.lax.conv_general_dilated(
            x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        return (y @ kernel[0, 0]).sum()

    with jax.default_device(xpu):
        gradient = jax.jit(jax.grad(step, (0, 1)))
        plain = gradient(x, kernel)
        options = {"xla_gpu_deterministic_ops": True}
        strict = gradient.lower(x, kernel).compile(compiler_options=options)(x, kernel)
    # Sums of small integers are exact in any order.
    for a, b in zip(plain, strict, strict=True):
        np.testing.assert_array_equal(a, b)
