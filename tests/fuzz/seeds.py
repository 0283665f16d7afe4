"""Modules that the compiler's fuzzer starts from, lowered by JAX: one per kind of instruction.

Run as a program it writes each as StableHLO text (`name.mlir`), as a portable artifact
(`name.vhlo`) and as an HloModuleProto (`name.hlo`):

    python -m tests.fuzz.seeds DIRECTORY

In a process of its own, for JAX starts threads, and the fuzzer forks.
"""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
from jax import lax
from jaxlib import _jax

from tests.compiler.stablehlo_modules import lower

F32, S32 = jnp.float32, jnp.int32


def _of(*dimensions: int, dtype: Any = F32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(dimensions, dtype)


def _convolution(x: jax.Array, w: jax.Array) -> jax.Array:
    return lax.conv_general_dilated(
        x, w, (1, 2), ((1, 1), (0, 1)), (1, 1), (1, 2), ("NCHW", "OIHW", "NHWC"), 2
    )


def _gather(x: jax.Array, i: jax.Array) -> jax.Array:
    return x.at[i, 1:3].get(mode="fill")


def _scatter(x: jax.Array, i: jax.Array, u: jax.Array) -> jax.Array:
    return x.at[i].add(u, mode="drop")


def _window(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    pooled = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2), (1, 2, 1), "SAME")
    return pooled, jax.grad(
        lambda y: lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2), (1, 2, 2), "VALID").sum()
    )(x)


