"""Sums over the rows of a matrix: the last step of gradients of what all rows share."""

from __future__ import annotations

from typing import Any

from onexpu._kernel import sycl_kernel
from onexpu._shapes import Like, Operand, like
from onexpu.kernels._teams import all_rows, columns, has_cpu_schedules, wide

_SOURCE = """
// A work-item per some columns: rows are added in their order.
template <typename T, typename P>
ONEXPU_KERNEL void column_sums(const P* partial, const T* like, T* sums, long rows, long columns,
                               long at_once) {
  const size_t first = onexpu::global_id() * at_once;
  for (size_t c = first; c < first + at_once && c < size_t(columns); ++c) {
    P sum = 0;
    for (long row = 0; row < rows; ++row) sum += partial[row * columns + c];
    sums[c] = T(sum);
  }
}
"""


def _columns_at_once() -> int:
    return 64 if has_cpu_schedules() else 1


_column_sums = sycl_kernel(
    source=_SOURCE,
    inputs=["partial", "like"],
    outputs={"sums": like("like")},
    attributes={
        "rows": lambda partial, like: partial.shape[0],
        "columns": lambda partial, like: partial.shape[1],
        "at_once": lambda partial, like: _columns_at_once(),
    },
    range=lambda partial, like: -(-partial.shape[1] // _columns_at_once()),
)


def column_sums(partial: Any, shared: Any) -> Any:
    """Sums `partial` [rows, columns] over its rows, to the shape and the type of `shared` [columns]."""
    return _column_sums(partial, shared)


def teams(x: Operand, *_: Operand) -> Any:
    """How many teams share the rows of `x`, each with a sum of its own, where these are summed up."""
    rows, most = all_rows(x), 64 if has_cpu_schedules() else 512
    return max(min(rows, most), 1) if isinstance(rows, int) else most


def partial_sums() -> Like:
    """Describes the teams' sums over the rows of `x`."""
    return like("x", dtype=wide, shape=lambda x, *_: (teams(x), columns(x)))
