"""What depends on JAX's version. Needs neither TensorFlow nor a build.

The matrix of docs/support.md runs it for each pair of Python and JAX.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import onexpu
from tests.jax.process import run

N = 6
# Rounding errors of well conditioned matrices of N rows, computed in 64 bits.
TOLERANCE = 1e-9

TWICE = """
ONEXPU_KERNEL void twice(const float* x, float* y, float factor) {
  y[onexpu::global_id()] = factor * x[onexpu::global_id()];
}
"""


@pytest.fixture(autouse=True)
def on_xpu(xpu):
    with jax.default_device(xpu):
        yield


@pytest.fixture(scope="module")
def twice() -> onexpu.SyclKernel:
    kernel = onexpu.sycl_kernel(
        source=TWICE, inputs=["x"], outputs={"y": onexpu.like("x")}, attributes={"factor": float}
    )
    kernel.defgradient(
        lambda inputs, outputs, cotangents, factor: [kernel(cotangents[0], factor=factor)]
    )
    return kernel


def matrix(dtype: str = "float64", seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    values = random.normal(size=(2, N, N))
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * random.normal(size=(2, N, N))
    return (values + N * np.eye(N)).astype(dtype)


def close(actual, expected) -> None:
    np.testing.assert_allclose(actual, expected, rtol=TOLERANCE, atol=TOLERANCE)


def adjoint(x):
    return x.conj().mT


def test_jit_and_gradient(xpu) -> None:
    x = jnp.arange(8.0)
    assert x.device == xpu
    close(jax.jit(lambda x: jnp.sin(x) @ x)(x), np.sin(np.arange(8)) @ np.arange(8))
    close(jax.jit(jax.grad(lambda x: jnp.sum(x**3)))(x), 3 * np.arange(8.0) ** 2)


def test_donation(xpu) -> None:
    x = jax.device_put(np.ones(1024, "float32"), xpu)
    address = x.unsafe_buffer_pointer()
    y = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert x.is_deleted()
    assert y.unsafe_buffer_pointer() == address


def test_kernel(twice) -> None:
    x = jnp.arange(8, dtype="float32")
    np.testing.assert_array_equal(twice(x, factor=2.0), 2 * np.arange(8))
    np.testing.assert_array_equal(
        jax.jit(lambda x: twice(x, factor=3.0) + 1)(x), 3 * np.arange(8) + 1
    )
    np.testing.assert_array_equal(jax.grad(lambda x: twice(x, factor=2.0).sum())(x), np.full(8, 2))
    np.testing.assert_array_equal(
        jax.vmap(lambda x: twice(x, factor=2.0))(x.reshape(2, 4)), 2 * x.reshape(2, 4)
    )


def test_kernel_with_a_traced_attribute(twice) -> None:
    x = jnp.arange(8, dtype="float32")
    factor = jnp.float32(4)
    np.testing.assert_array_equal(
        jax.jit(lambda x, f: twice(x, factor=f))(x, factor), 4 * np.arange(8)
    )


def test_kernel_in_shard_map(twice, xpu) -> None:
    mesh = Mesh(np.array([xpu]), ("i",))
    spec = PartitionSpec("i")
    x = jax.device_put(np.arange(8, dtype="float32"), NamedSharding(mesh, spec))
    mapped = jax.jit(
        jax.shard_map(lambda x: twice(x, factor=2.0), mesh=mesh, in_specs=spec, out_specs=spec)
    )
    np.testing.assert_array_equal(mapped(x), 2 * np.arange(8))
    np.testing.assert_array_equal(jax.jit(jax.grad(lambda x: mapped(x).sum()))(x), np.full(8, 2))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_eigh(dtype) -> None:
    a = matrix(dtype)
    a = a + adjoint(a)
    w, v = jax.jit(jnp.linalg.eigh)(a)
    close(a @ np.asarray(v), np.asarray(v) * np.asarray(w)[:, None, :])
    close(jnp.linalg.eigvalsh(a), np.linalg.eigvalsh(a))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_eig(dtype) -> None:
    a = matrix(dtype)
    w, v = jax.jit(jnp.linalg.eig)(a)
    close(a @ np.asarray(v), np.asarray(v) * np.asarray(w)[:, None, :])
    close(np.sort_complex(jnp.linalg.eigvals(a)), np.sort_complex(np.linalg.eigvals(a)))
    slope = jax.grad(lambda a: jnp.linalg.eigvals(a).sum().real)(jnp.asarray(a))
    close(slope, np.broadcast_to(np.eye(N), slope.shape))  # the sum of the eigenvalues is the trace


def test_schur() -> None:
    a = matrix()[0]
    t, z = jax.jit(jax.scipy.linalg.schur)(a)
    close(z @ t @ z.T, a)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_svd(dtype) -> None:
    a = matrix(dtype)[:, :, :4]
    u, s, vh = jax.jit(lambda a: jnp.linalg.svd(a, full_matrices=False))(a)
    close(np.asarray(u) * np.asarray(s)[:, None, :] @ np.asarray(vh), a)
    close(jnp.linalg.svd(a, compute_uv=False), np.linalg.svd(a, compute_uv=False))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_qr(dtype) -> None:
    a = matrix(dtype)
    q, r = jax.jit(jnp.linalg.qr)(a)
    close(q @ r, a)
    close(adjoint(q) @ q, np.broadcast_to(np.eye(N), a.shape))


def test_pivoted_qr() -> None:
    a = matrix()[0]
    q, r, p = jax.jit(lambda a: jax.scipy.linalg.qr(a, pivoting=True))(a)
    close(q @ r, a[:, np.asarray(p)])


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_cholesky(dtype) -> None:
    a = matrix(dtype)
    a = a @ adjoint(a)
    factor = jax.jit(jnp.linalg.cholesky)(a)
    close(factor @ adjoint(factor), a)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_lu(dtype) -> None:
    a = matrix(dtype)
    p, lower, upper = jax.jit(jax.vmap(jax.scipy.linalg.lu))(a)
    close(p @ lower @ upper, a)
    close(jnp.linalg.solve(a, a[:, :, :1]), np.broadcast_to(np.eye(N)[:, :1], (2, N, 1)))


def test_hessenberg() -> None:
    a = matrix()[0]
    h, q = jax.jit(lambda a: jax.scipy.linalg.hessenberg(a, calc_q=True))(a)
    close(q @ h @ q.T, a)


def test_tridiagonal() -> None:
    a = matrix()[0]
    a = a + a.T
    _, d, e, _ = jax.jit(lambda a: lax.linalg.tridiagonal(a, lower=True))(a)
    t = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
    close(np.linalg.eigvalsh(t), np.linalg.eigvalsh(a))


def test_tridiagonal_solve() -> None:
    d, b = np.full(N, 4.0), np.arange(N, dtype="float64")[:, None]
    lower, upper = np.r_[0.0, np.ones(N - 1)], np.r_[np.ones(N - 1), 0.0]
    x = jax.jit(lax.linalg.tridiagonal_solve)(lower, d, upper, b)
    close((np.diag(d) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1)) @ x, b)
    slope = jax.grad(
        lambda b: lax.linalg.tridiagonal_solve(*map(jnp.asarray, (lower, d, upper)), b).sum()
    )(b)
    assert np.isfinite(slope).all()


def test_sparse_solve() -> None:
    from jax.experimental.sparse.linalg import spsolve

    data, indices, indptr = np.array([2.0, 1.0, 4.0]), np.array([0, 1, 1]), np.array([0, 2, 3])
    x = jax.jit(spsolve)(data, indices, indptr, np.array([4.0, 8.0]))
    close(x, [1.0, 2.0])


def test_pure_callback() -> None:
    call = jax.jit(
        lambda x: jax.pure_callback(
            np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="sequential"
        )
    )
    x = np.arange(4.0)
    close(call(x), np.sin(x))
    close(jax.vmap(call)(x.reshape(2, 2)), np.sin(x).reshape(2, 2))


@pytest.mark.parametrize("ordered", [False, True])
def test_io_callback(ordered) -> None:
    seen = []
    result = jax.ShapeDtypeStruct((), "float64")

    def remember(x):
        seen.append(float(x))
        return x

    @jax.jit
    def program(x):
        return io_callback(
            remember, result, io_callback(remember, result, x, ordered=ordered) + 1, ordered=ordered
        )

    assert program(1.0) == 2
    jax.effects_barrier()
    assert seen == [1, 2]


def test_callback_in_shard_map(xpu) -> None:
    """Its annotation of the sharding is set by JAX's function, whose arguments differ."""
    mesh = Mesh(np.array([xpu]), ("i",))
    spec = PartitionSpec("i")
    seen = []

    def inside(x):
        jax.debug.callback(lambda x: seen.append(x.sum()), x)
        return jax.pure_callback(lambda x: x + 1, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    x = jax.device_put(np.arange(4.0), NamedSharding(mesh, spec))
    mapped = jax.shard_map(inside, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
    close(jax.jit(mapped)(x), np.arange(4) + 1)
    # Of operands that are annotated, without a mapped axis.
    close(
        jax.jit(lambda x: jax.pure_callback(np.cos, jax.ShapeDtypeStruct(x.shape, x.dtype), x))(x),
        np.cos(x),
    )
    jax.effects_barrier()
    assert sum(seen) == 6


def test_debug_print(capsys) -> None:
    jax.jit(lambda x: jax.debug.print("x is {}", x))(3)
    jax.jit(lambda x: jax.debug.print("then {}", x, ordered=True))(4)
    jax.effects_barrier()
    output = capsys.readouterr().out
    assert "x is 3" in output
    assert "then 4" in output


def test_error_in_a_callback() -> None:
    def fail(x):
        raise ValueError("no such value")

    call = jax.jit(lambda x: jax.pure_callback(fail, jax.ShapeDtypeStruct((), "float32"), x))
    with pytest.raises(Exception, match="no such value"):
        call(jnp.float32(1)).block_until_ready()


def test_buffer_callback() -> None:
    from jax.experimental.buffer_callback import buffer_callback

    def fill(ctx, out, x):
        np.from_dlpack(out)[...] = np.asarray(x) * 2

    call = buffer_callback(fill, jax.ShapeDtypeStruct((4,), "float32"))
    np.testing.assert_array_equal(jax.jit(call)(jnp.arange(4, dtype="float32")), 2 * np.arange(4))


def test_checkify() -> None:
    from jax.experimental import checkify

    def program(x):
        checkify.check(x > 0, "x is {x}", x=x)
        return jnp.log(x)

    error, _ = jax.jit(checkify.checkify(program))(-1.0)
    with pytest.raises(Exception, match="x is -1"):
        error.throw()


def test_dlpack(xpu) -> None:
    x = jax.device_put(np.arange(4, dtype="float32"), xpu)
    y = onexpu.from_dlpack(onexpu.to_dlpack(x))
    assert y.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    np.testing.assert_array_equal(y, x)


def test_export(twice) -> None:
    x = np.arange(4, dtype="float32")

    def program(x):
        return twice(jnp.tanh(x), factor=2.0), jnp.linalg.svd(
            jnp.outer(x, x) + jnp.eye(4), compute_uv=False
        )

    exported = jax.export.export(jax.jit(program), platforms=["xpu"])(x)
    loaded = jax.export.deserialize(exported.serialize())
    y, s = jax.jit(loaded.call)(x)
    np.testing.assert_allclose(y, 2 * np.tanh(x), rtol=1e-6)
    np.testing.assert_allclose(
        s, np.linalg.svd(np.outer(x, x) + np.eye(4), compute_uv=False), rtol=1e-5
    )


CACHED = """
    import sys, jax, jax.numpy as jnp, numpy as np
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
    hits = []
    jax.monitoring.register_event_listener(lambda event, **_: hits.append(event))

    offset = float(sys.argv[1])
    def shift(x):
        return x + np.float32(offset)

    @jax.jit
    def plain(x):
        return jnp.tanh(x) * 3

    @jax.jit
    def with_callback(x):
        return jax.pure_callback(shift, jax.ShapeDtypeStruct(x.shape, x.dtype), x) * 2

    with jax.default_device(jax.devices("xpu")[0]):
        x = jnp.ones(4, "float32")
        plain(x).block_until_ready()
        is_hit = "/jax/compilation_cache/cache_hits" in hits
        print(int(is_hit), float(with_callback(x)[0]))
"""


def test_persistent_cache(tmp_path) -> None:
    """A program with a callback calls the one of its own process, whatever the cache holds."""
    first, second = (
        run(CACHED, offset, JAX_COMPILATION_CACHE_DIR=str(tmp_path)).output.split()
        for offset in ("1", "5")
    )
    assert first == ["0", "4.0"]
    assert second == ["1", "12.0"]
    assert list(tmp_path.glob("*plain*"))
    assert not list(tmp_path.glob("*with_callback*"))  # it would never be found again
