"""Inputs, the host's results and tolerances that the checks share."""

from __future__ import annotations

import numpy as np

EPS = float(np.finfo(np.float32).eps)
SUM = "f32 sums of products in any order: 32 eps times the sum of magnitudes"
# A gradient is a sum of sums.
GRADIENT = "f32 sums of products in any order: 64 eps times the sum of magnitudes"
CONVOLUTION = "f32 sums of products, Winograd permitted: 64 eps times the sum of magnitudes"

SCALE_SOURCE = """
template <typename T>
ONEXPU_KERNEL void report_scale(const T* x, T* y, float a) {
  const size_t i = onexpu::global_id();
  y[i] = T(a * float(x[i]));
}
"""


def random(*shape: int, seed: int = 0) -> np.ndarray:
    """Returns normally distributed f32 values."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def convolve(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Returns the "VALID" convolution of NHWC by HWIO in the arguments' type."""
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel.shape[:2], axis=(1, 2))
    result: np.ndarray = np.einsum("nhwcij,ijco->nhwo", windows, kernel, optimize=True)
    return result
