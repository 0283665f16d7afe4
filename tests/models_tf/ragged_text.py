"""Classifier of texts of any length, as ragged tensors: no padding, bags of words and of pairs,
attention over words.

Strings become numbers on the host, as input pipelines do it; the numbers go to the device.
"""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

from tests.models_tf.training import Batch, Size, Training, minimise, scaled

_PARTS = (
    ("The film", "This book", "Her new play", "A long walk", "What he said"),
    ("was", "was not", "is hardly", "seemed", "is, I must say,"),
    ("good", "a joy", "dull", "clever and warm", "a waste of time", "bad"),
    (".", "!", ", in the end.", " from the first page to the last."),
)
_WIDTH, _BATCH, _PAIRS = 12, 12, 37


def _texts() -> tuple[list[str], np.ndarray]:
    """Four batches of sentences, and whether they praise."""
    random = np.random.RandomState(10)
    choices = np.stack([random.randint(0, len(part), 4 * _BATCH) for part in _PARTS], 1)
    texts = [
        f"{_PARTS[0][a]} {_PARTS[1][b]} {_PARTS[2][c]}{_PARTS[3][d]}" for a, b, c, d in choices
    ]
    praise = np.isin(choices[:, 2], (0, 1, 3)) != np.isin(choices[:, 1], (1, 2))
    return texts, praise.astype(np.float32)


def _batches() -> tuple[list[Batch], int]:
    """Ragged ids by (values, row splits) with labels, and the number of words.

    Batches are filled up with unknown words to the same number of values, so that what is compiled
    for one fits all.
    """
    with tf.device("/CPU:0"):
        texts, labels = _texts()
        clean = tf.strings.regex_replace(tf.strings.lower(texts), "[^a-z ]", "")
        words = tf.strings.split(clean)
        vocabulary = tf.unique(words.values).y
        table = tf.lookup.StaticVocabularyTable(
            tf.lookup.KeyValueTensorInitializer(
                vocabulary, tf.range(tf.size(vocabulary, tf.int64), dtype=tf.int64)
            ),
            num_oov_buckets=1,
        )
        rows = [table.lookup(row).numpy() for row in words]
    unknown = len(vocabulary)
    groups = [rows[i : i + _BATCH] for i in range(0, len(rows), _BATCH)]
    longest = max(sum(map(len, group)) for group in groups)
    batches = []
    for index, group in enumerate(groups):
        missing = longest - sum(map(len, group))
        group[-1] = np.concatenate([group[-1], np.full(missing, unknown)])
        splits = np.cumsum([0, *map(len, group)])
        batch_labels = labels[index * _BATCH : (index + 1) * _BATCH]
        batches.append((np.concatenate(group), splits, batch_labels))
    return batches, unknown + 1


def _rows(texts: tf.RaggedTensor) -> tf.Tensor:
    """The row of each word. `value_rowids` gives the same, of a shape that XLA does not know."""
    places = tf.range(texts.values.shape[0], dtype=tf.int64)
    return tf.searchsorted(texts.row_splits, places, side="right", out_type=tf.int64) - 1


class Classifier(keras.Model):
    def __init__(self, words: int) -> None:
        super().__init__()
        self.words = keras.layers.Embedding(words, _WIDTH)
        self.pairs = keras.layers.Embedding(_PAIRS, _WIDTH)
        self.score = keras.layers.Dense(1, use_bias=False)
        self.hidden = keras.layers.Dense(16, activation="mish")
        self.output_layer = keras.layers.Dense(1, dtype=keras.config.floatx())
        self.words.build(None)
        self.pairs.build(None)
        self.score.build((None, _WIDTH))
        self.hidden.build((None, 3 * _WIDTH))
        self.output_layer.build((None, 16))
        self.built = True

    def call(self, values, splits):
        texts = tf.RaggedTensor.from_row_splits(values, splits, validate=False)
        rows, words = _rows(texts), self.words(texts.values)
        mean = tf.math.unsorted_segment_mean(words, rows, _BATCH)
        weights = self._attention(words, rows)
        attended = tf.math.unsorted_segment_sum(words * weights[:, None], rows, _BATCH)
        x = tf.concat([mean, attended, self._sum_of_pairs(texts.values, rows)], axis=1)
        return self.output_layer(self.hidden(x))[:, 0]

    def _attention(self, words, rows):
        """Softmax of the scores in each row, for each word."""
        scores = self.score(words)[:, 0]
        largest = tf.math.unsorted_segment_max(scores, rows, _BATCH)
        exponentials = tf.exp(scores - tf.gather(largest, rows))
        return exponentials / tf.gather(
            tf.math.unsorted_segment_sum(exponentials, rows, _BATCH), rows
        )

    def _sum_of_pairs(self, ids, rows):
        """Of neighbours in a row, hashed."""
        pairs = self.pairs((ids[:-1] * 31 + ids[1:]) % _PAIRS)
        pairs = tf.where((rows[:-1] == rows[1:])[:, None], pairs, tf.zeros_like(pairs))
        return tf.math.unsorted_segment_sum(pairs, rows[:-1], _BATCH)


def build(size: Size) -> Training:
    """Makes the model with Adamax."""
    del size  # there is one
    batches, words = _batches()
    model = Classifier(words)
    optimizer = scaled(keras.optimizers.Adamax(5e-3, epsilon=1e-3))
    optimizer.build(model.trainable_variables)
    loss_of = keras.losses.BinaryFocalCrossentropy(from_logits=True)

    def step(values: tf.Tensor, splits: tf.Tensor, labels: tf.Tensor) -> dict[str, tf.Tensor]:
        def compute_loss() -> tuple[tf.Tensor, None]:
            return loss_of(labels[:, None], model(values, splits, training=True)[:, None]), None

        loss, _ = minimise(optimizer, model.trainable_variables, compute_loss)
        return {"loss": loss}

    def statistics(values: tf.Tensor, splits: tf.Tensor) -> dict[str, tf.Tensor]:
        """Ragged tensors cut, joined, reduced and padded, and a gradient through them."""
        texts = tf.RaggedTensor.from_row_splits(values, splits)
        pairs = texts[:, :-1] * 31 + texts[:, 1:]
        table = model.words.embeddings.value
        with tf.GradientTape() as tape:
            vectors = tf.ragged.map_flat_values(tf.nn.embedding_lookup, table, texts)
            mean = tf.reduce_mean(vectors, axis=1)
            size = tf.nn.l2_loss(tf.reduce_max(vectors, axis=1)) + tf.nn.l2_loss(mean)
        return {
            "mean": mean,
            "gradient": tf.convert_to_tensor(tape.gradient(size, table)),
            "largest": tf.reduce_max(tf.cast(pairs, tf.float32), axis=1),
            "words": tf.concat([pairs, texts], axis=1).to_tensor(-1),
            "lengths": tf.ragged.boolean_mask(texts, texts > 3).row_lengths(),
        }

    *batches, last = batches
    return Training(
        step=step,
        infer=lambda values, splits: tf.sigmoid(model(values, splits, training=False)),
        variables=model.variables,
        optimizers=[optimizer],
        batches=batches,
        inputs=last[:-1],
        infer_uncompiled=statistics,
    )
