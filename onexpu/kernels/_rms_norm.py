"""Root mean square layer normalisation (Zhang, Sennrich: Root Mean Square Layer Normalization,
2019).
"""

from __future__ import annotations

from typing import Any

from onexpu._launch.shapes import like
from onexpu.kernels._columns import column_sums, gradient_kernel
from onexpu.kernels._team_kernel import FLOATING, TeamKernel, all_rows, columns

_SOURCE = """
template <bool is_group, typename T>
inline onexpu::wide<T> reciprocal_root(const Team<is_group>& team, const T* x, size_t columns,
                                       float epsilon) {
  using C = onexpu::wide<T>;
  const C sum = team.template sum_columns<C>(columns, [&](auto width, size_t c) {
    const auto values = onexpu::load<C, decltype(width)::value>(x + c);
    return values * values;
  });
  return C(1) / sycl::sqrt(sum / C(columns) + C(epsilon));
}

template <bool is_group, typename T>
inline void rms_norm(const T* x, const T* weight, T* y, float epsilon, size_t columns) {
  using C = onexpu::wide<T>;
  const Team<is_group> team;
  x += team.row * columns;
  y += team.row * columns;
  const C scale = reciprocal_root(team, x, columns, epsilon);
  team.for_columns(columns, [&](auto width, size_t c) {
    constexpr int kWidth = decltype(width)::value;
    onexpu::store<C, kWidth>(
        onexpu::load<C, kWidth>(x + c) * scale * onexpu::load<C, kWidth>(weight + c), y + c);
  });
}

// dx = s (w dy - x s^2 mean(w dy x)), dw = sum over rows of dy x s, with s = 1 / rms(x). A team has
// every `teams`-th row of a group, and a sum of its own; groups are apart (a batch of vmap).
template <bool is_group, typename T>
inline void rms_norm_gradient(const T* x, const T* weight, const T* dy, T* dx,
                              onexpu::wide<T>* partial, float epsilon, size_t rows, size_t columns,
                              size_t teams) {
  using C = onexpu::wide<T>;
  const Team<is_group> team;
  C* const sums = partial + team.row * columns;
  const size_t group = team.row / teams;
  x += group * rows * columns;
  dy += group * rows * columns;
  dx += group * rows * columns;
  weight += group * columns;
  team.for_columns(columns, [&](auto width, size_t c) {
    onexpu::store<C, decltype(width)::value>(C(0), sums + c);
  });
  for (size_t row = team.row % teams; row < rows; row += teams) {
    const T* const x_row = x + row * columns;
    const T* const dy_row = dy + row * columns;
    T* const dx_row = dx + row * columns;
    const C scale = reciprocal_root(team, x_row, columns, epsilon);
    const C product = team.template sum_columns<C>(columns, [&](auto width, size_t c) {
      constexpr int kWidth = decltype(width)::value;
      return onexpu::load<C, kWidth>(x_row + c) * onexpu::load<C, kWidth>(dy_row + c) *
             onexpu::load<C, kWidth>(weight + c);
    });
    const C back = product * scale * scale / C(columns);
    team.for_columns(columns, [&](auto width, size_t c) {
      constexpr int kWidth = decltype(width)::value;
      const auto values = onexpu::load<C, kWidth>(x_row + c);
      const auto slopes = onexpu::load<C, kWidth>(dy_row + c);
      onexpu::store<C, kWidth>(
          (slopes * onexpu::load<C, kWidth>(weight + c) - values * back) * scale, dx_row + c);
      onexpu::store<C, kWidth>(onexpu::load<C, kWidth>(sums + c) + slopes * values * scale,
                               sums + c);
    });
  }
}

template <typename T>
ONEXPU_KERNEL void rms_norm_serial(const T* x, const T* weight, T* y, float epsilon,
                                   size_t columns) {
  rms_norm<false>(x, weight, y, epsilon, columns);
}
template <typename T>
ONEXPU_KERNEL void rms_norm_cooperative(const T* x, const T* weight, T* y, float epsilon,
                                        size_t columns) {
  rms_norm<true>(x, weight, y, epsilon, columns);
}
template <typename T>
ONEXPU_KERNEL void rms_norm_gradient_serial(const T* x, const T* weight, const T* dy, T* dx,
                                            onexpu::wide<T>* partial, float epsilon, size_t rows,
                                            size_t columns, size_t teams) {
  rms_norm_gradient<false>(x, weight, dy, dx, partial, epsilon, rows, columns, teams);
}
template <typename T>
ONEXPU_KERNEL void rms_norm_gradient_cooperative(const T* x, const T* weight, const T* dy, T* dx,
                                                 onexpu::wide<T>* partial, float epsilon,
                                                 size_t rows, size_t columns, size_t teams) {
  rms_norm_gradient<true>(x, weight, dy, dx, partial, epsilon, rows, columns, teams);
}
"""


_forward = TeamKernel(
    _SOURCE,
    "rms_norm",
    rows=all_rows,
    inputs=["x", "weight"],
    outputs={"y": like("x")},
    attributes={"epsilon": float, "columns": columns},
    dtypes=FLOATING,
    shapes={"x": "*rows columns", "weight": "columns"},
    vmap="leading",
)
_backward = gradient_kernel(_SOURCE, "rms_norm_gradient", sums=["partial"])


@_forward.defgradient
def _gradient(inputs: list[Any], outputs: list[Any], cotangents: list[Any], epsilon: float) -> Any:
    x, weight = inputs
    dx, partial = _backward(x, weight, cotangents[0], epsilon=epsilon)
    return [dx, column_sums(partial, weight)]


def rms_norm(x: Any, weight: Any, *, epsilon: float = 1e-6) -> Any:
    """Normalises rows by the root of their mean square.

    ``x / sqrt(mean(x**2) + epsilon) * weight``

    Parameters
    ----------
    x : array or tensor, float of 16, 32 or 64 bits [..., columns]
    weight : array or tensor of the same type [columns]
    epsilon : float
        Avoids a division by zero for rows of zeros.

    Returns
    -------
    array or tensor like `x`
        Computed in single precision (double for double), with a gradient for both operands.

    Raises
    ------
    TypeError, ValueError
        If types or shapes do not fit.

    Notes
    -----
    Zhang, Sennrich: Root Mean Square Layer Normalization, 2019.

    Examples
    --------
    >>> import jax.numpy as jnp, onexpu
    >>> onexpu.kernels.rms_norm(jnp.array([[2.0, -2.0]]), jnp.array([1.0, 3.0]), epsilon=0.0)
    Array([[ 1., -3.]], dtype=float32)
    """
    return _forward(x, weight, epsilon=epsilon)
