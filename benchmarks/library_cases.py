"""The kernels of `onexpu.kernels` on xpu, against what XLA:CPU and our own compiler make of their
references.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from cases import Case, Run

from onexpu import kernels
from onexpu.kernels import reference

TOKENS, WIDTH, HEADS = 4096, 1024, 16


def numbers(*shape: int) -> np.ndarray:
    """Returns random numbers of size 1, the same each time."""
    return np.random.default_rng(len(shape)).standard_normal(shape, np.float32)


def _angles() -> list[np.ndarray]:
    angles = np.outer(np.arange(TOKENS // 4), 10_000.0 ** -np.linspace(0, 1, WIDTH // HEADS // 2))
    return [np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)]


# Operands, and how many of them have gradients.
_KERNELS: dict[str, tuple[Callable[[], list[np.ndarray]], int]] = {
    "rms_norm": (lambda: [numbers(TOKENS, WIDTH), numbers(WIDTH)], 2),
    "layer_norm": (lambda: [numbers(TOKENS, WIDTH), numbers(WIDTH), numbers(WIDTH)], 3),
    "swiglu": (lambda: [numbers(TOKENS, WIDTH), numbers(TOKENS, WIDTH)], 2),
    "rotary_embedding": (lambda: [numbers(4, TOKENS // 4, HEADS, WIDTH // HEADS), *_angles()], 1),
}


def compiled_step(
    function: Callable[..., jax.Array], differentiable: int, backward: bool
) -> Callable[..., object]:
    """Returns the function compiled: alone, or with the gradients for its first operands."""
    if not backward:
        return jax.jit(function)

    def step(*operands: jax.Array) -> Sequence[jax.Array]:
        changing, rest = operands[:differentiable], operands[differentiable:]
        y, back = jax.vjp(lambda *given: function(*given, *rest), *changing)
        return y, *back(y)

    return jax.jit(step)


def _case(name: str, dtype: str, backward: bool, _) -> Case:
    make, differentiable = _KERNELS[name]

    def contender(platform: str, function: Callable[..., jax.Array]) -> Run:
        device = jax.devices(platform)[0]
        operands = [jax.device_put(jnp.asarray(a, dtype), device) for a in make()]
        step = compiled_step(function, differentiable, backward)

        def run() -> None:
            jax.block_until_ready(step(*operands))

        return run

    contenders = {
        "xpu": contender("xpu", getattr(kernels, name)),
        "XLA:CPU": contender("cpu", getattr(reference, name)),
        "same in XLA on xpu": contender("xpu", getattr(reference, name)),
    }
    what = "with its gradient" if backward else "alone"
    return Case(f"{name} {what}, {TOKENS} x {WIDTH} {dtype}", contenders, rounds=51, seconds=5.0)


LIBRARY_CASES = {
    f"{name}{'_gradient' * backward}_{short}": functools.partial(_case, name, dtype, backward)
    for name in _KERNELS
    for backward in (False, True)
    for short, dtype in (("f32", "float32"), ("bf16", "bfloat16"))
}
