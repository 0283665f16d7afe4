"""Image ops of TensorFlow and their gradients."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from everyday.program import Kind, Mode, integers, normal, uniform

KIND = Kind("images", Mode.TF_GRAPH)
program = KIND.program
_BOTH = (Mode.TF_GRAPH, Mode.TF_JIT)


def _images():
    return [uniform(8, 96, 96, 3)]


def _gradient(function, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(function(x) ** 2)
    return tape.gradient(loss, x)


@program(_images, modes=_BOTH)
def enlarge(x):
    """Bilinear resize of 8 images, 96 to 224."""
    return tf.image.resize(x, [224, 224])


@program(_images, modes=_BOTH)
def shrink(x):
    """Bilinear resize of 8 images, 96 to 57 x 40."""
    return tf.image.resize(x, [57, 40])


@program(_images)
def enlarge_nearest(x):
    """Nearest-neighbour resize of 8 images, 96 to 192."""
    return tf.image.resize(x, [192, 192], "nearest")


@program(_images)
def enlarge_cubic(x):
    """Bicubic resize of 8 images, 96 to 128."""
    return tf.image.resize(x, [128, 128], "bicubic")


@program(_images, modes=_BOTH)
def gradient_of_enlarge(x):
    """The gradient of a bilinear resize, 96 to 192."""
    return _gradient(lambda x: tf.image.resize(x, [192, 192]), x)


@program(lambda: [normal(8, 32, 32, 16)], modes=_BOTH)
def gradient_of_max_pool(x):
    """The gradient of max_pool2d 2 x 2, 8 x 32 x 32 x 16."""
    return _gradient(lambda x: tf.nn.max_pool2d(x, 2, 2, "SAME"), x)


def _volumes():
    """Values at least 1e-4 apart, because TensorFlow's CPU kernel takes closer ones for equal."""
    values = np.random.default_rng(0).permutation(2 * 16**3 * 8).astype(np.float32) / 8192
    return [values.reshape(2, 16, 16, 16, 8)]


@program(_volumes, modes=_BOTH)
def gradient_of_max_pool_3d(x):
    """The gradient of max_pool3d 3, stride 2, 2 x 16^3 x 8."""
    return _gradient(lambda x: tf.nn.max_pool3d(x, 3, 2, "SAME"), x)


@program(lambda: [normal(8, 32, 32, 16)])
def gradient_of_average_pool(x):
    """The gradient of avg_pool2d 3 x 3, 8 x 32 x 32 x 16."""
    return _gradient(lambda x: tf.nn.avg_pool2d(x, 3, 2, "SAME"), x)


@program(lambda: [uniform(4, 64, 64, 3), uniform(20, 4), integers(4, 20)])
def crops(x, boxes, which):
    """crop_and_resize of 20 boxes to 24 x 24."""
    return tf.image.crop_and_resize(x, boxes, which, [24, 24])


@program(_images)
def colours(x):
    """Hue, saturation, contrast and brightness of 8 images."""
    x = tf.image.adjust_hue(x, 0.1)
    x = tf.image.adjust_saturation(x, 1.2)
    return tf.clip_by_value(tf.image.adjust_contrast(x, 0.8) + 0.1, 0.0, 1.0)


@program(_images)
def patches(x):
    """extract_patches 16 x 16 of 8 images."""
    return tf.image.extract_patches(x, [1, 16, 16, 1], [1, 16, 16, 1], [1, 1, 1, 1], "VALID")


@program(_images)
def edges(x):
    """Sobel edges and total variation of 8 images."""
    return tf.image.sobel_edges(x), tf.image.total_variation(x)


@program(lambda: [uniform(2, 64, 64, 3), uniform(2, 64, 64, 3, seed=1)])
def similarity(a, b):
    """SSIM of 2 pairs of 64 x 64 images."""
    return tf.image.ssim(a, b, 1.0)


@program(lambda: [uniform(8, 32, 32, 3)], state=lambda: tf.Variable([0, 0], dtype=tf.int64))
def augmentation(seed, x):
    """Padding, stateless random crop and flip of 8 images."""
    seed.assign_add([0, 1])
    now = seed.read_value()
    x = tf.pad(x, [[0, 0], [4, 4], [4, 4], [0, 0]], "REFLECT")
    x = tf.image.stateless_random_crop(x, [8, 32, 32, 3], now)
    return tf.image.stateless_random_flip_left_right(x, now)


@program(lambda: [uniform(4, 64, 64, 3)])
def rotation(x):
    """A rotation of 4 images by gathers of bilinear neighbours."""
    grid = tf.cast(tf.stack(tf.meshgrid(tf.range(64), tf.range(64), indexing="ij"), -1), "float32")
    turned = tf.linalg.matvec(tf.constant([[0.8, -0.6], [0.6, 0.8]]), grid - 31.5) + 31.5
    at = tf.floor(turned)
    part = turned - at

    def pixel(dy, dx):
        index = tf.clip_by_value(tf.cast(at, tf.int32) + [dy, dx], 0, 63)
        weight = (part[..., 0] if dy else 1 - part[..., 0]) * (
            part[..., 1] if dx else 1 - part[..., 1]
        )
        return tf.gather_nd(tf.transpose(x, [1, 2, 0, 3]), index) * weight[..., None, None]

    return pixel(0, 0) + pixel(0, 1) + pixel(1, 0) + pixel(1, 1)


@program(lambda: [normal(8, 32, 32, 16), normal(3, 3, 16, 1), normal(1, 1, 16, 32)])
def separable_convolution(x, depthwise, pointwise):
    """A separable convolution 16 to 32, 8 x 32 x 32."""
    return tf.nn.separable_conv2d(x, depthwise, pointwise, [1, 1, 1, 1], "SAME")
