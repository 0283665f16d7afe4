"""What is measured. Each case gives its contenders, compiled and warmed, on the same inputs.

Contender names: ``xpu`` (JAX or TensorFlow on our device), ``XLA:CPU`` (JAX's CPU backend),
``TF CPU`` (TensorFlow's CPU device), ``limit`` (what the device can do at best, see limits.cc).
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import random
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf

Run = Callable[[], float | None]


@dataclasses.dataclass
class Case:
    """One row of the report."""

    name: str
    contenders: dict[str, Run]
    note: str = ""
    rounds: int = 31
    seconds: float = 4.0
    warmup: int = 2  # rounds


def waiting(call: Callable[..., object], *arguments) -> Run:
    """One call of a function of JAX, from its submission to its results."""

    def run() -> None:
        jax.block_until_ready(call(*arguments))

    return run


def jax_calls(function, arguments, *, jit: bool = True, **jit_options) -> dict[str, Callable]:
    """``function`` on xpu and on JAX's CPU, over copies of the same arguments.

    It is compiled here if `jit`, otherwise it runs op by op. The calls do not wait for the results
    that they return.
    """
    calls = {}
    for label, platform in (("xpu", "xpu"), ("XLA:CPU", "cpu")):
        placed = jax.device_put(arguments, jax.devices(platform)[0])
        call = function
        if jit:
            call = jax.jit(function, **jit_options).lower(*placed).compile()
        calls[label] = functools.partial(call, *placed)
    return calls


def jax_contenders(function, arguments, **jit_options) -> dict[str, Run]:
    """``function`` jitted on xpu and on JAX's CPU, over copies of the same arguments."""
    calls = jax_calls(function, arguments, **jit_options)
    return {label: waiting(call) for label, call in calls.items()}


def tf_call(function, arguments, device: str) -> Callable:
    """``function`` of TensorFlow on `device`, "/XPU:0" or "/CPU:0", over tensors there."""
    with tf.device(device):
        placed = tf.nest.map_structure(tf.constant, arguments)

    def call():
        with tf.device(device):
            return function(*placed)

    return call


def _tf_cpu(function, arguments) -> Run:
    call = tf_call(tf.function(function, jit_compile=False), arguments, "/CPU:0")

    def run() -> None:
        tf.nest.map_structure(lambda t: t.numpy() if t.shape.rank == 0 else None, call())

    return run


def multiply_add(limits) -> Case:
    """Three arrays read and one written."""
    n = 64 << 20
    arguments = [np.full(n, value, np.float32) for value in (1.5, 2.0, 3.0)]
    contenders = jax_contenders(lambda a, b, c: a * b + c, arguments)
    contenders["TF CPU"] = _tf_cpu(lambda a, b, c: a * b + c, arguments)
    contenders["limit"] = lambda: limits.seconds(
        f"copy {8 * n}"
    )  # as many bytes as the four arrays
    return Case("a*b+c, 64 M f32", contenders, note="limit: a copy of as many bytes")


def softmax(limits) -> Case:
    """A softmax over each row of a matrix."""
    x = np.random.default_rng(0).standard_normal((4096, 4096), np.float32)
    contenders = jax_contenders(lambda x: jax.nn.softmax(x, axis=-1), [x])
    contenders["TF CPU"] = _tf_cpu(lambda x: tf.nn.softmax(x), [x])
    contenders["limit"] = lambda: limits.seconds(f"copy {x.nbytes}")
    return Case("row softmax, 4096 x 4096 f32", contenders, note="limit: one copy of the matrix")


def matmul(limits, dtype: str) -> Case:
    """A product of square matrices in `dtype`, "f32" or "bf16"."""
    n = 2048
    x = (np.random.default_rng(0).standard_normal((n, n), np.float32) / 64).astype(
        jnp.bfloat16 if dtype == "bf16" else np.float32
    )
    contenders = jax_contenders(lambda a, b: a @ b, [x, x])
    contenders["TF CPU"] = _tf_cpu(lambda a, b: a @ b, [x, x])
    if limits.has(request := f"matmul {dtype} {n}"):
        contenders["limit"] = lambda: limits.seconds(request)
    return Case(f"matmul {n}, {dtype}", contenders, note="limit: raw oneDNN")


def transpose(limits) -> Case:
    """A transpose of a matrix."""
    x = np.random.default_rng(0).standard_normal((4096, 4096), np.float32)
    contenders = jax_contenders(lambda x: x.T, [x])
    contenders["TF CPU"] = _tf_cpu(tf.transpose, [x])
    contenders["limit"] = lambda: limits.seconds(f"copy {x.nbytes}")
    return Case("transpose, 4096 x 4096 f32", contenders, note="limit: one copy of the matrix")


