"""`onexpu.kernels.attention` on xpu, against what XLA:CPU and our own compiler make of plain
attention.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from cases import Case, Run
from library_cases import compiled_step, numbers

from onexpu import kernels
from onexpu.kernels import reference

HEADS, FEATURES = 2, 64


def _case(positions: int, causal: bool, dtype: str, backward: bool, _) -> Case:
    def contender(platform: str, function: Callable[..., jax.Array]) -> Run:
        device = jax.devices(platform)[0]
        operands = [
            jax.device_put(jnp.asarray(numbers(1, positions, HEADS, FEATURES), dtype), device)
            for _ in range(3)
        ]
        step = compiled_step(functools.partial(function, causal=causal), 3, backward)

        def run() -> None:
            jax.block_until_ready(step(*operands))

        return run

    contenders = {
        "xpu": contender("xpu", kernels.attention),
        "XLA:CPU": contender("cpu", reference.attention),
        "same in XLA on xpu": contender("xpu", reference.attention),
    }
    what = f"{'causal ' * causal}attention {'with its gradient' if backward else 'alone'}"
    return Case(
        f"{what}, {positions} positions, {HEADS} heads of {FEATURES}, {dtype}",
        contenders,
        rounds=11,
        seconds=20.0,
    )


ATTENTION_CASES = {
    f"attention_{positions}{'_causal' * causal}{'_gradient' * backward}_{short}": functools.partial(
        _case, positions, causal, dtype, backward
    )
    for positions in (512, 4096)
    for causal in (False, True)
    for backward in (False, True)
    for short, dtype in (("f32", "float32"), ("bf16", "bfloat16"))
}
