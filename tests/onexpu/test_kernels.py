"""The kernels of `onexpu.kernels` against plain jnp on the CPU backend, in both frameworks."""

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
from onexpu.kernels import _team_kernel, reference
from tests.exhaustive import covering, every


@dataclasses.dataclass(frozen=True)
class Case:
    """A kernel, the shapes of its operands, and how many of them it has a gradient for."""

    name: str
    shapes: tuple[tuple[int, ...], ...]
    differentiable: int
    # Has to be good for the largest: rows of thousands summed up in float32.
    tolerance: float = 1e-5

    @property
    def kernel(self) -> Callable[..., jax.Array]:
        """Of `onexpu.kernels`."""
        return getattr(kernels, self.name)

    @property
    def reference(self) -> Callable[..., jax.Array]:
        """The same in plain jnp."""
        return getattr(reference, self.name)

    def operands(self, dtype: str = "float32") -> list[np.ndarray]:
        """Returns numbers that are different everywhere."""
        random = np.random.default_rng(len(self.shapes))
        return [np.asarray(jnp.asarray(random.standard_normal(s), dtype)) for s in self.shapes]


def _norm(name: str, rows: tuple[int, ...], columns: int, shared: int) -> Case:
    return Case(name, ((*rows, columns), *[(columns,)] * shared), shared + 1)


CASES = [
    *(
        _norm(name, rows, columns, shared)
        for name, shared in (("rms_norm", 1), ("layer_norm", 2))
        for rows, columns in (
            ((7,), 64),
            ((), 5),
            ((2, 3), 77),
            ((300,), 33),
            ((3,), 5000),
            ((4,), 1),
        )
    ),
    *(Case("swiglu", (s, s), 2) for s in ((5,), (1,), (3, 1024), (17, 131), (2, 3, 5000))),
    *(
        Case("rotary_embedding", ((*batch, s, h, 2 * half), (s, half), (s, half)), 1)
        for batch, s, h, half in (
            ((), 4, 1, 1),
            ((2,), 5, 3, 5),
            ((2, 2), 3, 2, 32),
            ((1,), 9, 4, 33),
        )
    ),
]
SMALL = [case for case in CASES if np.prod(case.shapes[0]) < 500]


def _name(case: Case) -> str:
    return f"{case.name}-{'x'.join(map(str, case.shapes[0]))}"


def _with_gradient(
    function: Callable[..., jax.Array], case: Case
) -> Callable[..., list[jax.Array]]:
    def call(slopes: jax.Array, *operands: jax.Array) -> list[jax.Array]:
        changing, rest = operands[: case.differentiable], operands[case.differentiable :]
        y, back = jax.vjp(lambda *given: function(*given, *rest), *changing)
        return [y, *back(slopes)]

    return call


def _close(found, expected, tolerance: float) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        ours, theirs = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
        # Operands are of size 1: what cancels out has their rounding.
        scale = np.abs(theirs).max(initial=1)
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * scale)


# The narrow types round results, and what is between the kernels of a gradient, to their epsilon.
@pytest.mark.parametrize(
    ("case", "dtype", "tolerance"),
    every(
        3,
        [(case, *types) for case in CASES for types in (("float32", None), ("bfloat16", 1e-2))],
        unpack=True,
    )
    + every(3, [(case, "float16", 2e-3) for case in CASES if case.name == "swiglu"], unpack=True),
    ids=lambda value: _name(value) if isinstance(value, Case) else str(value),
)
def test_values_and_gradients(case: Case, dtype: str, tolerance: float | None, xpu, cpu) -> None:
    operands = case.operands(dtype)
    slopes = np.asarray(jnp.asarray(np.cos(np.arange(operands[0].size)), dtype)).reshape(
        operands[0].shape
    )

    def on(device: jax.Device, function: Callable[..., jax.Array]) -> list[jax.Array]:
        given = [jax.device_put(a, device) for a in (slopes, *operands)]
        return jax.jit(_with_gradient(function, case))(*given)

    found, expected = on(xpu, case.kernel), on(cpu, case.reference)
    assert [a.dtype for a in found] == [a.dtype for a in expected]
    _close(found, expected, tolerance or case.tolerance)


@pytest.mark.parametrize("case", every(2, SMALL), ids=_name)
def test_gradients_are_those_of_finite_differences(case: Case, xpu) -> None:
    with jax.enable_x64(True):
        operands = [jax.device_put(a, xpu) for a in case.operands("float64")]
        changing, rest = operands[: case.differentiable], operands[case.differentiable :]
        # Differences of float64 over steps of 1e-6 are good to 1e-9 of the curvature.
        jax.test_util.check_grads(
            lambda *given: case.kernel(*given, *rest),
            changing,
            order=1,
            modes=["rev"],
            eps=1e-6,
            atol=1e-6,
            rtol=1e-6,
        )


