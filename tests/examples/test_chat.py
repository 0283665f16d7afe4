"""The language model of `examples/chat.py` against plain formulas in float32."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
sys.path.append(str(EXAMPLES))

from language_model import fine_tuning, matrices, model, text, weights  # noqa: E402
from language_model.config import (  # noqa: E402
    PRESETS,
    Config,
    RotaryScaling,
    read_config,
)
from language_model.engine import PAGE_SIZE, Engine, Request  # noqa: E402

TINY = PRESETS["tiny"]
VARIANTS = {
    "llama": TINY,
    "separate head": dataclasses.replace(TINY, ties_embeddings=False),
    "mistral": dataclasses.replace(TINY, window=5),
    "qwen2": dataclasses.replace(TINY, has_biases=True),
    "qwen3": dataclasses.replace(TINY, has_head_norms=True, head_size=24),
    "gemma": dataclasses.replace(TINY, activation="gelu", scales_embeddings=True, key_heads=1),
    "scaled positions": dataclasses.replace(
        TINY, rotary_scaling=RotaryScaling(factor=8.0, low=1.0, high=4.0, original_context=16)
    ),
}
_prefill = jax.jit(model.prefill, static_argnums=1)
_step = jax.jit(model.step, static_argnums=1)
_log_probabilities = jax.jit(model.log_probabilities, static_argnums=1)


@pytest.fixture(autouse=True)
def on_xpu(xpu) -> Iterator[None]:
    with jax.default_device(xpu):
        yield


def _plain(matrix: Any) -> np.ndarray:
    """Returns a matrix in float32."""
    match matrix:
        case matrices.Int8():
            return np.asarray(matrix.values, np.float32) * np.asarray(matrix.scales, np.float32)
        case matrices.Int4():
            packed = np.asarray(matrix.packed)
            values = np.stack([packed & 15, packed >> 4], 1).reshape(-1, packed.shape[1])
            scales = np.asarray(matrix.scales, np.float32).reshape(-1, packed.shape[1])
            groups = values.astype(np.float32).reshape(scales.shape[0], -1, packed.shape[1]) - 8
            return (groups * scales[:, None]).reshape(values.shape)
    return np.asarray(matrix, np.float32)


def _norm(x: np.ndarray, scale: Any, config: Config) -> np.ndarray:
    mean = (x * x).mean(-1, keepdims=True)
    return x / np.sqrt(mean + config.epsilon) * np.asarray(scale, np.float32)


def _rotate(x: np.ndarray, config: Config) -> np.ndarray:
    angles = np.arange(x.shape[0])[:, None, None] * config.rotary_frequencies()
    first, second = np.split(x, 2, -1)
    return np.concatenate(
        [
            first * np.cos(angles) - second * np.sin(angles),
            second * np.cos(angles) + first * np.sin(angles),
        ],
        -1,
    )


def _reference(parameters: Any, config: Config, tokens: list[int]) -> np.ndarray:
    """Returns the logits after each token, by the formulas of the papers."""
    x = np.asarray(parameters["embedding"], np.float32)[tokens]
    if config.scales_embeddings:
        x = x * math.sqrt(config.width)
    n = len(tokens)
    distance = np.arange(n)[:, None] - np.arange(n)
    is_visible = (distance >= 0) & (distance < (config.window or n))
    for block in parameters["blocks"]:
        projected = _norm(x, block["attention_norm"], config) @ _plain(block["query_key_value"])
        projected = projected + np.asarray(block.get("bias", 0), np.float32)
        heads = projected.reshape(n, -1, config.head_size)
        query, key, value = np.split(heads, [config.heads, config.heads + config.key_heads], axis=1)
        if config.has_head_norms:
            query = _norm(query, block["query_norm"], config)
            key = _norm(key, block["key_norm"], config)
        query, key = _rotate(query, config), _rotate(key, config)
        sharing = config.heads // config.key_heads
        key, value = np.repeat(key, sharing, 1), np.repeat(value, sharing, 1)
        scores = np.einsum("qhd,khd->hqk", query, key) / math.sqrt(config.head_size)
        probabilities = np.asarray(jax.nn.softmax(np.where(is_visible, scores, -np.inf)))
        attended = np.einsum("hqk,khd->qhd", probabilities, value).reshape(n, -1)
        x = x + attended @ _plain(block["attention_output"])
        gate, up = np.split(
            _norm(x, block["mlp_norm"], config) @ _plain(block["gate_up"]), 2, axis=-1
        )
        if config.activation == "silu":
            gate = gate / (1 + np.exp(-gate))
        else:
            gate = np.asarray(jax.nn.gelu(gate, approximate=True))
        x = x + (gate * up) @ _plain(block["mlp_output"])
    x = _norm(x, parameters["norm"], config)
    if "head" in parameters:
        return x @ _plain(parameters["head"])
    return x @ np.asarray(parameters["embedding"], np.float32).T


def _assert_close(actual: Any, expected: np.ndarray) -> None:
    # Activations are rounded to bfloat16 (2**-9) some ten times a block, and errors add up.
    scale = np.abs(expected).max()
    np.testing.assert_allclose(np.asarray(actual) / scale, expected / scale, atol=0.04)


def _prompt(length: int, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(0, TINY.vocabulary, length).tolist()


@pytest.mark.parametrize("name", VARIANTS)
def test_a_prompt_and_the_next_tokens_have_the_logits_of_the_formulas(name) -> None:
    config = VARIANTS[name]
    parameters = weights.random(config, "bf16", seed=3)
    tokens = _prompt(11)
    expected = _reference(parameters, config, tokens)
    slots = np.array([4, 5, 6, 7, 12, 13, 14, 15, 0, 1, 2])  # pages 1, 3, 0 of 4 slots
    cache = model.empty_cache(config, pages=4, page_size=4)
    padded = np.array([*tokens[:8], 9, 9], np.int32)
    used = np.array([*slots[:8], -1, -1], np.int32)
    logits, cache = _prefill(parameters, config, cache, padded, 8, used)
    _assert_close(logits, expected[7])
    for i in range(8, 11):
        logits, cache = _step(
            parameters,
            config,
            cache,
            np.array([0, tokens[i]], np.int32),
            np.array([0, i], np.int32),
            np.array([-1, slots[i]], np.int32),
            np.array([[0, 0, 0, 0], [1, 3, 0, 0]], np.int32),
        )
        _assert_close(logits[1], expected[i])


@pytest.mark.parametrize("storage", ["int8", "int4"])
@pytest.mark.parametrize("name", ["llama", "separate head"])
def test_quantised_weights_have_the_logits_of_their_values(name, storage) -> None:
    config = VARIANTS[name]
    parameters = weights.random(config, storage, seed=3)
    exact = weights.random(config, "bf16", seed=3)
    first, other = parameters["blocks"][0]["gate_up"], exact["blocks"][0]["gate_up"]
    assert matrices.size_in_bytes(first) < matrices.size_in_bytes(other) * 0.6
    step = {"int8": 1 / 127, "int4": 1 / 7}[storage]
    error = np.abs(_plain(first) - _plain(other)).max()
    assert 0 < error <= 0.51 * step * np.abs(_plain(other)).max()
    tokens = _prompt(9)
    cache = model.empty_cache(config, pages=1, page_size=16)
    arguments = np.array(tokens, np.int32), 9, np.arange(9, dtype=np.int32)
    logits, _ = _prefill(parameters, config, cache, *arguments)
    _assert_close(logits, _reference(parameters, config, tokens)[-1])


def test_requests_of_a_batch_get_the_answers_that_they_get_alone() -> None:
    parameters = weights.random(TINY, "bf16")
    prompts = [_prompt(n, seed=n) for n in (3, 70, 1, 20, 9)]

    def answers(together: list[list[int]]) -> list[list[int]]:
        # Three pages: the second request waits for the first although a row is free.
        engine = Engine(parameters, TINY, batch=2, pages=3)
        requests = [Request(prompt, 5 + len(prompt) % 4, temperature=0) for prompt in together]
        for request in requests:
            engine.submit(request)
        pieces: dict[int, list[int]] = {}
        for request, token in engine.run():
            pieces.setdefault(id(request), []).append(token)
        assert all(one.is_done and pieces[id(one)] == one.answer for one in requests)
        return [one.answer for one in requests]

    together = answers(prompts)
    assert [len(one) for one in together] == [8, 7, 6, 5, 6]
    assert together == [answers([prompt])[0] for prompt in prompts]


def test_an_end_token_ends_an_answer_and_frees_its_pages() -> None:
    parameters = weights.random(TINY, "bf16")
    engine = Engine(parameters, TINY, batch=1, pages=1)
    engine.submit(free := Request(_prompt(5), 6, temperature=0))
    assert len(list(engine.run())) == 6
    expected = free.answer[: free.answer.index(free.answer[2]) + 1]
    ending = dataclasses.replace(TINY, end_tokens=(free.answer[2],))
    engine = Engine(parameters, ending, batch=1, pages=1)
    for _ in range(2):
        engine.submit(request := Request(_prompt(5), 6, temperature=0))
        assert [token for _, token in engine.run()] == expected
        assert request.is_done


@pytest.mark.parametrize("prompt, answer", [(0, 4), (60, 5), (2048, 1)])
def test_requests_that_never_fit_are_rejected(prompt, answer) -> None:
    engine = Engine(weights.random(TINY, "bf16"), TINY, batch=1, pages=1)
    with pytest.raises(ValueError, match=f"at most {PAGE_SIZE}"):
        engine.submit(Request(_prompt(prompt), answer))


def test_logits_that_are_nan_are_an_error() -> None:
    parameters = weights.random(TINY, "bf16")
    broken = {**parameters, "norm": parameters["norm"] * np.nan}
    engine = Engine(broken, TINY, batch=1, pages=1)
    engine.submit(Request(_prompt(3), 4))
    with pytest.raises(FloatingPointError, match="NaN"):
        list(engine.run())


def test_adapters_begin_without_effect_and_learn() -> None:
    parameters = weights.random(TINY, "int8")
    adapters = fine_tuning.new_adapters(TINY, rank=4)
    tokens = np.array([_prompt(33, seed=1)] * 2, np.int32)
    before = _log_probabilities(parameters, TINY, tokens)
    adapted = fine_tuning.adapt(parameters, adapters)
    np.testing.assert_array_equal(_log_probabilities(adapted, TINY, tokens), before)
    expected = np.asarray(
        jax.nn.log_softmax(_reference(parameters, TINY, tokens[0, :-1].tolist()))
    )[np.arange(32), tokens[0, 1:]]
    # As in `_assert_close`: 0.04 of logits of up to 5.
    np.testing.assert_allclose(before[0], expected, atol=0.2)
    training = fine_tuning.Training(parameters, TINY, adapters, learning_rate=1e-2)
    losses = [training.step(tokens) for _ in range(40)]
    assert losses[0] == pytest.approx(-float(before.mean()), abs=0.02)
    assert losses[-1] < 0.5 * losses[0]


# ---- Files ---------------------------------------------------------------------------------------


def _names(config: Config) -> dict[str, tuple[int, ...]]:
    """Returns the arrays of a public checkpoint."""
    width, head = config.width, config.head_size
    embeddings = (config.vocabulary, width)
    shapes = {"model.embed_tokens.weight": embeddings, "model.norm.weight": (width,)}
    if not config.ties_embeddings:
        shapes["lm_head.weight"] = embeddings
    for i in range(config.layers):
        prefix = f"model.layers.{i}."
        outputs = {"q": config.heads * head, "k": config.key_heads * head}
        outputs["v"] = outputs["k"]
        for name, size in outputs.items():
            shapes[f"{prefix}self_attn.{name}_proj.weight"] = (size, width)
            if config.has_biases:
                shapes[f"{prefix}self_attn.{name}_proj.bias"] = (size,)
        shapes[f"{prefix}self_attn.o_proj.weight"] = (width, outputs["q"])
        shapes[f"{prefix}mlp.gate_proj.weight"] = (config.mlp_width, width)
        shapes[f"{prefix}mlp.up_proj.weight"] = (config.mlp_width, width)
        shapes[f"{prefix}mlp.down_proj.weight"] = (width, config.mlp_width)
        shapes[f"{prefix}input_layernorm.weight"] = (width,)
        shapes[f"{prefix}post_attention_layernorm.weight"] = (width,)
    return shapes


def _write(path: pathlib.Path, arrays: dict[str, np.ndarray], dtype: str = "BF16") -> None:
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, array in arrays.items():
        end = offset + array.nbytes
        header[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": [offset, end]}
        offset = end
    data = json.dumps(header).encode()
    body = b"".join(array.tobytes() for array in arrays.values())
    path.write_bytes(len(data).to_bytes(8, "little") + data + body)


@pytest.fixture
def folder(tmp_path) -> pathlib.Path:
    """A model as it is published, in two files of weights."""
    config = VARIANTS["qwen2"]
    fields = {
        "model_type": "qwen2",
        "vocab_size": config.vocabulary,
        "hidden_size": config.width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.key_heads,
        "intermediate_size": config.mlp_width,
        "rms_norm_eps": config.epsilon,
        "tie_word_embeddings": True,
        "eos_token_id": [7, 9],
        "use_sliding_window": False,
        "sliding_window": 4,
    }
    (tmp_path / "config.json").write_text(json.dumps(fields))
    generator = np.random.default_rng(0)
    arrays = {
        name: (generator.standard_normal(shape) * 0.1).astype(ml_dtypes.bfloat16)
        for name, shape in _names(config).items()
    }
    names = list(arrays)
    _write(tmp_path / "model-1.safetensors", {name: arrays[name] for name in names[:5]})
    _write(tmp_path / "model-2.safetensors", {name: arrays[name] for name in names[5:]})
    return tmp_path


def test_published_files_are_read(folder) -> None:
    config = read_config(folder)
    assert config == dataclasses.replace(VARIANTS["qwen2"], end_tokens=(7, 9))
    loaded = weights.load(folder, config, "bf16")
    source = weights.SafetensorsFolder(folder)
    prefix, sizes = "model.layers.1.self_attn.", {"q": 64, "k": 32, "v": 32}
    joined = [source.read(f"{prefix}{name}_proj.weight", (n, 64)) for name, n in sizes.items()]
    block = loaded["blocks"][1]
    np.testing.assert_array_equal(block["query_key_value"], np.concatenate(joined).T)
    biases = [source.read(f"{prefix}{name}_proj.bias", (n,)) for name, n in sizes.items()]
    np.testing.assert_array_equal(block["bias"], np.concatenate(biases))
    tokens = _prompt(6)
    cache = model.empty_cache(config, pages=1, page_size=8)
    arguments = np.array(tokens, np.int32), 6, np.arange(6, dtype=np.int32)
    logits, _ = _prefill(loaded, config, cache, *arguments)
    _assert_close(logits, _reference(loaded, config, tokens)[-1])


def test_scaled_positions_of_llama_3_are_read(folder) -> None:
    path = folder / "config.json"
    scaling = {
        "rope_type": "llama3",
        "factor": 32.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    path.write_text(json.dumps({**json.loads(path.read_text()), "rope_scaling": scaling}))
    config = read_config(folder)
    assert config.rotary_scaling == RotaryScaling(32.0, 1.0, 4.0, 8192)
    fields = json.loads(path.read_text())
    fields["rope_parameters"] = {**fields.pop("rope_scaling"), "rope_theta": 5e5}
    path.write_text(json.dumps(fields))
    assert read_config(folder) == dataclasses.replace(config, rotary_base=5e5)
    plain = dataclasses.replace(config, rotary_scaling=None)
    ratios = plain.rotary_frequencies() / config.rotary_frequencies()
    assert ratios[0] == 1 and ratios.max() <= 32 and (np.diff(ratios) >= 0).all()


def test_norms_of_gemma_are_stored_as_differences_from_one(folder) -> None:
    config = dataclasses.replace(read_config(folder), scales_embeddings=True)
    loaded = weights.load(folder, config, "bf16")
    stored = weights.SafetensorsFolder(folder).read("model.norm.weight", (config.width,))
    np.testing.assert_array_equal(loaded["norm"], (stored + 1).astype(ml_dtypes.bfloat16))


def test_what_is_missing_or_wrong_in_files_is_named(folder) -> None:
    config = read_config(folder)
    with pytest.raises(ValueError, match=r"embed_tokens.weight is BF16\[256, 64\]; expected"):
        weights.load(folder, dataclasses.replace(config, vocabulary=99), "bf16")
    with pytest.raises(KeyError, match=r"no model.layers.2"):
        weights.load(folder, dataclasses.replace(config, layers=3), "bf16")
    more = {"model.layers.0.self_attn.o_proj.bias": np.zeros(64, ml_dtypes.bfloat16)}
    _write(folder / "model-3.safetensors", more)
    with pytest.raises(ValueError, match=r"does not use model.layers.0.self_attn.o_proj.bias"):
        weights.load(folder, config, "bf16")
    (folder / "model-3.safetensors").write_bytes(b"short")
    with pytest.raises(ValueError, match=r"model-3.safetensors is not a safetensors file"):
        weights.load(folder, config, "bf16")
    with pytest.raises(FileNotFoundError, match="safetensors"):
        weights.load(folder / "..", config, "bf16")


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"model_type": "bert"}, "model_type is bert; supported are llama"),
        ({"use_sliding_window": True}, "sliding windows are supported for mistral only"),
        ({"hidden_act": "relu"}, "activation is relu; supported are silu"),
        ({"rope_scaling": {"type": "yarn"}}, "scaled by yarn; supported are default"),
    ],
)
def test_other_models_are_rejected_by_name(folder, fields, message) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))
    with pytest.raises(ValueError, match=message):
        read_config(folder)


def test_characters_are_printed_when_they_are_complete() -> None:
    stream = text.Stream(text.Bytes())
    assert [stream.push(byte) for byte in "aéz".encode()] == ["a", "", "é", "z"]


def test_the_command_line_answers_prompts(tmp_path) -> None:
    (tmp_path / "text").write_text("one two three " * 30)
    command = [sys.executable, EXAMPLES / "chat.py", "--size", "tiny", "--max-tokens", "70"]
    command += ["--prompt", "First", "--prompt", "Second", "--storage", "int8"]
    command += ["--fine-tune", tmp_path / "text", "--steps", "3"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "200"}
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "First" in done.stdout and "Second" in done.stdout
    assert "step 3: loss" in done.stdout and "% of a copy's bandwidth" in done.stdout
