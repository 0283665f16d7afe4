"""Samplers, hidden Markov models and solvers in plain TensorFlow, as in TensorFlow Probability."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf

from everyday.program import Kind, Mode, normal, uniform

KIND = Kind("samplers and solvers", Mode.TF_GRAPH, Mode.TF_JIT)
program = KIND.program


def _log_density(q, data):
    z = (data - q[0]) * tf.exp(-q[1])
    return tf.reduce_sum(-0.5 * z**2 - q[1] - 0.5 * math.log(2 * math.pi))


# Rounding errors may change the size of a step, not often its acceptance.
@program(lambda: [normal(100)], tolerance=1e-3)
def random_walk_metropolis(data):
    """Random-walk Metropolis, 200 steps with 100 data."""
    q = tf.zeros([2])
    density, path = _log_density(q, data), tf.TensorArray(tf.float32, 200)
    for i in tf.range(200):
        step = tf.random.stateless_normal([2], tf.stack([i, 1]))
        level = tf.math.log(tf.random.stateless_uniform([], tf.stack([i, 2])))
        new = q + 0.1 * step
        proposed = _log_density(new, data)
        accepted = level < proposed - density
        q = tf.where(accepted, new, q)
        density = tf.where(accepted, proposed, density)
        path = path.write(i, q)
    return path.stack()


@program(lambda: [normal(100)], tolerance=1e-3)
def hamiltonian_monte_carlo(data):
    """HMC, 20 draws of 5 leapfrog steps with 100 data."""

    def gradient(q):
        with tf.GradientTape() as tape:
            tape.watch(q)
            density = _log_density(q, data)
        return tape.gradient(density, q)

    q, path = tf.zeros([2]), tf.TensorArray(tf.float32, 20)
    for i in tf.range(20):
        p = tf.random.stateless_normal([2], tf.stack([i, 1]))
        new, r = q, p
        for _ in tf.range(5):
            r = r + 0.02 * gradient(new)
            new = new + 0.04 * r
            r = r + 0.02 * gradient(new)
        gain = _log_density(new, data) - _log_density(q, data)
        gain += (tf.reduce_sum(p**2) - tf.reduce_sum(r**2)) / 2
        level = tf.math.log(tf.random.stateless_uniform([], tf.stack([i, 2])))
        q = tf.where(level < gain, new, q)
        path = path.write(i, q)
    return path.stack()


@program(lambda: [normal(100, 8), normal(8, 8)])
def hidden_markov_model(emissions, transitions):
    """The likelihood of a hidden Markov model, 100 steps of 8 states."""
    transitions = tf.nn.log_softmax(transitions)
    state = emissions[0]
    for t in tf.range(1, 100):
        state = tf.reduce_logsumexp(state[:, None] + transitions, 0) + emissions[t]
    return tf.reduce_logsumexp(state)


@program(lambda: [np.array([1.0, 0.0], np.float32)])
def runge_kutta(y):
    """100 Runge-Kutta steps of the van der Pol oscillator."""

    def slope(y):
        return tf.stack([y[1], (1 - y[0] ** 2) * y[1] - y[0]])

    for _ in tf.range(100):
        k1 = slope(y)
        k2 = slope(y + 0.05 * k1)
        k3 = slope(y + 0.05 * k2)
        k4 = slope(y + 0.1 * k3)
        y = y + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


@program(lambda: [normal(200, 5), uniform(200)], tolerance=1e-3)
def newton_logistic(x, u):
    """Logistic regression by 10 Newton steps, 200 x 5."""
    y, w = tf.cast(u < 0.5, tf.float32), tf.zeros([5])
    for _ in tf.range(10):
        p = tf.sigmoid(tf.linalg.matvec(x, w))
        gradient = tf.linalg.matvec(x, p - y, transpose_a=True) + w
        hessian = tf.matmul(x * (p * (1 - p))[:, None], x, transpose_a=True) + tf.eye(5)
        w -= tf.linalg.solve(hessian, gradient[:, None])[:, 0]
    return w


@program(lambda: [normal(64, 8), np.abs(normal(64, 8)) + np.float32(0.5)], modes=[Mode.TF_EAGER])
def log_probabilities(x, scale):
    """Log-probabilities of four distributions, eager."""
    z = x / scale
    gauss = -0.5 * z**2 - tf.math.log(scale) - 0.5 * math.log(2 * math.pi)
    student = -2.0 * tf.math.log1p(z**2 / 3) - tf.math.log(scale)
    gamma = tf.math.xlogy(scale, tf.abs(x)) - tf.abs(x) - tf.math.lgamma(scale + 1)
    return gauss, student, gamma, tf.reduce_sum(-tf.nn.softplus(-z), 1)


@program(lambda: [np.int32(3)], modes=[Mode.TF_EAGER])
def stateless_draws(seed):
    """Stateless normal, uniform and integer draws, eager."""
    seed = tf.stack([seed, 1])
    return (
        tf.random.stateless_normal([100], seed),
        tf.random.stateless_uniform([100], seed),
        tf.random.stateless_uniform([100], seed, 0, 10, tf.int32),
    )
