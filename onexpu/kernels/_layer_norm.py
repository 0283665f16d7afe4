"""Layer normalisation (Ba, Kiros, Hinton: Layer Normalization, 2016)."""

from __future__ import annotations

from typing import Any

from onexpu._launch.shapes import like
from onexpu.kernels._columns import column_sums, gradient_kernel
from onexpu.kernels._team_kernel import FLOATING, TeamKernel, all_rows, columns

_SOURCE = """
template <typename C>
struct Moments {
  C mean, scale;
};

// In two passes: differences of squares would lose the variance of rows far from zero.
template <bool is_group, typename T>
inline Moments<onexpu::wide<T>> moments_of(const Team<is_group>& team, const T* x, size_t columns,
                                           float epsilon) {
  using C = onexpu::wide<T>;
  const C mean = team.template sum_columns<C>(columns, [&](auto width, size_t c) {
    return onexpu::load<C, decltype(width)::value>(x + c);
  }) / C(columns);
  const C squares = team.template sum_columns<C>(columns, [&](auto width, size_t c) {
    const auto centred = onexpu::load<C, decltype(width)::value>(x + c) - mean;
    return centred * centred;
  });
  return {mean, C(1) / sycl::sqrt(squares / C(columns) + C(epsilon))};
}

template <bool is_group, typename T>
inline void layer_norm(const T* x, const T* weight, const T* bias, T* y, float epsilon,
                       size_t columns) {
  using C = onexpu::wide<T>;
  const Team<is_group> team;
  x += team.row * columns;
  y += team.row * columns;
  const Moments<C> moments = moments_of(team, x, columns, epsilon);
  team.for_columns(columns, [&](auto width, size_t c) {
    constexpr int kWidth = decltype(width)::value;
    const auto normal = (onexpu::load<C, kWidth>(x + c) - moments.mean) * moments.scale;
    onexpu::store<C, kWidth>(normal * onexpu::load<C, kWidth>(weight + c) +
                                 onexpu::load<C, kWidth>(bias + c),
                             y + c);
  });
}

// With n the normal x and g = w dy: dx = s (g - mean(g) - n mean(g n)); over rows, dw is the sum of
// dy n and db that of dy. A team has every `teams`-th row of a group, and sums of its own; groups
// are apart (a batch of vmap).
template <bool is_group, typename T>
inline void layer_norm_gradient(const T* x, const T* weight, const T* dy, T* dx,
                                onexpu::wide<T>* weight_sums, onexpu::wide<T>* bias_sums,
                                float epsilon, size_t rows, size_t columns, size_t teams) {
  using C = onexpu::wide<T>;
  const Team<is_group> team;
  weight_sums += team.row * columns;
  bias_sums += team.row * columns;
  const size_t group = team.row / teams;
  x += group * rows * columns;
  dy += group * rows * columns;
  dx += group * rows * columns;
  weight += group * columns;
  team.for_columns(columns, [&](auto width, size_t c) {
    onexpu::store<C, decltype(width)::value>(C(0), weight_sums + c);
    onexpu::store<C, decltype(width)::value>(C(0), bias_sums + c);
  });
  for (size_t row = team.row % teams; row < rows; row += teams) {
    const T* const x_row = x + row * columns;
    const T* const dy_row = dy + row * columns;
    T* const dx_row = dx + row * columns;
    const Moments<C> moments = moments_of(team, x_row, columns, epsilon);
    const auto slopes_at = [&](auto width, size_t c) {
      constexpr int kWidth = decltype(width)::value;
      return onexpu::load<C, kWidth>(dy_row + c) * onexpu::load<C, kWidth>(weight + c);
    };
    const auto normal_at = [&](auto width, size_t c) {
      return (onexpu::load<C, decltype(width)::value>(x_row + c) - moments.mean) * moments.scale;
    };
    const C mean = team.template sum_columns<C>(columns, slopes_at) / C(columns);
    const C along = team.template sum_columns<C>(columns, [&](auto width, size_t c) {
      return slopes_at(width, c) * normal_at(width, c);
    }) / C(columns);
    team.for_columns(columns, [&](auto width, size_t c) {
      constexpr int kWidth = decltype(width)::value;
      const auto normal = normal_at(width, c);
      const auto given = onexpu::load<C, kWidth>(dy_row + c);
      onexpu::store<C, kWidth>((slopes_at(width, c) - mean - normal * along) * moments.scale,
                               dx_row + c);
      onexpu::store<C, kWidth>(onexpu::load<C, kWidth>(weight_sums + c) + given * normal,
                               weight_sums + c);
      onexpu::store<C, kWidth>(onexpu::load<C, kWidth>(bias_sums + c) + given, bias_sums + c);
    });
  }
}

template <typename T>
ONEXPU_KERNEL void layer_norm_serial(const T* x, const T* weight, const T* bias, T* y,
                                     float epsilon, size_t columns) {
  layer_norm<false>(x, weight, bias, y, epsilon, columns);
}
template <typename T>
ONEXPU_KERNEL void layer_norm_cooperative(const T* x, const T* weight, const T* bias, T* y,
                                          float epsilon, size_t columns) {
  layer_norm<true>(x, weight, bias, y, epsilon, columns);
}
template <typename T>
ONEXPU_KERNEL void layer_norm_gradient_serial(const T* x, const T* weight, const T* dy, T* dx,
                                              onexpu::wide<T>* weight_sums,
                                              onexpu::wide<T>* bias_sums, float epsilon,
                                              size_t rows, size_t columns, size_t teams) {
  layer_norm_gradient<false>(x, weight, dy, dx, weight_sums, bias_sums, epsilon, rows, columns,
                             teams);
}
template <typename T>
ONEXPU_KERNEL void layer_norm_gradient_cooperative(const T* x, const T* weight, const T* dy, T* dx,
                                                   onexpu::wide<T>* weight_sums,
                                                   onexpu::wide<T>* bias_sums, float epsilon,
                                                   size_t rows, size_t columns, size_t teams) {
  layer_norm_gradient<true>(x, weight, dy, dx, weight_sums, bias_sums, epsilon, rows, columns,
                            teams);
}
"""