def column_sum(limits) -> Case:
    """Sums over the columns of a matrix."""
    x = np.random.default_rng(0).standard_normal((4096, 4096), np.float32)
    contenders = jax_contenders(lambda x: x.sum(0), [x])
    contenders["TF CPU"] = _tf_cpu(lambda x: tf.reduce_sum(x, 0), [x])
    contenders["limit"] = lambda: limits.seconds(f"copy {x.nbytes // 2}")
    return Case("column sums, 4096 x 4096 f32", contenders, note="limit: as many bytes moved")


def sort(_) -> Case:
    """A sort of one array."""
    x = np.random.default_rng(0).standard_normal(1 << 20, np.float32)
    contenders = jax_contenders(jnp.sort, [x])
    contenders["TF CPU"] = _tf_cpu(tf.sort, [x])
    return Case("sort, 1 M f32", contenders)


def segment_sum(_) -> Case:
    """A sum of rows by segment id."""
    rng = np.random.default_rng(0)
    x, segments = rng.standard_normal((1 << 18, 16), np.float32), rng.integers(0, 1024, 1 << 18)
    segments = np.sort(segments).astype(np.int32)
    contenders = jax_contenders(lambda x, s: jax.ops.segment_sum(x, s, 1024), [x, segments])
    contenders["TF CPU"] = _tf_cpu(
        lambda x, s: tf.math.unsorted_segment_sum(x, s, 1024), [x, segments]
    )
    return Case("segment sum, 256 K x 16 f32 into 1024", contenders)


def gelu(limits) -> Case:
    """An expensive elementwise function."""
    x = np.random.default_rng(0).standard_normal(16 << 20, np.float32)
    contenders = jax_contenders(jax.nn.gelu, [x])
    contenders["TF CPU"] = _tf_cpu(lambda x: tf.nn.gelu(x, approximate=True), [x])
    contenders["limit"] = lambda: limits.seconds(f"copy {x.nbytes}")
    return Case("gelu, 16 M f32", contenders, note="limit: one copy of the array")


def convolution(_) -> Case:
    """A convolution with bias and activation."""
    rng = np.random.default_rng(0)
    x, k = (
        rng.standard_normal((16, 56, 56, 64), np.float32),
        rng.standard_normal((3, 3, 64, 64), np.float32),
    )
    b = rng.standard_normal(64, np.float32)

    def run(x, k, b):
        y = jax.lax.conv_general_dilated(
            x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        return jax.nn.relu(y + b)

    contenders = jax_contenders(run, [x, k, b])
    contenders["TF CPU"] = _tf_cpu(
        lambda x, k, b: tf.nn.relu(tf.nn.conv2d(x, k, 1, "SAME") + b), [x, k, b]
    )
    return Case("3 x 3 convolution + bias + ReLU, 16 x 56 x 56 x 64", contenders)


def _sgd(loss):
    def step(parameters, x, y):
        value, gradients = jax.value_and_grad(loss)(parameters, x, y)
        return jax.tree.map(lambda p, g: p - 0.01 * g, parameters, gradients), value

    return step


def _cross_entropy(logits, y):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1).mean()


def mlp(_) -> Case:
    """A training step of a multilayer perceptron."""
    rng = np.random.default_rng(0)
    sizes = [784, 1024, 1024, 10]
    weights = [rng.standard_normal(s, np.float32) * 0.03 for s in itertools.pairwise(sizes)]
    x, y = rng.standard_normal((256, 784), np.float32), rng.integers(0, 10, 256).astype(np.int32)

    def loss(weights, x, y):
        for w in weights[:-1]:
            x = jax.nn.relu(x @ w)
        return _cross_entropy(x @ weights[-1], y)

    contenders = jax_contenders(_sgd(loss), [weights, x, y])

    def tf_step(weights, x, y):
        with tf.GradientTape() as tape:
            tape.watch(weights)
            for w in weights[:-1]:
                x = tf.nn.relu(x @ w)
            value = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(y, x @ weights[-1])
            )
        return [
            w - 0.01 * g for w, g in zip(weights, tape.gradient(value, weights), strict=True)
        ], value

    contenders["TF CPU"] = _tf_cpu(tf_step, [weights, x, y])
    return Case("MLP training step, 784-1024-1024-10, batch 256", contenders)


