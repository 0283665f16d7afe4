"""Every route that TensorFlow takes, compared with numpy on the host."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

from onexpu._report import host
from onexpu._report.checks import Check, Note, Skip, Value
from onexpu._report.host import CONVOLUTION, EPS, GRADIENT, SUM


def prepare() -> Iterator[Note]:
    """Imports TensorFlow and looks for the devices."""
    if importlib.util.find_spec("tensorflow") is None:
        raise Skip("TensorFlow is not installed")
    import tensorflow as tf

    devices = tf.config.list_physical_devices("XPU")
    if not devices:
        raise RuntimeError("TensorFlow has no XPU device")
    # Ops that cannot run on XPU are errors, not computed elsewhere unseen.
    tf.config.set_soft_device_placement(False)
    yield Note(f"devices: {', '.join(one.name for one in devices)}")


def _layer() -> tuple[Callable[..., Any], tuple[Any, ...], Any, Any]:
    """Returns a function, its arguments, the host's result and the tolerance."""
    import numpy as np
    import tensorflow as tf

    x, w, b = host.random(65, 48), host.random(48, 33, seed=1), host.random(33, seed=2)
    wide = x.astype(np.float64) @ w.astype(np.float64) + b
    tolerance = 32 * EPS * (np.abs(x).astype(np.float64) @ np.abs(w) + np.abs(b))
    want = np.maximum(wide, 0).sum(1)
    return (
        lambda x, w, b: tf.reduce_sum(tf.nn.relu(tf.matmul(x, w) + b), 1),
        (x, w, b),
        want,
        tolerance.sum(1),
    )


def _run(wrap: Callable[[Any], Any]) -> Iterator[Value]:
    import tensorflow as tf

    function, arguments, want, tolerance = _layer()
    with tf.device("/XPU:0"):
        got = wrap(function)(*map(tf.constant, arguments))
        yield Value("sum of relu(x @ w + b)", got, want, tolerance, SUM)
        yield Value("placed on XPU", "XPU" in got.device, True)


def _eager() -> Iterator[Value]:
    yield from _run(lambda function: function)


def _graph() -> Iterator[Value]:
    import tensorflow as tf

    yield from _run(tf.function)


def _compiled() -> Iterator[Value]:
    import tensorflow as tf

    yield from _run(lambda function: tf.function(function, jit_compile=True))


def _gradient() -> Iterator[Value]:
    import numpy as np
    import tensorflow as tf

    x, w = host.random(65, 48), host.random(48, 33, seed=1)
    with tf.device("/XPU:0"):
        variable = tf.Variable(w)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(tf.matmul(tf.constant(x), variable)))
        gradient = tape.gradient(loss, variable)
        variable.assign_sub(gradient)
        wide_x, wide_w = x.astype(np.float64), w.astype(np.float64)
        want = 2 * wide_x.T @ (wide_x @ wide_w)
        size = 2 * np.abs(wide_x).T @ (np.abs(wide_x) @ np.abs(wide_w))
        yield Value("gradient", gradient, want, 64 * EPS * size, GRADIENT)
        yield Value("assign_sub", variable, w - gradient.numpy())


def _convolution() -> Iterator[Value]:
    import numpy as np
    import tensorflow as tf

    x, kernel = host.random(2, 19, 23, 16), host.random(3, 3, 16, 24, seed=1)
    with tf.device("/XPU:0"):
        got = tf.nn.conv2d(tf.constant(x), tf.constant(kernel), 1, "VALID")
    yield Value(
        "conv2d",
        got,
        host.convolve(x.astype(np.float64), kernel.astype(np.float64)),
        64 * EPS * host.convolve(np.abs(x), np.abs(kernel)),
        CONVOLUTION,
    )


def _dynamic_sizes() -> Iterator[Value]:
    import numpy as np
    import tensorflow as tf

    x = np.random.default_rng(0).integers(0, 50, 1000).astype(np.int64)
    with tf.device("/XPU:0"):
        there = tf.constant(x)
        yield Value("where", tf.where(there > 20)[:, 0], np.flatnonzero(x > 20))
        values, index = tf.unique(there)
        yield Value("unique, inverted", tf.gather(values, index), x)


def _float64() -> Iterator[Value | Note]:
    import numpy as np
    import tensorflow as tf

    x = host.random(1000).astype(np.float64)
    # Wherever TensorFlow puts it: GPUs without 64-bit floats leave it to the host.
    tf.config.set_soft_device_placement(True)
    try:
        got = tf.reduce_mean(x)
    finally:
        tf.config.set_soft_device_placement(False)
    yield Value("mean", got, x.mean(), 1e-13 * np.abs(x).mean(), "f64 sum in any order")
    yield Note(f"float64 mean ran on {got.device or 'the host'}")


def _custom_kernel() -> Iterator[Value]:
    import numpy as np
    import tensorflow as tf

    import onexpu

    scale = onexpu.sycl_kernel(
        source=host.SCALE_SOURCE,
        inputs=["x"],
        outputs={"y": onexpu.like("x")},
        attributes={"a": float},
        dtypes={"T": ["float32"]},
        range=lambda x: x.size,
    )
    x = host.random(1003)
    with tf.device("/XPU:0"):
        yield Value("eager", scale(tf.constant(x), a=2.0), x * 2)
        compiled = tf.function(lambda x: scale(x + 1, a=0.5), jit_compile=True)
        yield Value("jit_compile", compiled(tf.constant(x)), (x + 1) * np.float32(0.5))


def _copies() -> Iterator[Value]:
    import tensorflow as tf

    x = host.random(257, 130)
    with tf.device("/XPU:0"):
        views = {"row-major": x, "transposed": x.T, "every other column": x[:, ::2]}
        for name, view in views.items():
            yield Value(f"{name}, there and back", tf.identity(tf.constant(view)), view)
        yield Value("slice", tf.constant(x)[3:200:3, 5:], x[3:200:3, 5:])


def _dlpack() -> Iterator[Value]:
    import tensorflow as tf

    import onexpu

    values = host.random(64, 3)
    with tf.device("/XPU:0"):
        x = tf.constant(values)
        back = onexpu.from_dlpack(onexpu.to_dlpack(x), "tensorflow")
        yield Value("values", back + 0, values)
        yield Value("same memory", onexpu.buffer_address(back) == onexpu.buffer_address(x), True)
        array = onexpu.to_jax(x)
        yield Value("to_jax", array + 0, values)
        yield Value("to_tensor", onexpu.to_tensor(array * 2) + 0, values * 2)


CHECKS = (
    Check("eager", _eager),
    Check("tf.function", _graph),
    Check("tf.function, jit_compile=True", _compiled),
    Check("gradient and variable", _gradient),
    Check("convolution", _convolution),
    Check("results of dynamic size", _dynamic_sizes),
    Check("float64", _float64),
    Check("custom SYCL kernel", _custom_kernel),
    Check("copies to and from the host", _copies),
    Check("DLPack and JAX", _dlpack),
)
