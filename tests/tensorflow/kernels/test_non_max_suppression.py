"""NonMaxSuppressionV2 to V4, which tf.image's functions call, against TensorFlow's CPU kernels."""

from __future__ import annotations

from typing import Any

import both
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering

R = tf.raw_ops


def boxes_and_scores(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.RandomState(seed)
    corners = random.uniform(0, 1, (count, 2))
    sizes = random.uniform(-0.3, 0.3, (count, 2))  # any two opposite corners
    return np.concatenate([corners, corners + sizes], 1).astype(np.float32), random.uniform(
        -1, 1, count
    ).astype(np.float32)


def check(function: Any) -> None:
    both.check(function, ulps=0, modes=("eager",))


@covering(count=[1, 2, 50, 1000, 20_000], most=[0, 1, 100, 100_000], threshold=[0.0, 0.5, 1.0])
def test_sizes(count: int, most: int, threshold: float) -> None:
    if most * count > 10_000_000 and threshold == 1.0:
        most = 2000  # on a CPU each box is held against all that are taken
    boxes, scores = boxes_and_scores(count)
    check(
        lambda: R.NonMaxSuppressionV2(
            boxes=boxes, scores=scores, max_output_size=most, iou_threshold=threshold
        )
    )


@pytest.mark.parametrize("least", [-np.inf, -0.5, 0.0, 0.7, 2.0])
def test_thresholds_of_scores(least: float) -> None:
    boxes, scores = boxes_and_scores(300)
    arguments = {
        "boxes": boxes,
        "scores": scores,
        "max_output_size": 40,
        "iou_threshold": 0.3,
        "score_threshold": least,
    }
    check(lambda: R.NonMaxSuppressionV3(**arguments))
    check(lambda: R.NonMaxSuppressionV4(**arguments))
    check(lambda: R.NonMaxSuppressionV4(**arguments, pad_to_max_output_size=True))


def test_equal_scores_come_in_their_order() -> None:
    boxes, _ = boxes_and_scores(64)
    scores = np.float32([0.0, -0.0, 0.5, 0.5] * 16)
    check(lambda: tf.image.non_max_suppression(boxes, scores, 64, 1.0))


def test_scores_that_are_no_numbers() -> None:
    boxes, scores = boxes_and_scores(12)
    scores[[1, 4, 6, 9]] = [np.nan, np.inf, -np.inf, np.nan]
    with tf.device("/XPU:0"):
        selected = tf.image.non_max_suppression(boxes, scores, 12, 1.0).numpy()
    assert selected[0] == 4
    assert not {1, 9} & set(selected)


def test_boxes_without_area_cover_nothing() -> None:
    boxes = np.float32([[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 1], [1, 1, 0, 0], [np.nan, 0, 1, 1]])
    check(lambda: tf.image.non_max_suppression(boxes, np.float32([5, 4, 3, 2, 1]), 5, 0.5))


def test_nothing() -> None:
    boxes, scores = tf.zeros([0, 4]), tf.zeros([0])
    check(lambda: tf.image.non_max_suppression(boxes, scores, 3))
    arguments = {
        "boxes": boxes,
        "scores": scores,
        "max_output_size": 3,
        "iou_threshold": 0.5,
        "score_threshold": 0.0,
    }
    check(lambda: R.NonMaxSuppressionV4(**arguments, pad_to_max_output_size=False))
    check(lambda: R.NonMaxSuppressionV4(**arguments, pad_to_max_output_size=True))


def test_in_a_graph() -> None:
    @tf.function
    def best(boxes: tf.Tensor, scores: tf.Tensor) -> tf.Tensor:
        return tf.gather(boxes, tf.image.non_max_suppression(boxes, scores, 10, 0.4))

    boxes, scores = boxes_and_scores(200)
    both.check(lambda: best(boxes, scores), ulps=0, modes=("eager",))


def test_refused() -> None:
    boxes, scores = boxes_and_scores(3)
    for changed in (
        {"boxes": boxes[:, :3]},
        {"boxes": boxes[0]},
        {"scores": scores[:2]},
        {"max_output_size": -1},
        {"iou_threshold": 1.5},
        {"max_output_size": [2]},
    ):
        arguments: dict[str, Any] = {
            "boxes": boxes,
            "scores": scores,
            "max_output_size": 2,
            "iou_threshold": 0.5,
        }
        both.check_call_refused(R.NonMaxSuppressionV2, **(arguments | changed))
