"""Products and convolutions that oneDNN runs: layouts, epilogues, and weights that come again."""

from __future__ import annotations

import concurrent.futures
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.exhaustive import covering, every
from tests.jax.compare import assert_sums_of_products, check, normal

# A sum of up to 300 products of either sign, in an order of the library's choice: the roundings add
# up like a random walk, to some 17 units of the largest partial sum, which is a few times the
# largest result.
_ULPS = 64


def _convolve(x, w, stride: int = 1):
    return lax.conv_general_dilated(
        x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def _calls(function, *args) -> str:
    """Returns the optimised module's text, to see what became a library call."""
    return jax.jit(function).lower(*args).compile().as_text()


@covering(
    dtype=["float32", "bfloat16", "float16"],
    batch=[(), (3,)],
    shape=every(2, [(33, 70, 50), (64, 128, 256), (256, 300, 250), (1, 300, 200), (200, 300, 1)]),
)
def test_products_that_lie_by_columns(xpu, cpu, dtype, batch, shape) -> None:
    m, k, n = shape
    a, b = normal((*batch, m, k), dtype), normal((*batch, k, n), dtype)
    bias = normal((n,), dtype)

    def transposed(a, b, bias):
        return jnp.swapaxes(a @ b, -1, -2), jnp.swapaxes(jax.nn.relu(a @ b + bias), -1, -2)

    check(xpu, cpu, jax.jit(transposed), a, b, bias, ulps=_ULPS)


@pytest.mark.parametrize("columns", [1024, 2048, 1040])
def test_transposed_rows_that_are_pages_apart(xpu, columns) -> None:
    """Products that one of oneDNN's two implementations takes by the distance of rows, with a scale
    and an addend.
    """
    x, y, z = normal((130, columns)), normal((130, 70)), normal((columns, 70))
    actual = jax.jit(lambda x, y, z: 2 * (x.T @ y) + z)(*jax.device_put((x, y, z), xpu))
    expected = 2 * (x.T.astype(np.float64) @ y) + z
    # 130 products and two more steps, each rounded: a random walk of half units of the greatest.
    np.testing.assert_allclose(
        actual, expected, rtol=0, atol=32 * np.spacing(np.abs(expected).max().astype(np.float32))
    )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    "formula",
    [
        "bmk,bkn->bmn",
        "bkm,bkn->bmn",
        "bmk,bnk->bmn",
        "mbk,kbn->mbn",
        "bmk,bkn->bnm",
        "bmk,bkn->mbn",
        "kbm,nbk->nmb",
    ],
)
def test_products_with_dimensions_of_one_element(xpu, formula, dtype) -> None:
    # Formats that oneDNN guesses from strides, which say nothing where there is one element. On a
    # CPU most of these are kernels; test_the_other_schedules meets the library with all.
    with jax.default_device(xpu):
        for sizes in itertools.product((1, 3), (1, 5, 90), (1, 300), (1, 7, 200)):
            extent = dict(zip("bmkn", sizes, strict=True))
            if np.prod(sizes) < 36 << 10:
                continue  # no library call
            a, b = (
                normal([extent[i] for i in operand], dtype)
                for operand in formula.split("->")[0].split(",")
            )
            actual = jax.jit(lambda a, b: jnp.einsum(formula, a, b))(a, b)
            expected = np.einsum(formula, a.astype(np.float64), b.astype(np.float64))
            terms = np.einsum(formula, abs(a.astype(np.float64)), abs(b.astype(np.float64))).max()
            assert_sums_of_products(actual, expected, terms, str(sizes))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_residual_connections_join_the_product(xpu, cpu, dtype) -> None:
    # On a CPU smaller products of f32 are called without an epilogue.
    rows = 1024 if dtype == "float32" else 128
    x, w, bias = normal((rows, 512), dtype), normal((512, 512), dtype), normal((512,), dtype)

    def block(x, w, bias):
        for _ in range(3):
            x = jax.nn.relu(x + x @ w / 24 + bias)
        return x

    check(xpu, cpu, jax.jit(block), x, w, bias, ulps=4 * _ULPS)
    x[3, 5], x[7, 9] = np.nan, np.inf
    check(xpu, cpu, jax.jit(block), x, w, bias, ulps=4 * _ULPS)
    if dtype == "float32":
        text = _calls(block, *jax.device_put((x, w, bias), xpu))
        assert text.count("has_addend = true") == 3
        assert "fusion(" not in text  # nothing is left to launch beside the calls


