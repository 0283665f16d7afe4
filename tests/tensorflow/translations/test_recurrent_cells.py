"""Cells of recurrent networks: values and gradients, with and without peepholes and clipping,
sequences that end early.
"""

from __future__ import annotations

import both
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering

R = tf.raw_ops
STEPS, BATCH, INPUTS, CELLS = 6, 3, 5, 4


def random(*shape: int) -> tf.Tensor:
    return tf.constant(np.random.RandomState(sum(shape)).randn(*shape).astype(np.float32))


def lstm_inputs(x: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        "x": x,
        "cs_prev": random(BATCH, CELLS),
        "h_prev": random(BATCH, CELLS) * 0.5,
        "w": random(INPUTS + CELLS, 4 * CELLS),
        "wci": random(CELLS),
        "wcf": random(CELLS) * 0.5,
        "wco": random(CELLS) * 2.0,
        "b": random(4 * CELLS),
    }


@pytest.mark.parametrize("use_peephole", [False, True])
@pytest.mark.parametrize("cell_clip", [-1.0, 0.5])
def test_lstm_block_cell(use_peephole: bool, cell_clip: float) -> None:
    inputs = lstm_inputs(random(BATCH, INPUTS))
    both.check(
        lambda: R.LSTMBlockCell(
            **inputs, forget_bias=0.7, cell_clip=cell_clip, use_peephole=use_peephole
        )
    )


@pytest.mark.parametrize("use_peephole", [False, True])
def test_lstm_block_cell_gradient(use_peephole: bool) -> None:
    inputs = lstm_inputs(random(BATCH, INPUTS))
    with tf.device("/CPU:0"):
        i, cs, f, o, ci, co, _ = R.LSTMBlockCell(**inputs, use_peephole=use_peephole)
    results = {"i": i, "cs": cs, "f": f, "o": o, "ci": ci, "co": co}
    slopes = {"cs_grad": random(BATCH, CELLS) * 2.0, "h_grad": random(BATCH, CELLS) - 1.0}
    both.check(
        lambda: R.LSTMBlockCellGrad(**inputs, **results, **slopes, use_peephole=use_peephole)
    )


@covering(use_peephole=[False, True], length=[STEPS, 4, 0], version=[1, 2])
def test_block_lstm(version: int, length: int, use_peephole: bool) -> None:
    inputs = lstm_inputs(random(STEPS, BATCH, INPUTS)) | {
        "seq_len_max": tf.constant(length, tf.int64)
    }
    options = {"cell_clip": 0.5, "use_peephole": use_peephole}
    if version == 1:
        options["forget_bias"] = 0.7
    op = R.BlockLSTM if version == 1 else R.BlockLSTMV2

    def states() -> list[tf.Tensor]:
        results = op(**inputs, **options)
        # The CPU's kernel leaves all but cs and h undefined after the end.
        return [
            r if name in ("cs", "h") else r[:length]
            for name, r in zip(results._fields, results, strict=True)
        ]

    both.check(states)
    with tf.device("/XPU:0"):
        assert all(not np.any(result[length:]) for result in op(**inputs, **options))


@covering(use_peephole=[False, True], length=[STEPS, 4, 0], version=[1, 2])
def test_block_lstm_gradient(version: int, length: int, use_peephole: bool) -> None:
    inputs = lstm_inputs(random(STEPS, BATCH, INPUTS)) | {
        "seq_len_max": tf.constant(length, tf.int64)
    }
    op, gradient = (
        (R.BlockLSTM, R.BlockLSTMGrad) if version == 1 else (R.BlockLSTMV2, R.BlockLSTMGradV2)
    )
    with tf.device("/XPU:0"):
        results = {
            name: r.numpy() for name, r in op(**inputs, use_peephole=use_peephole)._asdict().items()
        }
    slopes = {"cs_grad": random(STEPS, BATCH, CELLS), "h_grad": random(STEPS, BATCH, CELLS) - 1.0}
    both.check(lambda: gradient(**inputs, **results, **slopes, use_peephole=use_peephole), ulps=256)


def gru_inputs() -> dict[str, tf.Tensor]:
    return {
        "x": random(BATCH, INPUTS),
        "h_prev": random(BATCH, CELLS),
        "w_ru": random(INPUTS + CELLS, 2 * CELLS),
        "w_c": random(INPUTS + CELLS, CELLS),
        "b_ru": random(2 * CELLS),
        "b_c": random(CELLS),
    }


def test_gru_block_cell() -> None:
    both.check(lambda: R.GRUBlockCell(**gru_inputs()))


def test_gru_block_cell_gradient() -> None:
    r, u, c, _ = R.GRUBlockCell(**gru_inputs())
    results = {"r": r.numpy(), "u": u.numpy(), "c": c.numpy()}
    both.check(
        lambda: R.GRUBlockCellGrad(**gru_inputs(), **results, d_h=random(BATCH, CELLS) * 3.0)
    )


def test_half_precision() -> None:
    inputs = {
        name: tf.cast(value, tf.float16)
        for name, value in lstm_inputs(random(BATCH, INPUTS)).items()
    }
    both.check(lambda: R.LSTMBlockCell(**inputs))


@pytest.mark.parametrize("name", ["cs_prev", "h_prev", "w", "b"])
def test_shapes_that_do_not_fit(name: str) -> None:
    inputs = lstm_inputs(random(BATCH, INPUTS))
    inputs[name] = tf.ones([2] * len(inputs[name].shape))
    both.check_refused(lambda: R.LSTMBlockCell(**inputs))
