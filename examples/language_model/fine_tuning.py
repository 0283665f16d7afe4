"""Low-rank adapters of the attention's matrices, trained on texts.

Hu et al.: LoRA: Low-Rank Adaptation of Large Language Models, 2021. The base weights may be
quantised, as in Dettmers et al.: QLoRA: Efficient Finetuning of Quantized LLMs, 2023.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import onexpu
from language_model import model
from language_model.config import Config
from language_model.matrices import Adapted
from language_model.weights import Weights

_ADAPTED = ("query_key_value", "attention_output")
# One {name: (down, up)} a layer, float32.
Adapters = list[dict[str, tuple[jax.Array, jax.Array]]]


def new_adapters(config: Config, rank: int, seed: int = 0) -> Adapters:
    """Returns adapters that change nothing yet: the second matrix is zero."""
    generator = np.random.default_rng(seed)
    heads = config.heads * config.head_size
    projected = heads + 2 * config.key_heads * config.head_size
    shapes = {
        "query_key_value": (config.width, projected),
        "attention_output": (heads, config.width),
    }

    def adapter(inputs: int, outputs: int) -> tuple[jax.Array, jax.Array]:
        down = generator.standard_normal((inputs, rank), np.float32) / np.float32(inputs**0.5)
        return jnp.asarray(down), jnp.zeros((rank, outputs), jnp.float32)

    return [{name: adapter(*shapes[name]) for name in _ADAPTED} for _ in range(config.layers)]


def adapt(weights: Weights, adapters: Adapters) -> Weights:
    """Returns weights with adapters."""
    blocks = []
    for block, pairs in zip(weights["blocks"], adapters, strict=True):
        adapted = {
            name: Adapted(block[name], *(side.astype(jnp.bfloat16) for side in pair))
            for name, pair in pairs.items()
        }
        blocks.append({**block, **adapted})
    return {**weights, "blocks": blocks}


class Training:
    """Trains adapters with AdamW, without weight decay.

    Attributes
    ----------
    adapters : Adapters
        The current ones.
    """

    def __init__(
        self, weights: Weights, config: Config, adapters: Adapters, learning_rate: float = 1e-3
    ) -> None:
        self.adapters = adapters
        self._weights, self._config, self._learning_rate = weights, config, learning_rate
        self._m = jax.tree.map(jnp.zeros_like, adapters)
        self._v = jax.tree.map(jnp.zeros_like, adapters)
        self._count = 0

    def step(self, tokens: np.ndarray) -> float:
        """Takes a step on texts, int32 [texts, tokens].

        Returns the loss before the step: the mean negative log-probability of a token.
        """
        self._count += 1
        loss, self.adapters, self._m, self._v = _train_step(
            self._weights,
            self._config,
            self.adapters,
            self._m,
            self._v,
            tokens,
            np.float32(self._count),
            np.float32(self._learning_rate),
        )
        return float(loss)


@functools.partial(jax.jit, static_argnums=1, donate_argnums=(3, 4))
def _train_step(weights, config, adapters, m, v, tokens, count, learning_rate):
    def loss_of(adapters: Adapters) -> jax.Array:
        return -model.log_probabilities(adapt(weights, adapters), config, tokens).mean()

    loss, gradients = jax.value_and_grad(loss_of)(adapters)
    new: Any = onexpu.kernels.adamw_tree(
        adapters, gradients, m, v, count, learning_rate, weight_decay=0.0
    )
    return loss, *new
