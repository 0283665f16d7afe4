"""Fourier transforms against numpy's, in the sizes that the library has and in those that kernels
have.
"""

from __future__ import annotations

import concurrent.futures
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.exhaustive import covering, every
from tests.jax.compare import check

# For a GPU all transforms are the library's; on a CPU, many are kernels.
LIBRARY_TRANSFORMS = os.environ.get("ONEXPU_SCHEDULES") == "gpu"
KINDS = ["fftn", "ifftn", "rfftn", "irfftn"]


def _signal(shape, dtype) -> np.ndarray:
    random = np.random.default_rng(sum(shape))
    values = random.standard_normal(shape)
    if np.issubdtype(np.dtype(dtype), np.complexfloating):
        values = values + 1j * random.standard_normal(shape)
    return values.astype(dtype)


def _is_complex(kind) -> bool:
    return kind != "rfftn"


def _compare(xpu, kind, x, **options) -> None:
    actual = np.asarray(
        jax.jit(lambda x: getattr(jnp.fft, kind)(x, **options))(jax.device_put(x, xpu))
    )
    expected = getattr(np.fft, kind)(x, **options)
    assert actual.shape == expected.shape
    assert np.finfo(actual.dtype).eps == np.finfo(x.dtype).eps
    # Errors grow with the logarithm of the length, relative to the largest element; products with
    # Fourier matrices, in short transforms, with its root.
    tolerance = 40 * float(np.finfo(x.dtype).eps) * float(np.abs(expected).max(initial=1))
    np.testing.assert_allclose(actual, expected, atol=tolerance, rtol=0)


@covering(wide=[False, True], kind=KINDS)
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((8,), (0,)),
        ((3, 64), (1,)),
        ((5, 1024), (1,)),
        ((4096,), (0,)),
        ((7, 1023), (1,)),  # an odd length
        ((2, 2053), (1,)),  # a prime
        ((1, 4096), (1,)),
        ((64, 32), (0, 1)),
        ((3, 33, 65), (1, 2)),
        ((9, 16, 25), (0, 1, 2)),
        ((2, 16, 16, 17), (1, 2, 3)),
        ((2, 1, 2048), (1, 2)),  # one element along an axis
        ((2, 2048, 2), (1,)),  # not the last axis
        ((512, 6), (0,)),
        ((31, 4, 33), (0, 2)),
    ],
)
def test_agrees_with_numpy(xpu, wide, kind, shape, axes) -> None:
    dtype = (
        ("complex128" if wide else "complex64")
        if _is_complex(kind)
        else ("float64" if wide else "float32")
    )
    _compare(xpu, kind, _signal(shape, dtype), axes=axes)


