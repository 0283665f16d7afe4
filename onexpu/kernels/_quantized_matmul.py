"""Products with weights of 8 or 4 bits (Dettmers et al.: LLM.int8(), 2022; Frantar et al.: GPTQ,
2023).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from onexpu._launch.shapes import Operand, like
from onexpu._types import dtype_name
from onexpu.kernels._team_kernel import (
    FLOATING,
    TeamKernel,
    all_rows,
    columns,
    has_cpu_schedules,
    tensorflow_of,
)

# How many tokens and columns of the product a team has: of a CPU, of a GPU. The sources say so too.
_TOKENS, _COLUMNS = {True: 32, False: 8}, 64
# With more tokens than that, a product of dequantised weights is faster.
_MOST_TOKENS = {True: 64, False: 16}

_SOURCE = """
constexpr int kColumns = 64;

// Weights are (number - zero point) * scale; numbers of 4 bits are 0 to 15, two rows of them in one
// of bytes, the first in the lower halves.
template <typename Q, typename S>
struct Weights {
  static constexpr bool kIsHalf = std::is_same_v<Q, std::uint8_t>;
  const Q* const numbers;
  const S* const scales;
  const Q* const zeros;
  const bool has_zeros;
  const size_t columns, group;

  template <int width>
  static onexpu::vector<int, width> load(const Q* from) {
    if constexpr (width == 1) {
      return *from;
    } else {
      return __builtin_convertvector(onexpu::load<Q, width>(from), onexpu::vector<int, width>);
    }
  }
  template <int width>
  onexpu::vector<int, width> zeros_at(size_t of_group, size_t c) const {
    if constexpr (!kIsHalf) return 0;
    if (!has_zeros) return 8;
    return load<width>(zeros + of_group * columns + c);
  }
  template <typename C, int width>
  onexpu::vector<C, width> scales_at(size_t of_group, size_t c) const {
    return onexpu::load<C, width>(scales + of_group * columns + c);
  }
  template <typename C, int width>
  onexpu::vector<C, width> numbers_at(size_t row, size_t c,
                                      onexpu::vector<int, width> zeros) const {
    auto found = load<width>(numbers + (kIsHalf ? row / 2 : row) * columns + c);
    if constexpr (kIsHalf) found = (row % 2 == 0 ? found & 15 : found >> 4) - zeros;
    if constexpr (width == 1) {
      return C(found);
    } else {
      return __builtin_convertvector(found, onexpu::vector<C, width>);
    }
  }
  template <typename C, int width>
  onexpu::vector<C, width> at(size_t row, size_t of_group, size_t c) const {
    return numbers_at<C, width>(row, c, zeros_at<width>(of_group, c)) *
           scales_at<C, width>(of_group, c);
  }
};

template <bool is_group, typename T, typename Q, typename S>
inline void dequantise(const Weights<Q, S>& weights, T* numbers) {
  using C = onexpu::wide<T>;
  const Team<is_group> team;
  const size_t row = team.row, of_group = row / weights.group;
  team.for_columns(weights.columns, [&](auto width, size_t c) {
    constexpr int kWidth = decltype(width)::value;
    onexpu::store<C, kWidth>(weights.template at<C, kWidth>(row, of_group, c),
                             numbers + row * weights.columns + c);
  });
}

// What a work-item of a CPU has of the product: kTokens rows and kColumns columns. It goes through
// the weights kDepth rows at a time, at most, and multiplies them with kRows tokens at a time,
// whose sums stay in registers meanwhile.
template <typename C>
struct Tile {
  static constexpr int kTokens = 32, kDepth = 64, kRows = 6, kVector = 16;
  static constexpr int kVectors = kColumns / kVector;
  using Numbers = onexpu::vector<C, kVector>;
  Numbers sums[kTokens * kVectors], weights[kDepth * kVectors];
  C x[kTokens * kDepth];

