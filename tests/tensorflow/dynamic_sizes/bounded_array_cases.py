"""More ops with an operand whose size is known only at run time: matrices, images and rows.

As in `bounded_cases.py`, a case gets the selected rows ``v`` and the other operands ``e``.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tests.tensorflow.dynamic_sizes.bounded_cases import Case, K

R = tf.raw_ops


def _gram(v: Any) -> Any:
    """The products of all pairs of rows, [<=N, <=N]."""
    return tf.matmul(v, v, transpose_b=True)


def _image(v: Any) -> Any:
    """One image whose rows are the selected ones."""
    return v[None, :, :, None]


def _images(v: Any) -> Any:
    """An image for each selected row, [<=N, K, K, 1]."""
    return v[:, :, None, None] * v[:, None, :, None]


def _projective(images: Any) -> Any:
    return R.ImageProjectiveTransformV3(
        images=images,
        transforms=[[1.0, 0.1, 0.0, 0.0, 1.0, 0.5, 0.0, 0.0]],
        output_shape=[4, 2],
        fill_value=9.0,
        interpolation="BILINEAR",
        fill_mode="REFLECT",
    )


def _patches(images: Any, padding: str) -> Any:
    return R.ExtractImagePatches(
        images=images,
        ksizes=[1, 2, 2, 1],
        strides=[1, 2, 1, 1],
        rates=[1, 1, 1, 1],
        padding=padding,
    )


def _volume_patches(volumes: Any, padding: str) -> Any:
    return R.ExtractVolumePatches(
        input=volumes, ksizes=[1, 2, 1, 1, 1], strides=[1, 2, 1, 1, 1], padding=padding
    )


def _dilation(images: Any, padding: str = "SAME") -> Any:
    return R.Dilation2D(
        input=images,
        filter=[[[0.1], [0.2]], [[0.3], [0.4]]],
        strides=[1, 1, 1, 1],
        rates=[1, 1, 1, 1],
        padding=padding,
    )


CASES: dict[str, Case] = {
    "diag_part": lambda v, e: tf.linalg.diag_part(_gram(v)),
    "diag_part of rows": lambda v, e: tf.linalg.diag_part(v),
    "diag_part of columns": lambda v, e: tf.linalg.diag_part(tf.transpose(v)),
    "superdiagonal": lambda v, e: tf.linalg.diag_part(_gram(v), k=1),
    "subdiagonal of rows": lambda v, e: tf.linalg.diag_part(v, k=-2),
    "trace": lambda v, e: tf.linalg.trace(_gram(v)),
    "trace of rows": lambda v, e: tf.linalg.trace(v),
    "band_part": lambda v, e: tf.linalg.band_part(_gram(v), 1, 0),
    "solve with rows": lambda v, e: tf.linalg.solve(2 * tf.eye(K) + 0.1, tf.transpose(v)),
    "reverse_sequence": lambda v, e: tf.reverse_sequence(v, [1, 2, 0], seq_axis=0, batch_axis=1),
    "reverse_sequence of batches": lambda v, e: tf.reverse_sequence(
        v, e.ids % K, seq_axis=1, batch_axis=0
    ),
    "bilinear resize of batches": lambda v, e: tf.image.resize(_images(v), [5, 2]),
    "nearest resize of batches": lambda v, e: tf.image.resize(_images(v), [5, 2], "nearest"),
    "dilation of batches": lambda v, e: _dilation(_images(v)),
    "bias_add of images": lambda v, e: tf.nn.bias_add(_image(v), e.r[:1]),
    "max_pool with stride, SAME": lambda v, e: tf.nn.max_pool1d(v[None], 3, 2, "SAME"),
    "standardized images": lambda v, e: tf.image.per_image_standardization(_images(v)),
}

# Without a gradient, or with one that cannot be compiled.
VALUES_ONLY_CASES: dict[str, Case] = {
    "where of columns": lambda v, e: tf.where(tf.transpose(v) > 0),
    "where of both": lambda v, e: tf.where(_gram(v) > 0.1),
    "where of blocks": lambda v, e: tf.where(tf.stack([v, -v], 1) > 0),
    "set_diag": lambda v, e: tf.linalg.set_diag(_gram(v), v[:, 0]),
    "volume patches of batches": lambda v, e: _volume_patches(_images(v)[..., None], "SAME"),
    "patches of batches": lambda v, e: _patches(_images(v), "SAME"),
    "projective transforms of batches": lambda v, e: _projective(_images(v)),
    "contrast": lambda v, e: tf.image.adjust_contrast(v[:, :, None], 2.0),
    "contrast of batches": lambda v, e: tf.image.adjust_contrast(v[:, :, None, None], 2.0),
    "contrast of columns": lambda v, e: tf.image.adjust_contrast(tf.transpose(v)[:, :, None], 2.0),
    "bincount with weights": lambda v, e: R.DenseBincount(input=e.ids, size=5, weights=v[:, 0]),
    "approx_max_k": lambda v, e: tf.math.approx_max_k(v, 2),
}

# Not for no rows: TensorFlow's CPU kernels divide by the number of rows, give the shape of the
# operand, or raise an error if no patch fits.
NOT_EMPTY_CASES: dict[str, Case] = {
    "conv1d with stride, SAME": lambda v, e: tf.nn.conv1d(
        v[None], e.w[None] * tf.ones([3, 1, 1]), 2, "SAME"
    ),
    "patches of rows, VALID": lambda v, e: _patches(_image(v), "VALID"),
    "patches of columns, VALID": lambda v, e: _patches(_image(tf.transpose(v)), "VALID"),
    "volume patches, VALID": lambda v, e: _volume_patches(v[None, :, :, None, None], "VALID"),
    "depth_to_space": lambda v, e: tf.nn.depth_to_space(tf.tile(_image(v), [1, 1, 1, 4]), 2),
    "InplaceUpdate of the last row": lambda v, e: R.InplaceUpdate(x=v, i=[-1], v=e.r[None]),
    "InplaceAdd from the end": lambda v, e: R.InplaceAdd(x=v, i=[-8], v=e.r[None]),
    "InplaceSub behind the end": lambda v, e: R.InplaceSub(x=v, i=[9], v=e.r[None]),
}

# The op that the message names, and a function that is rejected.
REJECTED: dict[str, tuple[str, Case]] = {
    "bilinear resize": ("ResizeBilinear", lambda v, e: tf.image.resize(_image(v), [6, 4])),
    "bilinear resize of columns": (
        "ResizeBilinear",
        lambda v, e: tf.image.resize(_image(tf.transpose(v)), [6, 4]),
    ),
    "gradient of a bilinear resize": (
        "ResizeBilinearGrad",
        lambda v, e: R.ResizeBilinearGrad(grads=_image(v), original_image=tf.zeros([1, 2, K, 1])),
    ),
    "gradient for an image": (
        "ResizeBilinearGrad",
        lambda v, e: R.ResizeBilinearGrad(grads=tf.zeros([1, 2, K, 1]), original_image=_image(v)),
    ),
    "nearest resize": (
        "ResizeNearestNeighbor",
        lambda v, e: tf.image.resize(_image(v), [6, 4], "nearest"),
    ),
    "gradient of a nearest resize": (
        "ResizeNearestNeighborGrad",
        lambda v, e: R.ResizeNearestNeighborGrad(grads=_image(v), size=[3, 4]),
    ),
    "patches, SAME": ("ExtractImagePatches", lambda v, e: _patches(_image(v), "SAME")),
    "volume patches": (
        "ExtractVolumePatches",
        lambda v, e: _volume_patches(v[None, :, :, None, None], "SAME"),
    ),
    "dilation, SAME": ("Dilation2D", lambda v, e: _dilation(_image(v))),
    "dilation, VALID": ("Dilation2D", lambda v, e: _dilation(_image(v), "VALID")),
    "dilation by rows": (
        "Dilation2D",
        lambda v, e: R.Dilation2D(
            input=_image(e.x),
            filter=v[:, :, None],
            strides=[1, 1, 1, 1],
            rates=[1, 1, 1, 1],
            padding="SAME",
        ),
    ),
    "projective transform": (
        "ImageProjectiveTransformV3",
        lambda v, e: _projective(_image(v)),
    ),
    "bands": ("MatrixDiagPartV3", lambda v, e: tf.linalg.diag_part(_gram(v), k=(-1, 1))),
    "tensor_diag": ("Diag", lambda v, e: tf.linalg.tensor_diag(v[:, 0])),
    "tensor_diag_part": ("DiagPart", lambda v, e: tf.linalg.tensor_diag_part(_gram(v))),
    "space_to_batch": (
        "SpaceToBatchND",
        lambda v, e: tf.space_to_batch(_image(v), [1, 1], [[0, 0], [0, 0]]),
    ),
    "space_to_depth": (
        "SpaceToDepth",
        lambda v, e: tf.nn.space_to_depth(tf.concat([_image(v)] * 2, 1)[:, :, :2], 2),
    ),
    "max pooling with indices": (
        "MaxPoolWithArgmax",
        lambda v, e: tf.nn.max_pool_with_argmax(_image(v), [1, 1, 1, 1], [1, 1, 1, 1], "SAME"),
    ),
    "bincount of rows": (
        "DenseBincount",
        lambda v, e: R.DenseBincount(
            input=tf.cast(tf.abs(v), tf.int32), size=5, weights=tf.zeros([0])
        ),
    ),
    "partition of columns": (
        "DynamicPartition",
        lambda v, e: tf.dynamic_partition(tf.transpose(v), [0, 1, 0], 2),
    ),
    "matrix product of two bounds": (
        "BatchMatMulV2",
        lambda v, e: tf.matmul(tf.stack([v, v]), e.x[None, :3] * tf.ones([2, 1, 1]), True),
    ),
    "einsum of two bounds": ("Einsum", lambda v, e: tf.einsum("ni,nj->ij", v, e.x[:3])),
    "einsum of batches of two bounds": (
        "Einsum",
        lambda v, e: tf.einsum("ni...,nj...->ij...", v[:, :, None], e.x[:3, :, None]),
    ),
}
