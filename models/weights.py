"""Random weights from a fixed seed, made on the host: the same on every platform.

Scales and offsets are drawn around their usual first values, as after some training, so that no
gradient vanishes by symmetry and every one of them can be compared.
"""

from __future__ import annotations

import math

import numpy as np


class Weights:
    """Draws arrays, all float32, one after the other."""

    def __init__(self, seed: int = 0) -> None:
        self._random = np.random.default_rng(seed)

    def normal(self, *shape: int, deviation: float = 1.0) -> np.ndarray:
        """Normal numbers of mean zero: `shape`."""
        return deviation * self._random.standard_normal(shape, np.float32)

    def near(self, value: float, *shape: int) -> np.ndarray:
        """Scales (near 1) and offsets (near 0): `shape`."""
        return np.float32(value) + self.normal(*shape, deviation=0.1)

    def dense(self, inputs: int, outputs: int, gain: float = 1.0) -> np.ndarray:
        """A matrix [inputs, outputs] that keeps the variance of what it multiplies."""
        return self.normal(inputs, outputs, deviation=math.sqrt(gain / inputs))

    def convolution(self, size: int, inputs: int, outputs: int, gain: float = 1.0) -> np.ndarray:
        """A square kernel [size, size, inputs, outputs]; `gain` 2 makes up for a ReLU."""
        deviation = math.sqrt(gain / (size * size * inputs))
        return self.normal(size, size, inputs, outputs, deviation=deviation)

    def integers(self, bound: int, *shape: int) -> np.ndarray:
        """Whole numbers in [0, bound): int32 `shape`."""
        return self._random.integers(0, bound, shape, np.int32)

    def uniform(self, low: float, high: float, *shape: int) -> np.ndarray:
        """Numbers in [low, high): `shape`."""
        return self._random.uniform(low, high, shape).astype(np.float32)
