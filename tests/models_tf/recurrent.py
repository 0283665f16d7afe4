"""Tagger of padded sequences: LSTM both ways, GRU both ways, under the mask of the embedding."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

from tests.models_tf.training import Size, Training, minimise, scaled, split

_VOCABULARY, _LENGTH, _TAGS = 20, 8, 4


def _sentences(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Padded tokens, and tags that depend on both neighbours: int64 [count, length] each."""
    random = np.random.RandomState(6)
    tokens = random.randint(1, _VOCABULARY, (count, _LENGTH))
    lengths = random.randint(3, _LENGTH + 1, count)
    tokens[np.arange(_LENGTH) >= lengths[:, None]] = 0
    around = np.pad(tokens, ((0, 0), (1, 1)))
    return tokens.astype(np.int64), ((around[:, :-2] + around[:, 2:]) % _TAGS).astype(np.int64)


def _model() -> keras.Model:
    tokens = keras.Input((_LENGTH,), dtype="int64")
    x = keras.layers.Embedding(_VOCABULARY, 12, mask_zero=True)(tokens)
    x = keras.layers.Bidirectional(keras.layers.LSTM(10, return_sequences=True))(x)
    x = keras.layers.Bidirectional(keras.layers.GRU(8, return_sequences=True), merge_mode="sum")(x)
    x = keras.layers.TimeDistributed(keras.layers.Dense(8, activation="tanh"))(x)
    return keras.Model(tokens, keras.layers.Dense(_TAGS, dtype=keras.config.floatx())(x))


def build(size: Size) -> Training:
    """Makes the model with Nadam, clipped by norm."""
    del size  # there is one
    model = _model()
    optimizer = scaled(keras.optimizers.Nadam(5e-3, epsilon=1e-3, clipnorm=1.0))
    optimizer.build(model.trainable_variables)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)

    def step(tokens: tf.Tensor, tags: tf.Tensor) -> dict[str, tf.Tensor]:
        present = tf.cast(tokens != 0, keras.config.floatx())

        def compute_loss() -> tuple[tf.Tensor, None]:
            losses = loss_of(tags, model(tokens, training=True))
            return tf.reduce_sum(losses * present) / tf.reduce_sum(present), None

        loss, _ = minimise(optimizer, model.trainable_variables, compute_loss)
        return {"loss": loss}

    tokens, tags = _sentences(32)
    return Training(
        step=step,
        infer=lambda tokens: model(tokens, training=False),
        variables=model.variables,
        optimizers=[optimizer],
        batches=split((tokens, tags), 8),
        inputs=(tokens[24:],),
    )
