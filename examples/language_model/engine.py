"""Continuous batching: conversations join and leave a running batch, token by token.

Kwon et al.: Efficient Memory Management for Large Language Model Serving with PagedAttention, 2023.
Yu et al.: Orca: A Distributed Serving System for Transformer-Based Generative Models, 2022.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import time
from collections.abc import Iterator, Sequence

import jax
import jax.numpy as jnp
import numpy as np

import onexpu
from language_model import model
from language_model.config import Config
from language_model.matrices import size_in_bytes
from language_model.weights import Weights

PAGE_SIZE = 64


@dataclasses.dataclass(eq=False)
class Request:
    """A prompt and its answer so far.

    Attributes
    ----------
    prompt : list of int
        Tokens, at least one.
    max_tokens : int
        The maximum length of the answer.
    top_p, temperature : float
        See `onexpu.kernels.top_p_sample`.
    answer : list of int
        Tokens; the last one may be one that ends answers.
    is_done : bool
        Whether the answer is complete.
    """

    prompt: list[int]
    max_tokens: int = 128
    top_p: float = 0.9
    temperature: float = 0.8
    answer: list[int] = dataclasses.field(default_factory=list)
    is_done: bool = False


@dataclasses.dataclass
class Speed:
    """What prefill and decoding took, without their first calls, which compile.

    Attributes
    ----------
    prompt_tokens, prompt_seconds
        Of prompts.
    tokens, steps, seconds
        Of answers; a step is one token of each conversation.
    """

    prompt_tokens: int = 0
    prompt_seconds: float = 0.0
    tokens: int = 0
    steps: int = 0
    seconds: float = 0.0


class Engine:
    """Answers requests in a batch of fixed size.

    Parameters
    ----------
    weights, config
        The decoder.
    batch : int
        The maximum number of conversations at a time.
    pages : int, optional
        Pages of the cache, of `PAGE_SIZE` tokens each. By default, each conversation can be as long
        as the context.
    seed : int
        Seed of the samples.
    """

    def __init__(
        self,
        weights: Weights,
        config: Config,
        *,
        batch: int = 4,
        pages: int | None = None,
        seed: int = 0,
    ) -> None:
        self.speed = Speed()
        self._weights, self._config = weights, config
        pages = pages or batch * -(-config.context // PAGE_SIZE)
        self._longest = min(config.context, PAGE_SIZE * pages)
        self._cache = model.empty_cache(config, pages, PAGE_SIZE)
        self._free = list(range(pages))
        self._waiting: collections.deque[Request] = collections.deque()
        self._rows: list[Request | None] = [None] * batch
        self._pages: list[list[int]] = [[] for _ in range(batch)]
        self._key = jax.random.key(seed)
        self._samples = 0
        self._compiled: set[tuple[str, int]] = set()

    @property
    def bytes_per_step(self) -> int:
        """The bytes of the weights that a step reads."""
        read = {name: part for name, part in self._weights.items() if name != "embedding"}
        if "head" not in self._weights:
            read["embedding"] = self._weights["embedding"]
        return size_in_bytes(read)

    def submit(self, request: Request) -> None:
        """Queues a request.

        Raises
        ------
        ValueError
            If prompt and answer are longer than the context or the cache.
        """
        length = len(request.prompt) + request.max_tokens
        if not request.prompt or length > self._longest:
            raise ValueError(
                f"a prompt of {len(request.prompt)} tokens and an answer of {request.max_tokens};"
                f" both together must have at most {self._longest}, and the prompt at least 1"
            )
        self._waiting.append(request)

    def run(self) -> Iterator[tuple[Request, int]]:
        """Yields each token of each answer when it is known, until no request is left.

        Raises FloatingPointError if logits are NaN.
        """
        while self._waiting or any(self._rows):
            yield from self._admit()
            if any(self._rows):
                yield from self._step()

    def _admit(self) -> Iterator[tuple[Request, int]]:
        """Reads the prompts of waiting requests that fit, in their order."""
        while self._waiting and None in self._rows:
            request = self._waiting[0]
            needed = -(-(len(request.prompt) + request.max_tokens) // PAGE_SIZE)
            if needed > len(self._free):
                return
            self._waiting.popleft()
            row = self._rows.index(None)
            self._rows[row] = request
            self._pages[row] = [self._free.pop() for _ in range(needed)]
            yield from self._take(row, self._prefill(row))

    def _prefill(self, row: int) -> int:
        request = self._rows[row]
        assert request is not None
        length = len(request.prompt)
        # Few lengths are compiled.
        padded = max(16, 1 << (length - 1).bit_length())
        tokens, slots = np.zeros(padded, np.int32), np.full(padded, -1, np.int32)
        tokens[:length] = request.prompt
        slots[:length] = [self._slot(row, i) for i in range(length)]
        begin = time.perf_counter()
        token, self._cache = _prefill(
            self._weights,
            self._config,
            self._cache,
            tokens,
            np.int32(length),
            slots,
            *self._sampling([request]),
        )
        result = int(token)
        if self._is_compiled("prefill", padded):
            self.speed.prompt_tokens += length
            self.speed.prompt_seconds += time.perf_counter() - begin
        return result

    def _step(self) -> Iterator[tuple[Request, int]]:
        rows = len(self._rows)
        tokens, positions = np.zeros(rows, np.int32), np.zeros(rows, np.int32)
        slots = np.full(rows, -1, np.int32)
        active = [i for i, request in enumerate(self._rows) if request is not None]
        for i in active:
            request = self._rows[i]
            tokens[i] = request.answer[-1]
            positions[i] = len(request.prompt) + len(request.answer) - 1
            slots[i] = self._slot(i, int(positions[i]))
        used = int(positions.max()) // PAGE_SIZE + 1
        width = 1 << (used - 1).bit_length()
        pages = np.zeros((rows, width), np.int32)
        for i in active:
            held = self._pages[i][:width]
            pages[i, : len(held)] = held
        begin = time.perf_counter()
        sampled, self._cache = _step(
            self._weights,
            self._config,
            self._cache,
            tokens,
            positions,
            slots,
            pages,
            *self._sampling(self._rows),
        )
        results = np.asarray(sampled).tolist()
        if self._is_compiled("step", width):
            self.speed.tokens += len(active)
            self.speed.steps += 1
            self.speed.seconds += time.perf_counter() - begin
        for i in active:
            yield from self._take(i, results[i])

    def _take(self, row: int, token: int) -> Iterator[tuple[Request, int]]:
        """Appends a token to an answer, and frees the row if the answer is complete."""
        request = self._rows[row]
        assert request is not None
        if token < 0:
            raise FloatingPointError("the logits contain NaN, or none of them is finite")
        request.answer.append(token)
        is_last = len(request.answer) == request.max_tokens
        if is_last or token in self._config.end_tokens:
            request.is_done = True
            self._rows[row] = None
            self._free += self._pages[row]
            self._pages[row] = []
        yield request, token

    def _slot(self, row: int, position: int) -> int:
        return self._pages[row][position // PAGE_SIZE] * PAGE_SIZE + position % PAGE_SIZE

    def _sampling(self, requests: Sequence[Request | None]) -> tuple[jax.Array, ...]:
        """Returns a key, and top_p and temperature of each request."""
        self._samples += 1
        top_p = [1.0 if one is None else one.top_p for one in requests]
        temperature = [1.0 if one is None else one.temperature for one in requests]
        count = np.uint32(self._samples)
        return self._key, count, np.float32(top_p), np.float32(temperature)

    def _is_compiled(self, what: str, size: int) -> bool:
        is_known = (what, size) in self._compiled
        self._compiled.add((what, size))
        return is_known


def _sample(
    logits: jax.Array, key: jax.Array, count: jax.Array, top_p: jax.Array, temperature: jax.Array
) -> jax.Array:
    uniform = jax.random.uniform(jax.random.fold_in(key, count), logits.shape[:-1])
    return onexpu.kernels.top_p_sample(logits, uniform, p=top_p, temperature=temperature)


@functools.partial(jax.jit, static_argnums=1, donate_argnums=2)
def _prefill(weights, config, cache, tokens, length, slots, *sampling):
    logits, cache = model.prefill(weights, config, cache, tokens, length, slots)
    return _sample(logits[None], *sampling)[0], cache


@functools.partial(jax.jit, static_argnums=1, donate_argnums=2)
def _step(weights, config, cache, tokens, positions, slots, pages, *sampling):
    logits, cache = model.step(weights, config, cache, tokens, positions, slots, pages)
    return _sample(logits, *sampling), cache


def copy_bandwidth() -> float:
    """Returns the bytes per second that a copy of 256 MiB reads and writes, at best."""
    source = jnp.zeros(1 << 26, jnp.float32)
    copy = jax.jit(lambda x: x + 1)
    copy(source).block_until_ready()
    seconds = []
    for _ in range(5):
        begin = time.perf_counter()
        copy(source).block_until_ready()
        seconds.append(time.perf_counter() - begin)
    return 2 * source.nbytes / min(seconds)
