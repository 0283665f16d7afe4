"""Arrays of other libraries whose addresses oneDNN does not accept on GPUs.

oneDNN takes f16 and bf16 operands at any address there, and computes wrong numbers unless it is a
multiple of 64. Each run copies such an operand.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.level_zero.lab import Lab

_PROGRAM = """
import dpnp, jax, jax.numpy as jnp, numpy as np, onexpu
a = np.arange(96 * 80, dtype=np.float16).reshape(96, 80) % 7 - 3
b = jnp.asarray(np.arange(80 * 72).reshape(80, 72) % 5 - 2, jnp.float16)
memory = dpnp.zeros(a.size + 1, dtype=np.float16, sycl_queue=onexpu.dpctl_queue())
part = memory[1:].reshape(a.shape)
part[...] = a
x = onexpu.to_jax(part)
assert x.unsafe_buffer_pointer() % 64 == 2, x.unsafe_buffer_pointer()
product = jax.jit(lambda x, b: x @ b)
loop = jax.jit(lambda x, b: jax.lax.fori_loop(
    0, 3, lambda i, c: c + x @ b, jnp.zeros((96, 72), x.dtype)))
got = [np.asarray(product(x, b)) for _ in range(2)] + [np.asarray(loop(x, b)) / 3]
if "Level-Zero" not in jax.devices()[0].client.platform_version:
    for one in got:
        np.testing.assert_array_equal(one, (a.astype(np.float32) @ np.asarray(b, np.float32)))
    part[0, 0] = 100                     # it is still the same memory
    assert product(x, b)[0, 0] != got[0][0, 0]
print("done")
"""
_BYTES = 96 * 80 * 2


@pytest.mark.parametrize("device", ("pvc", "bmg"))
def test_they_are_copied(lab: Lab, device: str) -> None:
    run = lab.run(device, _PROGRAM).check()
    assert len(run.of("copy", size=_BYTES)) >= 3


@pytest.mark.parametrize("schedules", ("cpu", "gpu"))
def test_products_are_right(schedules: str) -> None:
    environment = {**os.environ, "ONEXPU_DEVICE": "cpu", "ONEXPU_SCHEDULES": schedules}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr[-4000:]
