"""Transformer (Vaswani et al. 2017, arXiv:1706.03762) that learns to turn sequences round: padded,
masked and causal attention.
"""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

from tests.models_tf.training import Size, Training, minimise, scaled, split

_VOCABULARY, _LENGTH, _WIDTH, _HEADS = 24, 10, 32, 4
_PADDING, _START = 0, 1


def _sequences(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Padded sequences of tokens, int64 [count, length], and the same reversed after a start
    token, int64 [count, length + 1].
    """
    random = np.random.RandomState(5)
    source = np.full((count, _LENGTH), _PADDING, np.int64)
    target = np.full((count, _LENGTH + 1), _PADDING, np.int64)
    target[:, 0] = _START
    for row, length in enumerate(random.randint(4, _LENGTH + 1, count)):
        tokens = random.randint(2, _VOCABULARY, length)
        source[row, :length], target[row, 1 : length + 1] = tokens, tokens[::-1]
    return source, target


class PositionalEmbedding(keras.layers.Layer):
    """Tokens and their positions. What is padding, attention leaves out by the mask of this
    layer.
    """

    def __init__(self, length: int, **kwargs) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.tokens = keras.layers.Embedding(_VOCABULARY, _WIDTH, mask_zero=True)
        self.positions = keras.layers.Embedding(length, _WIDTH)

    def build(self, shape) -> None:
        self.tokens.build(shape)
        self.positions.build(shape)

    def call(self, tokens):
        # TensorFlow has integers of 32 bits on the host, and would copy them in every step.
        embedded = self.tokens(tokens) + self.positions(
            keras.ops.arange(tokens.shape[1], dtype="int64")
        )
        # By the root of the width, as in section 3.4. Layers would add more than there is
        # otherwise, and their roundings.
        return embedded * _WIDTH**0.5

    def compute_mask(self, tokens, mask=None):
        return self.tokens.compute_mask(tokens)


def _attend(x, memory=None, causal: bool = False):
    """Attention to oneself or to `memory`, normalised before and added after."""
    normal = keras.layers.LayerNormalization()(x)
    attention = keras.layers.MultiHeadAttention(_HEADS, _WIDTH // _HEADS, dropout=0.1)
    attended = attention(normal, normal if memory is None else memory, use_causal_mask=causal)
    return keras.layers.Add()([x, attended])  # a layer, because + loses the mask


def _feed_forward(x):
    normal = keras.layers.LayerNormalization()(x)
    hidden = keras.layers.Dense(2 * _WIDTH, activation="gelu")(normal)
    output = keras.layers.Dropout(0.1)(keras.layers.Dense(_WIDTH)(hidden))
    return keras.layers.Add()([x, output])


def _model() -> keras.Model:
    source = keras.Input((_LENGTH,), dtype="int64")
    target = keras.Input((_LENGTH,), dtype="int64")
    memory = PositionalEmbedding(_LENGTH)(source)
    for _ in range(2):
        memory = _feed_forward(_attend(memory))
    memory = keras.layers.LayerNormalization()(memory)
    x = PositionalEmbedding(_LENGTH)(target)
    for _ in range(2):
        x = _feed_forward(_attend(_attend(x, causal=True), memory))
    logits = keras.layers.Dense(_VOCABULARY, dtype=keras.config.floatx())(
        keras.layers.LayerNormalization()(x)
    )
    return keras.Model([source, target], logits)


def _generate(model: keras.Model, source: tf.Tensor, count: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Takes the likeliest token `count` times: int64 [batch, count], and the least margin up to
    each.
    """
    tokens = tf.fill([source.shape[0], 1], tf.constant(_START, tf.int64))
    margins = []
    for length in range(1, count + 1):
        padded = tf.pad(tokens, [[0, 0], [0, _LENGTH - length]])
        logits = model([source, padded], training=False)
        scores = logits[:, length - 1, 2:]
        best = tf.math.top_k(scores, 2).values
        margin = best[:, 0] - best[:, 1]
        # A token depends on all before it.
        margins.append(tf.minimum(margins[-1], margin) if margins else margin)
        tokens = tf.concat([tokens, tf.argmax(scores, axis=-1)[:, None] + 2], axis=1)
    return tokens[:, 1:], tf.stack(margins, axis=1)


def build(size: Size) -> Training:
    """Makes the model with AdamW, clipped by the global norm, at a rate that warms up and
    decays.
    """
    del size  # there is one
    model = _model()
    rate = keras.optimizers.schedules.CosineDecay(
        0.0, decay_steps=10, warmup_target=2e-3, warmup_steps=2
    )
    optimizer = scaled(
        keras.optimizers.AdamW(rate, weight_decay=0.01, epsilon=1e-4, global_clipnorm=1.0)
    )
    optimizer.build(model.trainable_variables)
    loss_of = keras.losses.CategoricalCrossentropy(
        from_logits=True, label_smoothing=0.1, reduction=None
    )

    def step(source: tf.Tensor, target: tf.Tensor) -> dict[str, tf.Tensor]:
        following = target[:, 1:]
        present = tf.cast(following != _PADDING, keras.config.floatx())

        def compute_loss() -> tuple[tf.Tensor, None]:
            logits = model([source, target[:, :-1]], training=True)
            losses = loss_of(tf.one_hot(following, _VOCABULARY, dtype=logits.dtype), logits)
            return tf.reduce_sum(losses * present) / tf.reduce_sum(present), None

        loss, _ = minimise(optimizer, model.trainable_variables, compute_loss)
        return {"loss": loss}

    def infer(source: tf.Tensor, target: tf.Tensor) -> dict[str, tf.Tensor]:
        logits = model([source, target[:, :-1]], training=False)
        tokens, margins = _generate(model, source, 3)
        return {"logits": logits, "generated": tokens, "generated, margin": margins}

    source, target = _sequences(32)
    return Training(
        step=step,
        infer=infer,
        variables=model.variables,
        optimizers=[optimizer],
        batches=split((source, target), 8),
        inputs=(source[24:], target[24:]),
    )
