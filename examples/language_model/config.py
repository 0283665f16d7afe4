"""The sizes and variants of a decoder."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class RotaryScaling:
    """Llama 3's division of the frequencies of long wavelengths.

    Frequencies with fewer than `low` turns in the original context are divided by `factor`, those
    with more than `high` turns are kept, and a linear transition is between them.
    """

    factor: float
    low: float
    high: float
    original_context: int


@dataclasses.dataclass(frozen=True)
class Config:
    """A decoder with rotary embeddings, grouped-query attention, a gated MLP and RMS norms.

    Attributes
    ----------
    vocabulary, width, layers : int
        Tokens, features of a token, and blocks.
    heads, key_heads, head_size : int
        Query heads, heads of keys and values, and features of a head.
    mlp_width : int
        Features between the two products of the MLP.
    context : int
        The maximum number of tokens of a conversation.
    rotary_base : float
        The base of the wavelengths of rotary embeddings.
    rotary_scaling : RotaryScaling, optional
        For contexts that are longer than those of the first training.
    epsilon : float
        What RMS norms add to the mean square.
    window : int, optional
        Queries see only so many of the last tokens (Mistral).
    activation : str
        "silu" or "gelu", of the gate.
    scales_embeddings : bool
        Embeddings are multiplied by the square root of the width (Gemma).
    ties_embeddings : bool
        The matrix of the logits is that of the embeddings.
    has_biases, has_head_norms : bool
        Queries, keys and values have biases (Qwen 2); queries and keys have RMS norms (Qwen 3).
    end_tokens : tuple of int
        Tokens that end an answer.
    """

    vocabulary: int
    width: int
    layers: int
    heads: int
    key_heads: int
    head_size: int
    mlp_width: int
    context: int = 2048
    rotary_base: float = 10000.0
    rotary_scaling: RotaryScaling | None = None
    epsilon: float = 1e-6
    window: int | None = None
    activation: str = "silu"
    scales_embeddings: bool = False
    ties_embeddings: bool = True
    has_biases: bool = False
    has_head_norms: bool = False
    end_tokens: tuple[int, ...] = ()

    @property
    def parameters(self) -> int:
        """The number of weights in matrices."""
        heads = 2 * self.heads + 2 * self.key_heads
        block = self.width * (heads * self.head_size + 3 * self.mlp_width)
        embeddings = 1 if self.ties_embeddings else 2
        return self.layers * block + embeddings * self.vocabulary * self.width

    def rotary_frequencies(self) -> np.ndarray:
        """Returns radians per position, float64 [head_size / 2].

        Su et al.: RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021.
        """
        half = self.head_size // 2
        frequencies = self.rotary_base ** (-np.arange(half) / half)
        if self.rotary_scaling is None:
            return frequencies
        scaling = self.rotary_scaling
        turns = scaling.original_context * frequencies / (2 * math.pi)
        kept = np.clip((turns - scaling.low) / (scaling.high - scaling.low), 0.0, 1.0)
        return frequencies * (kept + (1 - kept) / scaling.factor)


# The shapes of published models, for random weights: Qwen 2.5 0.5B, Llama 3.2 1B.
PRESETS = {
    "tiny": Config(
        vocabulary=256, width=64, layers=2, heads=4, key_heads=2, head_size=16, mlp_width=160
    ),
    "0.5b": Config(
        vocabulary=151936,
        width=896,
        layers=24,
        heads=14,
        key_heads=2,
        head_size=64,
        mlp_width=4864,
        rotary_base=1e6,
        has_biases=True,
    ),
    "1b": Config(
        vocabulary=128256,
        width=2048,
        layers=16,
        heads=32,
        key_heads=8,
        head_size=64,
        mlp_width=8192,
        rotary_base=5e5,
        epsilon=1e-5,
    ),
}
_FAMILIES = ("llama", "mistral", "qwen2", "qwen3", "gemma")
# Gemma was published with "gelu", and uses the approximation.
_ACTIVATIONS = {"silu": "silu", "gelu": "gelu", "gelu_pytorch_tanh": "gelu"}


def read_config(folder: pathlib.Path) -> Config:
    """Returns the configuration in a folder's `config.json`, as Hugging Face writes it.

    Raises
    ------
    ValueError
        If the model is of another family, or uses a variant that is not supported.
    """
    path = folder / "config.json"
    fields: dict[str, Any] = json.loads(path.read_text())
    family = fields.get("model_type")
    if family not in _FAMILIES:
        raise ValueError(f"{path}: model_type is {family}; supported are {', '.join(_FAMILIES)}")
    # Version 5 of transformers writes all of this into one dict.
    rotary = fields.get("rope_parameters") or fields.get("rope_scaling") or {}
    kind = rotary.get("rope_type", rotary.get("type", "default"))
    if kind not in ("default", "llama3"):
        raise ValueError(
            f"{path}: rotary embeddings are scaled by {kind}; supported are default and llama3"
        )
    if family != "mistral" and fields.get("use_sliding_window"):
        raise ValueError(f"{path}: sliding windows are supported for mistral only")
    activation = fields.get("hidden_activation") or fields.get("hidden_act", "silu")
    if activation not in _ACTIVATIONS:
        raise ValueError(
            f"{path}: the activation is {activation}; supported are {', '.join(_ACTIVATIONS)}"
        )
    heads = fields["num_attention_heads"]
    ends = fields.get("eos_token_id", ())
    return Config(
        vocabulary=fields["vocab_size"],
        width=fields["hidden_size"],
        layers=fields["num_hidden_layers"],
        heads=heads,
        key_heads=fields.get("num_key_value_heads", heads),
        head_size=fields.get("head_dim") or fields["hidden_size"] // heads,
        mlp_width=fields["intermediate_size"],
        context=min(fields.get("max_position_embeddings", 2048), 8192),
        rotary_base=rotary.get("rope_theta", fields.get("rope_theta", 10000.0)),
        rotary_scaling=RotaryScaling(
            rotary["factor"],
            rotary["low_freq_factor"],
            rotary["high_freq_factor"],
            rotary["original_max_position_embeddings"],
        )
        if kind == "llama3"
        else None,
        epsilon=fields["rms_norm_eps"],
        window=fields.get("sliding_window") if family == "mistral" else None,
        activation=_ACTIVATIONS[activation],
        scales_embeddings=family == "gemma",
        ties_embeddings=fields.get("tie_word_embeddings", family == "gemma"),
        has_biases=family == "qwen2",
        has_head_norms=family == "qwen3",
        end_tokens=tuple(ends) if isinstance(ends, list) else (ends,) if ends != () else (),
    )
