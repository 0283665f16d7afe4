"""`onexpu.kernels.int8_matmul` and `int4_matmul` against plain jnp and float64, with few tokens and
with many.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
import jax.test_util
import numpy as np
import pytest
import tensorflow as tf

from onexpu import kernels
from onexpu.kernels import int4_matmul, int8_matmul, quantize_int4, quantize_int8, reference
from tests.exhaustive import every


@dataclasses.dataclass(frozen=True)
class Case:
    """A product: the tokens' dimensions, k and n, and how the weights are stored."""

    bits: int
    tokens: tuple[int, ...]
    k: int
    n: int
    groups: int = 0  # 0: one scale for each column
    has_zeros: bool = False

    @property
    def name(self) -> str:
        return f"int{self.bits}_matmul"

    @property
    def kernel(self) -> Callable[..., jax.Array]:
        return getattr(kernels, self.name)

    @property
    def reference(self) -> Callable[..., jax.Array]:
        return getattr(reference, self.name)

    def operands(self, dtype: str = "float32", scale_type: str | None = None) -> list[np.ndarray]:
        random = np.random.default_rng(self.k)
        x = random.standard_normal((*self.tokens, self.k)).astype(jnp.dtype(dtype))
        shape = (self.groups, self.n) if self.groups else (self.n,)
        scales = (random.random(shape) + 0.1).astype(jnp.dtype(scale_type or dtype))
        if self.bits == 8:
            return [x, random.integers(-128, 128, (self.k, self.n), np.int8), scales]
        packed = random.integers(0, 256, (-(-self.k // 2), self.n), np.uint8)
        return [
            x,
            packed,
            scales,
            *([random.integers(0, 16, shape, np.uint8)] if self.has_zeros else []),
        ]


def exact(x, weight, scales, zeros=None) -> np.ndarray:
    """The product in float64."""
    x, scales = x.astype(np.float64), np.atleast_2d(scales.astype(np.float64))
    if weight.dtype == np.uint8:
        numbers = np.empty((2 * weight.shape[0], weight.shape[1]))
        numbers[::2], numbers[1::2] = weight & 15, weight >> 4
        zeros = (
            8.0
            if zeros is None
            else np.repeat(np.atleast_2d(zeros), x.shape[-1] // scales.shape[0], 0)
        )
        weight = numbers[: x.shape[-1]] - zeros
    return x @ (weight * np.repeat(scales, x.shape[-1] // scales.shape[0], 0))


def close(found, expected, tolerance: float) -> None:
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    assert found.shape == expected.shape
    # Sums of large numbers cancel out.
    np.testing.assert_allclose(
        found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max(initial=1)
    )


CASES = [
    *(
        Case(bits, tokens, k, n, groups)
        for bits in (8, 4)
        for tokens, k, n, groups in (
            ((1,), 64, 64, 0),
            ((), 5, 3, 0),
            ((1,), 1, 1, 0),
            ((2, 3), 130, 65, 2),
            ((7,), 96, 192, 3),
            ((13,), 63, 128, 7),
            ((35,), 200, 130, 8),
            ((9, 10), 128, 70, 4),
            ((150,), 33, 64, 11),
        )
    ),
    *(
        Case(4, tokens, k, n, groups, True)
        for tokens, k, n, groups in (
            ((3,), 64, 64, 0),
            ((8,), 96, 100, 3),
            ((20,), 35, 128, 5),
            ((100,), 64, 66, 2),
        )
    ),
]
SMALL = [case for case in CASES if np.prod(case.tokens) * case.k < 1000 or case.tokens == (150,)][
    ::2
]


def _name(case: Case) -> str:
    sizes = "x".join(map(str, (*case.tokens, case.k, case.n)))
    return f"{case.name}-{sizes}-{case.groups}{'z' * case.has_zeros}"


# Narrow types round results, and the weights of many tokens, to their epsilon.
@pytest.mark.parametrize(
    ("case", "dtype", "scale_type", "tolerance"),
    # Nine shapes of each width: with a step of seven the widths have different ones, and the last
    # has zeros.
    every(7, [(case, "float32", None, 1e-6) for case in CASES], unpack=True)
    + every(
        5,
        [
            (case, *types)
            for case in CASES[3::5]
            for types in (("bfloat16", "float32", 1e-2), ("float16", None, 2e-3))
        ],
        unpack=True,
    ),
    ids=lambda value: _name(value) if isinstance(value, Case) else str(value),
)
def test_values(
    case: Case, dtype: str, scale_type: str | None, tolerance: float, schedule, xpu, cpu
) -> None:
    given = case.operands(dtype, scale_type)
    if dtype == "float16":
        given[0] = given[0] / np.float16(16)  # sums of 200 products stay below its largest number
        given[2] = given[2] / np.float16(16)
    # A function of its own: another would be found compiled, with the schedule of the test before.
    found = jax.jit(lambda *operands: case.kernel(*operands))(
        *[jax.device_put(a, xpu) for a in given]
    )
    expected = case.reference(*[jax.device_put(a, cpu) for a in given])
    assert found.dtype == expected.dtype
    close(found, expected, tolerance)
    close(found, exact(*given), tolerance)


@pytest.mark.parametrize("case", every(4, CASES[6::5]), ids=_name)
def test_double_precision(case: Case, schedule, xpu) -> None:
    with jax.enable_x64(True):
        given = case.operands("float64")
        close(case.kernel(*[jax.device_put(a, xpu) for a in given]), exact(*given), 1e-13)


@pytest.mark.parametrize("case", every(3, SMALL), ids=_name)
def test_gradients_are_those_of_finite_differences(case: Case, schedule, xpu) -> None:
    with jax.enable_x64(True):
        x, *weights = [jax.device_put(a, xpu) for a in case.operands("float64")]
        # Linear: differences are exact but for the rounding of sums of thousands.
        jax.test_util.check_grads(
            lambda x: case.kernel(x, *weights),
            [x],
            order=1,
            modes=["rev"],
            eps=1e-3,
            atol=1e-7,
            rtol=1e-7,
        )


@pytest.mark.parametrize("tokens", [3, 100])
def test_weights_have_no_gradient(tokens: int, xpu) -> None:
    given = [jax.device_put(a, xpu) for a in Case(8, (tokens,), 32, 16).operands()]
    _, back = jax.vjp(int8_matmul, *given)
    slope, of_weight, of_scales = back(jnp.ones((tokens, 16), device=xpu))
    assert slope.shape == (tokens, 32) and of_weight.dtype == jax.dtypes.float0
    np.testing.assert_array_equal(of_scales, np.zeros(16))


def test_a_gradient_keeps_no_dequantised_weights(xpu) -> None:
    given = [jax.device_put(a, xpu) for a in Case(8, (100,), 32, 16).operands()]
    _, back = jax.vjp(lambda x, weight=given[1:]: int8_matmul(x, *weight), given[0])
    assert not [a for a in jax.tree.leaves(back) if a.shape == (32, 16) and a.dtype != jnp.int8]


@pytest.mark.parametrize("case", [CASES[4], CASES[7], CASES[-3], CASES[-1]], ids=_name)
def test_tensorflow(case: Case, in_tensorflow) -> None:
    x, *weights = case.operands()

    def call(x, *weights):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = case.kernel(x, *weights)
            loss = tf.reduce_sum(y * y)
        return y, tape.gradient(loss, x)

    y, slope = in_tensorflow(call, x, *weights, known=range(1, 4))
    expected, back = jax.vjp(lambda x: case.reference(x, *weights), x)
    close(y, expected, 1e-6)
    close(slope, back(2 * expected)[0], 1e-5)


def test_variables_of_tensorflow(in_tensorflow) -> None:
    x, weight, scales = CASES[4].operands()
    with tf.device("/XPU:0"):
        variables = [tf.Variable(weight, trainable=False), tf.Variable(scales)]
    (y,) = in_tensorflow(lambda x: int8_matmul(x, *variables), x)
    close(y, exact(x, weight, scales), 1e-6)


@pytest.mark.parametrize("tokens", [2, 100])
def test_vmap_and_scan(tokens: int, xpu) -> None:
    x, weight, scales = [jax.device_put(a, xpu) for a in Case(8, (3, tokens), 40, 24).operands()]
    expected = exact(*map(np.asarray, (x, weight, scales)))
    close(jax.vmap(lambda x: int8_matmul(x, weight, scales))(x), expected, 1e-6)
    close(
        jax.lax.scan(lambda c, x: (c, int8_matmul(x, weight, scales)), None, x)[1], expected, 1e-6
    )


@pytest.mark.parametrize("tokens", [2, 100])
def test_what_is_no_number_stays_with_its_token(tokens: int, schedule, xpu) -> None:
    x, weight, scales = Case(8, (tokens,), 40, 70).operands()
    x[1, 7] = np.nan
    found = np.asarray(int8_matmul(*[jax.device_put(a, xpu) for a in (x, weight, scales)]))
    assert np.all(np.isnan(found[1]))
    close(np.delete(found, 1, 0), np.delete(exact(x, weight, scales), 1, 0), 1e-6)


def test_nothing_to_do(xpu) -> None:
    for tokens, n in ((0, 8), (3, 0)):
        given = [jax.device_put(a, xpu) for a in Case(8, (tokens,), 4, n).operands()]
        y, back = jax.vjp(lambda x, weight=given[1:]: int8_matmul(x, *weight), given[0])
        assert y.shape == (tokens, n) and back(y)[0].shape == (tokens, 4)


@pytest.mark.parametrize("group_size", [None, 16])
def test_quantized_weights_are_near(group_size: int | None, xpu) -> None:
    random = np.random.default_rng(0)
    weight, x = (
        random.standard_normal((64, 48), np.float32),
        random.standard_normal((5, 64), np.float32),
    )
    for quantize, product, steps in (
        (quantize_int8, int8_matmul, 254),
        (quantize_int4, int4_matmul, 14),
        (lambda *a: quantize_int4(*a, zero_points=True), int4_matmul, 15),
    ):
        stored = quantize(jnp.asarray(weight), group_size)
        assert stored[1].shape == ((48,) if group_size is None else (4, 48))
        identity = exact(np.eye(64), *map(np.asarray, stored))
        span = weight.reshape(-1, group_size or 64, 48)
        span = (
            2 * np.abs(span).max(1)
            if steps != 15
            else np.maximum(span.max(1), 0) - np.minimum(span.min(1), 0)
        )
        # Half a step each, and half of one more where zero points were rounded.
        most = np.repeat(span / steps, group_size or 64, 0) * (1.0 if steps == 15 else 0.501)
        assert np.all(np.abs(identity - weight) <= most)
        close(product(*[jax.device_put(a, xpu) for a in (x, *stored)]), x @ identity, 1e-6)


def test_quantized_zeros() -> None:
    for stored in (
        quantize_int8(jnp.zeros((3, 2))),
        quantize_int4(jnp.zeros((3, 2)), zero_points=True),
    ):
        np.testing.assert_array_equal(exact(np.eye(3), *map(np.asarray, stored)), np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, w, s: int8_matmul(x[0, 0], w, s), r"int8_matmul: x has the shape \(\)"),
        (
            lambda x, w, s: int8_matmul(x[:, :5], w, s),
            r"weight has the shape \(6, 4\); .* it must be \(5, n\)",
        ),
        (lambda x, w, s: int8_matmul(x, w[0], s), r"weight has the shape \(4,\)"),
        (lambda x, w, s: int8_matmul(x, w, s[:3]), r"scales have the shape \(3,\)"),
        (
            lambda x, w, s: int8_matmul(x, w, jnp.ones((4, 4))),
            r"scales have the shape \(4, 4\); .* divisor of k",
        ),
        (
            lambda x, w, s: int4_matmul(x, w.astype("uint8"), s),
            r"weight has the shape \(6, 4\); .* \(3, n\)",
        ),
        (
            lambda x, w, s: int4_matmul(x, w[:3].astype("uint8"), s, jnp.ones((1, 4), "uint8")),
            r"zero points have the shape \(1, 4\), scales \(4,\)",
        ),
        (lambda x, w, s: quantize_int8(jnp.ones(3)), r"quantize_int8: the weight is float32\[3\]"),
        (lambda x, w, s: quantize_int4(w), r"quantize_int4: the weight is int8\[6, 4\]"),
        (
            lambda x, w, s: quantize_int4(jnp.ones((6, 4)), 4),
            "groups of 4 rows do not divide the 6 rows",
        ),
    ],
)
def test_shapes_that_do_not_fit(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(jnp.ones((2, 6)), jnp.ones((6, 4), jnp.int8), jnp.ones(4))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x, w, s: int8_matmul(x, w.astype("uint8"), s),
            "int8_matmul: the weight is uint8, not int8",
        ),
        (lambda x, w, s: int4_matmul(x, w[:3], s), "int4_matmul: the weight is int8, not uint8"),
        (
            lambda x, w, s: int4_matmul(x, w[:3].astype("uint8"), s, s),
            "zero points are float32, not uint8",
        ),
        (lambda x, w, s: int8_matmul(x.astype("int32"), w, s), "'x' .* int32; T is one of float16"),
    ],
)
def test_types_that_do_not_fit(call, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call(jnp.ones((2, 6)), jnp.ones((6, 4), jnp.int8), jnp.ones(4))
