"""Ops that run one by one in TensorFlow."""

from __future__ import annotations

import tensorflow as tf

from everyday.program import Kind, Mode, integers, normal, uniform

KIND = Kind("eager ops", Mode.TF_EAGER)
program = KIND.program


@program(lambda: [normal(64, 64)])
def eager_pointwise(x):
    """Five pointwise ops of 64 x 64."""
    y = tf.sin(x) + x
    return tf.where(y > 0, y, 0.1 * y)


@program(lambda: [normal(32, 100), normal(100, 50), normal(50)])
def eager_layer(x, w, b):
    """A dense layer with ReLU and softmax, 32 x 100."""
    return tf.nn.softmax(tf.nn.relu(x @ w + b))


@program(lambda: [normal(200, 50)])
def eager_statistics(x):
    """Mean, variance, norm and maximum of 200 x 50."""
    mean, variance = tf.nn.moments(x, [0])
    return mean, variance, tf.norm(x), tf.reduce_max(x, 1)


@program(lambda: [normal(64, 32)])
def eager_rows(x):
    """For row in tensor, 64 rows of 32."""
    return [row * 2.0 for row in x]


@program(lambda: [normal(1024, 32)])
def eager_batches(x):
    """32 mini-batches sliced by hand, 32 x 32 each."""
    return [tf.reduce_mean(x[k * 32 : (k + 1) * 32]) for k in range(32)]


@program(lambda: [normal(1000, 8), uniform(1000)])
def eager_mask(x, scores):
    """boolean_mask of 1,000 x 8, and its mean."""
    return tf.reduce_mean(tf.boolean_mask(x, scores > 0.7), 0)


@program(lambda: [normal(1000, 16), integers(1000, 64)])
def eager_gather(table, ids):
    """Gather of 64 rows, one_hot and concat."""
    return tf.concat([tf.gather(table, ids), tf.one_hot(ids % 10, 10)], 1)


@program(lambda: [normal(200, 8), normal(200, seed=1)], state=lambda: tf.Variable(tf.zeros([8])))
def eager_gradient_step(w, x, y):
    """A step of linear regression with GradientTape, eager."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.linalg.matvec(x, w) - y) ** 2)
    w.assign_sub(0.01 * tape.gradient(loss, w))
    return loss


@program(state=lambda: tf.Variable(tf.zeros([100])))
def eager_counter(v):
    """20 assign_add of a variable of 100."""
    for _ in range(20):
        v.assign_add(tf.ones([100]))
    return v.read_value()


@program(lambda: [normal(8, 8)])
def eager_reshapes(x):
    """Reshapes, transposes, stacks and splits of 8 x 8."""
    a, b = tf.split(tf.transpose(x), 2, 0)
    return tf.reshape(tf.stack([a, b], 1), [-1]), tf.tile(x[None], [3, 1, 1])


@program(lambda: [normal(100)])
def eager_host_loop(x):
    """A loop whose condition is read on the host, 20 steps."""
    for _ in range(20):
        x = x * 0.9
        if float(tf.reduce_max(tf.abs(x))) < 1e-3:
            break
    return x


@program(lambda: [uniform(16, 10)])
def eager_metrics(probabilities):
    """Cross entropy, accuracy and argmax of 16 x 10."""
    labels = tf.range(16) % 10
    loss = tf.keras.losses.sparse_categorical_crossentropy(labels, probabilities)
    right = tf.equal(tf.argmax(probabilities, 1, tf.int32), labels)
    return tf.reduce_mean(loss), tf.reduce_mean(tf.cast(right, tf.float32))