def _while(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    return lax.while_loop(lambda c: c[1] < 5, lambda c: (jnp.tanh(c[0] @ c[0]), c[1] + 1), (x, 0))


def _scan(x: jax.Array, xs: jax.Array) -> tuple[jax.Array, jax.Array]:
    return lax.scan(lambda c, y: (c * 0.5 + y, c.sum()), x, xs)


def _conditional(i: jax.Array, x: jax.Array) -> jax.Array:
    return lax.switch(i, [lambda y: y + 1, lambda y: y * 2, jnp.sin], x)


def _slices(x: jax.Array, i: jax.Array) -> tuple[jax.Array, ...]:
    part = lax.dynamic_slice(x, (i, i), (2, 3))
    return (
        lax.dynamic_update_slice(x, part * 2, (i, 0)),
        x[1:4:2, ::-1],
        lax.pad(x, 0.0, ((1, 0, 1), (-1, 2, 0))),
    )


def _movement(x: jax.Array) -> tuple[jax.Array, ...]:
    return (
        x.T + 1,
        jnp.concatenate([x, x * 2], 1),
        x.reshape(-1),
        lax.rev(x, (0,)),
        lax.broadcast_in_dim(x, (2, 4, 6), (1, 2)),
        lax.iota(S32, 5),
    )


def _types(x: jax.Array, z: jax.Array) -> tuple[jax.Array, ...]:
    return (
        x.astype(jnp.bfloat16),
        x.astype(jnp.int8),
        lax.bitcast_convert_type(x, S32),
        z * z.conj(),
        lax.reduce_precision(x, 5, 10),
        x.astype(jnp.float8_e4m3fn),
        lax.complex(x, x),
        jnp.abs(z),
    )


def _bits(i: jax.Array) -> tuple[jax.Array, ...]:
    return i << 2, i // 3, i % 5, lax.population_count(i), lax.clz(i), i ^ 7, lax.clamp(0, i, 5)


def _reductions(x: jax.Array) -> tuple[jax.Array, ...]:
    return x.sum(0), x.max(1), jnp.argmax(x, 1), x.prod(), jnp.cumsum(x, 0)


def _random(key: jax.Array) -> tuple[jax.Array, ...]:
    return lax.rng_bit_generator(key, (4, 6))


def _collective(x: jax.Array) -> tuple[jax.Array, ...]:
    mesh = jax.sharding.Mesh(jax.devices("cpu")[:1], ("i",))
    spec = jax.sharding.PartitionSpec("i")

    def body(y: jax.Array) -> tuple[jax.Array, ...]:
        return (
            lax.psum(y, "i"),
            lax.all_gather(y, "i"),
            lax.psum_scatter(y, "i", tiled=True),
            lax.ppermute(y, "i", [(0, 0)]),
            lax.all_to_all(y, "i", 0, 0, tiled=True),
        )

    return jax.shard_map(body, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)(x)


def modules() -> Iterator[tuple[str, Callable[..., Any], tuple[jax.ShapeDtypeStruct, ...]]]:
    """Yields the name, the function and its arguments of every seed."""
    key = jax.ShapeDtypeStruct((4,), jnp.uint32)
    yield (
        "elementwise",
        lambda x, y: (jnp.tanh(x) * y + 1, x > y, lax.select(x > y, x, y)),
        (_of(4, 6), _of(4, 6)),
    )
    yield "dot", lambda x, y, b: jax.nn.relu(x @ y + b), (_of(4, 6), _of(6, 8), _of(8))
    yield (
        "batch_dot",
        lambda x, y: lax.dot_general(x, y, (((3,), (1,)), ((0, 1), (0, 2)))),
        (_of(2, 3, 4, 5), _of(2, 5, 3, 4)),
    )
    yield "large_dot", lambda x, y: jax.nn.gelu(x @ y), (_of(512, 256), _of(256, 512))
    yield "convolution", _convolution, (_of(2, 4, 8, 8), _of(6, 2, 3, 3))
    yield (
        "convolution_gradient",
        jax.grad(lambda x, w: _convolution(x, w).sum(), (0, 1)),
        (_of(2, 4, 8, 8), _of(6, 2, 3, 3)),
    )
    yield "gather", _gather, (_of(8, 6), _of(3, dtype=S32))
    yield "scatter", _scatter, (_of(8, 6), _of(3, dtype=S32), _of(3, 6))
    yield "window", _window, (_of(2, 8, 8),)
    yield "while", _while, (_of(4, 4),)
    yield "scan", _scan, (_of(4), _of(5, 4))
    yield "conditional", _conditional, (_of(dtype=S32), _of(4))
    yield "slices", _slices, (_of(5, 6), _of(dtype=S32))
    yield "movement", _movement, (_of(4, 6),)
    yield "types", _types, (_of(4, 6), _of(3, dtype=jnp.complex64))
    yield "bits", _bits, (_of(4, dtype=S32),)
    yield "reductions", _reductions, (_of(64, 96),)
    yield (
        "sort",
        lambda x, i: lax.sort((x, i), dimension=0, num_keys=1),
        (_of(4, 6), _of(4, 6, dtype=S32)),
    )
    yield "top_k", lambda x: lax.top_k(x, 3), (_of(4, 8),)
    yield "random", _random, (key,)
    yield "fft", lambda x: (jnp.fft.rfft(x), jnp.fft.fft(x), jnp.fft.ifft2(x)), (_of(4, 8),)
    yield (
        "cholesky",
        lambda x, b: (jnp.linalg.cholesky(x), lax.linalg.triangular_solve(x, b, left_side=True)),
        (_of(2, 4, 4), _of(2, 4, 3)),
    )
    yield "collective", _collective, (_of(4, 6),)
    yield (
        "softmax",
        lambda x: jax.nn.softmax(x) + jax.grad(lambda y: jax.nn.logsumexp(y))(x),
        (_of(4, 6),),
    )
    yield "batch_matmul", lambda x, s: lax.batch_matmul(x, x) * s, (_of(2, 4, 4), _of(4))
    yield "donated", jax.jit(lambda x, y: (x + y, y.sum()), donate_argnums=0), (_of(8), _of(8))


def write(directory: pathlib.Path) -> None:
    """Writes every seed in its three forms."""
    for name, function, arguments in modules():
        jitted = function if hasattr(function, "trace") else jax.jit(function)
        lowered = jitted.trace(*arguments).lower(lowering_platforms=("cpu",))
        text = str(lowered.compiler_ir("stablehlo"))
        (directory / f"{name}.mlir").write_text(text)
        (directory / f"{name}.vhlo").write_bytes(lower(function, *arguments))
        computation = _jax.mlir.mlir_module_to_xla_computation(text)
        (directory / f"{name}.hlo").write_bytes(computation.as_serialized_hlo_module_proto())


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]))
