"""The weights of a decoder: from safetensors files, or random."""

from __future__ import annotations

import json
import math
import pathlib
from collections.abc import Callable
from typing import Any

import jax
import ml_dtypes
import numpy as np

from language_model.config import Config
from language_model.matrices import quantize

# {"embedding": [vocabulary, width], "norm": [width], "head": matrix, "blocks": [...]}
Weights = dict[str, Any]

_DTYPES = {
    "BF16": ml_dtypes.bfloat16,
    "F16": np.float16,
    "F32": np.float32,
    "F64": np.float64,
}


class SafetensorsFolder:
    """The arrays of a folder's safetensors files, mapped into memory.

    The format: the size of a header (64 bits), the header in JSON, and the arrays. The package
    `safetensors` gives no bfloat16 to NumPy.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self._arrays: dict[str, tuple[np.ndarray, dict[str, Any]]] = {}
        paths = sorted(folder.glob("*.safetensors"))
        if not paths:
            raise FileNotFoundError(f"{folder} has no *.safetensors files")
        for path in paths:
            data = np.memmap(path, np.uint8, "r")
            size = int(data[:8].view("<u8")[0]) if data.size >= 8 else -1
            if not 0 < size <= data.size - 8:
                raise ValueError(f"{path} is not a safetensors file")
            header = json.loads(data[8 : 8 + size].tobytes())
            for name, entry in header.items():
                if name != "__metadata__":
                    begin, end = entry["data_offsets"]
                    self._arrays[name] = (data[8 + size + begin : 8 + size + end], entry)

    def names(self) -> set[str]:
        """Returns the names of all arrays."""
        return set(self._arrays)

    def read(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Returns an array. Raises KeyError, ValueError if it is missing or has another shape."""
        if name not in self._arrays:
            raise KeyError(f"the weights have no {name}")
        data, entry = self._arrays[name]
        if tuple(entry["shape"]) != shape or entry["dtype"] not in _DTYPES:
            found = f"{entry['dtype']}{entry['shape']}"
            raise ValueError(f"{name} is {found}; expected floats of shape {list(shape)}")
        return data.view(_DTYPES[entry["dtype"]]).reshape(shape)


# Returns the array of a name: a matrix as [outputs, inputs], as PyTorch stores it.
_Source = Callable[[str, tuple[int, ...]], np.ndarray]


def load(folder: pathlib.Path, config: Config, storage: str) -> Weights:
    """Returns the weights in a folder, with the names of Hugging Face's public checkpoints.

    Parameters
    ----------
    folder : pathlib.Path
        It contains one or several safetensors files.
    config : Config
    storage : str
        "bf16", "int8" or "int4", of the matrices.

    Raises
    ------
    FileNotFoundError, KeyError, ValueError
        If files or arrays are missing, do not fit `config`, or are not used.
    """
    source, used = SafetensorsFolder(folder), set()

    def read(name: str, shape: tuple[int, ...]) -> np.ndarray:
        used.add(name)
        return source.read(name, shape)

    weights = _assemble(read, config, storage)
    unused = {name for name in source.names() - used if not name.endswith("inv_freq")}
    if config.ties_embeddings:
        unused.discard("lm_head.weight")
    if unused:
        # A variant of the model that `config` does not know, such as more biases or norms.
        raise ValueError(f"{folder}: the model does not use {', '.join(sorted(unused)[:5])}")
    return weights


def random(config: Config, storage: str, seed: int = 0) -> Weights:
    """Returns random weights, which keep the variance of the activations."""
    generator = np.random.default_rng(seed)

    def draw(name: str, shape: tuple[int, ...]) -> np.ndarray:
        if name.endswith("norm.weight"):
            return np.full(shape, 0.0 if config.scales_embeddings else 1.0, np.float32)
        if name.endswith("bias"):
            return np.zeros(shape, np.float32)
        deviation = 1 / math.sqrt(shape[-1])
        return generator.standard_normal(shape, np.float32) * np.float32(deviation)

    return _assemble(draw, config, storage)


def _assemble(source: _Source, config: Config, storage: str) -> Weights:
    width, head = config.width, config.head_size
    queries, keys = config.heads * head, config.key_heads * head
    matrix = jax.jit(quantize, static_argnums=1)

    def vector(name: str, size: int, offset: float = 0.0) -> jax.Array:
        return jax.numpy.asarray((source(name, (size,)) + offset).astype(ml_dtypes.bfloat16))

    def norm(name: str, size: int = width) -> jax.Array:
        # Gemma stores the difference from 1.
        return vector(name, size, 1.0 if config.scales_embeddings else 0.0)

    def matrices(prefix: str, names: dict[str, int], inputs: int) -> Any:
        """Stores several matrices of the same operand side by side."""
        parts = [source(f"{prefix}{name}.weight", (size, inputs)) for name, size in names.items()]
        joined = np.concatenate([part.astype(ml_dtypes.bfloat16) for part in parts])
        return matrix(np.ascontiguousarray(joined.T), storage)

    def block(i: int) -> dict[str, Any]:
        prefix = f"model.layers.{i}."
        attention = f"{prefix}self_attn."
        projections = {"q_proj": queries, "k_proj": keys, "v_proj": keys}
        weights = {
            "attention_norm": norm(f"{prefix}input_layernorm.weight"),
            "query_key_value": matrices(attention, projections, width),
            "attention_output": matrices(attention, {"o_proj": width}, queries),
            "mlp_norm": norm(f"{prefix}post_attention_layernorm.weight"),
            "gate_up": matrices(
                f"{prefix}mlp.", dict.fromkeys(("gate_proj", "up_proj"), config.mlp_width), width
            ),
            "mlp_output": matrices(f"{prefix}mlp.", {"down_proj": width}, config.mlp_width),
        }
        if config.has_biases:
            biases = [vector(f"{attention}{name}.bias", n) for name, n in projections.items()]
            weights["bias"] = jax.numpy.concatenate(biases)
        if config.has_head_norms:
            weights["query_norm"] = norm(f"{attention}q_norm.weight", head)
            weights["key_norm"] = norm(f"{attention}k_norm.weight", head)
        return weights

    embedding = source("model.embed_tokens.weight", (config.vocabulary, width))
    embedding = np.asarray(embedding.astype(ml_dtypes.bfloat16))
    result: Weights = {
        "embedding": jax.numpy.asarray(embedding),
        "norm": norm("model.norm.weight"),
        "blocks": [block(i) for i in range(config.layers)],
    }
    if not config.ties_embeddings:
        result["head"] = matrices("", {"lm_head": config.vocabulary}, width)
    elif storage != "bf16":
        result["head"] = matrix(np.ascontiguousarray(embedding.T), storage)
    return result
