"""Batches of matrices of every size: beside bad ones, on threads, on devices, in loops, donated."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
import pytest

from tests.exhaustive import covering, every
from tests.jax import process
from tests.jax.linear_algebra.matrices import TYPES, adjoint

SIZES = every(4, range(1, 41))


def _random(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    random = np.random.default_rng(shape[0] * 1000 + shape[-1])
    values = random.standard_normal(shape)
    if np.issubdtype(np.dtype(dtype), np.complexfloating):
        values = values + 1j * random.standard_normal(shape)
    return values.astype(dtype)


def _definite(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    # Condition numbers below 10.
    n = shape[-1]
    a = _random(shape, dtype)
    norms = np.linalg.norm(a, 2, axis=(-2, -1))[..., None, None]
    return (a @ adjoint(a) / norms**2 * 4 + np.eye(n)).astype(dtype)


def _everything(a: jax.Array, b: jax.Array) -> dict[str, Any]:
    """Returns the results of all routines. `a` is positive definite."""
    lower = jnp.linalg.cholesky(a)
    return {
        "cholesky": lower,
        "lu": jax.lax.linalg.lu(b),
        "solve": jnp.linalg.solve(a, b),
        "triangular": jax.scipy.linalg.solve_triangular(lower, b, lower=True),
        "qr": jnp.linalg.qr(b),
        "eigh": jnp.linalg.eigh(a),
        "svd": jnp.linalg.svd(b),
        "det": jnp.linalg.det(a),
    }


def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.result_type(x.dtype, np.float64))


def _check(results: dict[str, Any], a: np.ndarray, b: np.ndarray) -> None:
    """Compares with products and solutions in 64 bits, of matrices of condition 10 and less."""
    results = jax.tree.map(lambda x: _wide(np.asarray(x)), results)
    n = a.shape[-1]
    epsilon = float(np.finfo(a.dtype).eps)
    a, b = _wide(a), _wide(b)
    size = float(np.linalg.norm(b, 2, axis=(-2, -1)).max()) if b.size else 1.0

    def close(got: np.ndarray, want: np.ndarray, scale: float) -> None:
        np.testing.assert_allclose(got, want, rtol=0, atol=40 * (n + 10) * epsilon * scale)

    lower = results["cholesky"]
    close(lower @ adjoint(lower), a, 5)
    lu, _, permutation = results["lu"]
    unit = np.tril(lu, -1) + np.eye(n)
    close(unit @ np.triu(lu), np.take_along_axis(b, permutation[..., None].astype(int), -2), size)
    close(results["solve"], np.linalg.solve(a, b), size)
    close(lower @ results["triangular"], b, size)
    q, r = results["qr"]
    close(q @ r, b, size)
    close(adjoint(q) @ q, np.broadcast_to(np.eye(n), a.shape), 1)
    values, vectors = results["eigh"]
    close(values, np.linalg.eigvalsh(a), 5)
    close((vectors * values[..., None, :]) @ adjoint(vectors), a, 5)
    u, s, v = results["svd"]
    close(s, np.linalg.svd(b, compute_uv=False), size)
    close((u * s[..., None, :]) @ v, b, size)
    np.testing.assert_allclose(results["det"], np.linalg.det(a), rtol=40 * (n + 10) * epsilon)


@covering(n=SIZES, dtype=TYPES, count=[1, 1000])
def test_batches_of_every_size(xpu, dtype: str, count: int, n: int) -> None:
    a, b = _definite((count, n, n), dtype), _random((count, n, n), dtype)
    _check(jax.jit(_everything)(jax.device_put(a, xpu), jax.device_put(b, xpu)), a, b)


@pytest.mark.parametrize("n", [1, 2, 5, 12, 40])
@pytest.mark.parametrize("dtype", TYPES)
def test_bad_matrices_leave_the_others_of_their_batch(xpu, dtype: str, n: int) -> None:
    a, b = _definite((9, n, n), dtype), _random((9, n, n), dtype)
    good = [0, 2, 4, 6, 8]
    plain = jax.tree.map(
        np.asarray, jax.jit(_everything)(jax.device_put(a, xpu), jax.device_put(b, xpu))
    )
    a[1], b[1] = np.nan, np.nan
    a[3, -1, -1], b[3, 0, -1] = np.inf, -np.inf
    a[5], b[5] = 0, 0
    a[7, 0, 0], b[7, 0] = -1, 0
    got = jax.tree.map(
        np.asarray, jax.jit(_everything)(jax.device_put(a, xpu), jax.device_put(b, xpu))
    )
    for x, y in zip(jax.tree.leaves(got), jax.tree.leaves(plain), strict=True):
        np.testing.assert_array_equal(x[good], y[good])
    triangle = np.tril(np.ones((n, n), bool))
    assert np.isnan(got["cholesky"][[1, 5, 7]][:, triangle]).all()
    for name in ("eigh", "svd"):
        for x in got[name]:
            assert np.isnan(x[1]).all(), name
            assert np.isnan(x[3]).all(), name
            assert np.isfinite(x[[5, 7]]).all(), name
    permutation = got["lu"][2]
    np.testing.assert_array_equal(
        np.sort(permutation, -1), np.broadcast_to(np.arange(n), permutation.shape)
    )
    assert np.isfinite(got["lu"][0][[5, 7]]).all()
    np.testing.assert_array_equal(got["det"][5], 0)


def _hard_matrices(shape: tuple[int, int], dtype: str) -> np.ndarray:
    a = _random((1, *shape), dtype)[0]
    rows, columns = shape
    least = min(shape)
    graded = np.zeros(shape)
    np.fill_diagonal(graded, 10.0 ** -np.linspace(0, 30, least))
    coupled = np.zeros(shape)
    np.fill_diagonal(coupled[:, 1:], 10.0 ** -np.linspace(20, 25, least))
    coupled[0, 0] = 1
    equal = a.copy()
    equal[:, columns // 2 :] = equal[:, :1]
    sparse = a * (np.arange(columns) % 3 == 0)
    exponent = np.finfo(dtype).maxexp * 3 // 4
    matrices = [
        np.zeros(shape), np.eye(*shape), np.ones(shape), np.outer(a[:, 0], a[0]), graded, coupled,
        equal, sparse, a * 2.0**exponent, a * 2.0**-exponent, a,
    ]  # fmt: skip
    return np.stack(matrices).astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", [(64, 64), (130, 50), (50, 130)])
def test_singular_vectors_of_hard_matrices(
    xpu, dtype: str, full: bool, shape: tuple[int, int]
) -> None:
    a = _hard_matrices(shape, dtype)
    u, s, v = (
        _wide(np.asarray(x))
        for x in jax.jit(lambda x: jnp.linalg.svd(x, full_matrices=full))(jax.device_put(a, xpu))
    )
    least = min(shape)
    epsilon = float(np.finfo(dtype).eps)
    for i, matrix in enumerate(_wide(a)):
        # The squares of some elements are out of the range of the type.
        scale = 2.0 ** np.floor(np.log2(max(np.abs(matrix).max(), np.finfo(dtype).tiny)))
        product = (u[i][:, :least] * (s[i] / scale)) @ v[i][:least]
        bound = 40 * least * epsilon * max(1.0, float(s[i][0] / scale))
        np.testing.assert_allclose(product, matrix / scale, rtol=0, atol=bound)
        for x in (u[i], adjoint(v[i])):
            np.testing.assert_allclose(
                adjoint(x) @ x, np.eye(x.shape[1]), rtol=0, atol=40 * max(shape) * epsilon
            )
        assert (np.diff(s[i]) <= 0).all()


@pytest.mark.parametrize("shape", [(3, 10, 10), (200, 6, 6), (1, 300, 300)])
def test_several_threads_at_the_same_time(xpu, shape: tuple[int, ...]) -> None:
    compiled = jax.jit(_everything)
    operands = [
        (_definite(shape, "float32") * (i + 1), _random(shape, "float32") + i) for i in range(4)
    ]
    operands = [(a.astype(np.float32), b.astype(np.float32)) for a, b in operands]

    def run(operand: tuple[np.ndarray, np.ndarray]) -> Any:
        return jax.tree.map(np.asarray, compiled(*(jax.device_put(x, xpu) for x in operand)))

    expected = [run(operand) for operand in operands]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for i, result in enumerate(pool.map(run, operands * 5)):
            jax.tree.map(np.testing.assert_array_equal, result, expected[i % 4])


def _loops() -> dict[str, Callable[..., Any]]:
    def scan(a: jax.Array, b: jax.Array) -> Any:
        def step(x: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
            x = jnp.linalg.solve(a, x)
            return x, jnp.linalg.eigvalsh(x @ x.swapaxes(-1, -2))

        return jax.lax.scan(step, b, length=5)

    def while_loop(a: jax.Array, b: jax.Array) -> Any:
        def step(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            x, count = state
            lower = jnp.linalg.cholesky(a)
            return jax.scipy.linalg.solve_triangular(lower, x, lower=True), count + 1

        return jax.lax.while_loop(
            lambda state: jnp.logical_and(state[1] < 20, jnp.abs(state[0]).max() > 0.3),
            step,
            (b, jnp.int32(0)),
        )

    def cond(a: jax.Array, b: jax.Array) -> Any:
        return jax.lax.cond(
            b[0, 0, 0] > 0, jnp.linalg.inv, lambda x: jnp.linalg.qr(x)[0] * 1, a
        ), jax.lax.cond(b[0, 0, 0] <= 0, jnp.linalg.inv, lambda x: jnp.abs(jnp.linalg.qr(x)[1]), b)

    return {"scan": scan, "while": while_loop, "cond": cond}


@pytest.mark.parametrize("loop", _loops())
@pytest.mark.parametrize("shape", [(1, 9, 9), (50, 8, 8)])
def test_loops_and_branches(xpu, cpu, loop: str, shape: tuple[int, ...]) -> None:
    a, b = _definite(shape, "float64"), _random(shape, "float64")
    function = jax.jit(_loops()[loop])
    for _ in range(30):  # small work changes the queue that it runs on
        got = function(jax.device_put(a, xpu), jax.device_put(b, xpu))
    want = function(jax.device_put(a, cpu), jax.device_put(b, cpu))
    for x, y in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "function",
    [
        jnp.linalg.cholesky,
        jnp.linalg.inv,
        lambda a: jnp.linalg.qr(a)[0],
        lambda a: jnp.linalg.eigh(a)[1],
        lambda a: jax.scipy.linalg.solve_triangular(jnp.tril(a), a, lower=True),
        lambda a: jax.lax.linalg.lu(a)[0],
    ],
)
@pytest.mark.parametrize("shape", [(6, 6), (300, 10, 10)])
def test_donated_operands(xpu, function: Callable[..., Any], shape: tuple[int, ...]) -> None:
    a = _definite(shape, "float32")
    expected = np.asarray(jax.jit(function)(jax.device_put(a, xpu)))
    donating = jax.jit(function, donate_argnums=0)
    for _ in range(20):
        operand = jax.device_put(jnp.asarray(a, copy=True), xpu)
        np.testing.assert_array_equal(np.asarray(donating(operand)), expected)


def test_results_do_not_depend_on_the_queue(xpu) -> None:
    """The first runs of small work try the device's threads and the calling one."""
    a, b = _definite((20, 7, 7), "float32"), _random((20, 7, 7), "float32")
    operands = jax.device_put(a, xpu), jax.device_put(b, xpu)
    compiled = jax.jit(_everything)
    first = jax.tree.map(np.asarray, compiled(*operands))
    for _ in range(100):
        jax.tree.map(np.testing.assert_array_equal, compiled(*operands), first)


