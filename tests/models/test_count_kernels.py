"""Counting launches: on functions small enough to count by hand, then on training steps."""

from __future__ import annotations

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.models.compiled import PROGRAMS, compiled
from tools import count_kernels, hlo_text

A = np.ones((300, 300), np.float32)  # enough for a library call


def _lower(function, device, *arguments):
    return jax.jit(function).lower(*jax.device_put(arguments, device))


def test_text_of_a_module_is_read(cpu) -> None:
    def function(x):
        return jax.lax.while_loop(
            lambda c: c[1].sum() < 1e6, lambda c: (c[0] + 1, c[1] @ x), (0, x)
        )

    module = hlo_text.parse(_lower(function, cpu, A).compile().as_text())
    (loop,) = (i for i in module.executed() if i.opcode == "while")
    assert {"body", "condition"} <= loop.called.keys()
    executed = [i.opcode for i in module.executed()]
    assert "dot" in executed or "custom-call" in executed or "fusion" in executed


def test_launches_are_counted(xpu, cpu) -> None:
    def function(x):
        return jnp.tanh(x @ x)

    counts, compiled = count_kernels.count_on_xpu(_lower(function, xpu, A))
    # For a GPU the library has the tanh, too.
    kernels = 0 if os.environ.get("ONEXPU_SCHEDULES") == "gpu" else 1
    assert (counts.kernels, counts.library_calls, counts.copies) == (kernels, 1, 0)
    assert counts.peak_bytes >= 2 * A.nbytes
    assert count_kernels.moves_beside_library_calls(compiled.as_text()) == []
    assert count_kernels.count_on_cpu(_lower(function, cpu, A).compile()).launches >= 1


def test_a_move_beside_a_library_call_is_found() -> None:
    text = """HloModule m

%fused (p: f32[8,4]) -> f32[4,8] {
  %p = f32[8,4]{1,0} parameter(0)
  %b = f32[4,8]{0,1} transpose(%p), dimensions={1,0}
  ROOT %c = f32[4,8]{1,0} copy(%b)
}

ENTRY %main (x: f32[8,4], y: f32[8,8]) -> f32[4,8] {
  %x = f32[8,4]{1,0} parameter(0)
  %y = f32[8,8]{1,0} parameter(1)
  %moved = f32[4,8]{1,0} fusion(%x), kind=kLoop, calls=%fused
  %view = f32[4,8]{1,0} bitcast(%moved)
  ROOT %product = f32[4,8]{1,0} custom-call(%view, %y), custom_call_target="onednn-matmul"
}
"""
    ((kernel, call),) = count_kernels.moves_beside_library_calls(text)
    assert (kernel.name, call) == ("moved", "product")


@pytest.mark.parametrize("name", ["gpt_training", "resnet50_training"])
def test_a_training_step_takes_no_more_than_xla_cpus(xpu, cpu, name) -> None:
    ours, _ = count_kernels.count_on_xpu(PROGRAMS[name].lower(xpu))
    theirs = count_kernels.count_on_cpu(compiled(name, cpu))
    assert ours.launches <= 1.2 * theirs.launches
    assert ours.peak_bytes <= 1.05 * theirs.peak_bytes
