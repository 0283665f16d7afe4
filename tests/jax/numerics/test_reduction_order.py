"""Reductions whose reducers depend on the order of their arguments: elements combine in ascending
order of their indices.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.exhaustive import covering, every

# Around the sizes at which a schedule changes, or cuts what it reduces, and many pieces.
LENGTHS = (1, 17, 45, 64, 257, 1000, 20003)
# Rows, columns side by side, few columns, and a dimension in the middle.
SHAPES = tuple(
    (shape, axis)
    for n in LENGTHS
    for shape, axis in (((1, n), 1), ((40, n), 1), ((n, 33), 0), ((n, 3), 0), ((3, n, 5), 1))
    if np.prod(shape) <= 1 << 20
)


def _with_nans(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Small integers, so that there are ties, and in two of three arrays several NaNs."""
    random = np.random.default_rng([seed, *shape])
    x = random.integers(-3, 4, shape).astype(np.float64)
    if seed % 3:
        x[random.random(shape) < (0.05, 0.5)[seed % 2]] = np.nan
    return np.array(jnp.asarray(x).astype(dtype))


def _on(device, function, *args):
    return jax.tree.map(np.asarray, jax.jit(function)(*jax.device_put(args, device)))


# The one in every other shape, the other in the rest: each program is one for all shapes.
def _extremes(module, arrays, first):
    functions = (module.argmax, module.argmin)
    return [
        functions[(first + i) % 2](x, axis)
        for i, (x, (_, axis)) in enumerate(zip(arrays, SHAPES, strict=True))
    ]


@covering(dtype=every(2, ["float32", "bfloat16", "float64", "float16"]), first=[0, 1])
def test_argmax_and_argmin_give_the_first_nan(xpu, dtype, first) -> None:
    operands = [_with_nans(shape, dtype, i) for i, (shape, _) in enumerate(SHAPES)]
    results = _on(xpu, lambda arrays: _extremes(jnp, arrays, first), operands)
    expected = _extremes(np, [x.astype(np.float64) for x in operands], first)
    for shape, result, wanted in zip(SHAPES, results, expected, strict=True):
        np.testing.assert_array_equal(result, wanted, err_msg=str(shape))


@pytest.mark.parametrize("dtype", every(2, ["int32", "bool", "uint8", "int64"]))
def test_argmax_and_argmin_give_the_first_of_equals(xpu, dtype) -> None:
    operands = [(_with_nans(shape, "float64", 0) > 1).astype(dtype) for shape, _ in SHAPES]
    results = _on(xpu, lambda arrays: _extremes(jnp, arrays, 0), operands)
    for shape, result, wanted in zip(SHAPES, results, _extremes(np, operands, 0), strict=True):
        np.testing.assert_array_equal(result, wanted, err_msg=str(shape))


def test_argmax_of_flat_and_transposed_arrays(xpu) -> None:
    x = _with_nans((70, 130), "float32", 1)
    functions = {
        "flat": lambda x: jnp.argmax(x),
        "transposed": lambda x: jnp.argmin(x.T),
        "columns of a transpose": lambda x: jnp.argmax(x.T, 0),
        "reversed": lambda x: jnp.argmax(x[::-1], 0),
        "nanargmax": lambda x: jnp.nanargmax(x, 1),
        "int8 indices": lambda x: lax.argmax(x[:, :100], 1, jnp.int8),
        "uint16 indices": lambda x: lax.argmin(x, 0, jnp.uint16),
    }
    numpy = {
        "flat": lambda x: np.argmax(x),
        "transposed": lambda x: np.argmin(x.T),
        "columns of a transpose": lambda x: np.argmax(x.T, 0),
        "reversed": lambda x: np.argmax(x[::-1], 0),
        "nanargmax": lambda x: np.nanargmax(x, 1),
        "int8 indices": lambda x: np.argmax(x[:, :100], 1),
        "uint16 indices": lambda x: np.argmin(x, 0),
    }
    for name, function in functions.items():
        np.testing.assert_array_equal(_on(xpu, function, x), numpy[name](x), err_msg=name)


# ---- Reducers that are associative and not commutative ----


