"""CropAndResize and its gradients against TensorFlow's CPU kernels."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import covering, every

IMAGE_TYPES = [
    "uint8",
    "uint16",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
]


def make_case(dtype: str = "float32", seed: int = 0):
    """Returns image, boxes (some reach out of the image, one is flipped, one is a point) and
    their indices."""
    random = np.random.default_rng(seed)
    image = (random.uniform(0, 100, (3, 17, 23, 5))).astype(dtype)
    boxes = random.uniform(-0.2, 1.2, (12, 4)).astype(np.float32)
    boxes[0] = [0, 0, 1, 1]
    boxes[1] = [1, 1, 0, 0]
    boxes[2] = [0.5, 0.5, 0.5, 0.5]
    boxes[3] = [2, 2, 3, 3]
    index = random.integers(0, 3, 12).astype(np.int32)
    return image, boxes, index


def on(device: str, function):
    with tf.device(device):
        return function().numpy()


@covering(method=["bilinear", "nearest"], dtype=IMAGE_TYPES, size=[(7, 9), (1, 1), (40, 1)])
def test_forward(dtype: str, method: str, size: tuple[int, int]) -> None:
    image, boxes, index = make_case(dtype)

    def crop():
        return tf.image.crop_and_resize(
            tf.constant(image), tf.constant(boxes), tf.constant(index), size, method, -7.5
        )

    # The same operations in the same order; the compilers may differ in the last bit of a quotient.
    np.testing.assert_allclose(on("/XPU:0", crop), on("/CPU:0", crop), rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float16", 2e-2), ("float32", 1e-5), ("float64", 1e-12)]
)
def test_gradient_by_image(dtype: str, tolerance: float, method: str) -> None:
    _, boxes, index = make_case()
    gradient = np.random.default_rng(1).normal(size=(12, 7, 9, 5)).astype(np.float32)

    def backward():
        return tf.raw_ops.CropAndResizeGradImage(
            grads=tf.constant(gradient),
            boxes=tf.constant(boxes),
            box_ind=tf.constant(index),
            image_size=[3, 17, 23, 5],
            T=tf.as_dtype(dtype),
            method=method,
        )

    # Up to a hundred contributions to a pixel, in any order. The CPU sums half precision in half
    # precision.
    np.testing.assert_allclose(
        on("/XPU:0", backward), on("/CPU:0", backward), rtol=tolerance, atol=10 * tolerance
    )


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
def test_many_rows(method: str) -> None:
    """More rows than one work-item of a CPU computes, of a depth that is not a power of two, with
    samples on pixels and between them.
    """
    random = np.random.default_rng(3)
    image = random.normal(size=(2, 61, 40, 21)).astype(np.float32)
    corners = random.uniform(0, 0.5, (30, 2))
    boxes = np.concatenate([corners, corners + 0.5], 1).astype(np.float32)
    boxes[:3] = [[0, 0, 1, 1], [1, 1, 0, 0], [0.25, 0.5, 0.25, 0.5]]
    index = random.integers(0, 2, 30).astype(np.int32)
    gradient = random.normal(size=(30, 31, 20, 21)).astype(np.float32)

    def crop():
        return tf.image.crop_and_resize(
            tf.constant(image), tf.constant(boxes), tf.constant(index), (31, 20), method
        )

    def backward(first: int = 0, last: int = 30):
        return tf.raw_ops.CropAndResizeGradImage(
            grads=tf.constant(gradient[first:last]),
            boxes=tf.constant(boxes[first:last]),
            box_ind=tf.constant(index[first:last]),
            image_size=image.shape,
            T=tf.float32,
            method=method,
        )

    np.testing.assert_allclose(on("/XPU:0", crop), on("/CPU:0", crop), rtol=1e-6, atol=1e-5)
    # The CPU's threads lose sums of boxes that overlap, so it gets one at a time.
    expected = sum(on("/CPU:0", lambda b=b: backward(b, b + 1)) for b in range(30))
    actual = on("/XPU:0", backward)
    # The third box samples one pixel 620 times.
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=2e-4)
    np.testing.assert_array_equal(on("/XPU:0", backward), actual)


@covering(box=[0, 299], which=[-1, 3])
def test_box_of_no_image(which: int, box: int) -> None:
    index = np.zeros(300, np.int32)
    index[box] = which
    with tf.device("/XPU:0"):
        image, boxes, gradient = tf.ones([3, 4, 4, 1]), tf.ones([300, 4]), tf.ones([300, 2, 2, 1])
        calls = [
            lambda: tf.image.crop_and_resize(image, boxes, index, [2, 2]),
            lambda: tf.raw_ops.CropAndResizeGradImage(
                grads=gradient, boxes=boxes, box_ind=index, image_size=[3, 4, 4, 1], T=tf.float32
            ),
            lambda: tf.raw_ops.CropAndResizeGradBoxes(
                grads=gradient, image=image, boxes=boxes, box_ind=index
            ),
        ]
        for call in calls:
            with pytest.raises(tf.errors.OutOfRangeError, match="box_index has values outside"):
                call()


@pytest.mark.parametrize("place", [(0, 0), (299, 3)])
@pytest.mark.parametrize("coordinate", [np.nan, np.inf, -np.inf])
def test_box_that_is_not_finite(coordinate: float, place: tuple[int, int]) -> None:
    boxes = np.ones([300, 4], np.float32)
    boxes[place] = coordinate
    with tf.device("/XPU:0"), pytest.raises(tf.errors.InvalidArgumentError, match="not finite"):
        tf.image.crop_and_resize(tf.ones([3, 4, 4, 1]), boxes, tf.zeros([300], tf.int32), [2, 2])


@pytest.mark.parametrize("dtype", every(3, IMAGE_TYPES))
def test_gradient_by_boxes(dtype: str) -> None:
    image, boxes, index = make_case(dtype)
    gradient = np.random.default_rng(1).normal(size=(12, 7, 9, 5)).astype(np.float32)

    def backward():
        return tf.raw_ops.CropAndResizeGradBoxes(
            grads=tf.constant(gradient),
            image=tf.constant(image),
            boxes=tf.constant(boxes),
            box_ind=tf.constant(index),
        )

    # Sums of 315 terms of either sign and size up to 2e3, in float32 on both sides.
    np.testing.assert_allclose(on("/XPU:0", backward), on("/CPU:0", backward), rtol=1e-4, atol=5e-2)


def test_gradient_tape() -> None:
    image, boxes, index = make_case()

    def gradients(device: str):
        with tf.device(device):
            x, b = tf.constant(image), tf.constant(boxes)
            with tf.GradientTape() as tape:
                tape.watch([x, b])
                loss = tf.reduce_sum(
                    tf.image.crop_and_resize(x, b, tf.constant(index), [5, 5]) ** 2
                )
            return [g.numpy() for g in tape.gradient(loss, [x, b])]

    for ours, theirs in zip(gradients("/XPU:0"), gradients("/CPU:0"), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1.0)


def test_no_boxes() -> None:
    image, _, _ = make_case()
    with tf.device("/XPU:0"):
        crops = tf.image.crop_and_resize(image, tf.zeros([0, 4]), tf.zeros([0], tf.int32), [4, 4])
    assert crops.shape == (0, 4, 4, 5)
