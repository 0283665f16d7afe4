"""Errors of long sums and inner products: a few units in the last place at every length.

Every test compares with a wider sum on the host. XLA:CPU adds in a tree, whose sums are off by up
to 2.7e-7 in f32 at the sizes below.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import topologies

from tests.exhaustive import covering

EPS = {"float32": 2.0**-23, "float64": 2.0**-52, "complex64": 2.0**-23, "complex128": 2.0**-52}
# Equal terms are the hard case: each rounding of a running sum errs to the same side.
TERM = 0.1


def _full(shape, dtype) -> np.ndarray:
    return np.full(shape, TERM * (1 + 2j) if np.dtype(dtype).kind == "c" else TERM, dtype)


def _random(shape, dtype) -> np.ndarray:
    random = np.random.default_rng(0)
    if np.dtype(dtype).kind == "c":
        return (random.random(shape) + 1j * random.random(shape)).astype(dtype)
    return random.random(shape).astype(dtype)


def _exact(x: np.ndarray, axis) -> np.ndarray:
    """A sum in more digits; numpy adds in pairs only along contiguous memory."""
    axes = np.atleast_1d(axis)
    wide = x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble)
    last = np.moveaxis(wide, axes, range(-len(axes), 0))
    return np.ascontiguousarray(last).reshape(*last.shape[: x.ndim - len(axes)], -1).sum(-1)


def _assert_close(actual, expected, ulps: float, dtype: str, what: object = "") -> None:
    error = np.max(np.abs(np.asarray(actual) / expected - 1))
    assert error <= ulps * EPS[dtype], (what, error / EPS[dtype])


# Rows, columns side by side, few columns, one in the middle, all of an array, and lengths around
# the limits of schedules.
SHAPES = [
    ((1_000_003,), 0), ((3, 300_001), 1), ((700, 1000), 1), ((700, 2047), 1), ((5, 129), 1),
    ((200_000, 40), 0), ((1000, 700), 0), ((150, 33), 0), ((400_001, 3), 0), ((70, 5), 0),
    ((4, 50_000, 6), 1), ((9, 40, 50, 17), (0, 1, 2)), ((6, 8, 70, 90), (0, 2, 3)),
    ((600, 901), (0, 1)),
]  # fmt: skip


@pytest.mark.parametrize("values", [_full, _random], ids=["equal", "random"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_sums(xpu, dtype: str, values) -> None:
    arrays = [values(shape, dtype) for shape, _ in SHAPES]
    axes = [axis for _, axis in SHAPES]
    sums = jax.jit(lambda xs: [x.sum(axis) for x, axis in zip(xs, axes, strict=True)])
    for x, (shape, axis), actual in zip(
        arrays, SHAPES, sums(jax.device_put(arrays, xpu)), strict=True
    ):
        _assert_close(actual, _exact(x, axis), 3, dtype, (shape, axis))


@pytest.mark.parametrize("shape", [(4099, 3001), (12_000, 1024), (2999, 4101)])
def test_column_sums_beyond_the_caches(xpu, shape) -> None:
    """From 48 MB on, the CPU device's schedule has tiles of whole rows, up to 4096 columns."""
    x = _random(shape, "float32")
    sums = jax.jit(lambda x: x.sum(0))(jax.device_put(x, xpu))
    _assert_close(sums, _exact(x, 0), 3, "float32")


@pytest.mark.parametrize("dtype", ["float32", "complex64", "bfloat16"])
def test_sums_of_negative_zeros_are_negative(xpu, dtype: str) -> None:
    """Sums begin with what leaves every element as it is, which is -0."""
    zero = np.array(complex(-0.0, -0.0) if dtype == "complex64" else -0.0, jnp.dtype(dtype))
    for shape, axis in SHAPES[2:10]:
        axes = tuple(np.atleast_1d(axis).tolist())
        # An initial value that is traced: JAX takes a constant -0 for 0.
        add = jax.jit(lambda x, initial, axes=axes: lax.reduce(x, initial, lax.add, axes))
        sums = np.asarray(add(*jax.device_put((np.full(shape, zero), zero), xpu)))
        assert not sums.any(), (shape, axis)
        parts = (sums.real, sums.imag) if dtype == "complex64" else (sums.astype(np.float64),)
        assert all(np.signbit(part).all() for part in parts), (shape, axis)


@pytest.mark.parametrize(("shape", "axis"), [((100_000,), 0), ((60, 5000), 1), ((5000, 60), 0)])
def test_sums_of_narrow_floats_round_once(xpu, shape, axis) -> None:
    x = jnp.asarray(_random(shape, "float32")).astype(jnp.bfloat16)
    add = jax.jit(lambda x: lax.reduce(x, jnp.bfloat16(0), lax.add, (axis,)))
    exact = _exact(np.asarray(x).astype(np.float64), axis)
    actual = np.asarray(add(jax.device_put(x, xpu))).astype(np.float64)
    assert np.max(np.abs(actual / exact - 1)) <= 2.0**-8


