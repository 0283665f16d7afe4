"""Bad arguments to XPU's own kernels: the exceptions of TensorFlow's CPU, and no harm done."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

IMAGE = np.random.RandomState(0).rand(2, 6, 5, 3).astype(np.float32)
BOXES = np.array([[0.0, 0.0, 1.0, 1.0], [0.1, 0.2, 0.9, 0.8]], np.float32)
CROPS = np.ones((2, 4, 4, 3), np.float32)


def _crop(
    image=IMAGE, boxes=BOXES, index=(0, 1), size=(4, 4), method: str = "bilinear"
) -> tf.Tensor:
    return tf.raw_ops.CropAndResize(
        image=image, boxes=boxes, box_ind=np.array(index, np.int32), crop_size=size, method=method
    )


def _gradient_image(grads=CROPS, boxes=BOXES, index=(0, 1), size=(2, 6, 5, 3)) -> tf.Tensor:
    return tf.raw_ops.CropAndResizeGradImage(
        grads=grads, boxes=boxes, box_ind=np.array(index, np.int32), image_size=size, T=tf.float32
    )


def _gradient_boxes(grads=CROPS, image=IMAGE, boxes=BOXES, index=(0, 1)) -> tf.Tensor:
    return tf.raw_ops.CropAndResizeGradBoxes(
        grads=grads, image=image, boxes=boxes, box_ind=np.array(index, np.int32)
    )


def _with(array: np.ndarray, value: float) -> np.ndarray:
    changed = array.copy()
    changed.flat[1] = value
    return changed


BAD_CALLS: dict[str, Callable[[], tf.Tensor]] = {
    "box index too large": lambda: _crop(index=(0, 2)),
    "box index negative": lambda: _crop(index=(0, -1)),
    "box not a number": lambda: _crop(boxes=_with(BOXES, np.nan)),
    "box infinite": lambda: _crop(boxes=_with(BOXES, np.inf)),
    "image of three dimensions": lambda: _crop(image=IMAGE[0]),
    "image without rows": lambda: _crop(image=IMAGE[:, :0]),
    "boxes of three columns": lambda: _crop(boxes=BOXES[:, :3]),
    "boxes of one dimension": lambda: _crop(boxes=BOXES[0]),
    "fewer indices than boxes": lambda: _crop(index=(0,)),
    "crop without columns": lambda: _crop(size=(4, 0)),
    "crop size of three": lambda: _crop(size=(4, 4, 4)),
    "unknown method": lambda: _crop(method="cubic"),
    "gradient: box index too large": lambda: _gradient_image(index=(0, 7)),
    "gradient: other number of boxes": lambda: _gradient_image(grads=CROPS[:1]),
    "gradient: other depth": lambda: _gradient_image(size=(2, 6, 5, 4)),
    "gradient: size of three": lambda: _gradient_image(size=(2, 6, 5)),
    "box gradient: index too large": lambda: _gradient_boxes(index=(3, 0)),
    "box gradient: other depth": lambda: _gradient_boxes(image=IMAGE[..., :2]),
    "reshape of another size": lambda: tf.reshape(tf.constant(IMAGE), [7, 7]),
    "squeeze of a dimension of two": lambda: tf.squeeze(tf.constant(IMAGE), [0]),
    "expand at a dimension that is not there": lambda: tf.expand_dims(tf.constant(IMAGE), 9),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_exceptions_are_the_cpus(name: str) -> None:
    with tf.device("/CPU:0"), pytest.raises(tf.errors.OpError) as expected:
        BAD_CALLS[name]()
    with tf.device("/XPU:0"):
        bystander = tf.constant(IMAGE) * 2.0
        with pytest.raises(type(expected.value)):
            BAD_CALLS[name]()
        np.testing.assert_array_equal(bystander, IMAGE * 2)
        assert _crop().shape == (2, 4, 4, 3)


def test_no_boxes() -> None:
    with tf.device("/XPU:0"):
        assert _crop(boxes=BOXES[:0], index=()).shape == (0, 4, 4, 3)
        gradient = _gradient_image(grads=CROPS[:0], boxes=BOXES[:0], index=())
    np.testing.assert_array_equal(gradient, np.zeros((2, 6, 5, 3)))
