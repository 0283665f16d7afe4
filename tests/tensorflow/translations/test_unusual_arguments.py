"""What ops do with arguments outside of the usual range, op by op: as TensorFlow's CPU kernels.

Where those raise errors that a device would have to wait for: as its kernels for GPUs.
"""

# ruff: noqa: B008  (the defaults of the lambdas bind the variables of the loops)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import both
import numpy as np
import pytest
import tensorflow as tf

from tests.exhaustive import every

R = tf.raw_ops
RANDOM = np.random.default_rng(0)
NAN, INF = np.nan, np.inf


def held(values: Any, dtype: Any = None) -> tf.Tensor:
    """Returns an argument: TensorFlow would compute with a constant when it builds a graph."""
    with tf.device("/CPU:0"):
        return tf.identity(
            np.asarray(values) if dtype is None else np.asarray(values).astype(dtype)
        )


def single(values: Any) -> tf.Tensor:
    return held(values, np.float32)


# TensorFlow's CPU device takes what is below the smallest normal number for zero, so there is
# nothing of that size here.
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -2.5,
    1e-30,
    -1e-30,
    1e30,
    -1e30,
    INF,
    -INF,
    NAN,
    88.8,
    -104.0,
    7.0,
]
PAIRS = [single(x.ravel()) for x in np.meshgrid(SPECIAL, SPECIAL)]
GRID = [0.0, -0.0, -1.0, -2.0, -2.5, 0.5, 1.0, 2.0, 3.0, NAN, INF, -INF]
TWO = [single(x.ravel()) for x in np.meshgrid(GRID, GRID, indexing="ij")]
THREE = [
    single(x.ravel())
    for x in np.meshgrid(*[[0.0, -1.0, 0.5, 1.0, 2.0, NAN, INF]] * 3, indexing="ij")
]
IMAGES = RANDOM.uniform(-2, 3, (2, 5, 4, 3)).astype(np.float32)
# Gray, below zero, two equal channels, hues that round to a whole turn.
COLORS = [
    [
        [1, 1, 1],
        [0, 0, 0],
        [-1, -1, -1],
        [1, 1 - 1e-7, 1],
        [1, 0.5, 0.5000001],
        [1, 0, 1e-9],
        [0.5, 0.2, 0.2],
        [-1, -3, -2],
    ]
]
TABLE = RANDOM.normal(size=(4, 3)).astype(np.float32)
NANS = [[NAN, 1, 3, 2], [INF, NAN, -INF, 0], [1, -0.0, 0, NAN], [1, 2, 3, 4]]

# By name: the op, and by how many rounding errors of the largest element it may differ.
CASES: dict[str, tuple[Callable[[], Any], float]] = {}


def case(name: str, function: Callable[[], Any], ulps: float = 0) -> None:
    CASES[name] = (function, ulps)


for _name, _images in (("numbers", single(IMAGES)), ("colors", single([COLORS]))):
    for _delta in (0.3, 1.7, -3.2, 100.25, -1e4, 1e-9, -1e-9, NAN):
        # Hues are sixths of a turn, of which the rounding is that of the delta.
        case(
            f"hue of {_name} by {_delta}",
            lambda x=_images, d=single(_delta): R.AdjustHue(images=x, delta=d),
            8,
        )
    for _scale in (0.0, -1.0, 5.0, 1e20, -INF, INF, NAN):
        case(
            f"saturation of {_name} by {_scale}",
            lambda x=_images, s=single(_scale): R.AdjustSaturation(images=x, scale=s),
            8,
        )
    for _factor in (0.0, -1.5, 1e20, NAN):
        # Sums of the pixels in another order.
        case(
            f"contrast of {_name} by {_factor}",
            lambda x=_images, f=single(_factor): R.AdjustContrastv2(images=x, contrast_factor=f),
            64,
        )
    case(f"hsv of {_name}", lambda x=_images: R.RGBToHSV(images=x), 8)
    case(f"rgb of {_name}", lambda x=_images: R.HSVToRGB(images=x), 8)