  // weight(row, vector) gives what is added up, finish(vector, sum) what of it is added to the
  // sums.
  template <int rows, typename Weight, typename Finish>
  void multiply_rows(int token, int depth, Weight weight, Finish finish) {
    #pragma nounroll
    for (int c = 0; c < kVectors; ++c) {
      Numbers sum[rows];
      #pragma unroll
      for (int i = 0; i < rows; ++i) sum[i] = 0;
      #pragma nounroll
      for (int d = 0; d < depth; ++d) {
        const Numbers factor = weight(d, c);
        #pragma unroll
        for (int i = 0; i < rows; ++i) sum[i] += x[(token + i) * kDepth + d] * factor;
      }
      #pragma unroll
      for (int i = 0; i < rows; ++i) sums[(token + i) * kVectors + c] += finish(c, sum[i]);
    }
  }
  // Sums beyond the last token are not used.
  template <typename Weight, typename Finish>
  void multiply(int tokens, int depth, Weight weight, Finish finish) {
    int token = 0;
    for (; tokens - token > 4; token += kRows) multiply_rows<kRows>(token, depth, weight, finish);
    if (tokens - token > 2) {
      multiply_rows<4>(token, depth, weight, finish);
    } else if (tokens - token == 2) {
      multiply_rows<2>(token, depth, weight, finish);
    } else if (tokens - token == 1) {
      multiply_rows<1>(token, depth, weight, finish);
    }
  }
};

template <typename T, typename Q, typename S>
ONEXPU_KERNEL void quantised_matmul_serial(const T* x, const Q* weight, const S* scales,
                                           const Q* zeros, T* y, bool has_zeros, size_t tokens,
                                           size_t depth, size_t columns, size_t group) {
  using C = onexpu::wide<T>;
  using Tile = Tile<C>;
  using Numbers = typename Tile::Numbers;
  constexpr int kVector = Tile::kVector, kVectors = Tile::kVectors;
  const Weights<Q, S> weights = {weight, scales, zeros, has_zeros, columns, group};
  Tile tile;
  const size_t tiles = (columns + kColumns - 1) / kColumns;
  const size_t first_token = onexpu::global_id() / tiles * Tile::kTokens;
  const size_t first_column = onexpu::global_id() % tiles * kColumns;
  const int num_tokens = int(sycl::min(tokens - first_token, size_t(Tile::kTokens)));
  const int num_columns = int(sycl::min(columns - first_column, size_t(kColumns)));
  const bool is_whole = num_columns == kColumns;
  for (int i = 0; i < num_tokens * kVectors; ++i) tile.sums[i] = 0;
  size_t next;
  for (size_t first = 0; first < depth; first = next) {
    const size_t of_group = first / group;
    next = sycl::min((of_group + 1) * group, sycl::min(first + Tile::kDepth, depth));
    const int num_rows = int(next - first);
    for (int token = 0; token < num_tokens; ++token) {
      const T* const from = x + (first_token + token) * depth + first;
      C* const to = tile.x + token * Tile::kDepth;
      for (int row = 0; row < num_rows; ++row) to[row] = C(from[row]);
    }
    if (is_whole && num_tokens <= Tile::kRows) {
      onexpu::vector<int, kVector> zeros[kVectors];
      Numbers scales[kVectors];
      for (int c = 0; c < kVectors; ++c) {
        zeros[c] = weights.template zeros_at<kVector>(of_group, first_column + c * kVector);
        scales[c] = weights.template scales_at<C, kVector>(of_group, first_column + c * kVector);
      }
      tile.multiply(
          num_tokens, num_rows,
          [&](int row, int c) {
            return weights.template numbers_at<C, kVector>(first + row, first_column + c * kVector,
                                                           zeros[c]);
          },
          [&](int c, Numbers sum) { return sum * scales[c]; });
      continue;
    }
    // Used more than once, so dequantised once.
    for (int row = 0; row < num_rows; ++row) {
      Numbers* const to = tile.weights + row * kVectors;
      if (is_whole) {
        for (int c = 0; c < kVectors; ++c)
          to[c] = weights.template at<C, kVector>(first + row, of_group,
                                                  first_column + c * kVector);
      } else {
        for (int c = 0; c < kVectors; ++c) to[c] = 0;
        for (int c = 0; c < num_columns; ++c)
          to[c / kVector][c % kVector] =
              weights.template at<C, 1>(first + row, of_group, first_column + c);
      }
    }
    tile.multiply(
        num_tokens, num_rows, [&](int row, int c) { return tile.weights[row * kVectors + c]; },
        [](int, Numbers sum) { return sum; });
  }
  for (int token = 0; token < num_tokens; ++token) {
    const Numbers* const sums = tile.sums + token * kVectors;
    T* const to = y + (first_token + token) * columns + first_column;
    if (is_whole) {
      for (int c = 0; c < kVectors; ++c) onexpu::store<C, kVector>(sums[c], to + c * kVector);
    } else {
      for (int c = 0; c < num_columns; ++c) to[c] = T(sums[c / kVector][c % kVector]);
    }
  }
}

