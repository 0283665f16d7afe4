"""Losses of sequences, look-ups, selections and segments in TensorFlow."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from everyday.program import Kind, Mode, integers, normal, positive_definite, uniform

KIND = Kind("sequences, look-ups and selections", Mode.TF_GRAPH)
program = KIND.program
_BOTH = (Mode.TF_GRAPH, Mode.TF_JIT)


def _ctc(labels, logits):
    length = tf.fill([8], 50)
    return tf.nn.ctc_loss(labels, logits, tf.fill([8], 10), length, False, blank_index=0)


# Log-probabilities over 50 steps.
@program(lambda: [integers(19, 8, 10) + 1, normal(8, 50, 20)], modes=_BOTH, tolerance=1e-4)
def ctc_loss(labels, logits):
    """ctc_loss of 8 sequences of 50, 20 classes."""
    return _ctc(labels, logits)


@program(lambda: [integers(19, 8, 10) + 1, normal(8, 50, 20)], tolerance=1e-4)
def ctc_gradient(labels, logits):
    """The gradient of ctc_loss of 8 sequences of 50."""
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = tf.reduce_mean(_ctc(labels, logits))
    return tape.gradient(loss, logits)


@program(lambda: [normal(1000, 16), integers(1000, 300), np.sort(integers(64, 300))])
def embedding_of_bags(table, ids, rows):
    """embedding_lookup_sparse of 64 bags of words."""
    column = tf.range(300, dtype=tf.int64)
    where = tf.stack([tf.cast(rows, tf.int64), column], 1)
    bags = tf.SparseTensor(where, ids, [64, 300])
    return tf.nn.embedding_lookup_sparse(table, bags, None, combiner="mean")


@program(lambda: [normal(64, 1200)], modes=_BOTH)
def top_k(x):
    """top_k of 20 among 64 x 1,200."""
    return tf.math.top_k(x, 20)


@program(lambda: [normal(64, 1000), integers(1000, 64)])
def in_top_5(x, labels):
    """in_top_k of 5 among 1,000 classes."""
    return tf.math.in_top_k(labels, x, 5)


@program(lambda: [normal(200, 64)], modes=_BOTH)
def argsort(x):
    """Argsort of 200 rows of 64."""
    return tf.argsort(x, -1, stable=True)


@program(lambda: [integers(100, 2000)])
def unique(x):
    """unique_with_counts of 2,000 integers."""
    return tf.unique_with_counts(x)


@program(lambda: [normal(5000, 8), np.sort(integers(200, 5000))])
def segment_means(x, segments):
    """segment_mean of 5,000 x 8 into 200."""
    return tf.math.segment_mean(x, segments)


@program(lambda: [normal(2000, 16), integers(50, 2000)], modes=_BOTH)
def unsorted_segments(x, segments):
    """unsorted_segment_sum and _max of 2,000 x 16 into 50."""
    return (
        tf.math.unsorted_segment_sum(x, segments, 50),
        tf.math.unsorted_segment_max(x, segments, 50),
    )


@program(lambda: [normal(100, 100), integers(100, 500, 2), normal(500)])
def scatter_add(x, where, values):
    """tensor_scatter_nd_add of 500 values."""
    return tf.tensor_scatter_nd_add(x, where, values)


@program(lambda: [normal(8, 5000)], modes=_BOTH)
def cumsum(x):
    """Cumsum of 8 x 5,000."""
    return tf.cumsum(x, 1)


@program(lambda: [uniform(64, 64), normal(64, 16)])
def sparse_product(dense, x):
    """A sparse 64 x 64 matrix times 64 x 16."""
    sparse = tf.sparse.from_dense(tf.where(dense > 0.9, dense, 0.0))
    return tf.sparse.sparse_dense_matmul(sparse, x)


@program(lambda: [integers(50, 32)])
def length_mask(lengths):
    """sequence_mask and masked means of 32 sequences of 50."""
    mask = tf.sequence_mask(lengths, 50, tf.float32)
    return tf.reduce_sum(mask, 1), tf.where(mask > 0, 0.0, -1e9)


@program(lambda: [integers(32, 3000)])
def bincount(x):
    """Bincount of 3,000 integers."""
    return tf.math.bincount(x, minlength=32, maxlength=32)


@program(lambda: [positive_definite(64, 8, 8), normal(64, 8, 1)], modes=_BOTH)
def cholesky_solve(a, b):
    """Cholesky and cholesky_solve of 64 systems of 8."""
    return tf.linalg.cholesky_solve(tf.linalg.cholesky(a), b)


@program(lambda: [normal(4, 1600)])
def spectrogram(x):
    """Stft of 4 signals of 1,600, and log-mel features."""
    power = tf.abs(tf.signal.stft(x, 400, 160, 512)) ** 2
    mel = tf.signal.linear_to_mel_weight_matrix(40, 257, 16000)
    return tf.math.log(power @ mel + 1e-3)
