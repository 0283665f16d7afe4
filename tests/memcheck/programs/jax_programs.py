"""Programs of JAX: compilation, library calls, control flow, callbacks, kernels, serialization."""

from __future__ import annotations

import os
import sys
import tempfile

os.environ["JAX_PLATFORMS"] = "xpu,cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import buffer_callback, io_callback, serialize_executable

from tests.scaled_kernel import scaled

DEVICE = jax.devices("xpu")[0]


def _put(*shape: int) -> jax.Array:
    values = np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32)
    return jax.device_put(values.reshape(shape), DEVICE)


def compilation() -> None:
    """Loops, reductions, sorts, and the thunks of oneDNN and oneMKL."""
    x, w, image = _put(9, 7), _put(7, 5), _put(1, 9, 9, 3)

    @jax.jit
    def step(x: jax.Array, w: jax.Array, image: jax.Array) -> list[jax.Array]:
        hidden = jnp.tanh(x @ w)
        convolved = jax.lax.conv_general_dilated(
            image,
            jnp.ones((3, 3, 3, 2)),
            (1, 1),
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )
        square = w.T @ w + 3 * jnp.eye(5)
        return [
            jnp.sort(hidden, axis=0),
            convolved.sum((1, 2)),
            jnp.fft.fft(x).real,
            jnp.linalg.cholesky(square),
            jnp.cumsum(x, 0),
            jax.random.normal(jax.random.key(0), (5,)),
            x.at[jnp.array([0, 2, 2])].add(1.0),
        ]

    for result in jax.block_until_ready(step(x, w, image)):
        assert np.isfinite(np.asarray(result)).all()
    jax.grad(lambda w: jnp.mean(jnp.square(jnp.tanh(x @ w))))(w).block_until_ready()


def control_flow() -> None:
    """Loops whose end the device knows, branches, and arrays of bounded size."""
    x = _put(33)
    collatz = jax.jit(
        lambda n: jax.lax.while_loop(
            lambda s: s[0] != 1,
            lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1),
            (n, 0),
        )[1]
    )
    assert int(collatz(jax.device_put(np.int32(27), DEVICE))) == 111
    branch = jax.jit(lambda i, x: jax.lax.switch(i, [jnp.sin, jnp.cos, jnp.negative], x))
    for i in range(3):
        branch(i, x).block_until_ready()
    carry, _ = jax.jit(lambda x: jax.lax.scan(lambda c, y: (c + y, c * y), x[0], x))(x)
    assert np.isfinite(float(carry))


def callbacks() -> None:
    """Callbacks with results, without, in order, and on buffers of the device."""
    x = _put(33)
    like = jax.ShapeDtypeStruct(x.shape, x.dtype)
    doubled = jax.jit(lambda x: jax.pure_callback(lambda a: np.asarray(a) * 2, like, x) + 1)
    np.testing.assert_allclose(doubled(x), np.asarray(x) * 2 + 1)
    seen: list[float] = []
    jax.jit(lambda x: io_callback(lambda a: seen.append(float(a)), None, x[3], ordered=True))(x)
    jax.jit(lambda x: jax.debug.callback(lambda a: seen.append(float(a)), x[4]))(x)
    jax.effects_barrier()
    assert len(seen) == 2

    def fill(_: object, out: object, x: object) -> None:
        np.asarray(out)[...] = np.asarray(x) + 1

    filled = jax.jit(buffer_callback.buffer_callback(fill, like))(x)
    np.testing.assert_allclose(filled, np.asarray(x) + 1)


def kernels() -> None:
    """A kernel from source, with an attribute, eager and under jit, and a built-in kernel."""
    x = _put(33)
    for rate in (0.5, 2.0):
        np.testing.assert_allclose(scaled(x, rate=rate), np.asarray(x) * np.float32(rate))
    jitted = jax.jit(lambda x, rate: scaled(x, rate=rate) + 1)
    np.testing.assert_allclose(jitted(x, 3.0), np.asarray(x) * 3 + 1, rtol=1e-6)


def serialization() -> None:
    """A program that is stored and loaded again, whole and truncated; its costs and its memory."""
    x = _put(9, 7)
    compiled = jax.jit(lambda x: jnp.tanh(x) @ x.T).lower(x).compile()
    assert compiled.cost_analysis() and compiled.memory_analysis() and compiled.as_text()
    payload, in_tree, out_tree = serialize_executable.serialize(compiled)
    loaded = serialize_executable.deserialize_and_load(payload, in_tree, out_tree, backend="xpu")
    np.testing.assert_array_equal(loaded(x), compiled(x))
    try:
        serialize_executable.deserialize_and_load(
            payload[: len(payload) // 2], in_tree, out_tree, backend="xpu"
        )
    except Exception:  # which one depends on the place of the cut
        pass
    else:
        raise AssertionError("half of a program was accepted")


def rejection() -> None:
    """A module that does not compile, an argument that is too large, and allocations beyond it."""
    client = DEVICE.client
    for text in ("module {", "module { func.func @main() { return } } trailing"):
        try:
            jax.jit(lambda x: x).lower(1.0)
            client.compile_and_load(text, client.devices(), None)
        except Exception:  # TypeError, ValueError or JaxRuntimeError, by version of JAX
            pass
    try:
        jax.jit(lambda: jnp.ones((1 << 44,), jnp.int8))().block_until_ready()
    except jax.errors.JaxRuntimeError:
        pass
    else:
        raise AssertionError("16 TiB were allocated")


def profiling() -> None:
    """A profile of some launches."""
    x = _put(33)
    program = jax.jit(lambda x: jnp.sin(x) + 1)
    with tempfile.TemporaryDirectory() as folder, jax.profiler.trace(folder):
        for _ in range(3):
            x = program(x)
        x.block_until_ready()


def main(rounds: int) -> None:
    """Runs every part `rounds` times, with the compiler each time."""
    for _ in range(rounds):
        for part in (
            compilation,
            control_flow,
            callbacks,
            kernels,
            serialization,
            rejection,
            profiling,
        ):
            part()
            print(part.__name__, flush=True)
        jax.clear_caches()


if __name__ == "__main__":
    main(int(sys.argv[1]))
