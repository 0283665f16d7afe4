"""The kernels of `onexpu.kernels` for serving and training steps, against XLA's versions of their
references.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from cases import Case, Run
from library_cases import numbers

from onexpu import kernels
from onexpu.kernels import reference


def _contenders(
    name: str, contender: Callable[[str, Callable[..., object]], Run]
) -> dict[str, Run]:
    return {
        "xpu": contender("xpu", getattr(kernels, name)),
        "XLA:CPU": contender("cpu", getattr(reference, name)),
        "same in XLA on xpu": contender("xpu", getattr(reference, name)),
    }


def _calls(name: str, operands: Sequence[object], **options: float) -> dict[str, Run]:
    def contender(platform: str, function: Callable[..., object]) -> Run:
        placed = jax.device_put(list(operands), jax.devices(platform)[0])
        call = jax.jit(functools.partial(function, **options))

        def run() -> None:
            jax.block_until_ready(call(*placed))

        return run

    return _contenders(name, contender)


def _updates(
    name: str, state: Sequence[object], operands: Sequence[object], step: Callable[..., object]
) -> dict[str, Run]:
    """Each run changes, in place, what the one before has left:
    ``step(function, state, *operands)``.
    """

    def contender(platform: str, function: Callable[..., object]) -> Run:
        device = jax.devices(platform)[0]
        # Copies, because donated arrays must have no other owner.
        kept = [jax.device_put([np.array(a) for a in state], device)]
        rest = jax.device_put(list(operands), device)
        call = jax.jit(functools.partial(step, function), donate_argnums=0)

        def run() -> None:
            kept[0] = jax.block_until_ready(call(kept[0], *rest))

        return run

    return _contenders(name, contender)


def _adamw(dtype: str, _) -> Case:
    size = 16 << 20
    moments = np.zeros(size, np.float32)
    state = [np.asarray(jnp.asarray(numbers(size), dtype)), moments, moments]

    def step(
        function: Callable[..., object],
        state: list[jax.Array],
        gradient: jax.Array,
        *of_step: jax.Array,
    ):
        parameter, m, v = state
        return list(function(parameter, gradient, m, v, *of_step))

    operands = [state[0], np.int32(10), np.float32(1e-4)]
    return Case(
        f"AdamW in place, 16 M {dtype}, moments in f32", _updates("adamw", state, operands, step)
    )


def _paged_kv_update(tokens: int, _) -> Case:
    layers, cache, token = 8, (256, 16, 8, 128), (8, 128)
    slots = np.random.default_rng(0).permutation(cache[0] * cache[1])[:tokens].astype(np.int32)

    def step(
        function: Callable[..., object], caches: list[jax.Array], new: jax.Array, slots: jax.Array
    ) -> object:
        layered = zip(caches[::2], caches[1::2], strict=True)
        return [
            cache for keys, values in layered for cache in function(keys, values, new, new, slots)
        ]

    state = [np.zeros(cache, np.float32)] * (2 * layers)
    contenders = _updates("paged_kv_update", state, [numbers(tokens, *token), slots], step)
    return Case(
        f"paged KV update in place, {layers} layers, {tokens} tokens of 8 x 128 f32",
        contenders,
        rounds=51,
    )


def _top_p_sample(batch: int, vocabulary: int, _) -> Case:
    operands = [3 * numbers(batch, vocabulary), np.linspace(0, 0.99, batch, dtype=np.float32)]
    return Case(
        f"top-p sampling, {batch} x {vocabulary} f32", _calls("top_p_sample", operands, p=0.9)
    )


def _matmul(bits: int, dtype: str, tokens: int, size: int, _) -> Case:
    quantize = {
        8: kernels.quantize_int8,
        4: functools.partial(kernels.quantize_int4, group_size=128),
    }[bits]
    operands = [
        jnp.asarray(numbers(tokens, size), dtype),
        *quantize(jnp.asarray(numbers(size, size))),
    ]
    contenders = _calls(f"int{bits}_matmul", operands)
    return Case(f"int{bits} weights, {tokens} x {size} x {size} {dtype}", contenders)


INFERENCE_CASES = {
    "adamw_f32": functools.partial(_adamw, "float32"),
    "adamw_bf16": functools.partial(_adamw, "bfloat16"),
    **{f"paged_kv_update_{n}": functools.partial(_paged_kv_update, n) for n in (32, 1024)},
    **{
        f"top_p_sample_{batch}": functools.partial(_top_p_sample, batch, vocabulary)
        for batch, vocabulary in ((1, 131_072), (16, 32_768), (64, 131_072))
    },
    **{
        f"int{bits}_matmul_{tokens}_{short}": functools.partial(_matmul, bits, dtype, tokens, size)
        for bits in (8, 4)
        for tokens, size in ((1, 4096), (8, 2048), (512, 2048))
        for short, dtype in (("f32", "float32"), ("bf16", "bfloat16"))
    },
}
