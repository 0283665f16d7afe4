"""Detector of one stage (RetinaNet, Lin et al. 2017, arXiv:1708.02002): pyramid, anchors, focal
loss, non-maximum suppression.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from tests.models_tf.training import Size, Training, minimise, scaled, split

_SIZE, _CLASSES, _OBJECTS = 64, 3, 3
_STRIDES, _ASPECTS = (8, 16), (0.5, 1.0, 2.0)
_KEPT = 8


def _scenes(count: int) -> tuple[np.ndarray, ...]:
    """Pictures [count, size, size, 3], boxes [count, objects, 4] by corners, and classes, -1 where
    there is none.

    An object of class k is a rectangle that is bright in channel k.
    """
    random = np.random.RandomState(13)
    pictures = 0.2 * random.standard_normal((count, _SIZE, _SIZE, 3))
    classes = random.randint(-1, _CLASSES, (count, _OBJECTS))
    classes[:, 0] = np.maximum(classes[:, 0], 0)
    centre = random.uniform(14, _SIZE - 14, (count, _OBJECTS, 2))
    half = random.uniform(5, 13, (count, _OBJECTS, 2))
    boxes = np.round(np.concatenate([centre - half, centre + half], -1)).astype(int)
    for row, place in np.argwhere(classes >= 0):
        top, left, bottom, right = boxes[row, place]
        pictures[row, top:bottom, left:right, classes[row, place]] += 1.0
    boxes[classes < 0] = 0
    return pictures.astype(np.float32), boxes.astype(np.float32), classes.astype(np.int64)


def _anchors() -> np.ndarray:
    """Boxes by corners: float32 [anchors, 4]."""
    found = []
    for stride in _STRIDES:
        ticks = (np.arange(_SIZE // stride) + 0.5) * stride
        for y, x, aspect in ((y, x, a) for y in ticks for x in ticks for a in _ASPECTS):
            height, width = 2 * stride * aspect**0.5, 2 * stride / aspect**0.5
            found.append((y - height / 2, x - width / 2, y + height / 2, x + width / 2))
    return np.array(found, np.float32)


def _block(x, filters: int, stride: int):
    x = keras.layers.Conv2D(filters, 3, strides=stride, padding="same", use_bias=False)(x)
    return keras.layers.Activation("swish")(keras.layers.GroupNormalization(4)(x))


def _model() -> keras.Model:
    pictures = keras.Input((_SIZE, _SIZE, 3))
    x = _block(_block(pictures, 8, 2), 16, 2)
    fine = _block(x, 24, 2)
    coarse = _block(fine, 32, 2)
    low = keras.layers.Conv2D(16, 1)(coarse)
    up = keras.layers.UpSampling2D(interpolation="nearest")(low)
    high = keras.layers.Add()([keras.layers.Conv2D(16, 1)(fine), up])

    def head(outputs: int, bias: float, weights: Callable[[], keras.Initializer]) -> keras.Model:
        return keras.Sequential(
            [
                keras.Input((None, None, 16)),
                keras.layers.Conv2D(
                    16, 3, padding="same", activation="swish", kernel_initializer=weights()
                ),
                keras.layers.Conv2D(
                    len(_ASPECTS) * outputs,
                    3,
                    padding="same",
                    kernel_initializer=weights(),
                    bias_initializer=keras.initializers.Constant(bias),
                    dtype=keras.config.floatx(),
                ),
                keras.layers.Reshape((-1, outputs), dtype=keras.config.floatx()),
            ]
        )

    # A hundredth of the anchors are objects, to begin with, and boxes are their anchors (section
    # 4.1): their sizes are exponentials. Scores differ from the beginning, so that roundings do not
    # decide which is the best.
    small = functools.partial(keras.initializers.RandomNormal, stddev=0.01)
    classify = head(_CLASSES, float(-np.log(99.0)), keras.initializers.GlorotUniform)
    locate = head(4, 0.0, small)
    levels = (high, low)
    classes = keras.layers.Concatenate(axis=1, dtype=keras.config.floatx())(
        [classify(level) for level in levels]
    )
    offsets = keras.layers.Concatenate(axis=1, dtype=keras.config.floatx())(
        [locate(level) for level in levels]
    )
    return keras.Model(pictures, [classes, offsets])


def _centres(boxes: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    low, high = tf.split(boxes, 2, axis=-1)
    return (low + high) / 2.0, tf.maximum(high - low, 1.0)


def _encode(boxes: tf.Tensor, anchors: tf.Tensor) -> tf.Tensor:
    centre, size = _centres(boxes)
    anchor_centre, anchor_size = _centres(anchors)
    return tf.concat([(centre - anchor_centre) / anchor_size, tf.math.log(size / anchor_size)], -1)


def _decode(offsets: tf.Tensor, anchors: tf.Tensor) -> tf.Tensor:
    centre, size = _centres(anchors)
    shift, stretch = tf.split(offsets, 2, axis=-1)
    centre, half = centre + shift * size, tf.exp(tf.clip_by_value(stretch, -4.0, 4.0)) * size / 2.0
    return tf.clip_by_value(tf.concat([centre - half, centre + half], -1), 0.0, float(_SIZE))


def _overlaps(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """Intersection over union of boxes [n, 4] with boxes [batch, m, 4]: [batch, n, m]."""
    a, b = a[None, :, None], b[:, None]
    low, high = tf.maximum(a[..., :2], b[..., :2]), tf.minimum(a[..., 2:], b[..., 2:])
    shared = tf.reduce_prod(tf.maximum(high - low, 0.0), axis=-1)
    areas = [tf.reduce_prod(boxes[..., 2:] - boxes[..., :2], axis=-1) for boxes in (a, b)]
    return shared / (areas[0] + areas[1] - shared)


def _match(boxes: tf.Tensor, classes: tf.Tensor, anchors: tf.Tensor) -> tuple[tf.Tensor, ...]:
    """Gives each anchor its object: classes one-hot, offsets, whether it is one, whether it counts.

    An anchor is an object's when it covers half of it, or is the one that covers most of it.
    """
    overlaps = tf.where(classes[:, None] >= 0, _overlaps(anchors, boxes), -1.0)
    best = tf.argmax(overlaps, axis=2)
    covered = tf.reduce_max(overlaps, axis=2)
    favourites = tf.one_hot(
        tf.argmax(overlaps, axis=1), anchors.shape[0], on_value=True, off_value=False
    )
    favourites = tf.reduce_any(favourites & (classes >= 0)[..., None], axis=1)
    positive = (covered >= 0.5) | favourites
    counts = positive | (covered < 0.4)
    labels = tf.gather(classes, best, batch_dims=1)
    one_hot = tf.one_hot(tf.where(positive, labels, -1), _CLASSES)
    return one_hot, _encode(tf.gather(boxes, best, batch_dims=1), anchors), positive, counts


def _detect(scores: tf.Tensor, boxes: tf.Tensor) -> dict[str, tf.Tensor]:
    """The best boxes of each picture, of whichever class, without those that overlap a better
    one.
    """
    best = tf.reduce_max(scores, axis=-1)
    found = []
    for picture_boxes, picture_scores in zip(tf.unstack(boxes), tf.unstack(best), strict=True):
        # What has a fixed size, so that all of it can be compiled.
        places, count = tf.raw_ops.NonMaxSuppressionV4(
            boxes=picture_boxes,
            scores=picture_scores,
            max_output_size=_KEPT,
            iou_threshold=0.4,
            score_threshold=0.0,
            pad_to_max_output_size=True,
        )
        valid = tf.range(_KEPT, dtype=tf.int64) < tf.cast(count, tf.int64)
        kept_boxes, kept_scores = (
            tf.gather(picture_boxes, places),
            tf.gather(picture_scores, places),
        )
        found.append((tf.where(valid[:, None], kept_boxes, 0.0), tf.where(valid, kept_scores, 0.0)))
    return {"boxes": tf.stack([b for b, _ in found]), "scores": tf.stack([s for _, s in found])}


def build(size: Size) -> Training:
    """Makes the model with SGD."""
    del size  # there is one
    model = _model()
    optimizer = scaled(keras.optimizers.SGD(0.01, momentum=0.9, global_clipnorm=10.0))
    optimizer.build(model.trainable_variables)
    anchors = tf.constant(_anchors())
    is_exact = keras.config.dtype_policy().compute_dtype not in ("bfloat16", "float16")

    def losses(
        pictures, one_hot, offsets, positive, counts
    ) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        logits, predicted = model(pictures, training=True)
        objects = tf.maximum(tf.reduce_sum(tf.cast(positive, tf.float32)), 1.0)
        focal = keras.losses.binary_focal_crossentropy(
            one_hot[..., None], logits[..., None], apply_class_balancing=True, from_logits=True
        )
        classes = tf.reduce_sum(tf.where(counts[..., None], focal, 0.0)) / objects
        distance = keras.losses.huber(offsets, predicted, delta=0.1)
        places = tf.reduce_sum(tf.where(positive, distance, 0.0)) / objects
        return classes + places, {"classes": classes, "places": places}

    def step(pictures: tf.Tensor, boxes: tf.Tensor, classes: tf.Tensor) -> dict[str, tf.Tensor]:
        targets = _match(boxes, classes, anchors)
        loss, parts = minimise(
            optimizer, model.trainable_variables, lambda: losses(pictures, *targets)
        )
        return {"loss": loss, **parts}

    def infer(pictures: tf.Tensor) -> dict[str, tf.Tensor]:
        logits, offsets = model(pictures, training=False)
        scores, boxes = tf.sigmoid(logits), _decode(offsets, anchors)
        # In half precision, roundings decide which of two like boxes is the better one.
        return _detect(scores, boxes) if is_exact else {"boxes": boxes, "scores": scores}

    def infer_few(pictures: tf.Tensor) -> dict[str, tf.Tensor]:
        """As many boxes of the first picture as there are, and what they cut out."""
        logits, offsets = model(pictures[:1], training=False)
        scores, boxes = tf.sigmoid(logits)[0, :, 0], _decode(offsets, anchors)[0]
        kept = tf.image.non_max_suppression(boxes, scores, _KEPT, iou_threshold=0.4)
        found = tf.gather(boxes, kept)
        pictures_of = tf.zeros_like(kept)
        # Not to the border: a rounding error decides whether what lies on it is still in the
        # picture.
        inside = tf.minimum(found / _SIZE, 0.99)
        crops = tf.image.crop_and_resize(pictures[:1], inside, pictures_of, [6, 6])
        return {"boxes": found, "scores": tf.gather(scores, kept), "crops": crops}

    pictures, boxes, classes = _scenes(16)
    return Training(
        step=step,
        infer=infer,
        variables=model.variables,
        optimizers=[optimizer],
        batches=split((pictures, boxes, classes), 4),
        inputs=(pictures[12:],),
        infer_uncompiled=infer_few if is_exact else None,
    )
