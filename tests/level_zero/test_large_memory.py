"""Memory beyond the largest single allocation, which is 4 GiB on some GPUs."""

from __future__ import annotations

import pytest

from tests.exhaustive import exhaustive
from tests.level_zero.lab import Lab, Run

_LIMITED = ("dg2", "mtl")
_LIMIT = 4 << 30
_LARGE_BUFFER_OPTION = "-ze-opt-greater-than-4GB-buffer-required"

_ARRAY = """
import jax, jax.numpy as jnp
jnp.zeros(1000, jnp.int8).block_until_ready()
x = jnp.zeros(5 << 30, jnp.int8)
(x[::2] + 1).block_until_ready()
"""

# Five sorted arrays of 1 GiB that live together.
_TEMPORARIES = """
import jax, jax.numpy as jnp

def loss(x):
    return sum(part.sum() for part in [jnp.sort(x + i) for i in range(5)])

program = jax.jit(loss).lower(jax.ShapeDtypeStruct((1 << 28,), jnp.float32)).compile()
assert program.memory_analysis().temp_size_in_bytes > 4 << 30
program(jnp.zeros(1 << 28, jnp.float32)).block_until_ready()
"""

_PINNED = """
import jax, numpy as np
jax.device_put(np.broadcast_to(np.int8(1), (5, 1 << 30)).T).block_until_ready()
"""

_TOO_LARGE = """
import jax, jax.numpy as jnp
try:
    jnp.zeros(20 << 30, jnp.int8).block_until_ready()
except Exception as error:
    print(error)
"""

# A kernel of a handler's, which onexpu does not build for each program.
_KERNEL = """
import tensorflow as tf
with tf.device("/XPU:0"):
    image = tf.zeros((1, 32768, 40960, 1))
    try:
        tf.image.crop_and_resize(image, [[0.0, 0.0, 1.0, 1.0]], [0], [4, 4])
        print("launched")
    except tf.errors.UnimplementedError as error:
        print(error)
"""


def _flags(run: Run) -> list[str]:
    return [one["flags"] for one in run.of("module")]


@pytest.mark.parametrize("device", _LIMITED)
def test_an_array_above_the_limit(lab: Lab, device: str) -> None:
    run = lab.run(device, _ARRAY).check()
    above = [one for one in run.of("allocate") if one["size"] > _LIMIT]
    assert above and all(one.get("relaxed") and not one["result"] for one in above)
    # Only the programs that access it pay for its addresses.
    with_option = [_LARGE_BUFFER_OPTION in flags for flags in _flags(run)]
    assert any(with_option) and not all(with_option)


@pytest.mark.parametrize("device", _LIMITED)
def test_temporaries_are_split(lab: Lab, device: str) -> None:
    run = lab.run(device, _TEMPORARIES).check()
    assert not run.failed_calls()
    assert not [one for one in run.of("allocate") if one.get("relaxed") or one["size"] > _LIMIT]
    assert not [flags for flags in _flags(run) if _LARGE_BUFFER_OPTION in flags]


def test_gpus_without_the_limit_allocate_at_once(lab: Lab) -> None:
    run = lab.run("bmg", _ARRAY).check()
    above = [one for one in run.of("allocate") if one["size"] > _LIMIT]
    assert above and not any(one.get("relaxed") or one["result"] for one in above)
    assert not [flags for flags in _flags(run) if _LARGE_BUFFER_OPTION in flags]


@exhaustive
def test_pinned_memory_above_the_limit(lab: Lab) -> None:
    """A transposed array of 5 GiB, which the host copies to pinned memory first."""
    run = lab.run("dg2", _PINNED).check()
    pinned = [one for one in run.of("allocate", kind="host") if one["size"] > _LIMIT]
    assert pinned and not run.failed_calls()


def test_the_error_names_the_largest_allocation(lab: Lab) -> None:
    run = lab.run("mtl", _TOO_LARGE).check()
    assert f"{20 << 30} bytes requested" in run.stdout
    assert "largest single allocation of the device is 4294959104 bytes" in run.stdout


def test_kernels_of_handlers_reject_operands_above_the_limit(lab: Lab) -> None:
    run = lab.run("dg2", _KERNEL).check()
    assert f"an operand of {5 << 30} bytes is larger than the largest single" in run.stdout
    assert "UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1" in run.stdout
    lifted = lab.run("dg2", _KERNEL, env={"UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS": "1"})
    assert lifted.check().stdout.endswith("launched\n")