for _low, _high in ((1.0, -1.0), (NAN, 1.0), (-1.0, NAN), (INF, -INF)):
    case(
        f"clip between {_low} and {_high}",
        lambda low=single(_low), high=single(_high): R.ClipByValue(
            t=PAIRS[0], clip_value_min=low, clip_value_max=high
        ),
    )

for _type in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32, np.uint64):
    _info = np.iinfo(_type)
    _values = [
        x
        for x in (_info.min, _info.min + 1, -1, 0, 1, 7, 8, 31, 32, 63, 64, 100, _info.max)
        if _info.min <= x
    ]
    _x, _bits = (
        held(x.ravel())
        for x in np.meshgrid(*[np.array([v for v in _values if v <= _info.max], _type)] * 2)
    )
    case(f"left shift of {_type.__name__}", lambda x=_x, b=_bits: R.LeftShift(x=x, y=b))
    case(f"right shift of {_type.__name__}", lambda x=_x, b=_bits: R.RightShift(x=x, y=b))
case("shift of rows", lambda: R.LeftShift(x=held([[1, -5, 7]]), y=held([[40], [-1], [2]])))

for _tolerance in (0.5, 0.0, -1.0, INF):
    case(
        f"equal to {_tolerance}",
        lambda t=_tolerance: R.ApproximateEqual(x=PAIRS[0], y=PAIRS[1], tolerance=t),
    )
case(
    "equal complex numbers",
    lambda: R.ApproximateEqual(
        x=held([3 + 4j, 1j], np.complex64), y=held([0j, 0j], np.complex64), tolerance=5.0
    ),
)
case(
    "lower bound",
    lambda: R.LowerBound(
        sorted_inputs=single([[1, 2, 3, NAN], [-0.0, 0, 1, INF]]), values=single(NANS[:2])
    ),
)
case(
    "upper bound",
    lambda: R.UpperBound(
        sorted_inputs=single([[1, 2, 3, INF], [-0.0, 0, 1, INF]]), values=single(NANS[:2])
    ),
)
case("buckets", lambda: R.Bucketize(input=PAIRS[0], boundaries=[-1.0, 0.0, 1.0, 100.0]))
case("unique", lambda: list(tf.unique(single([NAN, 0, -0.0, NAN, 1, 1]))))
case(
    "histogram",
    lambda: tf.histogram_fixed_width(single([-5, 0, 0.5, 1, 7, INF, -INF]), single([0, 1]), 5),
)
case("where", lambda: tf.where(PAIRS[0]))
for _reduction in ("max", "min", "sum", "prod", "mean", "euclidean_norm"):
    _reduce = getattr(tf, f"reduce_{_reduction}", None) or getattr(tf.math, f"reduce_{_reduction}")
    case(
        f"{_reduction} of nothing and of NaN",
        lambda f=_reduce: [f(single(NANS), 1), f(single(np.zeros((0, 3))), 0)],
        8,
    )

# Errors of another polynomial are some units of the result where it is finite.
for _op, _names in (
    ("Igamma", "ax"),
    ("Igammac", "ax"),
    ("IgammaGradA", "ax"),
    ("Zeta", "xq"),
    ("Polygamma", "ax"),
):
    case(
        f"{_op} at the edges",
        lambda f=getattr(R, _op), n=_names: f(**{n[0]: TWO[0], n[1]: TWO[1]}),
        256,
    )
case("RandomGammaGrad at the edges", lambda: R.RandomGammaGrad(alpha=TWO[0], sample=TWO[1]), 256)
case("Betainc at the edges", lambda: R.Betainc(a=THREE[0], b=THREE[1], x=THREE[2]), 256)