def _matrix_product(a, b):
    """Products of 2 x 2 matrices of integers, which wrap around."""
    return (
        a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3],
    )  # fmt: skip


def _affine(a, b):
    """Composition of x -> a0 * x + a1."""
    return a[0] * b[0], a[1] * b[0] + b[1]


def _first_nonzero(a, b):
    where = jnp.where if isinstance(a[0], jax.Array) else np.where
    return (where(a[0] != 0, a[0], b[0]),)


def _last(a, b):
    return (b[0],)


REDUCERS = {
    "matrix product": (_matrix_product, (1, 0, 0, 1)),
    "affine": (_affine, (1, 0)),
    "first nonzero": (_first_nonzero, (0,)),
    "last": (_last, (0,)),
}


def _fold(reducer, initial, arrays, axis):
    """In order of the index, on the host."""
    # At least one dimension: numpy warns of integers that wrap around if they are scalars.
    results = tuple(np.full((1, *np.delete(arrays[0].shape, axis)), i, np.uint32) for i in initial)
    for i in range(arrays[0].shape[axis]):
        results = reducer(results, tuple(x.take(i, axis)[None] for x in arrays))
    return tuple(x[0] for x in results)


def _reduce(reducer, initial, arrays, axes):
    if len(initial) == 1:
        return (
            lax.reduce(arrays[0], np.uint32(initial[0]), lambda a, b: reducer((a,), (b,))[0], axes),
        )
    return lax.reduce(tuple(arrays), tuple(np.uint32(i) for i in initial), reducer, axes)


def _integers(shape, count, zeros=0.0):
    random = np.random.default_rng([count, *shape])
    arrays = tuple(random.integers(0, 1 << 32, shape, dtype=np.uint32) for _ in range(count))
    for x in arrays:
        x[random.random(shape) < zeros] = 0
    return arrays


@pytest.mark.parametrize("name", REDUCERS)
def test_reducers_that_do_not_commute(xpu, name) -> None:
    reducer, initial = REDUCERS[name]
    count = len(initial)
    shapes = [(shape, axis) for shape, axis in SHAPES if shape[axis] <= 1000 or count == 2]
    operands = [_integers(shape, count, zeros=0.9 if count == 1 else 0.0) for shape, _ in shapes]

    def every_one(operands):
        return [
            _reduce(reducer, initial, x, (axis,))
            for x, (_, axis) in zip(operands, shapes, strict=True)
        ]

    for x, (shape, axis), results in zip(
        operands, shapes, _on(xpu, every_one, operands), strict=True
    ):
        for result, expected in zip(results, _fold(reducer, initial, x, axis), strict=True):
            np.testing.assert_array_equal(result, expected, err_msg=f"{shape} {axis}")


@pytest.mark.parametrize("name", ["matrix product", "affine"])
def test_several_dimensions_are_reduced_in_lexicographic_order(xpu, name) -> None:
    reducer, initial = REDUCERS[name]
    count = len(initial)
    for shape, axes in (
        ((6, 70), (0, 1)),
        ((5, 4, 33), (0, 2)),
        ((7, 65, 20), (0, 1)),
        ((3, 40, 50), (1, 2)),
    ):
        arrays = _integers(shape, count)
        kept = [d for d in range(len(shape)) if d not in axes]
        flat = tuple(
            x.transpose(*kept, *axes).reshape(*[shape[d] for d in kept], -1) for x in arrays
        )
        expected = _fold(reducer, initial, flat, len(kept))
        as_is = _on(xpu, lambda *x, axes=axes: _reduce(reducer, initial, x, axes), *arrays)
        # The same elements in another layout.
        turned = [x.transpose().copy() for x in arrays]
        transposed = _on(
            xpu, lambda *x, axes=axes: _reduce(reducer, initial, [a.T for a in x], axes), *turned
        )
        for results in (as_is, transposed):
            for result, wanted in zip(results, expected, strict=True):
                np.testing.assert_array_equal(result, wanted, err_msg=f"{shape} {axes}")


