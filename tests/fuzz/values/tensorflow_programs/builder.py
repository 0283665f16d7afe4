"""Builds a random TensorFlow program: each statement runs on the CPU when it is added.

So types and shapes of results are known where they depend on values, and which results hold NaN.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tests.fuzz.values import builder
from tests.fuzz.values.builder import REAL_FLOATS, FunctionBuilder, Rejected, Value
from tests.fuzz.values.inputs import COMPLEX, DTYPES, INTEGERS, make_values, short_name, values_of
from tests.fuzz.values.program import Statement, render_body, uses
from tests.fuzz.values.tensorflow_programs import helpers

__all__ = ["REAL_FLOATS", "Builder", "FunctionBuilder", "Rejected", "Value"]

# TensorFlow has few kernels for unsigned integers of 16 to 64 bits, and for float8.
_DTYPE_WEIGHTS = {
    "f32": 42,
    "s32": 16,
    "s64": 7,
    "f16": 8,
    "bf16": 8,
    "f64": 8,
    "bool": 4,
    "u8": 4,
    "s8": 3,
    "s16": 2,
    "u16": 1.5,
    "u32": 1.5,
    "u64": 1,
    "c64": 3,
    "c128": 1,
}


class _Result:
    """A tensor, with its type in NumPy's terms."""

    def __init__(self, tensor: tf.Tensor) -> None:
        self.tensor = tensor
        self.dtype = np.dtype(tensor.dtype.as_numpy_dtype)
        self.shape = tuple(tensor.shape)


class Builder(builder.Builder):
    """See `builder.Builder`. The example values of a function's parameters are its operands'."""

    def dtype(self, among: Sequence[str] | None = None) -> str:
        names = [name for name in among or _DTYPE_WEIGHTS if name in _DTYPE_WEIGHTS]
        return self.weighted({name: _DTYPE_WEIGHTS[name] for name in names})

    def _infer(self, statement: Statement) -> _Result:
        used = [name for name in sorted(uses(statement)) if name in self._types]
        lines = [f"def _evaluate({', '.join(used)}):"]
        render_body((statement,), lines)
        lines.append(f"    return {statement.name}")
        names = dict(self._names)
        exec("\n".join(lines), names)
        try:
            helpers.forget()
            evaluate = helpers.started(names["_evaluate"], "/CPU:0")
            with tf.device("/CPU:0"):
                tensor = evaluate(*(_tensors(self._types[name]) for name in used))
            if not isinstance(tensor, tf.Tensor):
                raise TypeError(f"a {type(tensor).__name__}")
            result = _Result(tensor)
            short_name(result.dtype)
        except Exception as error:  # whatever TensorFlow finds wrong with an op
            self.last_error = f"{statement.source}: {type(error).__name__}: {error}"
            raise Rejected from error
        return result

    def _estimate(
        self,
        result: _Result,
        operands: Sequence[Value],
        magnitude: float | None,
        special: bool | None,
    ) -> tuple[float, bool]:
        array = result.tensor.numpy()
        if array.size == 0 or short_name(result.dtype) in INTEGERS + ("bool",):
            return magnitude or 4.0, False
        size = np.abs(array.astype(np.complex128 if np.iscomplexobj(array) else np.float64))
        finite = np.isfinite(size)
        # In a loop's body the values of later steps may be larger than those that were seen.
        largest = float(size[finite].max()) if finite.any() else 1.0
        return max(largest, 1e-3, (magnitude or 0.0) if self.depth else 0.0), not finite.all()

    def _type_of(self, like: Any) -> Any:
        if not isinstance(like, Value):
            return tuple(map(self._type_of, like))
        known = self._types.get(like.name)
        if isinstance(known, _Result) and (known.shape, known.dtype) == (
            like.shape,
            DTYPES[like.dtype],
        ):
            return known
        given = next((one for one in self.inputs if one.name == like.name), None)
        if given is not None and given.shape == like.shape:
            array = values_of(given)
        else:
            array = make_values(DTYPES[like.dtype], like.shape, "normal", 0)
        with tf.device("/CPU:0"):
            return _Result(tf.constant(array))

    def value_of(self, value: Value) -> np.ndarray:
        """Returns the elements of a value, or of an example of it inside a function."""
        return self._types[value.name].tensor.numpy()

    # Conversions to a wanted type.

    def coerce(
        self, value: Value, dtype: str, shape: tuple[int, ...], *, bounded: bool = False
    ) -> Value:
        """Returns a value of a dtype and a shape that is computed from another.

        Parameters
        ----------
        bounded : bool
            Floats are clipped to ±8, so that loops do not let them grow.
        """
        if value.is_complex and dtype not in COMPLEX:
            value = self.emit("tf.math.real({0})", value, op="real", noise="none")
        if value.shape != shape:
            value = self.emit(f"resized({{0}}, {list(shape)})", value, op="resize", noise="none")
        if value.dtype != dtype:
            if value.is_float and dtype in INTEGERS:
                value = self.to_integer(value, dtype)
            else:
                value = self.emit(f"tf.cast({{0}}, {dtype})", value, op="cast")
        if bounded and value.dtype in REAL_FLOATS:
            value = self.emit("tf.clip_by_value({0}, -8, 8)", value, op="clip", noise="none",
                              magnitude=8.0)  # fmt: skip
        return value

    def to_integer(self, value: Value, dtype: str) -> Value:
        """Converts floats to integers within the range of both, as a cast of others is
        undefined.
        """
        value = self.finite(value)
        low = 0 if dtype.startswith("u") else -100
        text = f"tf.cast(tf.clip_by_value({{0}}, {low}, 100), {dtype})"
        return self.emit(text, value, op="float_to_integer", noise="none")

    def finite(self, value: Value) -> Value:
        """Returns the value without NaN and infinities, if it may have any."""
        if not value.special:
            return value
        if value.is_complex:
            raise Rejected
        text = "tf.where(tf.math.is_finite({0}), {0}, tf.constant(0.5, {0}.dtype))"
        return self.emit(text, value, op="select", noise="none")

    def real(self, *, special: bool = True) -> Value:
        """Returns a value of f16, bf16, f32 or f64; without NaN unless `special`."""
        value = self.pick(REAL_FLOATS)
        return value if special else self.finite(value)

    def indices(self, shape: tuple[int, ...], limit: int, dtype: str | None = None) -> str:
        """Returns the source of indices below a limit: an input's remainder, so they vary."""
        if limit < 1:
            raise Rejected
        dtype = dtype or self.choice(("s32", "s32", "s64"))
        given = self.new_input(dtype, shape, "normal")
        return f"tf.math.floormod({given.name}, {limit})"

    def constant(self, dtype: str, low: float = -3, high: float = 3) -> str:
        """Returns the source of a scalar."""
        if dtype in INTEGERS:
            return repr(
                self.rng.randint(max(0, int(low)) if dtype[0] == "u" else int(low), int(high))
            )
        return repr(round(self.rng.uniform(low, high), 3))


def _tensors(known: Any) -> Any:
    return tuple(map(_tensors, known)) if isinstance(known, tuple) else known.tensor


def product(shape: Sequence[int]) -> int:
    """Returns the number of elements of a shape."""
    return math.prod(shape)
