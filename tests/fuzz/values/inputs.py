"""Values of inputs, drawn from a kind and a seed.

`make_values` is copied into standalone scripts, so it uses NumPy and ml_dtypes only.
"""

from __future__ import annotations

import base64
import inspect
import zlib

import ml_dtypes
import numpy as np

DTYPES: dict[str, np.dtype] = {
    "bool": np.dtype(np.bool_),
    "s8": np.dtype(np.int8),
    "s16": np.dtype(np.int16),
    "s32": np.dtype(np.int32),
    "s64": np.dtype(np.int64),
    "u8": np.dtype(np.uint8),
    "u16": np.dtype(np.uint16),
    "u32": np.dtype(np.uint32),
    "u64": np.dtype(np.uint64),
    "f8e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "c64": np.dtype(np.complex64),
    "c128": np.dtype(np.complex128),
}
FLOATS = ("f8e4m3fn", "f8e5m2", "f16", "bf16", "f32", "f64")
COMPLEX = ("c64", "c128")
SIGNED = ("s8", "s16", "s32", "s64")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTEGERS = SIGNED + UNSIGNED
# Significant bits, the implicit one included.
SIGNIFICANT_BITS = {"f8e4m3fn": 4, "f8e5m2": 3, "f16": 11, "bf16": 8, "f32": 24, "f64": 53}
KINDS = ("small", "normal", "positive", "special", "huge", "ties", "extreme", "zeros", "ones")


def short_name(dtype: object) -> str:
    """Returns the short name of a dtype, e.g. "bf16"; KeyError if there is none."""
    wanted = np.dtype(dtype)
    for name, known in DTYPES.items():
        if known == wanted:
            return name
    raise KeyError(f"no short name for dtype {wanted}")


def make_values(dtype, shape, kind, seed):
    """Returns an array of a NumPy dtype.

    Kinds: "small" (integers from -4 to 4), "normal" (standard normal; integers to ±100),
    "positive" (0.25 to 4), "special" (normal with some NaN, infinities and -0.0), "huge" (large
    magnitudes that stay finite when a few are added), "ties" (three distinct values),
    "extreme" (an integer dtype's limits and values near them), "zeros", "ones".
    """
    rng = np.random.default_rng([seed, *shape])
    if dtype == np.bool_:
        return (
            np.full(shape, kind == "ones") if kind in ("zeros", "ones") else rng.random(shape) < 0.5
        )
    if kind == "zeros":
        return np.zeros(shape, dtype)
    if kind == "ones":
        return np.ones(shape, dtype)
    if np.issubdtype(dtype, np.integer):
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        if kind == "extreme":
            choices = np.array([low, low + 1, high, high - 1, 0, 1, high // 2, max(low, -1)], dtype)
            return rng.choice(choices, shape)
        bound = {"small": 4, "ties": 1, "positive": 9, "huge": high >> 2}.get(kind, 100)
        lowest = 1 if kind == "positive" else max(low, -bound)
        return rng.integers(lowest, bound, shape, dtype, endpoint=True)
    if np.issubdtype(dtype, np.complexfloating):
        part = np.float32 if dtype == np.complex64 else np.float64
        real = make_values(np.dtype(part), shape, kind, seed)
        return (real + 1j * make_values(np.dtype(part), shape, kind, seed + 1)).astype(dtype)
    if kind == "small":
        values = rng.integers(-4, 4, shape, endpoint=True).astype(np.float64)
    elif kind == "positive":
        values = 2.0 ** rng.uniform(-2, 2, shape)
    elif kind == "ties":
        values = rng.choice([-1.5, 0.5, 2.0], shape)
    else:
        values = np.clip(rng.standard_normal(shape), -3.5, 3.5)
    if kind == "huge":
        largest = {2: 2.0**11, 1: 2.0**4}.get(np.dtype(dtype).itemsize, 2.0**24)
        values = values * largest
    if kind == "special":
        words = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0])
        values = np.where(rng.random(shape) < 0.06, rng.choice(words, shape), values)
    return np.asarray(values).astype(dtype)


def encode(array: np.ndarray) -> str:
    """Returns the text that `decode` reads."""
    return base64.b85encode(zlib.compress(np.ascontiguousarray(array).tobytes())).decode()


def decode(text: str, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Returns the array that `encode` made the text of."""
    data = zlib.decompress(base64.b85decode(text))
    return np.frombuffer(data, dtype).reshape(shape).copy()


def values_of(one: object) -> np.ndarray:
    """Returns the values of a `program.Input`."""
    dtype = DTYPES[one.dtype]
    if one.kind == "recorded":
        return decode(one.data, dtype, one.shape)
    return make_values(dtype, one.shape, one.kind, one.seed)


def source_of_make_values() -> str:
    """Returns the source text of `make_values`, for standalone scripts."""
    return inspect.getsource(make_values)