// A GPU's work-group has kTokens rows and kColumns columns too: a work-item kWidth of the columns,
// and every kSlices-th row of the weights. Their sums meet in local memory.
template <typename T, typename Q, typename S>
ONEXPU_KERNEL void quantised_matmul_cooperative(const T* x, const Q* weight, const S* scales,
                                                const Q* zeros, T* y, bool has_zeros, size_t tokens,
                                                size_t depth, size_t columns, size_t group) {
  using C = onexpu::wide<T>;
  constexpr int kTokens = 8, kWidth = 4, kLanes = kColumns / kWidth, kSlices = 256 / kLanes;
  using Numbers = onexpu::vector<C, kWidth>;
  sycl::ext::oneapi::experimental::work_group_static<C[kSlices * kColumns]> partial;
  const auto item = onexpu::item();
  const size_t tiles = (columns + kColumns - 1) / kColumns;
  const size_t first_token = item.get_group(0) / tiles * kTokens;
  const size_t first_column = item.get_group(0) % tiles * kColumns;
  const int slice = item.get_local_id(0) / kLanes, column = item.get_local_id(0) % kLanes * kWidth;
  const size_t c = first_column + column;
  const Weights<Q, S> all = {weight, scales, zeros, has_zeros, columns, group};
  Numbers sums[kTokens] = {};
  for (size_t row = slice; row < depth; row += kSlices) {
    Numbers weights = 0;
    const size_t of_group = row / group;
    if (c + kWidth <= columns) {
      weights = all.template at<C, kWidth>(row, of_group, c);
    } else {
      for (int i = 0; c + i < columns; ++i)
        weights[i] = all.template at<C, 1>(row, of_group, c + i);
    }
    for (int token = 0; token < kTokens; ++token)
      if (first_token + token < tokens)
        sums[token] += C(x[(first_token + token) * depth + row]) * weights;
  }
  for (int token = 0; token < kTokens && first_token + token < tokens; ++token) {
    sycl::group_barrier(item.get_group());
    onexpu::store<C, kWidth>(sums[token], &partial[slice * kColumns + column]);
    sycl::group_barrier(item.get_group());
    const size_t own = item.get_local_id(0);
    if (own >= kColumns || first_column + own >= columns) continue;
    C sum = 0;
    for (int other = 0; other < kSlices; ++other) sum += partial[other * kColumns + own];
    y[(first_token + token) * columns + first_column + own] = T(sum);
  }
}