_forward = TeamKernel(
    _SOURCE,
    "layer_norm",
    rows=all_rows,
    inputs=["x", "weight", "bias"],
    outputs={"y": like("x")},
    attributes={"epsilon": float, "columns": columns},
    dtypes=FLOATING,
    shapes={"x": "*rows columns", "weight": "columns", "bias": "columns"},
    vmap="leading",
)
_backward = gradient_kernel(_SOURCE, "layer_norm_gradient", sums=["weight_sums", "bias_sums"])


@_forward.defgradient
def _gradient(inputs: list[Any], outputs: list[Any], cotangents: list[Any], epsilon: float) -> Any:
    x, weight, bias = inputs
    dx, weight_sums, bias_sums = _backward(x, weight, cotangents[0], epsilon=epsilon)
    return [dx, column_sums(weight_sums, weight), column_sums(bias_sums, bias)]


def layer_norm(x: Any, weight: Any, bias: Any, *, epsilon: float = 1e-5) -> Any:
    """Normalises rows to mean 0 and variance 1, then scales and shifts their columns.

    ``(x - mean(x)) / sqrt(variance(x) + epsilon) * weight + bias``

    Parameters
    ----------
    x : array or tensor, float of 16, 32 or 64 bits [..., columns]
    weight, bias : arrays or tensors of the same type [columns]
    epsilon : float
        Avoids a division by zero for rows of equal elements.

    Returns
    -------
    array or tensor like `x`
        Computed in single precision (double for double), with a gradient for all operands.

    Raises
    ------
    TypeError, ValueError
        If types or shapes do not fit.

    Notes
    -----
    Ba, Kiros, Hinton: Layer Normalization, 2016.

    Examples
    --------
    >>> import jax.numpy as jnp, onexpu
    >>> onexpu.kernels.layer_norm(jnp.array([[1.0, 3.0]]), jnp.ones(2), jnp.zeros(2)).round(2)
    Array([[-1.,  1.]], dtype=float32)
    """
    return _forward(x, weight, bias, epsilon=epsilon)
