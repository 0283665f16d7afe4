"""Loops of small steps in JAX, as simulations, filters and dynamic programs have them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from everyday.program import Kind, Mode, integers, normal, uniform

KIND = Kind("loops", Mode.JAX_JIT)
program = KIND.program


@program(lambda: [np.zeros(1000, np.float32)])
def at_set_in_loop(x):
    """A recurrence with .at[t + 1].set, 1,000 steps."""

    def step(t, x):
        return x.at[t + 1].set(x[t] * 0.999 + 1e-3 * t)

    return jax.lax.fori_loop(0, x.size - 1, step, x)


@program(lambda: [np.zeros(1000, np.float32)])
def at_add_in_loop(x):
    """A recurrence with .at[t + 1].add, 1,000 steps."""

    def step(t, x):
        return x.at[t + 1].add(x[t] * 0.999 + 1e-3 * t)

    return jax.lax.fori_loop(0, x.size - 1, step, x)


@program(lambda: [np.zeros(1000, np.float32)])
def update_slice_in_loop(x):
    """A recurrence with dynamic_update_slice, 1,000 steps."""

    def step(t, c):
        last = jax.lax.dynamic_slice(c, (t,), (1,))
        return jax.lax.dynamic_update_slice(c, last * 0.999 + 1e-3 * t, (t + 1,))

    return jax.lax.fori_loop(0, x.size - 1, step, x)


@program(lambda: [np.ones((1000, 64), np.float32)])
def row_set_in_loop(m):
    """Rows of a matrix set one after the other, 1,000 x 64."""
    return jax.lax.fori_loop(0, len(m) - 1, lambda t, m: m.at[t + 1].set(jnp.sin(m[t])), m)


@program(lambda: [np.ones((64, 1000), np.float32)])
def column_set_in_loop(m):
    """Columns of a matrix set one after the other, 64 x 1,000."""
    return jax.lax.fori_loop(
        0, m.shape[1] - 1, lambda t, m: m.at[:, t + 1].set(jnp.sin(m[:, t])), m
    )


@program(lambda: [np.zeros((50, 50), np.float32)])
def grid_walk(grid):
    """Visits of a walker counted on a grid, 1,000 steps."""

    def step(_, carry):
        grid, x = carry
        return grid.at[x % 50, (x >> 8) % 50].add(1.0), (x * 1103515245 + 12345) & 0x7FFFFFFF

    return jax.lax.fori_loop(0, 1000, step, (grid, jnp.int32(1)))[0]


@program(lambda: [integers(1000, 64)])
def bubble_sort(x):
    """A bubble sort of 64 integers by swaps of two elements."""

    def compare(i, x):
        swapped = x.at[i].set(x[i + 1]).at[i + 1].set(x[i])
        return jnp.where(x[i] > x[i + 1], swapped, x)

    return jax.lax.fori_loop(0, 63, lambda _, x: jax.lax.fori_loop(0, 63, compare, x), x)


@program(lambda: [np.float32(1)])
def scalar_loop(x):
    """A recurrence of one number, 200,000 steps."""
    return jax.lax.fori_loop(0, 200_000, lambda _, x: x * 0.99999 + 1e-5, x)


@program(lambda: [normal(10_000)])
def reward_to_go(rewards):
    """Discounted rewards to go, a reverse scan of 10,000 steps."""

    def step(following, reward):
        total = reward + 0.99 * following
        return total, total

    return jax.lax.scan(step, 0.0, rewards, reverse=True)[1]


@program(lambda: [normal(128, 64), normal(129, 64, seed=1), uniform(128, 64) < 0.05])
def advantages(rewards, values, done):
    """Generalised advantage estimates, 128 steps of 64 environments."""

    def step(advantage, row):
        reward, value, following, done = row
        delta = reward + 0.99 * following * ~done - value
        advantage = delta + 0.99 * 0.95 * ~done * advantage
        return advantage, advantage

    rows = rewards, values[:-1], values[1:], done
    return jax.lax.scan(step, jnp.zeros(64), rows, reverse=True)[1]


@program(lambda: [np.int32(1000)])
def while_of_unknown_length(n):
    """A while loop whose length is an argument, 1,000 steps of 20 values."""

    def step(carry):
        return carry[0] + 1, jnp.sin(carry[1]) + 0.1

    return jax.lax.while_loop(lambda c: c[0] < n, step, (0, jnp.ones(20)))[1]


@program(lambda: [normal(256, 27)])
def batched_fixed_point(x):
    """A fixed-point solver under vmap, 256 problems of 27 unknowns, up to 20 steps."""

    def solve(x):
        def step(carry):
            i, x, _ = carry
            new = x - 0.3 * (jnp.sin(x) + 0.1 * x)
            return i + 1, new, jnp.abs(new - x).max()

        def running(carry):
            return (carry[0] < 20) & (carry[2] > 1e-6)

        return jax.lax.while_loop(running, step, (0, x, jnp.float32(1)))[1]

    return jax.vmap(solve)(x)


@program(lambda: [normal(16, 16) * 0.1, normal(500, 1, 16)])
def rnn_of_one_sequence(w, xs):
    """A plain RNN of one sequence, 500 steps of width 16."""

    def step(h, x):
        h = jnp.tanh(h @ w + x)
        return h, h

    return jax.lax.scan(step, jnp.zeros((1, 16)), xs)[1]


@program(lambda: [normal(64, 192) * 0.1, normal(64, 192) * 0.1, normal(100, 32, 64)])
def gru(w, u, xs):
    """A GRU, 100 steps of a batch of 32, width 64."""

    def step(h, x):
        a, b = x @ w, h @ u
        r = jax.nn.sigmoid(a[:, :64] + b[:, :64])
        z = jax.nn.sigmoid(a[:, 64:128] + b[:, 64:128])
        h = (1 - z) * jnp.tanh(a[:, 128:] + r * b[:, 128:]) + z * h
        return h, None

    return jax.lax.scan(step, jnp.zeros((32, 64)), xs)[0]


@program(lambda: [normal(256, 256) / 16, np.ones(256, np.float32)])
def power_iteration(a, v):
    """A power iteration, 100 products of a 256 x 256 matrix."""

    def step(_, v):
        v = a.T @ (a @ v)
        return v / jnp.linalg.norm(v)

    v = jax.lax.fori_loop(0, 100, step, v)
    return jnp.linalg.norm(a @ v)


@program(lambda: [normal(500, 32), normal(32, 32)])
def viterbi(emissions, transitions):
    """The best path through a hidden Markov model, 500 steps of 32 states."""

    def forward(score, emission):
        candidates = score[:, None] + transitions
        return candidates.max(0) + emission, candidates.argmax(0)

    score, pointers = jax.lax.scan(forward, emissions[0], emissions[1:])
    last = score.argmax()

    def backward(state, pointer):
        return pointer[state], state

    first, path = jax.lax.scan(backward, last, pointers, reverse=True)
    return jnp.concatenate([first[None], path]), score.max()


@program(lambda: [uniform(256, 256) < 0.3])
def game_of_life(board):
    """The game of life, 100 steps of 256 x 256 cells."""

    def step(_, board):
        rows = sum(jnp.roll(board.astype(jnp.int32), d, 0) for d in (-1, 0, 1))
        around = sum(jnp.roll(rows, d, 1) for d in (-1, 0, 1))
        return (around == 3) | (board & (around == 4))

    return jax.lax.fori_loop(0, 100, step, board)


@program(lambda: [integers(4, 100), integers(4, 120, seed=1)])
def edit_distance(a, b):
    """The edit distance of sequences of 100 and 120 symbols, nested scans."""

    def row(previous, symbol):
        def cell(left, values):
            diagonal, above, other = values
            best = jnp.minimum(jnp.minimum(left, above) + 1, diagonal + (symbol != other))
            return best, best

        first = previous[0] + 1
        rest = jax.lax.scan(cell, first, (previous[:-1], previous[1:], b))[1]
        return jnp.concatenate([first[None], rest]), None

    return jax.lax.scan(row, jnp.arange(len(b) + 1), a)[0][-1]


@program(lambda: [normal(5000, 8)])
def moving_averages(x):
    """Exponential moving averages and deviations of 8 series, 5,000 steps."""

    def step(carry, x):
        mean, variance = carry
        mean = 0.95 * mean + 0.05 * x
        variance = 0.95 * variance + 0.05 * (x - mean) ** 2
        return (mean, variance), (mean, jnp.sqrt(variance), (x - mean) / jnp.sqrt(variance + 1e-3))

    return jax.lax.scan(step, (x[0], jnp.ones(8)), x)[1]


@program(lambda: [normal(4096, 16), uniform(4096, 16)])
def associative_recurrence(x, a):
    """A linear recurrence by associative_scan, 4,096 steps of 16 channels."""

    def combine(left, right):
        return left[0] * right[0], right[0] * left[1] + right[1]

    return jax.lax.associative_scan(combine, (a, x))[1]


@program(lambda: [normal(1000, 32)])
def map_over_rows(rows):
    """lax.map of a small function over 1,000 rows of 32."""
    return jax.lax.map(lambda row: jnp.dot(row, row) * jax.nn.softmax(row), rows)
