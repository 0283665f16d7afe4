"""Differential equations, filters and rigid bodies in JAX."""

from __future__ import annotations

import jax
import jax.experimental.ode
import jax.numpy as jnp
import numpy as np

from everyday.program import Kind, Mode, normal, uniform

KIND = Kind("differential equations and physics", Mode.JAX_JIT)
program = KIND.program


def _lorenz(y):
    a, b, c = y[..., 0], y[..., 1], y[..., 2]
    return jnp.stack([10 * (b - a), a * (28 - c) - b, a * b - 8 / 3 * c], -1)


# The Lorenz system is chaotic: over its 4 time units, rounding errors grow about forty times.
@program(lambda: [normal(1, 3)], tolerance=1e-3)
def lorenz(y):
    """The Lorenz system, 2,000 Euler steps of one point."""
    return jax.lax.scan(lambda y, _: (y + 2e-3 * _lorenz(y),) * 2, y, None, length=2000)[1]


@program(lambda: [normal(1000, 3)], tolerance=1e-3)  # as lorenz
def lorenz_batch(y):
    """The Lorenz system, 500 Euler steps of 1,000 points."""
    return jax.lax.fori_loop(0, 500, lambda _, y: y + 2e-3 * _lorenz(y), y)


def _runge_kutta(f, y, h):
    k1 = f(y)
    k2 = f(y + h / 2 * k1)
    k3 = f(y + h / 2 * k2)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(y + h * k3))


@program(
    lambda: [np.array([1, 0.5, 0, 0], np.float32)],
    tolerance=1e-3,
    cause="50 kernel launches and 4 library calls a step (solve of 2 x 2)",
)
def double_pendulum(y):
    """A double pendulum, 1,000 Runge-Kutta steps."""

    def slope(y):
        a, b, u, v = y
        d = a - b
        mass = jnp.array([[2.0, jnp.cos(d)], [jnp.cos(d), 1.0]])
        force = jnp.array(
            [
                -jnp.sin(d) * v**2 - 2 * 9.8 * jnp.sin(a),
                jnp.sin(d) * u**2 - 9.8 * jnp.sin(b),
            ]
        )
        return jnp.concatenate([y[2:], jnp.linalg.solve(mass, force)])

    return jax.lax.fori_loop(0, 1000, lambda _, y: _runge_kutta(slope, y, 1e-3), y)


@program(lambda: [np.array([1, 0], np.float32), np.linspace(0, 10, 50, dtype=np.float32)])
def van_der_pol(y, times):
    """Odeint of the van der Pol oscillator, 50 times."""

    def slope(y, _):
        return jnp.array([y[1], (1 - y[0] ** 2) * y[1] - y[0]])

    return jax.experimental.ode.odeint(slope, y, times, rtol=1e-4, atol=1e-4)


# The adaptive steps of the two back ends end at other times within the solver's tolerance of 1e-4.
@program(lambda: [np.array([1.2, 0.4, 0.8, 0.3], np.float32)], tolerance=1e-3)
def gradient_of_ode(parameters):
    """The gradient through 200 steps of Lotka-Volterra."""

    def loss(p):
        def slope(y):
            return jnp.array([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])

        y = jax.lax.scan(
            lambda y, _: (_runge_kutta(slope, y, 0.05), None), jnp.ones(2), None, length=200
        )[0]
        return (y**2).sum()

    return jax.value_and_grad(loss)(parameters)


@program(
    lambda: [normal(200, 2), np.eye(4, dtype=np.float32)],
    cause="15 kernel launches and a library call a step (solve of 2 x 2)",
)
def kalman_filter(observations, covariance):
    """A Kalman filter, 200 steps with a state of 4."""
    f = jnp.eye(4) + 0.1 * jnp.eye(4, k=2)
    h = jnp.eye(2, 4)

    def step(carry, z):
        x, p = carry
        x, p = f @ x, f @ p @ f.T + 0.01 * jnp.eye(4)
        gain = jnp.linalg.solve(h @ p @ h.T + 0.1 * jnp.eye(2), h @ p).T
        x = x + gain @ (z - h @ x)
        p = (jnp.eye(4) - gain @ h) @ p
        return (x, p), x

    return jax.lax.scan(step, (jnp.zeros(4), covariance), observations)[1]


@program(lambda: [normal(64, 3), normal(64, 3, seed=1) * 0.1])
def gravity(x, v):
    """64 bodies, 100 leapfrog steps."""

    def force(x):
        d = x[None] - x[:, None]
        return (d / ((d**2).sum(-1, keepdims=True) + 0.5) ** 1.5).mean(1)

    def step(_, carry):
        x, v = carry
        v = v + 0.01 * force(x)
        return x + 0.01 * v, v

    return jax.lax.fori_loop(0, 100, step, (x, v))