@pytest.mark.parametrize("n", [2047, 2048])
def test_half_a_spectrum_may_be_any(xpu, n) -> None:
    # No spectrum of a real signal: XLA and numpy ignore what the last, real step cannot have.
    x = _signal((3, n // 2 + 1), "complex128")
    _compare(xpu, "irfftn", x, s=(n,), axes=(1,))
    _compare(xpu, "irfftn", _signal((40, 33), "complex128"), s=(40, 65), axes=(0, 1))
    _compare(xpu, "irfftn", _signal((2, 8, 9, 17), "complex128"), s=(8, 9, 32), axes=(1, 2, 3))


@covering(
    wide=[False, True],
    kind=["fft", "ifft", "rfft", "irfft"],
    n=every(4, [2, 3, 4, 8, 13, 15, 16, 49, 60, 64, 100, 105, 128, 169, 210, 243, 256]),
)
def test_lengths_that_kernels_have(xpu, wide, kind, n) -> None:
    """Every radix, alone and with others; full, odd and single work-groups of lines."""
    function = jax.jit(lambda x: getattr(jnp.fft, kind)(x, n=n))
    dtype = (
        ("complex128" if wide else "complex64")
        if kind != "rfft"
        else ("float64" if wide else "float32")
    )
    for lines in (8, 16, 17, 75):
        # Half a spectrum may be any: see above.
        x = _signal((lines, n // 2 + 1 if kind == "irfft" else n), dtype)
        x = jax.device_put(x, xpu)
        if lines * n > 512:
            assert ("onemkl" in function.lower(x).compile().as_text()) == LIBRARY_TRANSFORMS
        expected = getattr(np.fft, kind)(np.asarray(x), n=n)
        # Measured 1.9 units of the largest element; products with matrices, of the smallest, 8.
        tolerance = 10 * float(np.finfo(dtype).eps) * float(np.abs(expected).max())
        np.testing.assert_allclose(np.asarray(function(x)), expected, atol=tolerance, rtol=0)


def test_work_around_transforms_joins_their_kernels(xpu) -> None:
    x = _signal((64, 128), "float32")
    weights = _signal((64, 65), "float32")

    def filtered(x, weights):
        return jnp.fft.irfft2(1j * weights * jnp.fft.rfft2(2 * x), s=x.shape) - 1

    arguments = jax.device_put((x, weights), xpu)
    compiled = jax.jit(filtered).lower(*arguments).compile()
    if not LIBRARY_TRANSFORMS:  # one for each dimension there and back, and the subtraction
        lines = compiled.as_text().split("ENTRY")[1].splitlines()
        assert sum(" fusion(" in line or " fft(" in line for line in lines) == 5
    expected = np.fft.irfft2(1j * weights * np.fft.rfft2(2.0 * x), s=x.shape) - 1
    # Two transforms of 8192 elements, as test_agrees_with_numpy says.
    np.testing.assert_allclose(
        np.asarray(compiled(*arguments)), expected, atol=40 * 1.2e-7 * np.abs(expected).max()
    )


@covering(
    dtype=["float32", "float64"],
    kind=["fft", "ifft", "rfft", "irfft"],
    shape=every(3, [(37, 60), (129, 8), (16, 128)]),
)
def test_transforms_that_are_alike_share_a_kernel(xpu, kind, shape, dtype) -> None:
    lines, n = shape
    random = np.random.default_rng(n)
    scales = random.standard_normal((10, 1, 1)).astype(dtype)  # more than one kernel takes
    x = random.standard_normal((lines, n // 2 + 1 if kind == "irfft" else n))
    x = x.astype(dtype) if kind == "rfft" else (x + 1j * random.standard_normal(x.shape)).astype(
        "complex64" if dtype == "float32" else "complex128")  # fmt: skip

    def transforms(x):
        whole = [
            getattr(jnp.fft, kind)(x * scale + i, n=n) for i, scale in enumerate(scales[:, 0, 0])
        ]
        return whole, getattr(jnp.fft, kind)(
            jnp.abs(whole[3]) + jnp.zeros_like(x, shape=whole[3].shape), n=n
        )

    compiled = jax.jit(transforms).lower(jax.device_put(x, xpu)).compile()
    if not LIBRARY_TRANSFORMS:
        fusions = [
            line for line in compiled.as_text().split("ENTRY")[1].splitlines() if " fusion(" in line
        ]
        assert (
            len([line for line in fusions if line.split(" fusion(")[0].count("[") >= 2]) == 2
        )  # eight, and two
    whole, later = compiled(jax.device_put(x, xpu))
    wide = x.astype("float64" if kind == "rfft" else "complex128")
    # Units of the largest element, as in test_lengths_that_kernels_have.
    bound = 10 * float(np.finfo(dtype).eps)
    for i, (scale, actual) in enumerate(zip(scales[:, 0, 0].astype("float64"), whole, strict=True)):
        expected = getattr(np.fft, kind)(wide * scale + i, n=n)
        np.testing.assert_allclose(
            np.asarray(actual), expected, atol=bound * float(np.abs(expected).max()), rtol=0
        )
    expected = getattr(np.fft, kind)(np.abs(np.asarray(whole[3])).astype(wide.dtype), n=n)
    np.testing.assert_allclose(
        np.asarray(later), expected, atol=bound * float(np.abs(expected).max()), rtol=0
    )


@covering(last=["alike", "reversed"], kind=["fft", "ifft", "rfft", "irfft"])
@pytest.mark.parametrize(  # full work-groups and one that is not, several radices and one
    ("lines", "n", "wide"),
    every(3, [(37, 48, False), (9, 48, True), (20, 13, True), (11, 13, False)], unpack=True),
)
def test_transforms_that_share_a_kernel_read_arrays_of_their_own(
    xpu, lines, n, wide, kind, last
) -> None:
    shape = (n // 2 + 1 if kind == "irfft" else n, lines)
    dtype = np.dtype(("f8" if wide else "f4") if kind == "rfft" else ("c16" if wide else "c8"))
    arrays = [(scale * _signal(shape, dtype) + scale).astype(dtype) for scale in (1, 2, 3, 4)]

    def transforms(library, arrays):
        moved = [*arrays[:3], arrays[1][::-1] if last == "reversed" else arrays[3]]
        return [getattr(library.fft, kind)(a.T, n=n) for a in moved]

    on_device = jax.device_put(arrays, xpu)
    compiled = jax.jit(lambda arrays: transforms(jnp, arrays)).lower(on_device).compile()
    if not LIBRARY_TRANSFORMS:
        fusions = [
            line for line in compiled.as_text().split("ENTRY")[1].splitlines() if " fusion(" in line
        ]
        assert [line.split(" fusion(")[0].count("[") for line in fusions].count(4) == 1
    for actual, expected in zip(compiled(on_device), transforms(np, arrays), strict=True):
        # As in test_lengths_that_kernels_have.
        tolerance = 10 * float(np.finfo(dtype).eps) * float(np.abs(expected).max())
        np.testing.assert_allclose(np.asarray(actual), expected, atol=tolerance, rtol=0)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_axes_of_transposed_arrays(xpu, axis) -> None:
    x = _signal((24, 30, 20), "complex64")
    got = jax.jit(lambda x: jnp.fft.fft(x.transpose(2, 0, 1), axis=axis).transpose(1, 2, 0))(
        jax.device_put(x, xpu)
    )
    expected = np.fft.fft(x.transpose(2, 0, 1), axis=axis).transpose(1, 2, 0)
    np.testing.assert_allclose(
        np.asarray(got), expected, atol=1e-4
    )  # 30 sums of standard normal numbers, f32


def test_empty_arrays(xpu) -> None:
    for shape in ((0, 1024), (0, 8)):
        assert jnp.fft.fft(jax.device_put(np.zeros(shape, np.complex64), xpu)).shape == shape


def test_not_a_number_stays_in_its_batch(xpu) -> None:
    x = _signal((4, 1024), "complex64")
    x[1, 7] = np.nan
    got = np.asarray(jax.jit(jnp.fft.fft)(jax.device_put(x, xpu)))
    assert np.isnan(got[1]).all()
    assert np.isfinite(got[[0, 2, 3]]).all()


def test_under_transformations(xpu, cpu) -> None:
    x = _signal((6, 512), "float32")

    def energy(x):
        return jnp.sum(jnp.abs(jnp.fft.rfft(x)) ** 2)

    def repeated(x):
        def step(carry, _):
            return jnp.fft.irfft(jnp.fft.rfft(carry) * 0.5, n=carry.shape[-1]), jnp.sum(carry)

        return jax.lax.scan(step, x, length=5)

    for function in (
        jax.grad(energy),
        jax.vmap(jax.grad(energy)),
        repeated,
        jax.jacfwd(lambda x: jnp.fft.rfft(x[0, :8]).real),
    ):
        for actual, expected in zip(
            jax.tree.leaves(jax.jit(function)(jax.device_put(x, xpu))),
            jax.tree.leaves(jax.jit(function)(jax.device_put(x, cpu))),
            strict=True,
        ):
            # Ten transforms of 512 elements in f32, of sums near 10^3.
            np.testing.assert_allclose(
                np.asarray(actual), np.asarray(expected), rtol=1e-4, atol=5e-3
            )


def test_several_threads_share_a_program(xpu) -> None:
    transform = jax.jit(lambda x: jnp.fft.ifft(jnp.fft.fft(x)))
    inputs = [_signal((8, 1000), "complex64") * (i + 1) for i in range(8)]

    def run(x):
        return np.asarray(transform(jax.device_put(x, xpu)))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            for x, y in zip(inputs, pool.map(run, inputs), strict=True):
                np.testing.assert_allclose(y, x, atol=1e-5 * np.abs(x).max())  # there and back, f32


def test_a_large_transform_is_a_library_call(xpu) -> None:
    text = (
        jax.jit(jnp.fft.fft2)
        .lower(jax.device_put(_signal((64, 2048), "complex64"), xpu))
        .compile()
        .as_text()
    )
    assert text.count('custom_call_target="onemkl-fft"') == 1


@pytest.mark.parametrize("shape", [(32, 32), (64, 64), (128, 96), (4, 300)])
def test_transforms_in_a_loop(xpu, cpu, shape) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)

    def step(_, x):
        return jnp.fft.irfft2(jnp.fft.rfft2(x) * 0.9, s=shape) + jnp.abs(jnp.fft.fft2(x)) / x.size

    # 5 steps, each a sum of some hundred products for every element.
    check(xpu, cpu, jax.jit(lambda x: jax.lax.fori_loop(0, 5, step, x)), x, ulps=5 * 64)


@pytest.mark.parametrize("shape", [(16, 64), (9, 60), (33, 8), (64, 128), (2, 3, 16)], ids=str)
def test_lines_do_not_influence_each_other(xpu, shape: tuple[int, ...]) -> None:
    """A large line, or one with NaN, changes no other one."""
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    x.reshape(-1, shape[-1])[0] *= 1e8
    for dirty in (x, np.where(x == x.flat[0], np.nan, x).astype(np.float32)):
        spectra = np.asarray(jax.jit(jnp.fft.rfft)(jax.device_put(dirty, xpu)))
        lines = np.asarray(
            jax.jit(lambda x: jnp.fft.irfft(jnp.fft.rfft(x), n=shape[-1]))(
                jax.device_put(dirty, xpu)
            )
        )
        # Of all lines but the first, in units of each line's largest element: a transform of 128
        # has seven steps of a few rounding errors each.
        for got, want in ((spectra, np.fft.rfft(x.astype(np.float64))), (lines, x)):
            got, want = (one.reshape(-1, one.shape[-1])[1:] for one in (got, want))
            error = np.abs(got - want).max(-1) / np.abs(want).max(-1)
            assert error.max() < 30 * 2.0**-24


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_transforms_on_several_threads(xpu, dtype) -> None:
    """The threads share a program, and so one description of its transform."""
    run = jax.jit(lambda x: lax.fori_loop(0, 20, lambda i, x: jnp.fft.ifft(jnp.fft.fft(x)), x))
    arrays = [_signal((9, 1021), dtype) + i for i in range(8)]

    def check_one(x):
        result = run(jax.device_put(x, xpu))
        # Each transform rounds once for each of its 10 factors of two.
        error = 20 * 2 * 10 * np.finfo(dtype).eps
        np.testing.assert_allclose(result, x, rtol=error, atol=error * np.abs(x).max())

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(check_one, arrays))
