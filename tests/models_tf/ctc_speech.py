"""Speech model: Fourier transform, mel scale, convolutions, a recurrent layer, connectionist
temporal classification (Graves et al. 2006).
"""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

from tests.models_tf.training import Size, Training, minimise, scaled, split

_SAMPLES, _RATE, _FRAME, _HOP, _BANDS = 1024, 4000, 128, 64, 16
_SYMBOLS, _LONGEST = 6, 4  # symbol 0 is the blank


def _utterances(count: int) -> tuple[np.ndarray, ...]:
    """Waves in which each symbol is a tone, the symbols, and how many there are: float32, int64,
    int64.
    """
    random = np.random.RandomState(12)
    waves = 0.05 * random.standard_normal((count, _SAMPLES))
    symbols = np.zeros((count, _LONGEST), np.int64)
    lengths = random.randint(2, _LONGEST + 1, count)
    for row, length in enumerate(lengths):
        symbols[row, :length] = random.randint(1, _SYMBOLS, length)
        for place, part in enumerate(np.array_split(np.arange(_SAMPLES), length)):
            waves[row, part] += np.sin(2 * np.pi * 250 * (1 + symbols[row, place]) * part / _RATE)
    return waves.astype(np.float32), symbols, lengths.astype(np.int64)


def _spectrum(waves: tf.Tensor) -> tf.Tensor:
    """Logarithm of the energy in each band of the mel scale: [batch, frames, bands]."""
    transform = tf.signal.stft(waves, _FRAME, _HOP)
    bands = tf.signal.linear_to_mel_weight_matrix(
        _BANDS, _FRAME // 2 + 1, _RATE, 100.0, 1900.0, dtype=waves.dtype
    )
    return tf.math.log(tf.tensordot(tf.abs(transform) ** 2, bands, 1) + 1e-3)


def _model(frames: int) -> keras.Model:
    spectrum = keras.Input((frames, _BANDS))
    x = keras.layers.Conv1D(16, 3, padding="same", activation="silu")(spectrum)
    x = keras.layers.GroupNormalization(4)(x)
    x = keras.layers.SeparableConv1D(16, 3, padding="same", activation="silu")(x)
    x = keras.layers.Bidirectional(keras.layers.GRU(8, return_sequences=True))(x)
    return keras.Model(spectrum, keras.layers.Dense(_SYMBOLS, dtype=keras.config.floatx())(x))


def build(size: Size) -> Training:
    """Makes the model with Adam."""
    del size  # there is one
    frames = 1 + (_SAMPLES - _FRAME) // _HOP
    model = _model(frames)
    optimizer = scaled(keras.optimizers.Adam(3e-3, epsilon=1e-3, clipnorm=5.0))
    optimizer.build(model.trainable_variables)

    def step(waves: tf.Tensor, symbols: tf.Tensor, lengths: tf.Tensor) -> dict[str, tf.Tensor]:
        spectrum = _spectrum(waves)
        all_frames = tf.fill([waves.shape[0]], tf.constant(frames, tf.int64))

        def compute_loss() -> tuple[tf.Tensor, None]:
            logits = model(spectrum, training=True)
            losses = keras.ops.ctc_loss(symbols, logits, lengths, all_frames)
            return tf.reduce_mean(losses), None

        loss, _ = minimise(optimizer, model.trainable_variables, compute_loss)
        return {"loss": loss}

    def infer(waves: tf.Tensor) -> dict[str, tf.Tensor]:
        logits = model(_spectrum(waves), training=False)
        best = tf.argmax(logits, axis=-1)
        # The best path: what repeats the symbol before it is blank, too.
        repeats = tf.pad(best[:, 1:] == best[:, :-1], [[0, 0], [1, 0]])
        path = tf.where(repeats, tf.zeros_like(best), best)
        probabilities = tf.nn.softmax(logits)
        two = tf.math.top_k(probabilities, 2).values
        margin = two[..., 0] - two[..., 1]
        before = tf.pad(margin[:, :-1], [[0, 0], [1, 0]], constant_values=1)
        return {
            "probabilities": probabilities,
            "path": path,
            "path, margin": tf.minimum(margin, before),
        }

    waves, symbols, lengths = _utterances(24)
    return Training(
        step=step,
        infer=infer,
        variables=model.variables,
        optimizers=[optimizer],
        batches=split((waves, symbols, lengths), 6),
        inputs=(waves[18:],),
    )