@program(
    lambda: [normal(16, 6) * 0.3, np.zeros((16, 6), np.float32)],
    tolerance=1e-3,
    cause="34 kernel launches and a library call a step",
)
def articulated_chain(q, v):
    """16 chains of 6 joints, 50 steps with mass matrix, contacts and a solver (as MJX)."""

    def positions(q):
        angles = jnp.cumsum(q)
        return jnp.cumsum(jnp.stack([jnp.sin(angles), -jnp.cos(angles)], -1) * 0.2, 0)

    def step(q, v):
        jacobian = jax.jacfwd(positions)(q)
        mass = jnp.einsum("bdi,bdj->ij", jacobian, jacobian) + 0.05 * jnp.eye(6)
        height = positions(q)[:, 1]
        contact = jnp.where(height < -0.9, 50 * (-0.9 - height), 0)
        force = jnp.einsum("bi,b->i", jacobian[:, 1], contact - 9.8 * 0.1) - 0.1 * v
        acceleration = jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(mass), force)
        v = v + 0.005 * acceleration
        return q + 0.005 * v, v

    return jax.lax.fori_loop(0, 50, lambda _, c: jax.vmap(step)(*c), (q, v))


@program(lambda: [normal(24, 24), normal(24)])
def contact_solver(a, b):
    """Projected Gauss-Seidel for 24 contacts, 20 sweeps."""
    a = a @ a.T / 24 + jnp.eye(24)

    def row(i, x):
        return x.at[i].set(jnp.maximum(0, x[i] - (a[i] @ x - b[i]) / a[i, i]))

    return jax.lax.fori_loop(
        0, 20, lambda _, x: jax.lax.fori_loop(0, 24, row, x), jnp.zeros_like(b)
    )


@program(lambda: [uniform(128, 128)])
def heat_equation(u):
    """The heat equation, 200 steps of 128 x 128."""

    def step(_, u):
        around = sum(jnp.roll(u, d, a) for d in (-1, 1) for a in (0, 1))
        return u + 0.2 * (around - 4 * u)

    return jax.lax.fori_loop(0, 200, step, u)


@program(lambda: [normal(1000)])
def wave_equation(u):
    """The wave equation with fixed ends, 500 steps of 1,000 points."""

    def step(_, carry):
        u, before = carry
        bend = u[2:] - 2 * u[1:-1] + u[:-2]
        new = jnp.zeros_like(u).at[1:-1].set(2 * u[1:-1] - before[1:-1] + 0.2 * bend)
        return new, u

    return jax.lax.fori_loop(0, 500, step, (u, u))[0]


@program(lambda: [uniform(20, 20, 3)])
def cloth(x):
    """A cloth of 20 x 20 masses and springs, 100 steps."""

    def energy(x):
        down = jnp.sqrt(((x[1:] - x[:-1]) ** 2).sum(-1) + 1e-2) - 0.3
        right = jnp.sqrt(((x[:, 1:] - x[:, :-1]) ** 2).sum(-1) + 1e-2) - 0.3
        return 5 * ((down**2).sum() + (right**2).sum()) + x[..., 2].sum()

    def step(_, carry):
        x, v = carry
        v = 0.98 * (v - 0.02 * jax.grad(energy)(x)).at[0].set(0.0)
        return x + 0.02 * v, v

    return jax.lax.fori_loop(0, 100, step, (x, jnp.zeros_like(x)))[0]


@program()
def mandelbrot():
    """The Mandelbrot set, 200 x 200 points, 50 iterations."""
    x, y = jnp.linspace(-2, 0.5, 200), jnp.linspace(-1.2, 1.2, 200)
    c = x + 1j * y[:, None]

    def step(_, carry):
        z, count = carry
        inside = jnp.abs(z) < 2
        return jnp.where(inside, z * z + c, z), count + inside

    # The sum: a point at the edge may leave one iteration earlier.
    z = jax.lax.fori_loop(0, 50, step, (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32)))
    return z[1].sum().astype(jnp.float32)


@program(lambda: [np.zeros((32, 4), np.float32) + np.float32(0.05), normal(200, 32)])
def cart_pole(state, actions):
    """200 steps of 32 cart-poles with resets."""

    def step(state, action):
        x, v, angle, w = state.T
        force = jnp.where(action > 0, 10.0, -10.0)
        temporary = (force + 0.05 * w**2 * jnp.sin(angle)) / 1.1
        alpha = (9.8 * jnp.sin(angle) - jnp.cos(angle) * temporary) / (
            0.5 * (4 / 3 - 0.1 * jnp.cos(angle) ** 2 / 1.1)
        )
        a = temporary - 0.05 * alpha * jnp.cos(angle) / 1.1
        new = jnp.stack([x + 0.02 * v, v + 0.02 * a, angle + 0.02 * w, w + 0.02 * alpha], -1)
        done = (jnp.abs(new[:, 0]) > 2.4) | (jnp.abs(new[:, 2]) > 0.21)
        return jnp.where(done[:, None], 0.05, new), ~done

    return jax.lax.scan(step, state, actions)
