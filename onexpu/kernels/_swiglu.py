"""The gated unit of transformers' feed-forward layers (Shazeer: GLU Variants Improve Transformer,
2020).
"""

from __future__ import annotations

from typing import Any

from onexpu._launch.shapes import like
from onexpu.kernels._team_kernel import FLOATING, TeamKernel, block_rows, size

_SOURCE = """
template <typename C, int width>
inline onexpu::vector<C, width> logistic(onexpu::vector<C, width> x) {
  return C(1) / (C(1) + exponential<C, width>(-x));
}

template <bool is_group, typename T>
inline void swiglu(const T* gate, const T* up, T* y, size_t size) {
  using C = onexpu::wide<T>;
  for_elements<is_group>(size, [&](auto width, size_t i) {
    constexpr int kWidth = decltype(width)::value;
    const onexpu::vector<C, kWidth> g = onexpu::load<C, kWidth>(gate + i);
    onexpu::store<C, kWidth>(g * logistic<C, kWidth>(g) * onexpu::load<C, kWidth>(up + i), y + i);
  });
}

template <bool is_group, typename T>
inline void swiglu_gradient(const T* gate, const T* up, const T* dy, T* dgate, T* dup,
                            size_t size) {
  using C = onexpu::wide<T>;
  for_elements<is_group>(size, [&](auto width, size_t i) {
    constexpr int kWidth = decltype(width)::value;
    const onexpu::vector<C, kWidth> g = onexpu::load<C, kWidth>(gate + i);
    const onexpu::vector<C, kWidth> slope = onexpu::load<C, kWidth>(dy + i);
    const onexpu::vector<C, kWidth> s = logistic<C, kWidth>(g);
    onexpu::store<C, kWidth>(
        slope * onexpu::load<C, kWidth>(up + i) * (s + g * s * (C(1) - s)), dgate + i);
    onexpu::store<C, kWidth>(slope * g * s, dup + i);
  });
}

template <typename T>
ONEXPU_KERNEL void swiglu_serial(const T* gate, const T* up, T* y, size_t size) {
  swiglu<false>(gate, up, y, size);
}
template <typename T>
ONEXPU_KERNEL void swiglu_cooperative(const T* gate, const T* up, T* y, size_t size) {
  swiglu<true>(gate, up, y, size);
}
template <typename T>
ONEXPU_KERNEL void swiglu_gradient_serial(const T* gate, const T* up, const T* dy, T* dgate, T* dup,
                                          size_t size) {
  swiglu_gradient<false>(gate, up, dy, dgate, dup, size);
}
template <typename T>
ONEXPU_KERNEL void swiglu_gradient_cooperative(const T* gate, const T* up, const T* dy, T* dgate,
                                               T* dup, size_t size) {
  swiglu_gradient<true>(gate, up, dy, dgate, dup, size);
}
"""


_forward = TeamKernel(
    _SOURCE,
    "swiglu",
    rows=block_rows,
    inputs=["gate", "up"],
    outputs={"y": like("gate")},
    attributes={"size": size},
    dtypes=FLOATING,
    shapes={"gate": "*shape", "up": "*shape"},
    vmap="leading",
)
_backward = TeamKernel(
    _SOURCE,
    "swiglu_gradient",
    rows=block_rows,
    inputs=["gate", "up", "dy"],
    outputs={"dgate": like("gate"), "dup": like("up")},
    attributes={"size": size},
    dtypes=FLOATING,
    shapes={"gate": "*shape", "up": "*shape", "dy": "*shape"},
    vmap="leading",
)
_forward.defgradient(lambda inputs, outputs, cotangents: _backward(*inputs, cotangents[0]))


def swiglu(gate: Any, up: Any) -> Any:
    """Multiplies by a gate: ``gate * logistic(gate) * up``.

    Parameters
    ----------
    gate, up : arrays or tensors of one shape, float of 16, 32 or 64 bits

    Returns
    -------
    array or tensor like `gate`
        Computed in single precision (double for double), with a gradient for both operands.

    Raises
    ------
    TypeError, ValueError
        If types or shapes do not fit.

    Notes
    -----
    Shazeer: GLU Variants Improve Transformer, 2020.

    Examples
    --------
    >>> import jax.numpy as jnp, onexpu
    >>> onexpu.kernels.swiglu(jnp.array([0.0, 100.0]), jnp.array([5.0, 0.5]))
    Array([ 0., 50.], dtype=float32)
    """
    return _forward(gate, up)
