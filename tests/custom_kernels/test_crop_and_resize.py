"""CropAndResize and its gradients against TensorFlow's CPU kernels."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

IMAGE_TYPES = ["uint8", "uint16", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


def make_case(dtype: str = "float32", seed: int = 0):
    """Returns image, boxes (some reach out of the image, one is flipped, one is a point) and "
    "their indices."""
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


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("dtype", IMAGE_TYPES)
@pytest.mark.parametrize("size", [(7, 9), (1, 1), (40, 1)])
def test_forward(dtype: str, method: str, size: tuple[int, int]) -> None:
    image, boxes, index = make_case(dtype)

    def crop():
        return tf.image.crop_and_resize(
            tf.constant(image), tf.constant(boxes), tf.constant(index), size, method, -7.5
        )

    # The same operations in the same order; the compilers may differ in the last bit of a quotient.
    np.testing.assert_allclose(on("/XPU:0", crop), on("/CPU:0", crop), rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 2e-2), ("float32", 1e-5), ("float64", 1e-12)])
def test_gradient_by_image(dtype: str, tolerance: float, method: str) -> None:
    _, boxes, index = make_case()
    gradient = np.random.default_rng(1).normal(size=(12, 7, 9, 5)).astype(np.float32)

    def backward():
        return tf.raw_ops.CropAndResizeGradImage(
            grads=tf.constant(gradient), boxes=tf.constant(boxes), box_ind=tf.constant(index),
            image_size=[3, 17, 23, 5], T=tf.as_dtype(dtype), method=method,
        )

    # Up to a hundred contributions to a pixel, in any order. The CPU sums half precision in half
    # precision.
    np.testing.assert_allclose(
        on("/XPU:0", backward), on("/CPU:0", backward), rtol=tolerance, atol=10 * tolerance
    )


@pytest.mark.parametrize("dtype", IMAGE_TYPES)
def test_gradient_by_boxes(dtype: str) -> None:
    image, boxes, index = make_case(dtype)
    gradient = np.random.default_rng(1).normal(size=(12, 7, 9, 5)).astype(np.float32)

    def backward():
        return tf.raw_ops.CropAndResizeGradBoxes(
            grads=tf.constant(gradient), image=tf.constant(image), boxes=tf.constant(boxes),
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
                loss = tf.reduce_sum(tf.image.crop_and_resize(x, b, tf.constant(index), [5, 5]) ** 2)
            return [g.numpy() for g in tape.gradient(loss, [x, b])]

    for ours, theirs in zip(gradients("/XPU:0"), gradients("/CPU:0"), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1.0)


def test_no_boxes() -> None:
    image, _, _ = make_case()
    with tf.device("/XPU:0"):
        crops = tf.image.crop_and_resize(image, tf.zeros([0, 4]), tf.zeros([0], tf.int32), [4, 4])
    assert crops.shape == (0, 4, 4, 5)