_indices = held([0, 3, -1, 7, 2, 100, -100])
case("one hot", lambda: tf.one_hot(_indices, 4))
case("segments below zero", lambda: tf.math.unsorted_segment_sum(tf.ones([3]), held([0, -1, 1]), 2))
case("bins", lambda: tf.math.bincount(held([0, 1, 1, 9]), maxlength=4))
case(
    "bins that are too few",
    lambda: R.DenseBincount(input=held([[0, 5], [1, 3]]), size=held(4), weights=single([])),
)
for _scatter in ("max", "min"):
    # NaN stays where it is, and is not written.
    case(
        f"{_scatter} of NaN at indices",
        lambda f=getattr(tf, f"tensor_scatter_nd_{_scatter}"): f(
            single([1, NAN, NAN, 5, 0]),
            held([[0], [1], [2], [2], [3], [3], [4]]),
            single([NAN, 2, 3, NAN, NAN, 7, NAN]),
        ),
    )
for _method in ("bilinear", "nearest"):
    case(
        f"{_method} crops",
        lambda m=_method: R.CropAndResize(
            image=IMAGES,
            boxes=single(
                [
                    [-0.5, -0.5, 1.5, 1.5],
                    [1, 1, 0, 0],
                    [2, 2, 3, 3],
                    [0.5, 0.5, 0.5, 0.5],
                    [0.2, 0.9, 0.8, 0.1],
                ]
            ),
            box_ind=held([0, 1, 0, 1, 0], np.int32),
            crop_size=[3, 4],
            method=m,
            extrapolation_value=-7.5,
        ),
        8,
    )
for _mode in ("CONSTANT", "REFLECT", "WRAP", "NEAREST"):
    for _interpolation in ("NEAREST", "BILINEAR"):
        for _place, _far in (
            ("half a pixel", 0.5),
            ("far", -1000.0),
            ("beyond integers", 1e20),
            ("infinite", INF),
        ):
            case(
                f"{_interpolation} {_mode} transform {_place} away",
                lambda m=_mode, i=_interpolation, t=single([[1, 0, _far, 0, 1, 999.3, 0, 0]]): (
                    R.ImageProjectiveTransformV3(
                        images=IMAGES,
                        transforms=t,
                        output_shape=[4, 5],
                        fill_value=-3.0,
                        interpolation=i,
                        fill_mode=m,
                    )
                ),
                8,
            )
for _from, _to in (((5, 4), (3, 7)), ((1, 5), (4, 1)), ((7, 3), (14, 9)), ((10, 10), (37, 41))):
    for _option in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
        _x = single(RANDOM.uniform(-1, 1, (1, *_from, 2)))
        _label = f"from {_from} to {_to} {'/'.join(_option)}"
        case(
            f"bilinear {_label}",
            lambda x=_x, s=_to, o=_option: R.ResizeBilinear(images=x, size=s, **o),
            8,
        )
        case(
            f"nearest {_label}",
            lambda x=_x, s=_to, o=_option: R.ResizeNearestNeighbor(images=x, size=s, **o),
        )
case(
    "slices",
    lambda x=single(np.arange(12).reshape(3, 4)): [x[-100:100], x[5:1], x[10:-20:-1], x[:, 3::-2]],
)
case("rolls", lambda: tf.roll(single(TABLE), [100, -7], [0, 1]))


@pytest.mark.parametrize("name", every(3, CASES))
def test_as_on_the_cpu(name: str) -> None:
    function, ulps = CASES[name]
    both.check(function, ulps)


