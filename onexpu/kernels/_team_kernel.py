"""Kernels in which a team of work-items shares a row: one work-item on a CPU, a work-group on a
GPU.

A source has two entry points, ``NAME_serial`` and ``NAME_cooperative``. Both call one function with
the template parameter ``is_group``. `TEAM` is the C++ to write it with:

- ``Team<is_group>`` has the index of the team's row, ``row``, and sums over its work-items;
- ``team.for_columns(columns, f)`` calls ``f(width, c)`` for the pieces of a row that are the
  work-item's: ``decltype(width)::value`` columns from ``c`` on. The same columns are the same
  work-item's every time;
- ``team.sum_before(value)`` is the sum over the work-items before this one;
- ``exponential`` and ``square_root`` are those of a vector.

Where elements have no rows, blocks of `BLOCK` of them are rows, `block_rows`, and
``for_elements<is_group>(size, f)`` calls ``f(width, i)`` for those of the team's block.
"""

from __future__ import annotations

import functools
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from onexpu._kernel.kernel import SyclKernel, sycl_kernel
from onexpu._launch.shapes import Array, Like, Operand

# What the kernels here take for their template parameter T.
FLOATING = {"T": ["float16", "bfloat16", "float32", "float64"]}
# Of a work-group.
WIDTH = 256
# Enough for a work-item of a CPU, and one round of a GPU's work-group.
BLOCK = 1024

TEAM = (
    f"constexpr size_t kBlock = {BLOCK};"
    + """
template <typename C, int width>
inline onexpu::vector<C, width> square_root(onexpu::vector<C, width> x) {
  if constexpr (width == 1) {
    return sycl::sqrt(x);
  } else {
    const auto argument = __builtin_bit_cast(sycl::vec<C, width>, x);
    return __builtin_bit_cast(onexpu::vector<C, width>, sycl::sqrt(argument));
  }
}
template <typename C, int width>
inline onexpu::vector<C, width> exponential(onexpu::vector<C, width> x) {
  if constexpr (width == 1) {
    return sycl::exp(x);
  } else {
    const auto argument = __builtin_bit_cast(sycl::vec<C, width>, x);
    return __builtin_bit_cast(onexpu::vector<C, width>, sycl::exp(argument));
  }
}

template <bool is_group>
struct Team {
  // A cache line on a CPU; what a GPU's work-item loads at once.
  static constexpr int kVector = is_group ? 4 : 16;
  const size_t row = onexpu::item().get_group(0);
  const size_t lane = is_group ? onexpu::item().get_local_id(0) : 0;
  const size_t width = is_group ? onexpu::item().get_local_range(0) : 1;

  template <typename Function>
  void for_columns(size_t columns, Function function) const {
    const size_t whole = columns / kVector * kVector;
    for (size_t c = lane * kVector; c < whole; c += width * kVector)
      function(std::integral_constant<int, kVector>(), c);
    for (size_t c = whole + lane; c < columns; c += width)
      function(std::integral_constant<int, 1>(), c);
  }
  template <typename T>
  T sum(T value) const {
    if constexpr (is_group) {
      return sycl::reduce_over_group(onexpu::item().get_group(), value, sycl::plus<T>());
    } else {
      return value;
    }
  }
  template <typename T>
  T sum_before(T value) const {
    if constexpr (is_group) {
      return sycl::exclusive_scan_over_group(onexpu::item().get_group(), value, sycl::plus<T>());
    } else {
      return T(0);
    }
  }
  // The sum over what for_columns gives to `function`: vectors of T.
  template <typename T, typename Function>
  T sum_columns(size_t columns, Function function) const {
    onexpu::vector<T, kVector> sums = 0;
    T rest = 0;
    for_columns(columns, [&](auto width, size_t c) {
      if constexpr (decltype(width)::value == 1) {
        rest += function(width, c);
      } else {
        sums += function(width, c);
      }
    });
    for (int i = 0; i < kVector; ++i) rest += sums[i];
    return sum(rest);
  }
};

template <bool is_group, typename Function>
inline void for_elements(size_t size, Function function) {
  const Team<is_group> team;
  const size_t begin = team.row * kBlock;
  team.for_columns(sycl::min(kBlock, size - begin),
                   [&](auto width, size_t c) { function(width, begin + c); });
}
"""
)


def block_rows(x: Operand, *_: Operand) -> Any:
    """How many blocks the elements of `x` are."""
    return -(-x.size // BLOCK)


def size(x: Operand, *_: Operand) -> Any:
    """How many elements `x` has."""
    return x.size


def all_rows(x: Operand, *_: Operand) -> Any:
    """How many rows `x` has: its last dimension is a row's."""
    return math.prod(x.shape[:-1])


def columns(x: Operand, *_: Operand) -> Any:
    """How many columns a row of `x` has."""
    return x.shape[-1]


def wide(dtype: str) -> str:
    """What to compute in: ``onexpu::wide`` of a source."""
    return dtype if dtype == "float64" else "float32"


@functools.cache
def has_cpu_schedules() -> bool:
    """Whether kernels are launched for a CPU; ``ONEXPU_SCHEDULES`` may say so of every device."""
    asked = os.environ.get("ONEXPU_SCHEDULES", "").strip().lower()  # as the core reads it
    if asked in ("cpu", "gpu"):
        return asked == "cpu"
    from onexpu import _native

    return _native.devices()[0]["kind"].startswith("oneAPI CPU")


def tensorflow_of(*values: Any) -> Any:
    """TensorFlow, if one of the values is its tensor or variable; else None."""
    tensorflow = sys.modules.get("tensorflow")
    kinds = () if tensorflow is None else (tensorflow.Tensor, tensorflow.Variable)
    return tensorflow if any(isinstance(value, kinds) for value in values) else None


class TeamKernel:
    """The two kernels of a source; called as a `SyclKernel`.

    `rows` of the operands are shared out: `rows_at_once` to a work-item of a CPU, one to a
    work-group of a GPU.
    """

    def __init__(
        self,
        source: str,
        name: str,
        rows: Callable[..., Any],
        inputs: Sequence[str],
        outputs: Mapping[str, Like | Array],
        attributes: Mapping[str, Any],
        rows_at_once: int = 1,
        **definition: Any,
    ) -> None:
        def kernel(entry_point: str, width: int, rows_each: int) -> SyclKernel:
            return sycl_kernel(
                source=TEAM + source,
                name=f"{name}_{entry_point}",
                inputs=inputs,
                outputs=outputs,
                attributes=attributes,
                range=lambda *operands: -(-rows(*operands) // rows_each) * width,
                local_size=width,
                **definition,
            )

        self._serial, self._cooperative = (
            kernel("serial", 1, rows_at_once),
            kernel("cooperative", WIDTH, 1),
        )

    def __call__(self, *inputs: Any, **attributes: Any) -> Any:
        """See `SyclKernel.__call__`."""
        kernel = self._serial if has_cpu_schedules() else self._cooperative
        return kernel(*inputs, **attributes)

    def defgradient(self, gradient: Callable[..., Any]) -> Callable[..., Any]:
        """See `SyclKernel.defgradient`."""
        self._serial.defgradient(gradient)
        return self._cooperative.defgradient(gradient)

    def defvmap(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """See `SyclKernel.defvmap`."""
        self._serial.defvmap(rule)
        return self._cooperative.defvmap(rule)