def test_gradient_descent_joins_the_product(xpu) -> None:
    """Weights less their scaled gradient are one call, in place where they are donated."""
    x, y, w = normal((300, 700)), normal((300, 800), seed=1), normal((700, 800), seed=2)

    def descend(w, x, y):
        return w - 0.01 * (x.T @ y)

    expected = descend(*(v.astype(np.float64) for v in (w, x, y)))
    terms = (abs(w) + 0.01 * abs(x.T) @ abs(y)).max()
    on_device = jax.device_put((w, x, y), xpu)
    assert_sums_of_products(jax.jit(descend)(*on_device), expected, terms)
    assert "fusion(" not in _calls(descend, *on_device)
    address = on_device[0].unsafe_buffer_pointer()
    updated = jax.jit(descend, donate_argnums=0)(*on_device)
    assert updated.unsafe_buffer_pointer() == address
    assert_sums_of_products(updated, expected, terms)
    # What is subtracted from the product is none of the kind.
    actual = jax.jit(lambda w, x, y: 0.01 * (x.T @ y) - w)(*jax.device_put((w, x, y), xpu))
    assert_sums_of_products(actual, -expected, terms)


def test_attention_moves_nothing_beside_its_products(xpu, cpu) -> None:
    q, k, v = (normal((2, 256, 4, 64), seed=i) for i in range(3))
    w = normal((256, 256)) / 16

    def attention(q, k, v, w):
        # Weights that are a result too: else a CPU has one kernel for all of it
        # (test_attention.py).
        weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8)
        return jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(2, 256, 256) @ w, weights

    check(xpu, cpu, jax.jit(attention), q, k, v, w, ulps=_ULPS)
    text = _calls(attention, *jax.device_put((q, k, v, w), xpu))
    assert text.count('custom_call_target="onednn-matmul"') == 3
    assert "copy" not in text and " transpose(" not in text


@pytest.mark.parametrize(
    "formula", ["mk,kn->mn", "km,kn->mn", "mk,nk->mn", "km,nk->nm", "mk,kn->nm"]
)
@pytest.mark.parametrize(
    "sizes",
    every(
        2,
        [
            (257, 300, 251),
            (1, 5000, 4000),
            (600, 9, 4000),
            (5000, 4000, 1),
            (130, 511, 513),
            (4000, 1, 5000),
        ],
    ),
)
def test_plain_products(xpu, formula, sizes) -> None:
    """What is called as BLAS on a CPU: both orders of each operand and of the result, a scale."""
    extent = dict(zip("mkn", sizes, strict=True))
    a, b = (normal([extent[i] for i in operand]) for operand in formula.split("->")[0].split(","))
    actual = jax.jit(lambda a, b: jnp.einsum(formula, a, b) * 0.5)(*jax.device_put((a, b), xpu))
    a, b = a.astype(np.float64), b.astype(np.float64)
    terms = np.einsum(formula, abs(a), abs(b)).max() / 2
    assert_sums_of_products(actual, np.einsum(formula, a, b) / 2, terms)


def test_plain_products_of_not_numbers(xpu) -> None:
    x, w = normal((300, 400)), normal((400, 256))
    x[7, 3], x[9, 1], w[2, 5] = np.nan, np.inf, -np.inf
    actual = np.asarray(jax.jit(jnp.matmul)(*jax.device_put((x, w), xpu)))
    with np.errstate(invalid="ignore"):
        expected = x.astype(np.float64) @ w.astype(np.float64)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(actual[~finite], expected[~finite])
    assert np.isfinite(actual[finite]).all()