@pytest.mark.parametrize("shape", [(1, 300_001), (300, 3000)])
def test_several_sums_in_one_reduction(xpu, shape) -> None:
    """A sum beside a maximum and another sum, and a sum on which another result depends."""
    x = _full(shape, "float32")

    @jax.jit
    def reduce(x):
        three = lax.reduce(
            (x, x, -x), (np.float32(0), np.float32(-np.inf), np.float32(0)),
            lambda a, b: (a[0] + b[0], jnp.maximum(a[1], b[1]), a[2] + b[2]), (1,),
        )  # fmt: skip
        count = lax.reduce(
            (jnp.ones_like(x), x), (np.float32(0), np.float32(0)),
            lambda a, b: (a[0] + b[0], (a[0] * a[1] + b[0] * b[1]) / jnp.maximum(a[0] + b[0], 1)),
            (1,),
        )  # fmt: skip
        return *three, *count

    first, largest, second, count, mean = reduce(jax.device_put(x, xpu))
    _assert_close(first, _exact(x, 1), 1, "float32")
    _assert_close(second, -_exact(x, 1), 1, "float32")
    np.testing.assert_array_equal(largest, x.max(1))
    np.testing.assert_array_equal(count, np.full(shape[0], shape[1], np.float32))
    np.testing.assert_allclose(mean, x[:, 0], rtol=1e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_infinities_and_nan_survive(xpu, dtype) -> None:
    inf, nan = np.inf, np.nan
    cases = [([inf], inf), ([-inf], -inf), ([inf, -inf], nan), ([nan], nan)]
    for special, expected in cases:
        x = _random((3, 100_000), dtype)
        x[1, [7777 * (i + 1) for i in range(len(special))]] = special
        actual = np.asarray(jax.jit(lambda x: x.sum(1))(jax.device_put(x, xpu)))
        np.testing.assert_equal(actual[1], np.dtype(dtype).type(expected))
        assert np.isfinite(actual[[0, 2]]).all()
    huge = np.full((100_000,), np.finfo(dtype).max, dtype)
    assert np.isposinf(jax.jit(jnp.sum)(jax.device_put(huge, xpu)))


DOTS = {
    "vdot": (jnp.vdot, (), ()),
    "highest": (lambda a, b: jnp.vdot(a, b, precision="highest"), (), ()),
    "matrices": (lambda a, b: (a[None] @ b[:, None])[0, 0], (), ()),
    "batch": (jax.vmap(jnp.vdot), (3,), (3,)),
    "columns": (lambda a, b: jnp.einsum("bxk,bkx->bx", a[:, None], b[..., None]), (3,), (3,)),
}


@covering(name=DOTS, dtype=["float32", "float64", "complex64"], length=[300, 20_000, 500_001])
def test_inner_products(xpu, name: str, dtype: str, length: int) -> None:
    function, *batches = DOTS[name]
    a, b = (_random((*batch, length), dtype) for batch in batches)
    a[..., : length // 2] = b[..., : length // 2] = _full(length // 2, dtype)
    wide = [x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble) for x in (a, b)]
    if name in ("vdot", "highest", "batch"):
        wide[0] = wide[0].conj()
    actual = jax.jit(function)(*jax.device_put((a, b), xpu))
    _assert_close(np.squeeze(np.asarray(actual)), (wide[0] * wide[1]).sum(-1), 4, dtype)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "uint16"])
def test_inner_products_of_other_types(xpu, dtype: str) -> None:
    a, b = (np.random.default_rng(i).integers(0, 2, 1000).astype(dtype) for i in range(2))
    for x, y in ((a, b), (a, ~a if dtype == "bool" else 0 * a)):
        actual = jax.jit(jnp.vdot)(*jax.device_put((x, y), xpu))
        assert actual.dtype == dtype
        np.testing.assert_array_equal(actual, np.vdot(x, y))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [2, 8, 16])
def test_a_long_vector_times_few_columns(xpu, dtype: str, columns: int) -> None:
    a, b = _full(200_001, dtype), np.ones((200_001, columns), dtype)
    actual = jax.jit(jnp.matmul)(*jax.device_put((a, b), xpu))
    _assert_close(actual, _exact(a, 0), 3, dtype)
    transposed = jax.jit(lambda a, b: b.T @ a)(*jax.device_put((a, b), xpu))
    _assert_close(transposed, _exact(a, 0), 3, dtype)


def test_inner_products_in_loops(xpu) -> None:
    """These stay in the loop's kernel, where one work-item adds up."""
    x = _full(20_000, "float32")

    @jax.jit
    def repeat(x):
        return lax.fori_loop(0, 3, lambda _, s: s * 0.5 + jnp.vdot(x, x), jnp.float32(0))

    _assert_close(repeat(jax.device_put(x, xpu)), 1.75 * _exact(x * x, 0), 4, "float32")


