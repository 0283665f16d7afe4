"""Programs on large arrays: each schedule of a GPU with thousands of work-groups.

The machine with the GPU generates their arguments and checks their results. The reference is JAX's
CPU back end there, in float64 if the program has floats.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.sizes.packing import difference

_Make = Callable[[np.random.Generator], list[np.ndarray]]


@dataclass(frozen=True)
class Large:
    """A program.

    Attributes
    ----------
    function
        Takes JAX arrays and returns an array or a tuple of arrays. It names no float dtype, so
        float64 arguments make it compute in float64.
    make
        Generates the arguments.
    ulps
        Tolerance in units of the result dtype's epsilon times the result's largest magnitude; 0
        compares exactly.
    """

    function: Callable[..., Any]
    make: _Make
    ulps: float = 0

    def arguments(self, name: str) -> list[np.ndarray]:
        """Returns the arguments of the program of a name."""
        return self.make(np.random.default_rng(zlib.crc32(name.encode())))

    def fault(self, arguments: list[np.ndarray], results: list[np.ndarray]) -> str:
        """Describes the first result that differs from the reference; empty if none does.

        JAX's 64-bit types must be enabled.
        """
        assert jax.config.jax_enable_x64
        with jax.default_device(jax.devices("cpu")[0]):
            wide = [
                x.astype(np.float64) if jnp.issubdtype(x.dtype, np.floating) else x
                for x in arguments
            ]
            expected = jax.tree.leaves(jax.jit(self.function)(*wide))
            expected = [np.asarray(one) for one in expected]
        if len(expected) != len(results):
            return f"{len(results)} results instead of {len(expected)}"
        for i, (actual, want) in enumerate(zip(results, expected, strict=True)):
            if text := difference(actual, want, self.ulps):
                return f"result {i}: {text}"
        return ""


def _floats(*shapes: tuple[int, ...], dtype: Any = np.float32) -> _Make:
    return lambda rng: [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def _integers(*shapes: tuple[int, ...], bound: int = 1000, dtype: Any = np.int32) -> _Make:
    return lambda rng: [rng.integers(0, bound, shape, dtype) for shape in shapes]


def _rows_and_indices(rows: int, columns: int, count: int) -> _Make:
    return lambda rng: [
        rng.integers(-99, 99, (rows, columns), np.int32),
        rng.integers(0, rows, count, np.int32),
    ]


def _layer_norm(x: jax.Array, scale: jax.Array, bias: jax.Array) -> jax.Array:
    centred = x - x.mean(-1, keepdims=True)
    variance = (centred * centred).mean(-1, keepdims=True)
    return centred * lax.rsqrt(variance + 1e-5) * scale + bias


def _life(board: jax.Array) -> jax.Array:
    def step(_: Any, board: jax.Array) -> jax.Array:
        rows = sum(jnp.roll(board, d, 0) for d in (-1, 0, 1))
        around = sum(jnp.roll(rows, d, 1) for d in (-1, 0, 1))
        alive = (around == 3) | ((board == 1) & (around == 4))
        return alive.astype(board.dtype)

    return lax.fori_loop(0, 20, step, board)


def _heat(u: jax.Array) -> jax.Array:
    def step(_: Any, u: jax.Array) -> jax.Array:
        around = sum(jnp.roll(u, d, a) for d in (-1, 1) for a in (0, 1))
        return u + 0.1 * (around - 4 * u)

    return lax.fori_loop(0, 20, step, u)


def _pool(x: jax.Array) -> jax.Array:
    lowest = np.iinfo(np.int32).min
    return lax.reduce_window(x, np.int32(lowest), lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


def _grad_of_pool(x: jax.Array) -> jax.Array:
    def pooled(x: jax.Array) -> jax.Array:
        y = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        return (y * y).sum()

    return jax.grad(pooled)(x)


def _ring(buffer: jax.Array, values: jax.Array) -> jax.Array:
    def step(i: Any, buffer: jax.Array) -> jax.Array:
        return jnp.roll(buffer, -1).at[-1].set(values[i])

    return lax.fori_loop(0, values.shape[0], step, buffer)


def _updates(table: jax.Array, values: jax.Array) -> jax.Array:
    def step(i: Any, table: jax.Array) -> jax.Array:
        return table.at[(i * 7919) % table.shape[0]].add(values[i])

    return lax.fori_loop(0, values.shape[0], step, table)


def _adam(w: Any, g: Any, m: Any, v: Any) -> tuple[Any, Any, Any]:
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return w - 0.01 * m / (jnp.sqrt(v) + 1e-8), m, v


def _bits(key: jax.Array) -> jax.Array:
    return jax.random.bits(jax.random.wrap_key_data(key), (1 << 20,), np.uint32)


def _attention(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    scores = jnp.where(jnp.tri(q.shape[0], dtype=bool), q @ k.T * 0.125, -jnp.inf)
    return jax.nn.softmax(scores) @ v


# Most programs use integers, whose sums are exact in any order. Tolerances of floats: 2 ulps for a
# product and a sum, with or without fma; 16 for elementary functions, each within 4 ulps, and what
# follows them; 32 for chains of quotients and roots; 64 for a product of 512 terms and a softmax;
# 256 for interpolation, which divides by differences of adjacent points.
PROGRAMS: dict[str, Large] = {
    "a * b + c": Large(lambda a, b, c: a * b + c, _floats(*[(1 << 22,)] * 3), 2),
    "a * b + c, odd": Large(lambda a, b, c: a * b + c, _floats(*[((1 << 21) + 3,)] * 3), 2),
    "broadcast of a row and a column": Large(
        lambda x, row, column: x * row + column, _floats((3001, 517), (517,), (3001, 1)), 2
    ),
    "exp, log, tanh, erf": Large(
        lambda x: jnp.exp(x) + jnp.log(jnp.abs(x) + 1) + jnp.tanh(x) + lax.erf(x),
        _floats((1 << 20,)),
        16,
    ),
    "sin and cos": Large(lambda x: jnp.sin(x) * jnp.cos(x), _floats((1 << 20,)), 16),
    "bytes": Large(
        lambda a, b: (a + b) * 3, _integers(*[(1 << 22,)] * 2, bound=255, dtype=np.uint8)
    ),
    "64-bit division": Large(
        lambda a, b: a // (b + 1) + a % (b + 1),
        _integers(*[(1 << 20,)] * 2, bound=1 << 40, dtype=np.int64),
    ),
    "softmax of rows": Large(lambda x: jax.nn.softmax(x), _floats((8192, 1024)), 16),
    "softmax of long rows": Large(lambda x: jax.nn.softmax(x), _floats((16, 50304)), 16),
    "softmax of columns": Large(lambda x: jax.nn.softmax(x, axis=0), _floats((1024, 4099)), 16),
    "layer norm": Large(_layer_norm, _floats((4096, 768), (768,), (768,)), 32),
    "layer norm, odd": Large(_layer_norm, _floats((1001, 1237), (1237,), (1237,)), 32),
    "sum of rows": Large(lambda x: x.sum(1), _integers((4096, 4096))),
    "sum of short rows": Large(lambda x: x.sum(1), _integers((1 << 18, 13))),
    "sum of columns": Large(lambda x: x.sum(0), _integers((4096, 4096))),
    "sum of few columns": Large(lambda x: x.sum(0), _integers((1 << 18, 7))),
    "sum of the middle": Large(lambda x: x.sum(1), _integers((64, 512, 129))),
    "full sum": Large(lambda x: x.sum(), _integers((1 << 24,))),
    "full sum of floats": Large(lambda x: jnp.abs(x).sum(), _floats((1 << 24,)), 8),
    "full maximum": Large(lambda x: (x.max(), x.min()), _floats((1 << 22,))),
    "argmax of rows": Large(lambda x: jnp.argmax(x, 1), _integers((4096, 1000), bound=50)),
    "argmax of columns": Large(lambda x: jnp.argmax(x, 0), _integers((1000, 4096), bound=50)),
    "argmax of all": Large(lambda x: jnp.argmax(x), _integers((1 << 22,), bound=1 << 20)),
    "any and all": Large(lambda x: ((x > 997).any(1), (x >= 0).all(0)), _integers((2048, 2048))),
    "mean and variance": Large(lambda x: (x.mean(1), x.var(1)), _floats((4096, 2048)), 16),
    "logsumexp": Large(lambda x: jax.nn.logsumexp(x, axis=1), _floats((4096, 1000)), 8),
    "transpose": Large(lambda x: x.T, _integers((4096, 4096))),
    "transpose, odd": Large(lambda x: x.T, _integers((1237, 3001), dtype=np.int16)),
    "transpose of 3 dimensions": Large(lambda x: x.transpose(2, 0, 1), _integers((33, 257, 129))),
    "transpose of bytes": Large(
        lambda x: x.transpose(0, 2, 1), _integers((16, 511, 513), bound=255, dtype=np.uint8)
    ),
    "gather of rows": Large(lambda x, i: x[i], _rows_and_indices(50000, 257, 8192)),
    "take along rows": Large(
        lambda x, i: jnp.take_along_axis(x, i % x.shape[1], 1), _integers((2048, 1000), (2048, 77))
    ),
    "add to rows, repeated": Large(
        lambda x, i: x.at[i].add(jnp.arange(257, dtype=np.int32)),
        _rows_and_indices(50, 257, 8192),
    ),
    "add to wide rows": Large(
        lambda x, i: x.at[i].add(jnp.arange(5000, dtype=np.int32)),
        _rows_and_indices(64, 5000, 1024),
    ),
    "set rows": Large(
        lambda x, i: x.at[jnp.arange(4096) * 3].set(i[:, None]), _rows_and_indices(20000, 129, 4096)
    ),
    "scatter of maxima": Large(
        lambda x, i: x[:, 0].at[i].max(jnp.arange(1 << 18, dtype=np.int32)),
        _rows_and_indices(1000, 2, 1 << 18),
    ),
    "histogram": Large(lambda x: jnp.bincount(x, length=1000), _integers((1 << 20,))),
    "segment sum": Large(
        lambda x, i: jax.ops.segment_sum(x[i], i, 5000), _rows_and_indices(5000, 64, 1 << 16)
    ),
    "sort": Large(lambda x: jnp.sort(x), _integers((1 << 20,), bound=1 << 30)),
    "sort, odd": Large(lambda x: jnp.sort(x), _floats(((1 << 19) + 12345,))),
    "sort of rows": Large(lambda x: jnp.sort(x, 1), _integers((2000, 1000))),
    "sort of columns": Large(lambda x: jnp.sort(x, 0), _integers((1000, 300))),
    "argsort, stable": Large(lambda x: jnp.argsort(x), _integers((1 << 19,), bound=1000)),
    "top_k": Large(lambda x: lax.top_k(x, 50), _integers((64, 50257), bound=1 << 30)),
    "top_k of many": Large(lambda x: lax.top_k(x, 1000), _integers((4, 100000), bound=1 << 30)),
    "cumsum": Large(lambda x: jnp.cumsum(x), _integers((1 << 22,))),
    "cumsum, odd": Large(lambda x: jnp.cumsum(x), _integers(((1 << 20) + 777,))),
    "cumsum of rows": Large(functools.partial(jnp.cumsum, axis=1), _integers((1000, 3001))),
    "cumsum of columns": Large(functools.partial(jnp.cumsum, axis=0), _integers((3001, 1000))),
    "cummax, reversed": Large(lambda x: lax.cummax(x, 0, True), _integers((1 << 20,))),
    "associative scan": Large(
        lambda a, b: lax.associative_scan(lambda x, y: (x[0] * y[0], x[1] * y[0] + y[1]), (a, b)),
        _integers(*[(1 << 18,)] * 2),
    ),
    "maximum of windows": Large(_pool, _integers((16, 113, 113, 33))),
    "gradient of the maximum of windows": Large(_grad_of_pool, _floats((8, 57, 57, 33)), 4),
    "sum of windows": Large(
        lambda x: lax.reduce_window(x, np.int32(0), lax.add, (1, 7, 7), (1, 1, 1), "VALID"),
        _integers((16, 200, 201)),
    ),
    "concatenate": Large(
        lambda a, b, c: jnp.concatenate([a, b[:, ::-1], c * 2], 1),
        _integers((2001, 300), (2001, 17), (2001, 1025)),
    ),
    "pad": Large(lambda x: lax.pad(x, np.int32(7), ((3, 2, 1), (0, 5, 2))), _integers((1001, 601))),
    "rotate": Large(lambda x: jnp.roll(x, (123, -77), (0, 1)), _integers((2001, 1001))),
    "reverse": Large(lambda x: x[::-1, ::-1], _integers((2001, 1001))),
    "nonzero": Large(
        lambda x: jnp.nonzero(x > 900, size=200000, fill_value=-1)[0], _integers((1 << 20,))
    ),
    "unique": Large(lambda x: jnp.unique(x, size=1000), _integers((1 << 18,))),
    "product of integers": Large(lambda a, b: a @ b, _integers((513, 700), (700, 391))),
    "products of small matrices": Large(
        lambda a, b: jnp.einsum("bij,bjk->bik", a, b), _integers((20000, 4, 5), (20000, 5, 3))
    ),
    "attention of one head": Large(_attention, _floats(*[(512, 64)] * 3), 64),
    "depthwise windows": Large(
        lambda x, w: sum(x[:, i : i + 200] * w[i] for i in range(9)), _integers((999, 208), (9,))
    ),
    "life": Large(_life, _integers((1024, 1000), bound=2)),
    "heat": Large(_heat, _floats((512, 513)), 32),
    "ring buffer": Large(_ring, _integers((100000,), (50,))),
    "updates in a loop": Large(_updates, _integers((10007,), (3000,))),
    "Adam": Large(_adam, lambda rng: [abs(x) for x in _floats(*[(1 << 20,)] * 4)(rng)], 32),
    "random bits": Large(_bits, lambda rng: [np.array([17, 42], np.uint32)]),
    "shuffle of bits": Large(
        lambda x: (x << 7) ^ (x >> 9) ^ lax.population_count(x) ^ lax.clz(x),
        _integers((1 << 21,), bound=1 << 32, dtype=np.uint32),
    ),
    "one-hot": Large(lambda x: jax.nn.one_hot(x, 1000, dtype=np.int32), _integers((4096,))),
    "triangle": Large(lambda x: jnp.tril(x) + jnp.triu(x, 3) * 2, _integers((2001, 2003))),
    "interpolation": Large(
        lambda x, p: jnp.interp(x, jnp.sort(p), p * p), _floats((1 << 18,), (1000,)), 256
    ),
    "search": Large(
        lambda p, x: jnp.searchsorted(jnp.sort(p), x),
        _integers((100000,), (1 << 17,), bound=1 << 20),
    ),
}