def test_library_calls_of_every_kind_keep_the_order_of_a_program(xpu, cpu) -> None:
    """Kernels, calls of BLAS, and primitives, which are host tasks on a CPU: each reads the one
    before.
    """
    x, w, k = normal((4, 16, 16, 64)), normal((512, 512)) / 23, normal((3, 3, 64, 64)) / 24

    def step(_, x):
        x = _convolve(jnp.tanh(x), k)
        return (x.reshape(128, 512) @ w @ w).reshape(x.shape)

    loop = jax.jit(lambda x: lax.fori_loop(0, 30, step, x))
    expected = np.asarray(loop(jax.device_put(x, cpu)))
    for _ in range(3):  # as runs meet each other in the queue
        actual = [loop(jax.device_put(x, xpu)) for _ in range(4)]
        for result in actual:
            # 30 steps of three sums each, kept near one.
            np.testing.assert_allclose(
                np.asarray(result), expected, rtol=0, atol=1e-4 * np.abs(expected).max()
            )


def test_a_residual_connection_joins_the_convolution(xpu, cpu) -> None:
    x, w, bias = normal((2, 9, 11, 16)), normal((3, 3, 16, 16)) / 12, normal((16,))

    def block(x, w, bias):
        return jax.nn.relu(x + _convolve(x, w) + bias)

    check(xpu, cpu, jax.jit(block), x, w, bias, ulps=_ULPS)
    assert "has_addend = true" in _calls(block, *jax.device_put((x, w, bias), xpu))


@pytest.mark.parametrize("convolution", [False, True])
def test_a_clip_behind_a_library_call_keeps_nan(xpu, cpu, convolution) -> None:
    if convolution:
        x, w = normal((2, 9, 11, 16)), normal((3, 3, 16, 16)) / 4
        product = _convolve
    else:
        x, w = normal((128, 512)), normal((512, 512)) / 22
        product = jnp.matmul
    x[(1,) * x.ndim] = np.nan

    def clamp(y):
        return lax.clamp(np.float32(0), y, np.float32(6))

    for clip in (jax.nn.relu6, clamp, lambda y: jnp.clip(y, -1, 1)):
        check(xpu, cpu, jax.jit(lambda x, w, clip=clip: clip(product(x, w))), x, w, ulps=_ULPS)


# The number of the activation that the call takes (program::Activation), 0 for what stays a
# kernel: oneDNN's clip gives 0 for NaN, its GELU with erf NaN for infinity, and its ELU is
# exp(x) - 1, which near zero is off by as much as the smallest number of f16.
_ACTIVATIONS = {
    "relu": (jax.nn.relu, 1),
    "relu6": (jax.nn.relu6, 0),
    "leaky_relu": (jax.nn.leaky_relu, 3),
    "steep_leaky_relu": (lambda y: jax.nn.leaky_relu(y, -1.5), 3),
    "elu": (jax.nn.elu, {"float32": 0, "bfloat16": 0, "float16": 4}),
    "elu_of_a_half": (lambda y: jax.nn.elu(y, 0.5), {"float32": 0, "bfloat16": 0, "float16": 4}),
    "gelu": (jax.nn.gelu, 5),
    "gelu_erf": (lambda y: jax.nn.gelu(y, approximate=False), 0),
    "tanh": (jnp.tanh, 7),
    "sigmoid": (jax.nn.sigmoid, 8),
    "swish": (jax.nn.swish, 9),
}


@covering(dtype=["float32", "bfloat16", "float16"], name=_ACTIVATIONS, convolution=[False, True])
def test_activations_join_the_call(xpu, cpu, convolution, name, dtype) -> None:
    function, number = _ACTIVATIONS[name]
    if convolution:
        shapes, product = ((2, 9, 11, 16), (3, 3, 16, 16)), _convolve
    else:
        # Smaller products of f32, which those of narrower types are where the processor has none,
        # are called without an epilogue on a CPU.
        shapes, product = ((1024, 512), (512, 512)), jnp.matmul
    w = (normal(shapes[1], dtype) / np.sqrt(np.prod(shapes[1][:-1]))).astype(dtype)
    layer = jax.jit(lambda x, w, bias: function(product(x, w) + bias))
    # Near zero all but the logistic function are multiples of x; far from it they have reached
    # their limits, but in half precision the sum's rounding errors have grown, too. Results that
    # f16 has as denormal numbers only would round differently.
    for scale in {"float32": (1e-6, 1, 30), "bfloat16": (1e-6, 1), "float16": (1e-3, 1)}[dtype]:
        x, bias = (
            (scale * normal(shape, dtype).astype(np.float32)).astype(dtype)
            for shape in (shapes[0], shapes[1][-1:])
        )
        # Half precision sums up in f32 and rounds once, or once for every operation of a kernel.
        check(xpu, cpu, layer, x, w, bias, ulps=_ULPS if dtype == "float32" else 4)
    # Far enough from each other that no window has two of them.
    x[(0, 1, 1, 0) if convolution else (5, 0)] = np.nan
    x[(0, 6, 7, 0) if convolution else (7, 0)] = np.inf
    x[(1, 4, 4, 0) if convolution else (9, 0)] = -np.inf
    check(xpu, cpu, layer, x, w, bias, ulps=_ULPS if dtype == "float32" else 4)
    if isinstance(number, dict):
        number = number[dtype]
    assert f"activation = {number} :" in _calls(layer, *jax.device_put((x, w, bias), xpu))


