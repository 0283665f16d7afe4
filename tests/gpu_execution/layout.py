"""Memory layouts of arguments and results."""

from __future__ import annotations

import dataclasses
from typing import Any

import ml_dtypes  # noqa: F401  (NumPy then knows bfloat16 by its name)
import numpy as np


@dataclasses.dataclass(frozen=True)
class Array:
    """The memory layout of an array: dtype, shape, and dimensions from major to minor."""

    dtype: np.dtype
    shape: tuple[int, ...]
    major_to_minor: tuple[int, ...]

    @staticmethod
    def from_json(fields: list[Any]) -> Array:
        """Returns the layout that `to_json` made the fields of."""
        dtype, shape, major_to_minor = fields
        return Array(np.dtype(dtype), tuple(shape), tuple(major_to_minor))

    def to_json(self) -> list[Any]:
        """Returns dtype, shape and order of dimensions."""
        return [self.dtype.name, self.shape, self.major_to_minor]

    def to_bytes(self, values: np.ndarray) -> bytes:
        """Returns the values in this layout."""
        if values.shape != self.shape or values.dtype != self.dtype:
            raise ValueError(f"{values.dtype}{values.shape} for {self.dtype}{self.shape}")
        return np.ascontiguousarray(values.transpose(self.major_to_minor)).tobytes()

    def from_bytes(self, data: bytes) -> np.ndarray:
        """Returns the array whose memory holds `data`."""
        stored = np.frombuffer(data, self.dtype)
        stored = stored.reshape([self.shape[i] for i in self.major_to_minor])
        return stored.transpose(np.argsort(self.major_to_minor))
