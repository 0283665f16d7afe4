"""Gradients, Jacobians, vmap and small models in JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from everyday.program import Kind, Mode, integers, normal

KIND = Kind("gradients and vmap", Mode.JAX_JIT)
program = KIND.program


@program(lambda: [normal(80), normal(100, 10)])
def hessian(w, x):
    """The Hessian of a network with 80 weights."""
    return jax.hessian(lambda w: (jnp.tanh(x @ w.reshape(10, 8)) ** 2).sum())(w)


@program(lambda: [normal(16, 32), normal(32, 32, seed=1) * 0.2])
def jacobians(x, w):
    """Jacobians of a layer for 16 examples."""
    return jax.vmap(jax.jacrev(lambda x: jnp.tanh(jnp.tanh(x @ w) @ w)))(x)


@program(lambda: [normal(64, 20), normal(64, seed=1), normal(20, 16) * 0.2, normal(16)])
def gradients_by_example(x, y, a, b):
    """The norm of the gradient of each of 64 examples."""

    def loss(parameters, x, y):
        a, b = parameters
        return (jnp.tanh(x @ a) @ b - y) ** 2

    found = jax.vmap(jax.grad(loss), (None, 0, 0))((a, b), x, y)
    return jax.vmap(lambda g: sum((leaf**2).sum() for leaf in jax.tree.leaves(g)))(found)


@program(lambda: [normal(500, 3)])
def gradient_of_pairs(x):
    """The gradient of a pair potential of 500 points."""

    def energy(x):
        return (1 / (1 + ((x[:, None] - x[None]) ** 2).sum(-1))).sum()

    return jax.grad(energy)(x)


@program(lambda: [normal(1000, 3)])
def pair_distances(x):
    """Distances between 1,000 points."""
    return jnp.linalg.norm(x[:, None] - x[None] + 1e-6, axis=-1)


def _adam(loss, parameters, moments, t):
    value, gradients = jax.value_and_grad(loss)(parameters)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], gradients)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, moments[1], gradients)
    scale = 1e-3 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
    new = jax.tree.map(lambda p, m, v: p - scale * m / (jnp.sqrt(v) + 1e-8), parameters, m, v)
    return new, (m, v), value


def _layers(*widths: int) -> list[dict[str, np.ndarray]]:
    return [
        {"w": normal(a, b, seed=i) / np.float32(a) ** 0.5, "b": np.zeros(b, np.float32)}
        for i, (a, b) in enumerate(zip(widths, widths[1:], strict=False))
    ]


def _network(layers, x):
    for layer in layers[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ layers[-1]["w"] + layers[-1]["b"]


# Adam divides gradients by their own size: near zero, rounding errors decide the sign.
@program(lambda: [_layers(4, 64, 64, 2), normal(32, 4), integers(2, 32)], tolerance=5e-3)
def small_adam_step(layers, x, y):
    """A step of Adam of a policy network 4-64-64-2, batch 32."""
    zeros = jax.tree.map(jnp.zeros_like, layers)

    def loss(layers):
        return -jnp.take_along_axis(jax.nn.log_softmax(_network(layers, x)), y[:, None], 1).mean()

    return _adam(loss, layers, (zeros, zeros), 10.0)


@program(lambda: [_layers(1, 32, 32, 1), normal(25, 10, 1), normal(25, 10, 1, seed=1)])
def inner_and_outer_steps(layers, x, y):
    """The gradient of MAML, 25 tasks of 10 examples."""

    def loss(layers, x, y):
        return ((_network(layers, x) - y) ** 2).mean()

    def adapted(layers, x, y):
        gradients = jax.grad(loss)(layers, x[:5], y[:5])
        moved = jax.tree.map(lambda p, g: p - 0.1 * g, layers, gradients)
        return loss(moved, x[5:], y[5:])

    return jax.grad(lambda p: jax.vmap(adapted, (None, 0, 0))(p, x, y).mean())(layers)


@program(lambda: [_layers(2, 32, 32, 1), normal(100, 2)], tolerance=2e-4)
def laplacian(layers, x):
    """The loss of a physics-informed network, Laplacians at 100 points."""

    def value(layers, point):
        for layer in layers[:-1]:
            point = jnp.tanh(point @ layer["w"] + layer["b"])
        return (point @ layers[-1]["w"])[0]

    def loss(layers):
        def residual(point):
            return jnp.trace(jax.hessian(value, 1)(layers, point)) - jnp.sin(point).prod()

        return (jax.vmap(residual)(x) ** 2).mean()

    return jax.value_and_grad(loss)(layers)


@program(lambda: [normal(32, 32) * 0.1, normal(100, 8, 32)], tolerance=2e-4)
def gradient_through_scan(w, xs):
    """The gradient of a plain RNN, 100 steps, batch 8, width 32."""

    def loss(w):
        step = jax.checkpoint(lambda h, x: (jnp.tanh(h @ w + x), None))
        return (jax.lax.scan(step, jnp.zeros((8, 32)), xs)[0] ** 2).sum()

    return jax.grad(loss)(w)


@program(lambda: [_layers(10, 32, 1), normal(100, 10)], tolerance=2e-4)
def hessian_products(layers, x):
    """10 products with the Hessian of a small network."""

    def loss(layers):
        return (jnp.tanh(_network(layers, x)) ** 2).mean()

    gradient = jax.grad(loss)

    def product(_, v):
        hv = jax.jvp(gradient, (layers,), (v,))[1]
        return jax.tree.map(lambda a, b: a + 0.1 * b, v, hv)

    return jax.lax.fori_loop(0, 10, product, layers)


@program(lambda: [normal(256), normal(256, seed=1)])
def condition_under_vmap(x, y):
    """lax.cond under vmap, 256 values."""

    def one(x, y):
        return jax.lax.cond(x > 0, lambda: jnp.sin(x) * y, lambda: jnp.exp(x) - y)

    return jax.vmap(one)(x, y)


@program(lambda: [normal(400, 16, 9), normal(400, 9, seed=1), normal(9, 9, 9), normal(16, 16)])
def tensor_product(features, harmonics, coupling, mix):
    """An equivariant tensor product on 400 edges (as e3nn)."""
    paired = jnp.einsum("ecm,en,mnk->eck", features, harmonics, coupling)
    return jnp.einsum("eck,cd->edk", jax.nn.silu(paired), mix)


@program(lambda: [normal(2, 4, 64, 32), normal(2, 4, 64, 32, seed=1), normal(2, 4, 64, 32, seed=2)])
def small_attention(q, k, v):
    """Causal attention and its gradient, 2 x 4 heads of 64 x 32."""

    def attend(q, k, v):
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / 32**0.5
        scores = jnp.where(jnp.tril(jnp.ones((64, 64), bool)), scores, -1e9)
        return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v)

    return jax.grad(lambda *qkv: (attend(*qkv) ** 2).sum(), (0, 1, 2))(q, k, v)


@program(lambda: [normal(2000), normal(8), np.ones(8, np.float32)])
def mixture_gradient(x, means, scales):
    """The gradient of a mixture of 8 normal distributions, 2,000 data."""

    def loss(means, scales):
        z = (x[:, None] - means) / scales
        return -jax.nn.logsumexp(-0.5 * z**2 - jnp.log(jnp.abs(scales)), axis=1).mean()

    return jax.value_and_grad(loss, (0, 1))(means, scales)