def in_modes(function: Callable[[], tf.Tensor]) -> list[np.ndarray]:
    with tf.device("/XPU:0"):
        return [
            function().numpy(),
            tf.function(function, jit_compile=True)().numpy(),
            tf.function(function)().numpy(),
        ]


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_indices_out_of_range_read_zeros(index_type: Any) -> None:
    indices = np.array([0, 3, -1, 7, 2, 100, -100], index_type)
    is_row = ((indices >= 0) & (indices < 4))[:, None]
    rows = np.where(is_row, TABLE[indices.clip(0, 3)], 0)
    table, i = single(TABLE), held(indices)
    with tf.device("/XPU:0"):
        variable = tf.Variable(TABLE)
    for gather in (
        lambda: tf.gather(table, i),
        lambda: R.Gather(params=table, indices=i),
        lambda: tf.gather_nd(table, i[:, None]),
        lambda: R.ResourceGather(resource=variable.handle, indices=i, dtype=tf.float32),
        lambda: R.ResourceGatherNd(resource=variable.handle, indices=i[:, None], dtype=tf.float32),
        lambda: tf.transpose(tf.gather(tf.transpose(table), i, axis=1)),
        lambda: tf.gather(tf.stack([table, table]), tf.stack([i, i]), axis=1, batch_dims=1)[1],
    ):
        for result in in_modes(gather):
            np.testing.assert_array_equal(result, rows)


def test_narrow_indices_into_more_than_they_count() -> None:
    """More elements than the largest int16, with which a comparison must not be made in int16."""
    table = held(np.arange(40_000, dtype=np.int32))
    indices = np.array([0, 32_767, -1, 5], np.int16)
    for gather in (
        lambda: tf.gather(table, held(indices)),
        lambda: tf.gather_nd(table, held(indices[:, None])),
    ):
        for result in in_modes(gather):
            np.testing.assert_array_equal(result, [0, 32_767, 0, 5])


def test_several_indices_out_of_range_read_zeros() -> None:
    indices = held([[0, 0], [3, 3], [-1, 1], [2, 2]])
    for result in in_modes(lambda: tf.gather_nd(single(TABLE), indices)):
        np.testing.assert_array_equal(result, [TABLE[0, 0], 0, 0, TABLE[2, 2]])
    for result in in_modes(lambda: tf.gather_nd(single(TABLE), held([9, 0]))):
        assert result == 0


def test_indices_out_of_range_change_nothing() -> None:
    indices = held([[0], [3], [-1], [7]])
    for result in in_modes(lambda: tf.tensor_scatter_nd_add(tf.zeros([4]), indices, tf.ones([4]))):
        np.testing.assert_array_equal(result, [1, 0, 0, 1])
    for result in in_modes(lambda: tf.math.unsorted_segment_sum(tf.ones([3]), held([0, 5, 1]), 2)):
        np.testing.assert_array_equal(result, [1, 1])
    for result in in_modes(
        lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(held([0, 5, -1, 2]), single(TABLE))
    ):
        np.testing.assert_array_equal(np.isnan(result), [False, True, True, False])


@pytest.mark.parametrize(
    "op",
    ["ResourceScatterMax", "ResourceScatterMin", "ResourceScatterNdMax", "ResourceScatterNdMin"],
)
def test_nan_is_not_scattered_into_variables(op: str) -> None:
    is_nd = "Nd" in op
    indices = held(
        np.array([0, 1, 2, 2, 3, 3, 4])[:, None] if is_nd else [0, 1, 2, 2, 3, 3, 4], np.int32
    )
    updates = single([NAN, 2, 3, NAN, NAN, 7, NAN])
    found = []
    for device in ("/CPU:0", "/XPU:0"):
        with tf.device(device):
            variable = tf.Variable([1.0, NAN, NAN, 5.0, 0.0])
            name = "ref" if is_nd else "resource"
            getattr(R, op)(**{name: variable.handle}, indices=indices, updates=updates)
            found.append(variable.numpy())
    np.testing.assert_array_equal(*found)


def test_mirrors_wider_than_the_array_are_refused() -> None:
    for paddings, mode in (([[3, 0], [0, 0]], "REFLECT"), ([[0, 0], [0, 5]], "SYMMETRIC")):
        both.check_refused(
            lambda p=paddings, m=mode: R.MirrorPad(input=tf.ones([3, 4]), paddings=p, mode=m)
        )
    both.check(
        lambda: R.MirrorPad(input=single(TABLE), paddings=[[4, 4], [3, 0]], mode="SYMMETRIC"), 0
    )
