"""jit, grad, vmap, control flow, random numbers: the same as JAX's CPU backend."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.jax.compare import assert_same, check, on

RNG = np.random.default_rng(0)
X = RNG.standard_normal((8, 16)).astype(np.float32)
W = RNG.standard_normal((16, 4)).astype(np.float32)
V = RNG.standard_normal(32).astype(np.float32)


def _mlp(w, x):
    return jnp.sum(jax.nn.softmax(jnp.tanh(x @ w), axis=-1) ** 2)


CASES = {
    "jit": (jax.jit(lambda x: jnp.sin(x) * 2 + 1), X),
    "matmul": (jax.jit(lambda x, w: jax.nn.relu(x @ w + 1)), X, W),
    "grad": (jax.jit(jax.grad(_mlp)), W, X),
    "value_and_grad": (jax.jit(jax.value_and_grad(_mlp)), W, X),
    "hessian": (jax.jit(jax.hessian(lambda v: jnp.sum(v[:4] ** 3) * jnp.prod(v[:4]))), V),
    "jvp": (lambda x: jax.jvp(jnp.exp, (x,), (x,)), X),
    "vmap": (jax.jit(jax.vmap(lambda a, b: a @ b, (0, None))), X, W),
    "scan": (jax.jit(lambda v: jax.lax.scan(lambda c, x: (c * 0.5 + x, c), 0.0, v)), V),
    "scan of matrices": (
        jax.jit(
            lambda x: jax.lax.scan(lambda c, _: (jnp.tanh(c @ c.T @ c), None), x * 0.1, None, 20)[0]
        ),
        X,
    ),
    "fori_loop": (jax.jit(lambda v: jax.lax.fori_loop(0, 10, lambda i, c: c + i * v, v)), V),
    "while_loop": (
        jax.jit(
            lambda v: jax.lax.while_loop(lambda c: jnp.sum(c) < 1e3, lambda c: c * 2, jnp.abs(v))
        ),
        V,
    ),
    "cond true": (jax.jit(lambda p, v: jax.lax.cond(p, jnp.sin, jnp.cos, v)), np.True_, V),
    "cond false": (jax.jit(lambda p, v: jax.lax.cond(p, jnp.sin, jnp.cos, v)), np.False_, V),
    "switch": (
        jax.jit(lambda i, v: jax.lax.switch(i, [jnp.sin, jnp.cos, jnp.tanh], v)),
        np.int32(2),
        V,
    ),
    "reduce": (jax.jit(lambda x: (x.sum(0), x.max(1), x.mean(), jnp.argmax(x, 1))), X),
    "transpose and reshape": (jax.jit(lambda x: x.T.reshape(4, 32)[::-1, ::3]), X),
    "gather": (jax.jit(lambda x, i: x[i]), X, np.array([3, -1, 0, 7])),
    "dynamic slice": (jax.jit(lambda x, i: jax.lax.dynamic_slice_in_dim(x, i, 3)), X, np.int32(6)),
    "dynamic update": (
        jax.jit(lambda x, i: jax.lax.dynamic_update_slice_in_dim(x, x[:2] * 0, i, 0)),
        X,
        np.int32(3),
    ),
    "scatter": (jax.jit(lambda x, i: x.at[i].add(1.0)), X, np.array([1, 1, 5])),
    "sort": (jax.jit(lambda v: (jnp.sort(v), jnp.argsort(v))), V),
    "cumsum": (jax.jit(lambda v: jnp.cumsum(v)), V),
    "concatenate and pad": (
        jax.jit(lambda x: jnp.pad(jnp.concatenate([x, x * 2], 1), ((1, 2), (0, 3)))),
        X,
    ),
    "convolution": (
        jax.jit(lambda x, k: jax.nn.relu(jax.lax.conv_general_dilated(x, k, (1, 1), "SAME"))),
        RNG.standard_normal((2, 3, 8, 8)).astype(np.float32),
        RNG.standard_normal((5, 3, 3, 3)).astype(np.float32),
    ),
    "complex": (jax.jit(lambda x: jnp.exp(1j * x).real + jnp.abs(x + 2j)), X),
    "integers": (
        jax.jit(lambda i: (i // 3, i % 3, i << 2, i ^ 5, jnp.bitwise_count(i))),
        np.arange(-9, 9),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_same_as_on_the_cpu(xpu, cpu, name: str) -> None:
    function, *args = CASES[name]
    check(xpu, cpu, function, *args)


@pytest.mark.parametrize(
    "draw",
    [
        lambda key: jax.random.bits(key, (100,)),
        lambda key: jax.random.uniform(key, (100,), jnp.float32),
        lambda key: jax.random.randint(key, (100,), -5, 17),
        lambda key: jax.random.permutation(key, 50),
        lambda key: jax.random.key_data(jax.random.split(key, 5)),
    ],
    ids=["bits", "uniform", "randint", "permutation", "split"],
)
@pytest.mark.parametrize("generator", ["threefry2x32", "rbg"])
def test_random_numbers_are_the_cpus(xpu, cpu, draw, generator: str) -> None:
    """Bit for bit: the generators are integer arithmetic."""

    def run():
        return jax.jit(draw)(jax.random.key(7, impl=generator))

    actual, expected = on(xpu, run), on(cpu, run)
    np.testing.assert_array_equal(actual, expected)


def test_normal_numbers_are_the_cpus_but_for_rounding(xpu, cpu) -> None:
    check(
        xpu,
        cpu,
        jax.jit(lambda key: jax.random.normal(key, (1000,), jnp.float32)),
        jax.random.PRNGKey(3),
    )


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 1,
        lambda x: x @ x.T,
        lambda x: jnp.where(x > 0, x, 0),
        lambda x: jnp.linalg.norm(x),
        lambda x: x[2:5, ::2],
        lambda x: jnp.stack([x, x]).mean(),
        lambda x: (x > 0).any(),
        lambda x: jnp.arange(10) * 2,
    ],
)
def test_eager_operations(xpu, cpu, function) -> None:
    check(xpu, cpu, function, X)


def test_a_training_loop_learns(xpu, cpu) -> None:
    def train(w, x):
        y = jnp.sum(x, axis=1, keepdims=True)

        def loss(w):
            return jnp.mean((x @ w - y) ** 2)

        step = jax.jit(lambda w: (w - 0.01 * jax.grad(loss)(w), loss(w)))
        losses = []
        for _ in range(50):
            w, value = step(w)
            losses.append(value)
        return w, jnp.stack(losses)

    actual = on(xpu, train, W[:, :1], X)
    # Fifty steps, each with a few roundings more.
    assert_same(actual, on(cpu, train, W[:, :1], X), ulps=2000)
    assert actual[1][-1] < 0.5 * actual[1][0]


@pytest.mark.parametrize(
    "function",
    [
        lambda a: jnp.linalg.cholesky(a),
        lambda a: jnp.linalg.solve(a, a[:, 0]),
        lambda a: jnp.linalg.inv(a),
        lambda a: jnp.linalg.det(a),
        lambda a: jnp.abs(jnp.linalg.qr(a)[1]),
        lambda a: jnp.linalg.eigvalsh(a),
        lambda a: jnp.linalg.svd(a, compute_uv=False),
    ],
    ids=["cholesky", "solve", "inv", "det", "qr", "eigvalsh", "svd"],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_linear_algebra(xpu, cpu, function, dtype) -> None:
    half = np.random.default_rng(1).standard_normal((6, 6)).astype(dtype)
    matrix = half @ half.T + 6 * np.eye(6, dtype=dtype)
    # Conditioned to some tens; other pivots and other reflections.
    check(xpu, cpu, jax.jit(function), matrix, ulps=1000)


@pytest.mark.skipif(
    jax.__version_info__ < (0, 10), reason="JAX has prevent_mlir_dce from 0.10.0 on"
)
def test_a_sink_keeps_its_operand_and_runs_nothing(xpu) -> None:
    def function(x):
        jax.lax.dce_sink(jnp.sin(x), prevent_mlir_dce=True)
        return x + 1

    compiled = jax.jit(function).lower(jax.device_put(X, xpu)).compile()
    assert "dce_sink" in compiled.as_text()
    np.testing.assert_array_equal(compiled(jax.device_put(X, xpu)), X + 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_second_derivatives_of_sines_beside_cosines_compile(xpu, cpu, dtype) -> None:
    """Pairs of both in one kernel: the CPU driver's compiler used to end the process."""

    def chain(c, a):
        b = jnp.cos(jnp.sum(jnp.sin(a[0])) + jnp.sum(jnp.cos(c)))
        c = jnp.sin(c * b)
        return jnp.sin(c * jnp.cos(jnp.sum(jnp.sin(a[1])) + jnp.sum(jnp.cos(c))))

    def twice(c, a):
        def once(c, a):
            return jax.jvp(chain, (c, a), (c, a))

        return jax.jvp(once, (c, a), (c, a))

    # A chain of some hundred operations.
    check(xpu, cpu, jax.jit(twice), X[0, :4].astype(dtype), X[:2, :3].astype(dtype), ulps=1000)
