"""`onexpu.kernels.attention` against plain jnp on the CPU backend, in both frameworks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.test_util
import numpy as np
import pytest
import tensorflow as tf

from onexpu.kernels import _attention, _team_kernel, attention, reference
from tests.exhaustive import covering, every


class Sizes(NamedTuple):
    """Of queries [*batch, queries, heads, features] and keys [*batch, keys, key_heads,
    features].
    """

    batch: tuple[int, ...]
    queries: int
    keys: int
    heads: int
    key_heads: int
    features: int

    def operands(self, dtype: str = "float32") -> list[np.ndarray]:
        """Returns query, key, value and the slopes of the result."""
        random = np.random.default_rng(self.queries)
        query = (*self.batch, self.queries, self.heads, self.features)
        key = (*self.batch, self.keys, self.key_heads, self.features)
        return [
            np.asarray(jnp.asarray(random.standard_normal(s), dtype))
            for s in (query, key, key, query)
        ]


# Around the 16 lanes, the 64 positions of a work-item, blocks of 96, 48 and 24 rows, sums of 6.
# Each number of features is a kernel of its own, which takes seconds to compile: tests share 16.
SIZES = [
    Sizes((), 1, 1, 1, 1, 16),
    Sizes((2,), 7, 5, 1, 1, 16),
    Sizes((2,), 64, 96, 2, 2, 16),
    Sizes((2, 1), 130, 70, 6, 2, 16),
    Sizes((1,), 65, 97, 4, 2, 1),
    Sizes((1,), 70, 330, 4, 1, 33),
    Sizes((1,), 150, 50, 2, 1, 72),
    Sizes((1,), 33, 31, 1, 1, 256),
]


def _name(value: object) -> str:
    return "x".join(map(str, value)) if isinstance(value, Sizes) else str(value)


def _step(function: Callable[..., jax.Array], **how: object) -> Callable[..., list[jax.Array]]:
    def step(*operands: jax.Array) -> list[jax.Array]:
        y, back = jax.vjp(functools.partial(function, **how), *operands[:3])
        return [y, *back(operands[3])]

    return step


def _on(
    device: jax.Device,
    function: Callable[..., jax.Array],
    operands: Sequence[np.ndarray],
    **how: object,
):
    found = jax.jit(_step(function, **how))(*[jax.device_put(a, device) for a in operands])
    return [np.asarray(a) for a in found]


def _close(found: Sequence[np.ndarray], expected: Sequence[np.ndarray], tolerance: float) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype
        ours, theirs = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
        # Weights sum up to 1, so errors are those of the operands, which are of size 1.
        np.testing.assert_allclose(
            ours, theirs, rtol=tolerance, atol=tolerance * np.abs(theirs).max(initial=1)
        )


# Half precision rounds operands of the backward pass, the result among them, to its epsilon.
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("sizes", "dtype", "tolerance"),
    every(4, [(sizes, "float32", 1e-5) for sizes in SIZES], unpack=True)
    + every(
        3,
        [
            (sizes, dtype, t)
            for sizes in SIZES[1:4]
            for dtype, t in (("bfloat16", 1.5e-2), ("float16", 2e-3))
        ],
        unpack=True,
    ),
    ids=_name,
)
def test_values_and_gradients(
    sizes: Sizes, dtype: str, tolerance: float, causal: bool, xpu, cpu
) -> None:
    operands = sizes.operands(dtype)
    found, expected = (
        _on(device, function, operands, causal=causal)
        for device, function in ((xpu, attention), (cpu, reference.attention))
    )
    _close(found, expected, tolerance)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "sizes", [Sizes((2,), 5, 7, 4, 2, 6), Sizes((), 20, 9, 1, 1, 6)], ids=_name
)
def test_gradients_are_those_of_finite_differences(sizes: Sizes, causal: bool, xpu) -> None:
    with jax.enable_x64(True):
        operands = [jax.device_put(a, xpu) for a in sizes.operands("float64")[:3]]
        # Differences of float64 over steps of 1e-6 are good to 1e-9 of the curvature.
        jax.test_util.check_grads(
            functools.partial(attention, causal=causal),
            operands,
            order=1,
            modes=["rev"],
            eps=1e-6,
            atol=1e-6,
            rtol=1e-6,
        )


def test_double_precision_is_double(xpu, cpu) -> None:
    with jax.enable_x64(True):
        operands = Sizes((1,), 40, 50, 2, 2, 6).operands("float64")
        found, expected = (
            _on(device, function, operands, causal=True, scale=0.3)
            for device, function in ((xpu, attention), (cpu, reference.attention))
        )
    _close(found, expected, 1e-13)


def test_other_libraries_mean_the_same(xpu) -> None:
    operands = [jax.device_put(a, xpu) for a in Sizes((2,), 40, 40, 4, 2, 16).operands()[:3]]
    expected = jax.nn.dot_product_attention(*operands, is_causal=True, scale=0.1)
    np.testing.assert_allclose(
        attention(*operands, causal=True, scale=0.1), expected, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize(
    "mode", ["eager", "graph", "jit", "graph, unknown sizes", "jit, unknown sizes"]
)
def test_tensorflow(mode: str, cpu) -> None:
    def call(
        query: tf.Tensor, key: tf.Tensor, value: tf.Tensor, slopes: tf.Tensor
    ) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch([query, key, value])
            y = attention(query, key, value, causal=True)
        return [y, *tape.gradient(y, [query, key, value], output_gradients=slopes)]

    operands = Sizes((3,), 65, 50, 4, 2, 16).operands()
    run = call
    if mode != "eager":
        unknown = "unknown" in mode
        signature = [
            tf.TensorSpec([None, None, *a.shape[2:]] if unknown else a.shape, tf.float32)
            for a in operands
        ]
        run = tf.function(call, input_signature=signature, jit_compile="jit" in mode)
    with tf.device("/XPU:0"):
        found = [t.numpy() for t in run(*map(tf.constant, operands))]
    _close(found, _on(cpu, reference.attention, operands, causal=True), 1e-5)


@covering(dtype=every(2, ["float32", "bfloat16"]), causal=[False, True])
def test_the_other_schedule_gives_the_same(causal: bool, dtype: str, xpu, monkeypatch) -> None:
    """A GPU's work-groups on a CPU, or the other way round: sums differ in their order alone."""
    other = not _team_kernel.has_cpu_schedules()
    operands = Sizes((2,), 300, 270, 4, 2, 16).operands(dtype)
    here = _on(xpu, attention, operands, causal=causal)
    for module in (_team_kernel, _attention):
        monkeypatch.setattr(module, "has_cpu_schedules", lambda: other)
    there = _on(xpu, attention, operands, causal=causal)
    _close(there, here, 1e-5 if dtype == "float32" else 1.5e-2)


