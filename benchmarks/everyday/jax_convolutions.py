"""Small convolutions and poolings in JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from everyday.program import Kind, Mode, normal

KIND = Kind("small convolutions", Mode.JAX_JIT)
program = KIND.program

_NHWC = ("NHWC", "HWIO", "NHWC")


@program(lambda: [normal(1, 28, 28, 1), normal(1, 1, 1, 1)])
def point_convolution(x, w):
    """A 1 x 1 convolution of one channel, 28 x 28."""
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=_NHWC)


@program(lambda: [normal(8, 28, 28, 32), normal(1, 1, 32, 64)])
def channel_mixing(x, w):
    """A 1 x 1 convolution 32 to 64, 8 x 28 x 28."""
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=_NHWC)


@program(lambda: [normal(8, 28, 28, 32), normal(3, 3, 1, 32)])
def depthwise(x, w):
    """A depthwise 3 x 3 convolution of 32 channels, 8 x 28 x 28."""
    return jax.lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=_NHWC, feature_group_count=32
    )


@program(lambda: [normal(16, 200, 16), normal(5, 16, 16)])
def causal_1d(x, w):
    """A causal 1-D convolution, dilation 2, 16 x 200 x 16."""
    return jax.lax.conv_general_dilated(
        x, w, (1,), [(8, 0)], rhs_dilation=(2,), dimension_numbers=("NWC", "WIO", "NWC")
    )


@program(lambda: [normal(64, 64), normal(5, 5)])
def image_filter(x, w):
    """A 5 x 5 filter of one 64 x 64 image."""
    return jax.scipy.signal.convolve2d(x, w, "same")


@program(lambda: [normal(32, 28, 28, 1), normal(3, 3, 1, 16) * 0.3, normal(3, 3, 16, 16) * 0.1])
def digits_gradient(x, a, b):
    """The gradient of two convolutions and poolings, 32 digits."""

    def loss(weights):
        h = x
        for w in weights:
            h = jax.lax.conv_general_dilated(h, w, (1, 1), "SAME", dimension_numbers=_NHWC)
            h = jax.nn.relu(h)
            h = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return (h**2).mean()

    return jax.grad(loss)((a, b))


@program(lambda: [normal(8, 16, 16, 32)])
def batch_normalisation(x):
    """Batch normalisation and ReLU, 8 x 16 x 16 x 32."""
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return jax.nn.relu((x - mean) * jax.lax.rsqrt(variance + 1e-5)), mean, variance


@program(lambda: [normal(4, 32, 32, 8)])
def upsampling(x):
    """jax.image.resize 32 to 64, bilinear, 4 images of 8 channels."""
    return jax.image.resize(x, (4, 64, 64, 8), "bilinear")


@program(lambda: [normal(8, 8, 8, 16), normal(4, 4, 16, 8)])
def transposed(x, w):
    """A transposed convolution with stride 2, 8 x 8 x 8 x 16."""
    return jax.lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=_NHWC)