def test_positions_that_descend(xpu) -> None:
    """The reducer of jnp.argmax over indices of the caller's: the leftmost NaN still comes
    first.
    """

    def argmax(a, b):
        pick = (a[0] > b[0]) | (a[0] != a[0])
        return jnp.where(pick, a[0], b[0]), jnp.where(
            pick | ((a[0] == b[0]) & (a[1] < b[1])), a[1], b[1]
        )

    for length in (45, 64, 1000, 20003):
        x = _with_nans((3, length), "float32", 1)
        positions = np.broadcast_to(np.arange(length, 0, -1, dtype=np.int32), x.shape)
        for where in (
            lambda p: p,
            lambda p, n=length: n - lax.broadcasted_iota(jnp.int32, p.shape, 1),
        ):
            function = functools.partial(
                lambda x, p, where: lax.reduce(
                    (x, where(p)), (np.float32(-np.inf), np.int32(0)), argmax, (1,)
                ),
                where=where,
            )
            _, index = _on(xpu, function, x, positions)
            np.testing.assert_array_equal(index, length - np.isnan(x).argmax(1))


def test_windows_combine_in_order(xpu) -> None:
    arrays = _integers((3, 200), 2)

    def windows(*x):
        return lax.reduce_window(
            x, (np.uint32(1), np.uint32(0)), _affine, (1, 7), (1, 2), [(0, 0), (3, 2)]
        )

    padded = [
        np.pad(x, ((0, 0), (3, 2)), constant_values=i) for x, i in zip(arrays, (1, 0), strict=True)
    ]
    got = _on(xpu, windows, *arrays)
    for at in range(got[0].shape[1]):
        expected = _fold(_affine, (1, 0), [x[:, 2 * at : 2 * at + 7] for x in padded], 1)
        for result, wanted in zip(got, expected, strict=True):
            np.testing.assert_array_equal(result[:, at], wanted)


@covering(axis=[0, 1], length=[31, 33, 200, 1500])
def test_scans_combine_in_order(xpu, axis, length) -> None:
    shape = (length, 3) if axis == 0 else (3, length)
    arrays = _integers(shape, 2)

    def scan(padding, *x):
        window = [1, 1]
        window[axis] = length
        pads = [(0, 0), (0, 0)]
        pads[axis] = padding
        return lax.reduce_window(x, (np.uint32(1), np.uint32(0)), _affine, window, (1, 1), pads)

    forward = _on(xpu, functools.partial(scan, (length - 1, 0)), *arrays)
    reverse = _on(xpu, functools.partial(scan, (0, length - 1)), *arrays)
    tree = _on(xpu, lambda *x: lax.associative_scan(_affine, x, axis=axis), *arrays)
    for at in range(0, length, max(1, length // 50)):
        before = [np.take(x, range(at + 1), axis) for x in arrays]
        behind = [np.take(x, range(at, length), axis) for x in arrays]
        for results, elements in ((forward, before), (tree, before), (reverse, behind)):
            expected = _fold(_affine, (1, 0), elements, axis)
            for result, wanted in zip(results, expected, strict=True):
                np.testing.assert_array_equal(np.take(result, at, axis), wanted, str(at))


@pytest.mark.parametrize("scans", [1, 2, 3, 5, 9, 17])
def test_many_scans_in_one_program(xpu, scans) -> None:
    """ReduceWindowRewriter adds computations while it iterates over the module's."""
    arrays = [_integers((40 + i,), 2) for i in range(scans)]

    def program(arrays):
        return [
            lax.reduce_window(
                x, (np.uint32(1), np.uint32(0)), _affine, x[0].shape, (1,), [(0, x[0].size - 1)]
            )
            for x in arrays
        ]

    for x, results in zip(arrays, _on(xpu, program, arrays), strict=True):
        for at in range(len(x[0])):
            expected = _fold(_affine, (1, 0), [a[at:] for a in x], 0)
            for result, wanted in zip(results, expected, strict=True):
                np.testing.assert_array_equal(result[at], wanted)


def test_in_a_loop(xpu) -> None:
    """Small loops are one kernel."""
    x = _with_nans((4, 45), "float32", 1)

    def loop(x):
        def step(i, carry):
            return carry + jnp.argmax(x + i, 1)

        return lax.fori_loop(0, 5, step, jnp.zeros(4, jnp.int64))

    np.testing.assert_array_equal(_on(xpu, loop, x), 5 * x.argmax(1))
