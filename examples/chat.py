#!/usr/bin/env python3
"""Chats with a language model of the Llama, Mistral, Qwen or Gemma families on an Intel GPU.

    python examples/chat.py --size 0.5b --prompt "Once upon a time"
    python examples/chat.py --weights DIR                       # a conversation
    python examples/chat.py --weights DIR --storage int4 --prompt "One" --prompt "Two"
    python examples/chat.py --weights DIR --fine-tune TEXT_FILE --prompt "Then"

DIR is a folder as Hugging Face publishes it: config.json, *.safetensors, tokenizer.json. Without
one, weights are random, and the answer has no meaning; the speed is that of the shape.

Prompts run through fused attention, answers through a paged cache of keys and values. Several
prompts are a batch that requests join and leave at any step. At the end, it prints tokens per
second, and the share of the memory bandwidth of a copy that reading the weights reaches.
"""

from __future__ import annotations

import argparse
import pathlib
import time
from typing import Any

import jax
import numpy as np
import rich.console
from language_model import fine_tuning, weights
from language_model.config import PRESETS, Config, read_config
from language_model.engine import Engine, Request, copy_bandwidth
from language_model.matrices import size_in_bytes
from language_model.text import Bytes, FileTokenizer, Stream, Tokenizer, chat_prompt

console = rich.console.Console(highlight=False)
# Texts of a fine-tuning step, and their tokens.
_BATCH, _TOKENS = 4, 128


def main() -> None:
    """Runs the example."""
    arguments = _parse()
    begin = time.perf_counter()
    if arguments.weights is not None:
        config = read_config(arguments.weights)
        parameters = weights.load(arguments.weights, config, arguments.storage)
        tokenizer: Tokenizer = FileTokenizer(arguments.weights)
    else:
        config = PRESETS[arguments.size]
        parameters = weights.random(config, arguments.storage, arguments.seed)
        tokenizer = Bytes()
    jax.block_until_ready(parameters)
    console.print(
        f"{config.parameters / 1e6:.0f} million weights, {size_in_bytes(parameters) / 1e9:.2f} GB"
        f" on {jax.devices()[0]}, in {time.perf_counter() - begin:.1f} s"
    )
    if arguments.fine_tune is not None:
        parameters = _fine_tune(parameters, config, tokenizer, arguments)
    rows = arguments.batch or max(len(arguments.prompt), 1)
    engine = Engine(parameters, config, batch=rows, seed=arguments.seed)
    if arguments.prompt:
        _answer_all(engine, tokenizer, arguments)
        _report(engine)
    else:
        _converse(engine, tokenizer, arguments)


def _request(tokens: list[int], arguments: argparse.Namespace) -> Request:
    return Request(tokens, arguments.max_tokens, arguments.top_p, arguments.temperature)


def _answer_all(engine: Engine, tokenizer: Tokenizer, arguments: argparse.Namespace) -> None:
    """Answers all prompts at once. The first one is printed while it grows."""
    requests = [_request(tokenizer.encode(prompt), arguments) for prompt in arguments.prompt]
    for request in requests:
        engine.submit(request)
    stream = Stream(tokenizer)
    console.print(arguments.prompt[0], style="bold", end="", markup=False)
    for request, token in engine.run():
        if request is requests[0]:
            console.print(stream.push(token), end="", markup=False)
    console.print()
    for prompt, request in list(zip(arguments.prompt, requests, strict=True))[1:]:
        console.print(prompt, style="bold", end="", markup=False)
        console.print(tokenizer.decode(request.answer), markup=False)


def _converse(engine: Engine, tokenizer: Tokenizer, arguments: argparse.Namespace) -> None:
    """Asks for prompts until the input ends."""
    messages: list[dict[str, str]] = []
    while True:
        try:
            messages.append({"role": "user", "content": console.input("[bold]> [/bold]")})
        except (EOFError, KeyboardInterrupt):
            return
        text = chat_prompt(arguments.weights, messages) if arguments.weights else None
        prompt = tokenizer.encode(text or messages[-1]["content"])
        try:
            engine.submit(_request(prompt, arguments))
        except ValueError as error:
            console.print(f"The conversation is too long, and begins anew: {error}")
            messages.clear()
            continue
        stream, answer = Stream(tokenizer), ""
        for _, token in engine.run():
            piece = stream.push(token)
            answer += piece
            console.print(piece, end="", markup=False)
        console.print()
        messages.append({"role": "assistant", "content": answer})


def _fine_tune(
    parameters: Any, config: Config, tokenizer: Tokenizer, arguments: argparse.Namespace
) -> Any:
    """Trains adapters on random pieces of a text, and returns the adapted weights."""
    tokens = np.array(tokenizer.encode(arguments.fine_tune.read_text()), np.int32)
    if tokens.size <= _TOKENS:
        raise SystemExit(f"{arguments.fine_tune} has {tokens.size} tokens; it needs {_TOKENS + 1}")
    generator = np.random.default_rng(arguments.seed)
    starts = generator.integers(0, tokens.size - _TOKENS, (arguments.steps, _BATCH))
    adapters = fine_tuning.new_adapters(config, arguments.rank, arguments.seed)
    training = fine_tuning.Training(parameters, config, adapters)
    begin = time.perf_counter()
    for i, row in enumerate(starts, 1):
        loss = training.step(tokens[row[:, None] + np.arange(_TOKENS)])
        if i == 1:  # it compiles
            begin = time.perf_counter()
        if i == 1 or i % 10 == 0 or i == arguments.steps:
            console.print(f"step {i}: loss {loss:.3f}")
    seconds = (time.perf_counter() - begin) / max(arguments.steps - 1, 1)
    console.print(f"{1e3 * seconds:.0f} ms a step of {_BATCH} x {_TOKENS} tokens")
    return fine_tuning.adapt(parameters, training.adapters)


def _report(engine: Engine) -> None:
    speed = engine.speed
    if speed.prompt_seconds:
        console.print(f"prefill: {speed.prompt_tokens / speed.prompt_seconds:.0f} tokens/s")
    if speed.seconds:
        read = engine.bytes_per_step * speed.steps / speed.seconds
        console.print(
            f"decode: {speed.tokens / speed.seconds:.1f} tokens/s;"
            f" {1e3 * speed.seconds / speed.steps:.1f} ms a step; the weights are read at"
            f" {read / 1e9:.1f} GB/s, {read / copy_bandwidth():.0%} of a copy's bandwidth"
        )


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--weights", type=pathlib.Path, metavar="DIR", help="a published model")
    parser.add_argument("--size", choices=PRESETS, default="0.5b", help="of random weights")
    parser.add_argument("--storage", choices=("bf16", "int8", "int4"), default="bf16")
    parser.add_argument("--prompt", action="append", default=[], help="may be repeated")
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--batch", type=int, help="conversations at a time")
    parser.add_argument("--top-p", type=float, default=0.9)
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fine-tune", type=pathlib.Path, metavar="FILE", help="a text")
    parser.add_argument("--steps", type=int, default=50, help="of fine-tuning")
    parser.add_argument("--rank", type=int, default=8, help="of the adapters")
    return parser.parse_args()


if __name__ == "__main__":
    main()