@covering(spatial=[(1, 1), (2, 2), (2, 3), (7, 5)], stride=[1, 2])
def test_weight_gradients_of_small_maps(xpu, cpu, spatial, stride) -> None:
    x, w = normal((4, *spatial, 24)), normal((3, 3, 24, 40))

    def loss(w, x):
        y = _convolve(x, w, stride)
        return jnp.sum(y * jnp.cos(jnp.arange(y.size, dtype=y.dtype)).reshape(y.shape))

    check(xpu, cpu, jax.jit(jax.grad(loss, argnums=(0, 1))), w, x, ulps=4 * _ULPS)


@pytest.mark.parametrize(
    ("source", "weights", "strides", "dilation", "groups"),
    [
        ((1, 4, 12, 1), (16, 2, 1, 2), (1, 2), (1, 1), 2),
        ((2, 192, 5, 1), (64, 48, 3, 3), (1, 2), (1, 1), 4),
        ((1, 2, 5, 12), (1, 2, 1, 1), (1, 2), (2, 1), 1),
        ((2, 32, 6, 6), (32, 32, 3, 3), (1, 1), (1, 1), 1),
        ((1, 1, 9, 3), (35, 1, 1, 1), (1, 3), (1, 1), 1),
        ((2, 6, 11, 9), (21, 6, 1, 1), (1, 3), (1, 1), 1),
        ((2, 4, 10, 8), (6, 2, 1, 1), (2, 2), (1, 1), 2),
        ((2, 12, 8, 6), (32, 12, 1, 1), (3, 2), (1, 1), 1),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_gradients_of_convolutions(
    xpu, cpu, dtype, source, weights, strides, dilation, groups
) -> None:
    """Cases in which oneDNN's own are wrong on some processor, and some in which they are not."""
    x, w = normal(source, dtype), normal(weights, dtype)

    def loss(x, w):
        y = lax.conv_general_dilated(
            x, w, strides, "SAME", rhs_dilation=dilation, feature_group_count=groups
        )
        y = y.astype(np.float32)
        return jnp.sum(y * jnp.cos(jnp.arange(y.size, dtype=y.dtype)).reshape(y.shape))

    # What a library reads without having written it shall be seen.
    jax.device_put(np.full(1 << 20, np.float32(1e30)), xpu).block_until_ready()
    # Both sum in f32 and round to bfloat16 once; the loss rounds once more between.
    check(xpu, cpu, jax.jit(jax.grad(loss, (0, 1))), x, w, ulps=4 if dtype == "bfloat16" else _ULPS)


def test_weights_that_come_again_stay_packed_until_they_change(xpu) -> None:
    convolve = jax.jit(_convolve)
    step = jax.jit(lambda w, by: w * by, donate_argnums=0)
    host = normal((3, 3, 16, 32))
    x = jax.device_put(normal((2, 12, 12, 16)), xpu)
    w = jax.device_put(host, xpu)
    first = np.asarray(convolve(x, w))
    for factor in (1.0, 2.0, 4.0):
        for _ in range(4):  # packed anew, then kept
            # Powers of two scale every rounding error with them.
            np.testing.assert_array_equal(np.asarray(convolve(x, w)), first * factor)
        # The new weights lie in the same memory.
        w = step(w, 2.0)
    other = jax.device_put(host, xpu)
    np.testing.assert_array_equal(np.asarray(convolve(x, other)), first)


def test_constant_weights(xpu, cpu) -> None:
    w = normal((3, 3, 16, 32))
    convolve = jax.jit(lambda x: _convolve(x, w))
    for seed in range(4):
        check(xpu, cpu, convolve, normal((2, 12, 12, 16), seed=seed), ulps=_ULPS)


def test_kept_weights_under_several_threads(xpu) -> None:
    convolve = jax.jit(_convolve)
    x = jax.device_put(normal((2, 12, 12, 16)), xpu)
    weights = [jax.device_put(normal((3, 3, 16, 32), seed=i), xpu) for i in range(3)]
    expected = [np.asarray(convolve(x, w)) for w in weights]

    def run(number: int) -> None:
        for i in range(30):
            # Some threads stay with their weights, some change them every time.
            which = number % 3 if number < 3 else (number + i) % 3
            np.testing.assert_array_equal(np.asarray(convolve(x, weights[which])), expected[which])

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        for future in [pool.submit(run, number) for number in range(6)]:
            future.result()


@pytest.mark.parametrize("along", [1, 2])
def test_windows_of_a_thousand_rows(xpu, along) -> None:
    """As in gradients of resized images. The library's first implementation on AVX-512 wants
    terabytes for some.
    """
    window, stride, count, others = 909, 455, 72, 456
    rows = (count - 1) * stride + window
    shape = (1, rows, others, 1) if along == 1 else (1, others, rows, 1)
    x, w = normal(shape, "float32"), normal((window,), "float32")
    kernel = w.reshape((window, 1, 1, 1) if along == 1 else (1, window, 1, 1))
    strides = (stride, 1) if along == 1 else (1, stride)

    def convolve(x, w):
        return lax.conv_general_dilated(
            x, w, strides, "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    actual = jax.jit(convolve)(jax.device_put(x, xpu), jax.device_put(kernel, xpu))
    lines = np.moveaxis(x[0, :, :, 0], along - 1, 0).astype(np.float64)
    expected = np.stack(
        [w.astype(np.float64) @ lines[i * stride : i * stride + window] for i in range(count)]
    )
    actual = np.moveaxis(np.asarray(actual)[0, :, :, 0], along - 1, 0)
    np.testing.assert_allclose(
        actual, expected, rtol=0, atol=_ULPS * np.finfo(np.float32).eps * np.abs(expected).max()
    )


@pytest.mark.parametrize("reach", [1 << 29, 1 << 30, (1 << 31) - 1])
def test_windows_that_reach_further_than_the_library_counts(xpu, reach) -> None:
    """Of nine positions one is inside: the middle of the weights, for every element."""
    x = jax.device_put(np.arange(45, dtype=np.float32).reshape(1, 3, 3, 5), xpu)
    weights = jax.device_put(np.arange(45, dtype=np.float32).reshape(3, 3, 5, 1), xpu)
    y = jax.jit(
        lambda x, w: jax.lax.conv_general_dilated(
            x,
            w,
            (1, 1),
            [(reach, reach)] * 2,
            rhs_dilation=(reach, reach),
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )
    )(x, weights)
    np.testing.assert_allclose(y, np.asarray(x) @ np.asarray(weights)[1, 1], rtol=1e-6)


def test_weights_stay_packed_in_programs_that_wait_for_the_launcher(xpu) -> None:
    """From the second run on their memory is the program's own, and none of what the run itself
    works in.
    """
    layers = 70
    x = normal((4, 16, 16, 64), "float32")
    kernels = [normal((3, 3, 64, 64), "float32") for _ in range(layers)]

    @jax.jit
    def network(x, kernels):
        # Two commands each, so that a run is more than the caller's thread submits.
        for kernel in kernels:
            x = jax.nn.softmax(_convolve(x, kernel))
        return x

    placed = jax.device_put((x, kernels), xpu)
    first, *others = [np.asarray(network(*placed)) for _ in range(4)]
    for other in others:
        np.testing.assert_array_equal(other, first)
    # And when runs wait for one another.
    for other in [network(*placed) for _ in range(4)]:
        np.testing.assert_array_equal(other, first)