_DEVICES = """
import concurrent.futures, jax, jax.numpy as jnp, numpy as np
devices = jax.devices("xpu")
assert len(devices) == 2
random = np.random.default_rng(0)

def everything(a):
    a = a @ a.swapaxes(-1, -2) + jnp.eye(a.shape[-1])
    return (jnp.linalg.cholesky(a), jnp.linalg.inv(a), jnp.linalg.qr(a), jnp.linalg.eigh(a),
            jnp.linalg.svd(a))

def run(i):
    return jax.tree.map(np.asarray, compiled(jax.device_put(operands[i % 4], devices[i % 2])))

for shape in ((7, 7), (100, 9, 9), (400, 400)):
    compiled = jax.jit(everything)
    operands = [random.standard_normal(shape).astype(np.float32) for _ in range(4)]
    expected = [run(i) for i in range(4)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for i, result in enumerate(pool.map(run, range(40 if shape[-1] < 400 else 8))):
            jax.tree.map(np.testing.assert_array_equal, result, expected[i % 4])

mesh = jax.sharding.Mesh(np.array(devices), ("d",))
batch = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d"))
a = random.standard_normal((64, 12, 12)).astype(np.float32)
mapped = jax.jit(jax.shard_map(jnp.linalg.inv, mesh=mesh, in_specs=batch.spec,
                               out_specs=batch.spec))
for _ in range(20):
    inverse = np.asarray(mapped(jax.device_put(a, batch)), np.float64)
    # A backward error of a few rounding errors, times the condition.
    bound = 1e-4 * np.linalg.cond(a.astype(np.float64)).max() / 100
    np.testing.assert_allclose(inverse @ a, np.broadcast_to(np.eye(12), a.shape), atol=bound)
print("ok")
"""


def test_several_cpu_devices() -> None:
    done = process.run(
        _DEVICES, ONEXPU_DEVICE="cpu", ONEXPU_NUM_CPU_DEVICES="2", JAX_PLATFORMS="xpu", timeout=300
    )
    assert done.output.endswith("ok\n")