@pytest.mark.parametrize("rows", [8, 19])
def test_products_in_blocks(xpu, rows: int) -> None:
    """Sums of a block of a product join wide totals in runs of 128."""
    a, b = _full((rows, 5000), "float32"), np.ones((5000, 16), "float32")
    outside = jax.jit(lambda a, b: jnp.tanh(a[None] @ b[None]) + a[0, 0])
    actual = np.asarray(outside(*jax.device_put((a, b), xpu)))
    np.testing.assert_allclose(actual, 1 + TERM, rtol=1e-6)
    batch = jax.jit(lambda a, b: jnp.einsum("rk,bkn->brn", a, jnp.stack([b, b])))
    _assert_close(batch(*jax.device_put((a, b), xpu)), _exact(a[0], 0), 100, "float32")


@pytest.mark.parametrize("groups", [1, 8])
def test_gradients_of_convolutions(xpu, groups: int) -> None:
    """Of weights in f64, for which there is no library, and of a bias, which is a sum."""
    for dtype, has_library in (("float64", False), ("float32", True)):
        x, g = np.ones((4, 40, 40, 8), dtype), _full((4, 40, 40, 8), dtype)
        w, bias = np.ones((1, 1, 8 // groups, 8), dtype), np.zeros(8, dtype)

        def loss(w, bias, x, g):
            y = lax.conv_general_dilated(
                x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
                feature_group_count=groups,
            )  # fmt: skip
            return ((y + bias) * g).sum()

        gradients = jax.jit(jax.grad(loss, (0, 1)))
        of_weights, of_bias = gradients(*jax.device_put((w, bias, x, g), xpu))
        exact = _exact(g[..., 0].reshape(-1), 0)
        _assert_close(of_bias, exact, 2, dtype)
        if not has_library:
            _assert_close(of_weights, exact, 4, dtype)


def test_sums_over_windows(xpu) -> None:
    x = _full((1, 96, 96, 5), "float32")
    window = (1, 96, 96, 1)
    add = jax.jit(lambda x: lax.reduce_window(x, 0.0, lax.add, window, window, "VALID"))
    _assert_close(add(jax.device_put(x, xpu)), _exact(x[..., 0].reshape(-1), 0), 2, "float32")


def test_statistics(xpu) -> None:
    """Formulas that begin with a long sum, alone and along rows."""
    x = jax.device_put(np.tile(np.array([0.1, 0.3], np.float32), 500_000), xpu)
    exact = np.asarray(x).astype(np.float64)
    norm = np.linalg.norm(exact)
    for function, wanted in (
        (jnp.mean, exact.mean()), (jnp.var, exact.var()), (jnp.linalg.norm, norm)
    ):  # fmt: skip
        _assert_close(jax.jit(function)(x), wanted, 4, "float32", function)
    zeros = jnp.zeros(1_000_000, jnp.float32, device=xpu)
    assert float(jax.jit(jax.nn.logsumexp)(zeros)) == pytest.approx(np.log(1e6), rel=1e-7)
    bytes_ = jax.device_put(np.full(2**22, 255, np.uint8), xpu)
    assert float(jax.jit(jnp.mean)(bytes_)) == 255
    rows = jax.device_put(_full((40, 5000), "float32"), xpu)
    softmax = np.asarray(jax.jit(lambda x: jax.nn.softmax(x, -1))(rows)).astype(np.float64)
    np.testing.assert_allclose(softmax, 1 / 5000, rtol=3e-7)


@pytest.mark.parametrize("target", ["dg2", "pvc"])
def test_devices_with_and_without_f64(xpu, target: str, tmp_path) -> None:
    """Without f64, sums of f32 run in pairs of f32, and those of complex numbers as they are."""
    (device,) = topologies.get_topology_desc(target, "xpu").devices
    sharding = jax.sharding.SingleDeviceSharding(device)

    def sums(x, z):
        rows, columns = x.sum(1), x.sum(0)
        return (
            rows,
            columns,
            jnp.vdot(rows, rows),
            jax.nn.softmax(x, 1),
            z.sum(0),
            jnp.exp(x).sum(1),
        )

    shapes = [
        jax.ShapeDtypeStruct((3000, 5000), dtype, sharding=sharding)
        for dtype in (jnp.float32, jnp.complex64)
    ]
    lowered = jax.jit(sums).lower(*shapes)
    lowered.compile(compiler_options={"xla_dump_to": str(tmp_path)})
    code = "".join(path.read_text() for path in tmp_path.glob("*.ir-with-opt.ll"))
    assert "fadd float" in code
    assert ("double" in code) == (target == "pvc")