def test_mapped_in_one_launch(xpu, cpu) -> None:
    query, key, value, _ = Sizes((3,), 20, 30, 2, 1, 16).operands()
    mapped = jax.vmap(attention, in_axes=(0, None, 0))

    operands = [jax.device_put(a, xpu) for a in (query, key[0], value)]
    found = jax.jit(mapped)(*operands)
    expected = jax.vmap(reference.attention, in_axes=(0, None, 0))(
        *[jax.device_put(a, cpu) for a in (query, key[0], value)]
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert str(jax.make_jaxpr(mapped)(*operands)).count("ffi_call") == 1


def test_results_are_the_same_each_time(xpu) -> None:
    operands = Sizes((2,), 200, 300, 4, 2, 16).operands()
    first = _on(xpu, attention, operands)
    for _ in range(5):
        for a, b in zip(_on(xpu, attention, operands), first, strict=True):
            np.testing.assert_array_equal(a, b)


def test_large_scores_do_not_overflow(xpu, cpu) -> None:
    query, key, value, slopes = Sizes((1,), 50, 120, 1, 1, 16).operands()
    operands = [query * 1000, key * 100, value, slopes]
    found, expected = (
        _on(device, function, operands, causal=True)
        for device, function in ((xpu, attention), (cpu, reference.attention))
    )
    assert np.isfinite(found[0]).all()
    # A weight is the exponential of a difference of scores of 1e5, each good to 1e5 epsilon.
    np.testing.assert_allclose(found[0], expected[0], atol=0.1)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("operand", [0, 1])
def test_scores_that_are_no_numbers_stay_with_those_that_see_them(
    operand: int, special: float, xpu, cpu
) -> None:
    operands = Sizes((1,), 70, 70, 2, 2, 16).operands()[:3]
    operands[operand] = operands[operand].copy()
    operands[operand][0, 40, 1, 3] = special
    found = attention(*[jax.device_put(a, xpu) for a in operands], causal=True)
    expected = reference.attention(*[jax.device_put(a, cpu) for a in operands], causal=True)
    assert np.isnan(expected).any() or np.isneginf(special)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_values_that_are_no_numbers_stay_in_their_feature(special: float, xpu, cpu) -> None:
    operands = Sizes((1,), 70, 70, 2, 2, 16).operands()[:3]
    operands[2] = operands[2].copy()
    operands[2][0, 40, 1, 3] = special
    found = np.asarray(attention(*[jax.device_put(a, xpu) for a in operands]))
    expected = reference.attention(*[jax.device_put(a, cpu) for a in operands])
    assert not np.isfinite(found[0, :, 1, 3]).any()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_nothing_to_see_and_nobody_to_see_it(xpu) -> None:
    some, none = jnp.ones((2, 3, 1, 4), device=xpu), jnp.ones((2, 0, 1, 4), device=xpu)
    y, back = jax.vjp(attention, some, none, none)
    np.testing.assert_array_equal(y, np.zeros((2, 3, 1, 4)))
    dquery, dkey, dvalue = back(y)
    np.testing.assert_array_equal(dquery, np.zeros((2, 3, 1, 4)))
    assert dkey.shape == dvalue.shape == (2, 0, 1, 4)
    y, back = jax.vjp(attention, none, some, some)
    assert y.shape == (2, 0, 1, 4)
    for gradient in back(y)[1:]:
        np.testing.assert_array_equal(gradient, np.zeros((2, 3, 1, 4)))


def test_memory_grows_with_the_sequence_alone(xpu) -> None:
    """At 4,096 positions less than 5 % of the plain version's, forward and with gradients."""
    shape = jax.ShapeDtypeStruct(
        (1, 4096, 2, 64), jnp.float32, sharding=jax.sharding.SingleDeviceSharding(xpu)
    )

    def memory(step: Callable[..., object], operands: int) -> int:
        analysis = jax.jit(step).lower(*[shape] * operands).compile().memory_analysis()
        return analysis.temp_size_in_bytes + analysis.output_size_in_bytes

    for operands, of in ((3, lambda f: f), (4, _step)):
        ours, plain = memory(of(attention), operands), memory(of(reference.attention), operands)
        assert ours < 0.05 * plain, f"{ours} bytes, {plain} for plain jnp"


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((3, 4), (3, 4), (3, 4)), r"\[..., queries, heads, features\]"),
        (((1, 3, 2, 4), (1, 3, 2, 4), (1, 2, 2, 4)), r"'value'.*\[1, 2, 2, 4\]"),
        (((1, 3, 2, 4), (2, 3, 2, 4), (2, 3, 2, 4)), r"'key'.*\[2, 3, 2, 4\]"),
        (((1, 3, 2, 4), (1, 3, 2, 5), (1, 3, 2, 5)), r"'key'.*\[1, 3, 2, 5\]"),
        (((1, 3, 3, 4), (1, 3, 2, 4), (1, 3, 2, 4)), "multiple"),
        (((1, 3, 1, 300),) * 3, "1 to 256 features"),
    ],
)
def test_shapes_that_do_not_fit(shapes: tuple[tuple[int, ...], ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        attention(*[jnp.ones(shape) for shape in shapes])


def test_types_that_do_not_fit(xpu) -> None:
    x = jnp.ones((3, 1, 4), device=xpu)
    with pytest.raises(
        TypeError, match="'key' of kernel .* has the type bfloat16, but 'query' has float32"
    ):
        attention(x, x.astype(jnp.bfloat16), x)
    with pytest.raises(TypeError, match="int32; T is one of float16, bfloat16, float32, float64"):
        attention(*[x.astype(jnp.int32)] * 3)
