"""Builds a random JAX program: the types of results come from `jax.eval_shape`."""

from __future__ import annotations

import math
from typing import Any

import jax

from tests.fuzz.values import builder
from tests.fuzz.values.builder import (
    REAL_FLOATS,
    FunctionBuilder,
    Rejected,
    Value,
    mentioned,
    width,
)
from tests.fuzz.values.inputs import COMPLEX, DTYPES, FLOATS, INTEGERS, short_name
from tests.fuzz.values.program import Statement, render_body, uses

__all__ = ["REAL_FLOATS", "Builder", "FunctionBuilder", "Rejected", "Value", "mentioned", "width"]


class Builder(builder.Builder):
    """See `builder.Builder`."""

    def _infer(self, statement: Statement) -> jax.ShapeDtypeStruct:
        used = [name for name in sorted(uses(statement)) if name in self._types]
        lines = [f"def _evaluate({', '.join(used)}):"]
        render_body((statement,), lines)
        lines.append(f"    return {statement.name}")
        names = dict(self._names)
        exec("\n".join(lines), names)
        try:
            result = jax.eval_shape(names["_evaluate"], *(self._types[name] for name in used))
            short_name(result.dtype)
        except Exception as error:  # whatever JAX finds wrong with an op
            self.last_error = f"{statement.source}: {type(error).__name__}: {error}"
            raise Rejected from error
        return jax.ShapeDtypeStruct(result.shape, result.dtype)

    def _type_of(self, like: Any) -> Any:
        if isinstance(like, Value):
            return jax.ShapeDtypeStruct(like.shape, DTYPES[like.dtype])
        return tuple(map(self._type_of, like))

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
            value = self.emit("lax.real({0})", value, op="real", noise="none")
        if value.shape != shape:
            if value.size == 0 or math.prod(shape) == 0:
                text = f"jnp.zeros({shape}, {{0}}.dtype)"
                value = self.emit(text, value, op="zeros", noise="none")
            else:
                value = self.emit(f"jnp.resize({{0}}, {shape})", value, op="resize", noise="none")
        if value.dtype != dtype:
            if (value.is_float) and dtype in INTEGERS:
                value = self.to_integer(value, dtype)
            else:
                value = self.emit(f"{{0}}.astype({dtype})", value, op="convert")
        if bounded and value.dtype in FLOATS:
            value = self.emit("jnp.clip({0}, -8, 8)", value, op="clip", noise="none", magnitude=8.0)
        return value

    def to_integer(self, value: Value, dtype: str) -> Value:
        """Converts floats to integers within the range of both."""
        low = 0 if dtype.startswith("u") else -100
        text = f"jnp.clip(jnp.nan_to_num({{0}}), {low}, 100).astype({dtype})"
        return self.emit(text, value, op="float_to_integer", noise="none", special=False)

    def finite(self, value: Value) -> Value:
        """Returns the value without NaN and infinities, if it may have any."""
        if not value.special:
            return value
        text = "jnp.nan_to_num({0}, nan=0.5, posinf=2.0, neginf=-2.0)"
        return self.emit(text, value, op="nan_to_num", noise="none", special=False)
