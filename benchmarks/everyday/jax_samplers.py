"""Samplers and small optimisers in JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.scipy.stats
import numpy as np

from everyday.program import KEY, Kind, Mode, normal, uniform

KIND = Kind("samplers and optimisers", Mode.JAX_JIT)
program = KIND.program


def _log_density(q, data):
    return jax.scipy.stats.norm.logpdf(data, q[0], jnp.exp(q[1])).sum()


@program(lambda: [np.zeros(2, np.float32), np.ones(2, np.float32), normal(1000)], tolerance=1e-3)
def leapfrog(q, p, data):
    """500 leapfrog steps of a posterior with 1,000 data."""
    gradient = jax.grad(_log_density)

    def step(_, carry):
        q, p = carry
        p = p + 5e-4 * gradient(q, data)
        q = q + 1e-3 * p
        return q, p + 5e-4 * gradient(q, data)

    return jax.lax.fori_loop(0, 500, step, (q, p))


def _logistic(w, x, y):
    logits = x @ w
    return (y * logits - jnp.logaddexp(0, logits)).sum() - 0.5 * (w**2).sum()


# Rounding errors grow along the trajectories.
@program(
    lambda: [KEY, normal(200, 5), uniform(200) < 0.5],
    tolerance=1e-2,
    cause="16 kernel launches a draw",
)
def hamiltonian_monte_carlo(key, x, y):
    """HMC of a logistic regression, 50 draws of 10 steps."""
    gradient = jax.grad(_logistic)

    def draw(carry, key):
        w = carry
        k1, k2 = jax.random.split(key)
        p = jax.random.normal(k1, w.shape)

        def step(_, state):
            w, p = state
            p = p + 0.025 * gradient(w, x, y)
            w = w + 0.05 * p
            return w, p + 0.025 * gradient(w, x, y)

        new, q = jax.lax.fori_loop(0, 10, step, (w, p))
        gain = _logistic(new, x, y) - _logistic(w, x, y) + ((p**2).sum() - (q**2).sum()) / 2
        w = jnp.where(jnp.log(jax.random.uniform(k2)) < gain, new, w)
        return w, w

    return jax.lax.scan(draw, jnp.zeros(5), jax.random.split(key, 50))[1]


@program(lambda: [KEY, normal(100)], tolerance=1e-3)
def random_walk_metropolis(key, data):
    """Random-walk Metropolis, 1,000 steps with 100 data."""

    def step(carry, key):
        q, density = carry
        k1, k2 = jax.random.split(key)
        new = q + 0.1 * jax.random.normal(k1, (2,))
        proposed = _log_density(new, data)
        accepted = jnp.log(jax.random.uniform(k2)) < proposed - density
        q, density = jnp.where(accepted, new, q), jnp.where(accepted, proposed, density)
        return (q, density), q

    start = jnp.zeros(2)
    keys = jax.random.split(key, 1000)
    return jax.lax.scan(step, (start, _log_density(start, data)), keys)[1]


@program(lambda: [KEY], tolerance=1e-3)  # as of hamiltonian_monte_carlo
def no_u_turn(key):
    """A sampler with U-turn checks in while loops, 50 draws."""
    scale = jnp.array([1.0, 0.5, 2.0, 1.5])

    def draw(q, key):
        k1, k2 = jax.random.split(key)
        p = jax.random.normal(k1, q.shape)

        def extend(carry):
            i, now, p, path, _ = carry
            p = p - 0.1 * now / scale**2
            now = now + 0.2 * p
            p = p - 0.1 * now / scale**2
            path = path.at[i].set(now)
            return i + 1, now, p, path, jnp.dot(now - q, p) > 0

        def running(carry):
            return (carry[0] < 64) & carry[4]

        start = (1, q, p, jnp.zeros((64, 4)).at[0].set(q), jnp.bool_(True))
        count, _, _, path, _ = jax.lax.while_loop(running, extend, start)
        energies = -0.5 * ((path / scale) ** 2).sum(-1)
        logits = jnp.where(jnp.arange(64) < count, energies, -jnp.inf)
        q = path[jax.random.categorical(k2, logits)]
        return q, (q, count)

    return jax.lax.scan(draw, jnp.ones(4), jax.random.split(key, 50))[1]


@program(lambda: [KEY, np.sign(normal(32, 32))])
def ising_model(key, spins):
    """Gibbs sampling of a 32 x 32 Ising model, 100 sweeps."""
    i, j = jnp.indices(spins.shape)

    def sweep(spins, key):
        def half(spins, parity, key):
            field = sum(jnp.roll(spins, d, a) for d in (-1, 1) for a in (0, 1))
            up = jax.random.uniform(key, spins.shape) < jax.nn.sigmoid(0.8 * field)
            return jnp.where((i + j) % 2 == parity, jnp.where(up, 1.0, -1.0), spins)

        k1, k2 = jax.random.split(key)
        spins = half(half(spins, 0, k1), 1, k2)
        return spins, spins.mean()

    return jax.lax.scan(sweep, spins, jax.random.split(key, 100))


@program(lambda: [KEY, normal(50)], tolerance=1e-3)  # ancestors near an edge may differ
def particle_filter(key, observations):
    """A particle filter, 50 steps of 500 particles."""

    def step(particles, row):
        key, observation = row
        k1, k2 = jax.random.split(key)
        particles = 0.9 * particles + 0.5 * jax.random.normal(k1, particles.shape)
        logits = -0.5 * (observation - particles) ** 2
        chosen = jax.random.categorical(k2, logits, shape=(500,))
        return particles[chosen], (particles * jax.nn.softmax(logits)).sum()

    return jax.lax.scan(step, jnp.zeros(500), (jax.random.split(key, 50), observations))[1]


@program(lambda: [KEY, normal(64, 4)], tolerance=1e-3)
def langevin_chains(key, x):
    """Langevin dynamics of 64 chains, 500 steps."""

    def step(x, key):
        force = jax.vmap(jax.grad(lambda x: -(x**4).sum() / 4 + jnp.cos(3 * x).sum()))(x)
        x = x + 1e-3 * force + jnp.sqrt(2e-3) * jax.random.normal(key, x.shape)
        return x, None

    return jax.lax.scan(step, x, jax.random.split(key, 500))[0]


@program(lambda: [normal(200, 8), normal(200, seed=1)])
def gradient_descent(x, y):
    """Linear regression by gradient descent with momentum, 500 steps."""

    def step(_, carry):
        w, v = carry
        v = 0.9 * v - 0.01 * jax.grad(lambda w: ((x @ w - y) ** 2).mean())(w)
        return w + v, v

    return jax.lax.fori_loop(0, 500, step, (jnp.zeros(8), jnp.zeros(8)))[0]


@program(lambda: [uniform(100) + 0.5])
def newton_in_scan(targets):
    """An implicit equation solved by Newton in each of 100 steps."""

    def step(x, target):
        def residual(y):
            return y + jnp.sin(y) * 0.5 - x - 0.1 * target

        def newton(_, y):
            return y - residual(y) / jax.grad(residual)(y)

        x = jax.lax.fori_loop(0, 5, newton, x)
        return x, x

    return jax.lax.scan(step, jnp.float32(0), targets)[1]


@program(lambda: [normal(10) * 0.1 + 1], tolerance=1e-3)
def bfgs(x):
    """BFGS on the Rosenbrock function of 10 variables, 30 steps."""

    def loss(x):
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    def step(_, carry):
        x, h = carry
        g = jax.grad(loss)(x)
        d = -h @ g
        sizes = 0.5 ** jnp.arange(10.0)
        losses = jax.vmap(lambda t: loss(x + t * d))(sizes)
        s = sizes[jnp.argmin(losses)] * d
        y = jax.grad(loss)(x + s) - g
        rho = 1 / (jnp.dot(y, s) + 1e-6)
        left = jnp.eye(10) - rho * jnp.outer(s, y)
        return x + s, left @ h @ left.T + rho * jnp.outer(s, s)

    x, _ = jax.lax.fori_loop(0, 30, step, (x, jnp.eye(10) * 1e-3))
    return x
