"""Loops in graphs of TensorFlow: while_loop, map_fn, scan and TensorArray."""

from __future__ import annotations

import tensorflow as tf

from everyday.program import Kind, Mode, normal, uniform

KIND = Kind("loops in graphs", Mode.TF_GRAPH)
program = KIND.program
_BOTH = (Mode.TF_GRAPH, Mode.TF_JIT)


@program(lambda: [normal(100)], modes=_BOTH)
def while_loop(x):
    """while_loop, 100 steps of 100 values."""
    return tf.while_loop(
        lambda i, x: i < 100, lambda i, x: (i + 1, tf.sin(x) + 0.1), (tf.constant(0), x)
    )[1]


@program(lambda: [normal(64, 32)], modes=_BOTH)
def map_fn(x):
    """map_fn over 64 rows of 32."""
    return tf.map_fn(lambda row: tf.nn.softmax(row) * tf.reduce_sum(row), x)


@program(lambda: [normal(100, 16)], modes=_BOTH)
def scan(x):
    """Scan over 100 rows of 16."""
    return tf.scan(lambda a, row: 0.9 * a + tf.tanh(row), x)


@program(lambda: [normal(32, 32) * 0.1, normal(50, 8, 32)])
def tensor_array(w, xs):
    """An RNN written with TensorArray, 50 steps of 8 x 32."""
    h, outputs = tf.zeros([8, 32]), tf.TensorArray(tf.float32, 50)
    for t in tf.range(50):
        h = tf.tanh(h @ w + xs[t])
        outputs = outputs.write(t, h)
    return outputs.stack()


@program(lambda: [normal(32, 32) * 0.1, normal(50, 8, 32)])
def gradient_of_loop(w, xs):
    """The gradient of an RNN in a loop, 50 steps of 8 x 32."""
    with tf.GradientTape() as tape:
        tape.watch(w)
        h = tf.zeros([8, 32])
        for t in tf.range(50):
            h = tf.tanh(h @ w + xs[t])
        loss = tf.reduce_sum(h**2)
    return tape.gradient(loss, w)


@program(lambda: [normal(20)])
def branches(x):
    """An if in each of 50 steps of a loop."""
    for i in tf.range(50):
        if tf.reduce_sum(x) > 0.0:
            x = x - 0.1
        else:
            x = x + 0.2 * tf.cast(i % 3, tf.float32)
    return x


@program(lambda: [uniform(128, 4), uniform(128, seed=1)])
def non_max_suppression(boxes, scores):
    """Non-maximum suppression of 128 boxes, a loop."""
    low, high = boxes[:, :2], boxes[:, :2] + boxes[:, 2:] * 0.3
    alive, kept = tf.ones([128], tf.bool), tf.TensorArray(tf.int32, 10)
    for i in tf.range(10):
        best = tf.argmax(tf.where(alive, scores, -1.0), output_type=tf.int32)
        size = tf.maximum(tf.minimum(high[best], high) - tf.maximum(low[best], low), 0.0)
        both = tf.reduce_prod(size, 1)
        area = tf.reduce_prod(high - low, 1)
        alive = tf.logical_and(alive, both / (area + area[best] - both) < 0.5)
        kept = kept.write(i, best)
    return kept.stack()


@program(lambda: [normal(4), normal(4, 2) * 0.1])
def episode(state, policy):
    """An episode of cart-pole with a linear policy, 100 steps."""
    reward = tf.constant(0.0)
    for _ in tf.range(100):
        action = tf.argmax(tf.linalg.matvec(policy, state, transpose_a=True))
        force = tf.where(action > 0, 10.0, -10.0)
        change = tf.stack([state[1], force * 0.1 - state[2], state[3], state[2] - force * 0.05])
        state = tf.clip_by_value(state + 0.02 * change, -2.0, 2.0)
        reward += tf.cos(state[2])
    return state, reward


@program(lambda: [normal(100, 100) / 20, normal(100)])
def convergence(a, b):
    """A Jacobi iteration until it converges."""
    x, error = tf.zeros_like(b), tf.constant(1.0)
    while error > 1e-4:
        new = b + tf.linalg.matvec(a, x) * 0.5
        error = tf.reduce_max(tf.abs(new - x))
        x = new
    return x


@program(lambda: [normal(16, 32)], modes=_BOTH)
def vectorized_map(x):
    """vectorized_map of a small function over 16 rows."""
    return tf.vectorized_map(lambda row: tf.linalg.norm(row) * tf.sort(row), x)


@program(lambda: [normal(200)])
def ragged_rows(x):
    """A mean of each row of a ragged tensor, 20 rows."""
    rows = tf.RaggedTensor.from_row_lengths(x, [10] * 19 + [10])
    return tf.reduce_mean(rows, 1), rows.to_tensor()[:, :5]
