"""Convolutions of every form: drawn from a seed, and those of known faults of libraries."""

from __future__ import annotations

import dataclasses
import random

import numpy as np

_TYPES = ("float32", "float32", "bfloat16", "bfloat16", "float16", "int8")
_CHANNELS = (1, 1, 1, 2, 3, 4, 5, 7, 8, 12, 13, 16, 16, 17, 24, 31, 32, 32, 48, 64, 96)


@dataclasses.dataclass(frozen=True)
class Form:
    """A convolution. Channels are those of one group; tuples have one entry per spatial
    dimension.
    """

    dtype: str
    batch: int
    groups: int
    channels: int  # of the source
    features: int  # channels of the result
    size: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    base_dilation: tuple[int, ...]
    kernel_dilation: tuple[int, ...]
    channels_last: bool = True
    bias: bool = False
    residual: bool = False
    activation: str = ""
    float_result: bool = False  # of int8 operands, whose result is int32 otherwise

    @property
    def rank(self) -> int:
        return len(self.size)

    @property
    def padded(self) -> tuple[int, ...]:
        """The extents of the dilated and padded source."""
        return tuple(
            (n - 1) * b + 1 + low + high
            for n, b, (low, high) in zip(self.size, self.base_dilation, self.padding, strict=True)
        )

    @property
    def result(self) -> tuple[int, ...]:
        """The spatial extents of the result; not positive where no window fits."""
        return tuple(
            (p - (k - 1) * d - 1) // s + 1
            for p, k, d, s in zip(
                self.padded, self.kernel, self.kernel_dilation, self.strides, strict=True
            )
        )

    @property
    def cost(self) -> float:
        """Products, padding included."""
        return float(
            self.batch
            * self.groups
            * self.channels
            * self.features
            * np.prod(self.kernel)
            * np.prod(self.result)
        )


