"""GenerateBoundingBoxProposals, of which TensorFlow has no CPU kernel, against numpy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

Arguments = dict[str, Any]


def images(
    count: int = 2,
    height: int = 5,
    width: int = 7,
    anchors: int = 3,
    seed: int = 0,
    size: float = 200.0,
) -> Arguments:
    """Scores that all differ, and anchors of sizes from 10 to 60 all over the image."""
    random = np.random.RandomState(seed)
    of_boxes = (count, height, width, anchors)
    corner = random.uniform(0, size - 60, (height, width, anchors, 2))
    boxes = np.concatenate([corner, corner + random.uniform(10, 60, corner.shape)], -1)
    return {
        "scores": random.permutation(int(np.prod(of_boxes))).reshape(of_boxes).astype(np.float32)
        / 1000
        - 0.05,
        "bbox_deltas": random.normal(0, 0.3, (count, height, width, 4 * anchors)).astype(
            np.float32
        ),
        "image_info": np.tile(np.float32([size, 0.75 * size, 0.5, 0, 0]), (count, 1)),
        "anchors": boxes.reshape(height, width, 4 * anchors).astype(np.float32),
        "nms_threshold": 0.5,
        "pre_nms_topn": 1000,
        "min_size": 20.0,
        "post_nms_topn": 20,
    }


def _decode(given: Arguments, image: int) -> np.ndarray:
    """Float64 [boxes, 4] (y1, x1, y2, x2), clipped."""
    anchors = given["anchors"].astype(np.float64).reshape(-1, 4)
    delta = given["bbox_deltas"][image].astype(np.float64).reshape(-1, 4)
    size = anchors[:, 2:] - anchors[:, :2]
    middle = anchors[:, :2] + size / 2 + size * delta[:, :2]
    half = size * np.exp(np.minimum(delta[:, 2:], np.log(1000 / 16))) / 2
    return np.clip(
        np.concatenate([middle - half, middle + half], 1),
        0,
        np.tile(given["image_info"][image, :2], 2),
    )


def _overlap(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    sides = np.maximum(np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2]), 0)
    both = sides.prod(1)
    area = (others[:, 2:] - others[:, :2]).prod(1)
    return both / ((box[2:] - box[:2]).prod() + area - both)


def proposals(given: Arguments) -> tuple[np.ndarray, np.ndarray]:
    count, most = len(given["scores"]), given["post_nms_topn"]
    boxes, scores = np.zeros((count, most, 4)), np.zeros((count, most))
    for image in range(count):
        of_image = given["scores"][image].reshape(-1)
        decoded = _decode(given, image)
        found = 0
        for place in np.argsort(-of_image, kind="stable")[: given["pre_nms_topn"]]:
            box = decoded[place]
            if (box[2:] - box[:2]).min() < given["min_size"] * given["image_info"][image, 2]:
                continue
            if (
                found < most
                and not (_overlap(box, boxes[image, :found]) > given["nms_threshold"]).any()
            ):
                boxes[image, found], scores[image, found] = box, of_image[place]
                found += 1
    return boxes, scores


def check(given: Arguments) -> None:
    with tf.device("/XPU:0"):
        boxes, scores = tf.image.generate_bounding_box_proposals(**given)
    assert "XPU" in boxes.device
    expected_boxes, expected_scores = proposals(given)
    np.testing.assert_array_equal(scores, expected_scores.astype(np.float32))
    # A handful of roundings of numbers as large as the image; exp of single precision has 3 ulps.
    np.testing.assert_allclose(
        boxes, expected_boxes, rtol=0, atol=1e-5 * np.abs(given["image_info"]).max(initial=0)
    )


@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (2, 5, 7, 3), (3, 1, 40, 2), (1, 30, 40, 9)])
@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.7, 1.0])
def test_shapes_and_thresholds(shape: tuple[int, ...], threshold: float) -> None:
    check(images(*shape) | {"nms_threshold": threshold, "post_nms_topn": 50})


@pytest.mark.parametrize("topn", [1, 10, 104, 105, 106])
@pytest.mark.parametrize("most", [1, 7, 300])
def test_numbers_of_boxes(topn: int, most: int) -> None:
    check(images() | {"pre_nms_topn": topn, "post_nms_topn": most})


@pytest.mark.parametrize("least", [0.0, 60.0, 1000.0])
def test_sizes(least: float) -> None:
    check(images() | {"min_size": least})


def test_equal_scores_come_in_their_order() -> None:
    given = images()
    check(
        given
        | {
            "scores": np.float32([0.0, -0.0, 0.5])[np.arange(given["scores"].size) % 3].reshape(
                given["scores"].shape
            )
        }
    )


def test_extreme_deltas_are_clipped() -> None:
    given = images()
    given["bbox_deltas"][:, ::2] *= 1000
    check(given)


def test_scores_that_are_no_numbers() -> None:
    given = images(count=1) | {"nms_threshold": 1.0, "min_size": 0.0, "post_nms_topn": 105}
    given["scores"][0, 0, 0] = [np.nan, np.inf, -np.inf]
    with tf.device("/XPU:0"):
        scores = tf.image.generate_bounding_box_proposals(**given)[1].numpy()[0]
    assert scores[0] == np.inf and scores[103] == -np.inf and np.isnan(scores[104])


def test_nothing() -> None:
    check(images(count=0))
    with tf.device("/XPU:0"):
        boxes, scores = tf.image.generate_bounding_box_proposals(**images(height=0))
    assert boxes.shape == (2, 20, 4) and not boxes.numpy().any() and not scores.numpy().any()


def test_in_a_graph() -> None:
    given = images()
    with tf.device("/XPU:0"):
        boxes, _ = tf.function(lambda: tf.image.generate_bounding_box_proposals(**given))()
        eager, _ = tf.image.generate_bounding_box_proposals(**given)
    np.testing.assert_array_equal(boxes, eager)


def test_refused() -> None:
    given = images()
    for changed in (
        {"scores": given["scores"][0]},
        {"bbox_deltas": given["bbox_deltas"][:1]},
        {"image_info": given["image_info"][:, :3]},
        {"anchors": given["anchors"][:, :3]},
        {"nms_threshold": 1.5},
        {"nms_threshold": [0.5]},
        {"pre_nms_topn": 0},
        {"post_nms_topn": 0},
    ):
        with pytest.raises(tf.errors.InvalidArgumentError), tf.device("/XPU:0"):
            tf.image.generate_bounding_box_proposals(**(given | changed))