def cnn(_) -> Case:
    """A training step of a convolutional network."""
    rng = np.random.default_rng(0)
    kernels = [rng.standard_normal(s, np.float32) * 0.1 for s in ((3, 3, 3, 32), (3, 3, 32, 64))]
    head = rng.standard_normal((64, 10), np.float32) * 0.1
    x, y = (
        rng.standard_normal((32, 32, 32, 3), np.float32),
        rng.integers(0, 10, 32).astype(np.int32),
    )

    def loss(parameters, x, y):
        kernels, head = parameters
        for k in kernels:
            x = jax.lax.conv_general_dilated(
                x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            x = jax.nn.relu(x)
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return _cross_entropy(x.mean((1, 2)) @ head, y)

    contenders = jax_contenders(_sgd(loss), [(kernels, head), x, y])

    def tf_step(parameters, x, y):
        with tf.GradientTape() as tape:
            tape.watch(parameters)
            kernels, head = parameters
            for k in kernels:
                x = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, k, 1, "SAME")), 2, 2, "VALID")
            logits = tf.reduce_mean(x, (1, 2)) @ head
            value = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        gradients = tape.gradient(value, parameters)
        return tf.nest.map_structure(lambda p, g: p - 0.01 * g, parameters, gradients), value

    contenders["TF CPU"] = _tf_cpu(tf_step, [(kernels, head), x, y])
    return Case("CNN training step, 32 x 32 x 3, batch 32", contenders)


def scan(_) -> Case:
    """A loop of small products."""
    rng = np.random.default_rng(0)
    state, w = (
        rng.standard_normal((16, 64), np.float32),
        rng.standard_normal((64, 64), np.float32) * 0.1,
    )

    def run(state, w):
        return jax.lax.scan(lambda h, _: (jnp.tanh(h @ w), None), state, None, length=200)[0]

    contenders = jax_contenders(run, [state, w])

    def tf_run(state, w):
        for _ in tf.range(200):
            state = tf.tanh(state @ w)
        return state

    contenders["TF CPU"] = _tf_cpu(tf_run, [state, w])
    return Case("200-step scan of 16 x 64", contenders, rounds=101)


def tiny(_) -> Case:
    """The overhead of one call of a jitted function."""
    x = np.zeros(8, np.float32)
    contenders = jax_contenders(lambda x: x + 1, [x])
    contenders["TF CPU"] = _tf_cpu(lambda x: x + 1, [x])
    return Case("tiny jitted op, 8 f32", contenders, rounds=2001, seconds=2.0)


def compile_time(_) -> Case:
    """The first call of a gradient: trace, compile and run, without a cache."""
    # Constants of this run alone: the persistent caches of an earlier one know none of the
    # programs.
    fresh = itertools.count(random.SystemRandom().randrange(1 << 20))
    x = np.ones((64, 64), np.float32)

    def contender(platform) -> Run:
        device = jax.devices(platform)[0]
        placed = jax.device_put(x, device)

        def run() -> None:
            k = float(next(fresh))  # another constant, another program

            def loss(x):
                return (jax.nn.softmax(jnp.tanh(x @ x + k)) @ x).sum()

            jax.jit(jax.value_and_grad(loss))(placed)[0].block_until_ready()

        return run

    return Case(
        "first call of a gradient (trace, compile, run)",
        {"xpu": contender("xpu"), "XLA:CPU": contender("cpu")},
        rounds=9,
        seconds=20.0,
    )


def custom_kernel(_) -> Case:
    """A custom SYCL kernel in a compiled program, beside the same computation in JAX."""
    import onexpu

    scale = onexpu.sycl_kernel(
        source="""
        ONEXPU_KERNEL void scale(const float* x, float* y, float factor) {
          size_t i = onexpu::global_id();
          y[i] = factor * x[i];
        }
        """,
        inputs=["x"],
        outputs={"y": onexpu.like("x")},
        attributes={"factor": float},
        range=lambda x: x.size,
    )
    x = jax.device_put(np.ones(1024, np.float32), jax.devices("xpu")[0])
    kernel = jax.jit(lambda x: scale(x, factor=2.0)).lower(x).compile()
    plain = jax.jit(lambda x: x * 2.0).lower(x).compile()
    return Case(
        "custom kernel in a compiled program, 1024 f32",
        {
            "xpu": waiting(kernel, x),
            "same in XLA on xpu": waiting(plain, x),
            "xpu, eager call": waiting(lambda x: scale(x, factor=2.0), x),
        },
        rounds=2001,
        seconds=2.0,
    )


CASES = {
    "multiply_add": multiply_add,
    "softmax": softmax,
    "transpose": transpose,
    "column_sum": column_sum,
    "sort": sort,
    "segment_sum": segment_sum,
    "gelu": gelu,
    "convolution": convolution,
    "matmul_f32": lambda limits: matmul(limits, "f32"),
    "matmul_bf16": lambda limits: matmul(limits, "bf16"),
    "mlp": mlp,
    "cnn": cnn,
    "scan": scan,
    "tiny": tiny,
    "compile": compile_time,
    "custom_kernel": custom_kernel,
}
