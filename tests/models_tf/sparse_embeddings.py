"""Recommender in the shape of DLRM (Naumov et al. 2019, arXiv:1906.00091): tables read by rows,
bags of several rows.

Gradients of the tables are slices of rows, and stay so as far as into the optimiser.
"""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

from tests.models_tf.training import Batch, Size, Training, minimise, scaled

_ROWS, _WIDTH, _DENSE, _BATCH = (50, 30, 20), 8, 5, 16
_BAG_ROWS, _BAG_IDS = 40, 40


def _batches(count: int) -> list[Batch]:
    """Clicks: dense features, an id for each table, a bag of ids for each user, and labels.

    The bag is (indices, ids) of a sparse tensor; some users have an empty one.
    """
    random = np.random.RandomState(8)
    batches = []
    for _ in range(count):
        dense = random.standard_normal((_BATCH, _DENSE)).astype(np.float32)
        # Squared, so that small ids come again within a batch.
        ids = (random.uniform(size=(_BATCH, len(_ROWS))) ** 2 * _ROWS).astype(np.int64)
        users = np.sort(random.randint(0, _BATCH - 2, _BAG_IDS))
        places = np.arange(_BAG_IDS) - np.searchsorted(users, users)
        bag = (random.uniform(size=_BAG_IDS) ** 2 * _BAG_ROWS).astype(np.int64)
        labels = (ids.sum(1) % 3 == 0).astype(np.float32)
        batches.append((dense, ids, np.stack([users, places], 1), bag, labels))
    return batches


class Recommender(keras.Model):
    """Has smooth activations: at a kink, a rounding error decides which of two slopes a gradient
    takes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tables = [keras.layers.Embedding(rows, _WIDTH) for rows in _ROWS]
        self.bag = keras.layers.Embedding(_BAG_ROWS, _WIDTH)
        self.bottom = keras.Sequential(
            [
                keras.Input((_DENSE,)),
                keras.layers.Dense(16, activation="mish"),
                keras.layers.Dense(_WIDTH),
            ]
        )
        self.top = keras.Sequential(
            [
                keras.Input((_WIDTH + 10,)),
                keras.layers.Dense(16, activation="mish"),
                keras.layers.Dense(1, dtype=keras.config.floatx()),
            ]
        )
        for layer in (*self.tables, self.bag):
            layer.build(None)
        self.built = True

    def call(self, dense, ids, bag_indices, bag_ids):
        low = self.bottom(dense)
        features = [
            table(column)
            for table, column in zip(self.tables, tf.unstack(ids, axis=1), strict=True)
        ]
        bags = tf.math.unsorted_segment_sqrt_n(self.bag(bag_ids), bag_indices[:, 0], _BATCH)
        stacked = tf.stack([low, *features, tf.cast(bags, low.dtype)], axis=1)
        products = tf.matmul(stacked, stacked, transpose_b=True)
        # Of every two different features once.
        row, column = np.triu_indices(len(features) + 2, 1)
        pairs = tf.gather(
            tf.reshape(products, [_BATCH, -1]), row * (len(features) + 2) + column, axis=1
        )
        return self.top(tf.concat([low, pairs], axis=1))[:, 0]


def build(size: Size) -> Training:
    """Makes the model with Adagrad."""
    del size  # there is one
    model = Recommender()
    optimizer = scaled(keras.optimizers.Adagrad(0.05))
    optimizer.build(model.trainable_variables)

    def step(*batch: tf.Tensor) -> dict[str, tf.Tensor]:
        *inputs, labels = batch

        def compute_loss() -> tuple[tf.Tensor, None]:
            logits = model(*inputs, training=True)
            losses = tf.nn.sigmoid_cross_entropy_with_logits(tf.cast(labels, logits.dtype), logits)
            return tf.reduce_mean(losses), None

        loss, _ = minimise(optimizer, model.trainable_variables, compute_loss)
        return {"loss": loss}

    def look_up(
        dense: tf.Tensor, ids: tf.Tensor, indices: tf.Tensor, bag: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """The same bags by TensorFlow's lookups, whose programs depend on how many ids differ, and
        their gradient.
        """
        del dense, ids
        bags, table = tf.SparseTensor(indices, bag, [_BATCH, _BAG_IDS]), model.bag.embeddings.value
        with tf.GradientTape() as tape:
            found = tf.nn.safe_embedding_lookup_sparse(table, bags, combiner="sqrtn")
            size = tf.nn.l2_loss(found)
        return {"bags": found, "gradient": tf.convert_to_tensor(tape.gradient(size, table))}

    *batches, last = _batches(4)
    return Training(
        step=step,
        infer=lambda *inputs: tf.sigmoid(model(*inputs, training=False)),
        variables=model.variables,
        optimizers=[optimizer],
        batches=batches,
        inputs=last[:-1],
        infer_uncompiled=look_up,
    )