template <typename T, typename Q, typename S>
ONEXPU_KERNEL void dequantise_serial(const T* x, const Q* weight, const S* scales, const Q* zeros,
                                     T* numbers, bool has_zeros, size_t columns, size_t group) {
  dequantise<false>(Weights<Q, S>{weight, scales, zeros, has_zeros, columns, group}, numbers);
}
template <typename T, typename Q, typename S>
ONEXPU_KERNEL void dequantise_cooperative(const T* x, const Q* weight, const S* scales,
                                          const Q* zeros, T* numbers, bool has_zeros,
                                          size_t columns, size_t group) {
  dequantise<true>(Weights<Q, S>{weight, scales, zeros, has_zeros, columns, group}, numbers);
}
"""


def _num_teams(x: Operand, weight: Operand, *_: Operand) -> Any:
    return -(-all_rows(x) // _TOKENS[has_cpu_schedules()]) * -(-weight.shape[1] // _COLUMNS)


def _group(x: Operand, weight: Operand, scales: Operand, *_: Operand) -> Any:
    return x.shape[-1] // (scales.shape[0] if scales.ndim == 2 else 1)


_INPUTS = ["x", "weight", "scales", "zeros"]
_DTYPES = {"T": FLOATING["T"], "Q": ["int8", "uint8"], "S": FLOATING["T"]}
_SIZES = {"has_zeros": bool, "columns": lambda x, weight, *_: weight.shape[1], "group": _group}

_fused = TeamKernel(
    _SOURCE,
    "quantised_matmul",
    rows=_num_teams,
    inputs=_INPUTS,
    outputs={"y": like("x", shape=lambda x, weight, *_: (*x.shape[:-1], weight.shape[1]))},
    attributes=_SIZES | {"tokens": all_rows, "depth": columns},
    dtypes=_DTYPES,
)
# Of its first operand it takes the type and how many rows there are.
_dequantise = TeamKernel(
    _SOURCE,
    "dequantise",
    rows=columns,
    inputs=_INPUTS,
    outputs={"numbers": like("x", shape=lambda x, weight, *_: (x.shape[-1], weight.shape[1]))},
    attributes=_SIZES,
    dtypes=_DTYPES,
)


def _tensordot(x: Any, y: Any, axes: list[list[int]]) -> Any:
    tensorflow = tensorflow_of(x, y)
    if tensorflow is not None:
        return tensorflow.tensordot(x, y, axes)
    import jax.numpy

    return jax.numpy.tensordot(x, y, axes)


def _product(x: Any, weights: tuple[Any, ...], has_zeros: bool) -> Any:
    tokens = math.prod(size or 0 for size in x.shape[:-1]) if None not in x.shape else 0
    if tokens <= _MOST_TOKENS[has_cpu_schedules()]:
        return _fused(x, *weights, has_zeros=has_zeros)
    return _tensordot(x, _dequantise(x, *weights, has_zeros=has_zeros), [[-1], [0]])


def _slope(x: Any, weights: tuple[Any, ...], has_zeros: bool, slope: Any) -> Any:
    return _tensordot(slope, _dequantise(x, *weights, has_zeros=has_zeros), [[-1], [1]])


@functools.cache
def _jax_product() -> Callable[..., Any]:
    """The product with its gradient; here, because TensorFlow alone needs no JAX."""
    import jax

    @functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
    def product(has_zeros: bool, x: Any, *weights: Any) -> Any:
        return _product(x, weights, has_zeros)

    product.defvjp(
        lambda has_zeros, x, *weights: (_product(x, weights, has_zeros), (x, weights)),
        lambda has_zeros, kept, slope: (
            _slope(kept[0], kept[1], has_zeros, slope),
            *(None for _ in kept[1]),
        ),
    )
    return product


def _product_in_tensorflow(has_zeros: bool, x: Any, *weights: Any) -> Any:
    tensorflow = tensorflow_of(x, *weights)
    constant = tuple(map(tensorflow.convert_to_tensor, weights))

    def product(x: Any) -> tuple[Any, Any]:
        return _product(x, constant, has_zeros), lambda slope: _slope(x, constant, has_zeros, slope)

    return tensorflow.custom_gradient(product)(tensorflow.convert_to_tensor(x))


def _matmul(name: str, x: Any, weight: Any, scales: Any, zeros: Any, numbers_in_a_row: int) -> Any:
    """Checks what both products have in common, then multiplies."""
    depth = x.shape[-1] if len(x.shape) > 0 else None
    if depth is None or depth < 1:
        raise ValueError(
            f"onexpu.kernels.{name}: x has the shape {tuple(x.shape)}; it must be [..., k], and k "
            "be known"
        )
    rows = -(-depth // numbers_in_a_row)
    if len(weight.shape) != 2 or weight.shape[0] != rows:
        raise ValueError(
            f"onexpu.kernels.{name}: the weight has the shape {tuple(weight.shape)}; for x of "
            f"shape {tuple(x.shape)} it must be ({rows}, n)"
        )
    shape = tuple(scales.shape)
    groups = shape[0] if len(shape) == 2 else 1
    if len(shape) not in (1, 2) or shape[-1] != weight.shape[1] or not groups or depth % groups:
        raise ValueError(
            f"onexpu.kernels.{name}: scales have the shape {shape}; for k = {depth} and n = "
            f"{weight.shape[1]} it must be [n] or [groups, n] with a divisor of k"
        )
    if zeros is not None and tuple(zeros.shape) != shape:
        raise ValueError(
            f"onexpu.kernels.{name}: zero points have the shape {tuple(zeros.shape)}, scales "
            f"{shape}; they must be one"
        )
    stored = "int8" if numbers_in_a_row == 1 else "uint8"
    for what, value in (("weight is", weight), ("zero points are", zeros)):
        if value is not None and dtype_name(value.dtype) != stored:
            raise TypeError(
                f"onexpu.kernels.{name}: the {what} {dtype_name(value.dtype)}, not {stored}"
            )
    # A kernel has a fixed number of operands: where zero points are none, nothing reads them.
    operands = (x, weight, scales, weight if zeros is None else zeros)
    product = _product_in_tensorflow if tensorflow_of(*operands) else _jax_product()
    return product(zeros is not None, *operands)


def int8_matmul(x: Any, weight: Any, scales: Any) -> Any:
    """Multiplies with weights of 8 bits: ``x @ (weight * scales)``.

    Parameters
    ----------
    x : array or tensor, float of 16, 32 or 64 bits [..., k]
    weight : array or tensor, int8 [k, n]
        `quantize_int8` returns such weights.
    scales : array or tensor, float of 16, 32 or 64 bits [n] or [groups, n]
        Scales of the columns, or of groups of ``k / groups`` rows of the columns.

    Returns
    -------
    array or tensor of the type of `x` [..., n]
        Accumulated in single precision (double for double), with a gradient for `x` only.

    Raises
    ------
    TypeError, ValueError
        If types or shapes do not fit.

    Notes
    -----
    Dettmers et al.: LLM.int8(): 8-bit Matrix Multiplication for Transformers at Scale, 2022; here
    only weights are integers. With few tokens, weights are dequantised as they are read. With many,
    they are first dequantised to the type of `x`; the gradient dequantises them again. If a graph
    does not know the number of tokens, the kernel assumes few.

    Examples
    --------
    >>> import jax.numpy as jnp, onexpu
    >>> weight = jnp.array([[127, -50], [3, 100]], jnp.int8)
    >>> onexpu.kernels.int8_matmul(jnp.array([[1.0, 2.0]]), weight, jnp.array([0.5, 0.01]))
    Array([[66.5,  1.5]], dtype=float32)
    """
    return _matmul("int8_matmul", x, weight, scales, None, 1)


def int4_matmul(x: Any, packed: Any, scales: Any, zero_points: Any = None) -> Any:
    """Multiplies with weights of 4 bits: ``x @ ((values - zero_points) * scales)``.

    Parameters
    ----------
    x : array or tensor, float of 16, 32 or 64 bits [..., k]
    packed : array or tensor, uint8 [k / 2 rounded up, n]
        Values from 0 to 15: row ``2 i`` is in the lower halves of row ``i``, the next row in the
        upper halves. `quantize_int4` returns such weights.
    scales : array or tensor, float of 16, 32 or 64 bits [n] or [groups, n]
        Scales of the columns, or of groups of ``k / groups`` rows of the columns.
    zero_points : array or tensor, uint8, like `scales`, optional
        The values that stand for 0. The default is 8.

    Returns
    -------
    array or tensor of the type of `x` [..., n]
        As for `int8_matmul`, with a gradient for `x` only.

    Raises
    ------
    TypeError, ValueError
        If types or shapes do not fit.

    Notes
    -----
    Frantar et al.: GPTQ: Accurate Post-Training Quantization for Generative Pre-trained
    Transformers, 2023, is one method to compute such weights. `int8_matmul` describes the speed.

    Examples
    --------
    >>> import jax.numpy as jnp, onexpu
    >>> packed = jnp.array([[0x9F, 0x80]], jnp.uint8)  # the rows (15, 0) and (9, 8)
    >>> onexpu.kernels.int4_matmul(jnp.array([[1.0, 2.0]]), packed, jnp.array([0.5, 1.0]))
    Array([[ 4.5, -8. ]], dtype=float32)
    """
    return _matmul("int4_matmul", x, packed, scales, zero_points, 2)
