"""Kernels in C++ for JAX and TensorFlow."""

from __future__ import annotations

import importlib.util

import onexpu

_library = onexpu.load_library(
    importlib.util.find_spec("example_kernels._kernels").origin, name="example_kernels"
)

squared_relu = _library.kernel(
    "squared_relu",
    inputs=["x"],
    outputs={"y": onexpu.like("x")},
    attributes={"scale": float},
    dtypes={"x": ["float32"]},
)
_squared_relu_gradient = _library.kernel(
    "squared_relu_gradient",
    inputs=["x", "dy"],
    outputs={"dx": onexpu.like("x")},
    attributes={"scale": float},
)
gram = _library.kernel(
    "gram",
    inputs=["x"],
    outputs={"y": onexpu.like("x", shape=lambda x: (x.shape[1], x.shape[1]))},
    dtypes={"x": ["float32"]},
    shapes={"x": "rows columns"},
)
_gram_gradient = _library.kernel(
    "gram_gradient", inputs=["x", "dy"], outputs={"dx": onexpu.like("x")}
)


@squared_relu.defgradient
def _(inputs, outputs, cotangents, scale):
    return [_squared_relu_gradient(inputs[0], cotangents[0], scale=scale)]


@gram.defgradient
def _(inputs, outputs, cotangents):
    return [_gram_gradient(inputs[0], cotangents[0])]


__all__ = ["gram", "squared_relu"]