def draw_form(seed: int) -> Form:
    """The form of a seed: the same one everywhere."""
    draw = random.Random(seed)
    while True:
        rank = draw.choice((1, 2, 2, 2, 3))
        dtype = draw.choice(_TYPES)
        if draw.random() < 0.15:  # depthwise
            groups, channels, features = (
                draw.choice((3, 8, 16, 17, 32)),
                1,
                draw.choice((1, 1, 2, 3)),
            )
        else:
            groups = draw.choice((1, 1, 1, 1, 2, 3, 4))
            channels, features = draw.choice(_CHANNELS), draw.choice(_CHANNELS)

        def every(*values, count=rank):
            return tuple(draw.choice(values) for _ in range(count))

        kernel, strides = every(1, 1, 2, 3, 3, 4, 5, 6, 7, 8), every(1, 1, 1, 2, 2, 3, 4, 5, 6, 8)
        if draw.random() < 0.1:  # patches
            strides = kernel
        kernel_dilation = every(1, 1, 1, 2, 3)
        base_dilation = every(1) if draw.random() < 0.7 else every(1, 2, 3)
        padding = tuple(
            (
                draw.choice((0, 0, 0, 1, 1, 2, 3, 6, -1)),
                draw.choice((0, 0, 0, 1, 1, 2, 3, 6, -1, -2)),
            )
            for _ in range(rank)
        )
        size = []
        for k, d, s, b, (low, high) in zip(
            kernel, kernel_dilation, strides, base_dilation, padding, strict=True
        ):
            fitting = max(1, ((k - 1) * d - low - high) // b + 1)  # the window fits once
            size.append(
                draw.choice(
                    (
                        fitting,
                        fitting + draw.randrange(s),
                        fitting + draw.randrange(9),
                        1 + draw.randrange(24),
                    )
                )
            )
        form = Form(
            dtype,
            draw.choice((1, 1, 2, 3, 4, 5)),
            groups,
            channels,
            features,
            tuple(size),
            kernel,
            strides,
            padding,
            base_dilation,
            kernel_dilation,
            channels_last=draw.random() < 0.6,
            bias=draw.random() < 0.3,
            residual=draw.random() < 0.25,
            activation=draw.choice(("", "", "", "relu", "leaky_relu", "tanh")),
        )
        if dtype == "int8":
            form = dataclasses.replace(
                form, bias=False, residual=False, activation="", float_result=draw.random() < 0.3
            )
        if (
            min(form.padded) > 0
            and min(form.result) > 0
            and form.cost < 2e6
            and np.prod(form.padded) < 20_000
        ):
            return form


def _form(dtype: str, channels: int, features: int, *dimensions: tuple, **more) -> Form:
    # A dimension: size, kernel, stride, padding (low, high), and the kernel's dilation if it has
    # one.
    dimensions = [(*d, 1)[:5] for d in dimensions]
    size, kernel, strides, padding, dilation = (
        tuple(part) for part in zip(*dimensions, strict=True)
    )
    values = {"batch": 1, "groups": 1, **more}
    return Form(dtype, values.pop("batch"), values.pop("groups"), channels, features, size, kernel,
                strides, padding,
                (1,) * len(size), dilation, **values)  # fmt: skip


_NONE = (0, 0)
# One form, at least, of each known fault of an implementation (pjrt_core/library_faults/table.cc).
KNOWN = (
    _form("float32", 1, 2, (11, 4, 1, _NONE), (5, 4, 2, _NONE)),
    _form("float32", 1, 2, (11, 3, 1, _NONE), (5, 3, 3, _NONE)),
    _form("float32", 1, 32, (32, 7, 1, _NONE), (7, 7, 2, _NONE), batch=2),
    _form("float32", 1, 2, (3, 3, 4, _NONE), (11, 7, 1, (0, 1)), (5, 3, 3, (0, -1)), batch=2),
    _form("bfloat16", 1, 3, (9, 2, 2, _NONE, 3), (1, 4, 2, (3, 3)), (1, 1, 3, (1, 2), 3), groups=4),
    _form("bfloat16", 1, 1, (8, 3, 2, _NONE)),
    _form("bfloat16", 1, 17, (1, 3, 1, (0, 2)), (8, 3, 4, _NONE), (3, 3, 1, _NONE), batch=2),
    _form(
        "bfloat16",
        1,
        24,
        (14, 5, 1, (1, 0)),
        (4, 5, 5, (1, 0)),
        batch=2,
        residual=True,
        activation="leaky_relu",
    ),
    _form("float32", 4, 1, (13, 1, 5, _NONE), (1, 1, 5, (4, 6)), batch=5, groups=2, residual=True),
    _form("float32", 13, 1, (1, 3, 1, (0, 3)), bias=True),
    _form(
        "bfloat16", 15, 31, (1, 1, 3, (4, 2)), batch=4, groups=3, activation="relu", residual=True
    ),
    _form("int8", 17, 13, (23, 1, 1, (4, 0)), (1, 1, 2, (1, 4)), batch=4, groups=3),
    _form("int8", 1, 32, (10, 7, 3, (0, 2)), (8, 5, 1, (1, 1)), batch=2),
    _form("int8", 15, 24, (2, 1, 5, (1, 0))),
    _form("int8", 32, 16, (9, 3, 1, (1, 1)), (9, 3, 1, (1, 1)), batch=2),
    _form("float32", 4, 13, (5, 4, 2, (1, -1)), (5, 7, 1, (1, 1)), batch=3, groups=4),
    _form("float32", 2, 16, (2, 7, 3, (6, 6)), (8, 7, 4, (2, 0)), (11, 4, 1, (0, 3)), groups=4),
    _form("float32", 1, 16, (4, 7, 5, (6, 2)), (2, 2, 1, _NONE), (12, 5, 3, _NONE), batch=4),
    _form("float32", 3, 24, (9, 1, 2, _NONE), (9, 1, 2, _NONE), batch=3),
    _form("bfloat16", 4, 16, (1, 3, 3, (0, 3))),
    _form("bfloat16", 32, 16, (8, 4, 4, (3, 0)), batch=4, groups=3),
    _form("bfloat16", 16, 17, (10, 4, 1, (1, 0)), (10, 5, 5, (3, 0)), batch=3),
    _form("bfloat16", 16, 16, (4, 4, 4, _NONE), batch=3),
    _form("bfloat16", 8, 16, (3, 3, 1, (1, 1)), (8, 8, 8, _NONE), batch=2),
    _form("int8", 32, 16, (4, 4, 8, _NONE), batch=2),
    _form("int8", 1, 1, (3, 1, 1, (3, 0)), (1, 1, 1, _NONE), batch=2, groups=16),
    _form("int8", 1, 1, (2, 1, 1, (1, 0)), (4, 3, 2, (0, -1)), batch=3, groups=16),
    _form("bfloat16", 7, 1, (9, 1, 1, _NONE), (9, 1, 1, _NONE), batch=2),
    _form("bfloat16", 31, 3, (10, 3, 1, (1, 0)), (8, 7, 6, (1, -2)), batch=5),
    _form("bfloat16", 48, 8, (15, 4, 1, _NONE), (17, 7, 5, (2, 0), 3), batch=3),
    _form("bfloat16", 12, 48, (15, 8, 1, (-1, 1)), batch=5, activation="tanh"),
    _form(
        "bfloat16",
        8,
        32,
        (21, 2, 3, (2, -2), 3),
        (6, 8, 1, (0, 2)),
        batch=4,
        groups=4,
        channels_last=False,
        bias=True,
    ),
    _form("int8", 64, 16, (13, 6, 2, (1, 0)), (1, 5, 5, (2, 2)), batch=2),
    _form(
        "bfloat16",
        16,
        16,
        (9, 8, 5, (0, 3)),
        (9, 7, 5, (1, 6)),
        (21, 7, 1, _NONE, 2),
        channels_last=False,
    ),
)


def form_of(seed: int) -> Form:
    """A known form for negative seeds, otherwise a drawn one."""
    return KNOWN[-seed - 1] if seed < 0 else draw_form(seed)