@covering(
    mode=["eager", "graph", "jit", "jit, unknown shape", "graph, unknown shape"],
    case=[c for c in CASES if len(c.shapes[0]) > 1][::3],
)
def test_tensorflow(case: Case, mode: str, cpu) -> None:
    def call(*operands: tf.Tensor) -> list[tf.Tensor]:
        changing = operands[: case.differentiable]
        with tf.GradientTape() as tape:
            tape.watch(changing)
            y = case.kernel(*operands)
            loss = tf.reduce_sum(y * y)
        return [y, *tape.gradient(loss, changing)]

    operands = case.operands()
    run = call
    if mode != "eager":
        # The batch size: what operands of the first one's rank begin with.
        unknown = "unknown" in mode
        signature = [
            tf.TensorSpec(
                [None, *s[1:]] if unknown and len(s) == len(case.shapes[0]) else s, tf.float32
            )
            for s in case.shapes
        ]
        run = tf.function(call, input_signature=signature, jit_compile="jit" in mode)
    with tf.device("/XPU:0"):
        found = [t.numpy() for t in run(*map(tf.constant, operands))]

    def in_jax(*operands: jax.Array) -> list[jax.Array]:
        y = case.reference(*operands)
        return _with_gradient(case.reference, case)(2 * y, *operands)

    _close(found, jax.jit(in_jax)(*[jax.device_put(a, cpu) for a in operands]), case.tolerance)


@pytest.mark.parametrize("case", every(2, CASES[1::4]), ids=_name)
def test_the_other_schedule_gives_the_same(case: Case, xpu, monkeypatch) -> None:
    """A GPU's work-groups on a CPU, or the other way round: sums differ in their order alone."""
    other = not _team_kernel.has_cpu_schedules()

    def run() -> list[jax.Array]:
        operands = [jax.device_put(a, xpu) for a in case.operands()]
        return jax.jit(_with_gradient(case.kernel, case))(operands[0], *operands)

    here = run()
    for module in ("_team_kernel", "_columns"):
        monkeypatch.setattr(f"onexpu.kernels.{module}.has_cpu_schedules", lambda: other)
    _close(run(), here, case.tolerance)


def test_nothing_to_do(xpu) -> None:
    empty, weight = jnp.zeros((0, 8), device=xpu), jnp.ones(8, device=xpu)
    y, back = jax.vjp(kernels.rms_norm, empty, weight)
    assert y.shape == (0, 8)
    dx, dweight = back(y)
    assert dx.shape == (0, 8)
    np.testing.assert_array_equal(dweight, np.zeros(8))
    assert kernels.swiglu(empty, empty).shape == (0, 8)


@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_what_is_no_number_stays_in_its_row(special: float, xpu, cpu) -> None:
    x, weight = np.ones((3, 40), np.float32), np.full(40, 2, np.float32)
    x[1, 7] = special
    for name, shared in (("rms_norm", [weight]), ("layer_norm", [weight, weight])):
        found = getattr(kernels, name)(*[jax.device_put(a, xpu) for a in (x, *shared)])
        expected = getattr(reference, name)(*[jax.device_put(a, cpu) for a in (x, *shared)])
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    gate = np.array([special, -special, 0, 1], np.float32)
    found, expected = (
        kernels.swiglu(jax.device_put(gate, xpu), jnp.ones(4, device=xpu)),
        reference.swiglu(jax.device_put(gate, cpu), jnp.ones(4, device=cpu)),
    )
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: kernels.rms_norm(jnp.ones((2, 4)), jnp.ones(3)),
            r"rms_norm_\w+': 'weight' has the shape \[3\]; it takes \[columns\], and 'x', ",
        ),
        (
            lambda: kernels.layer_norm(jnp.ones((2, 4)), jnp.ones(4), jnp.ones(2)),
            r"'bias' has the shape \[2\]; it takes \[columns\]",
        ),
        (
            lambda: kernels.swiglu(jnp.ones(4), jnp.ones(3)),
            r"'up' has the shape \[3\]; it takes \[\*shape\], and 'gate', .* \[4\]",
        ),
        (
            lambda: kernels.rotary_embedding(
                jnp.ones((2, 3, 5)), jnp.ones((2, 2)), jnp.ones((2, 2))
            ),
            r"'x' has the shape \[2, 3, 5\]; it takes .*2\*half",
        ),
        (
            lambda: kernels.rotary_embedding(
                jnp.ones((2, 3, 4)), jnp.ones((3, 2)), jnp.ones((2, 2))
            ),
            r"'cosine' has the shape \[3, 2\]; it takes \[positions half\]",
        ),
    ],
)
def test_shapes_that_do_not_fit(call: Callable[[], jax.Array], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_types_that_kernels_lack(xpu) -> None:
    with pytest.raises(TypeError, match="int32; T is one of float16, bfloat16, float32, float64"):
        kernels.rms_norm(
            jnp.ones((2, 4), jnp.int32, device=xpu), jnp.ones(4, jnp.int32, device=xpu)
        )
