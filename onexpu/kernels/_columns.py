"""Gradients of what the rows of a matrix share: sums over rows, by teams first, then over the
teams.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from onexpu._kernel.kernel import sycl_kernel
from onexpu._launch.shapes import Operand, like
from onexpu.kernels._team_kernel import (
    FLOATING,
    TeamKernel,
    all_rows,
    columns,
    has_cpu_schedules,
    wide,
)

_SOURCE = """
// A work-item per some columns of a group: rows are added in their order.
template <typename T, typename P>
ONEXPU_KERNEL void column_sums(const P* partial, const T* like, T* sums, long rows, long columns,
                               long at_once) {
  const size_t pieces = (columns + at_once - 1) / at_once;
  const size_t group = onexpu::global_id() / pieces;
  const size_t first = onexpu::global_id() % pieces * at_once;
  partial += group * rows * columns;
  sums += group * columns;
  for (size_t c = first; c < first + at_once && c < size_t(columns); ++c) {
    P sum = 0;
    for (long row = 0; row < rows; ++row) sum += partial[row * columns + c];
    sums[c] = T(sum);
  }
}
"""


def _columns_at_once() -> int:
    return 64 if has_cpu_schedules() else 1


def _pieces(partial: Operand, like: Operand) -> Any:
    return math.prod(partial.shape[:-2]) * -(-partial.shape[-1] // _columns_at_once())


_column_sums = sycl_kernel(
    source=_SOURCE,
    inputs=["partial", "like"],
    outputs={
        "sums": like("like", shape=lambda partial, _: (*partial.shape[:-2], partial.shape[-1]))
    },
    attributes={
        "rows": lambda partial, like: partial.shape[-2],
        "columns": lambda partial, like: partial.shape[-1],
        "at_once": lambda partial, like: _columns_at_once(),
    },
    range=_pieces,
    shapes={"partial": "*groups rows columns", "like": "columns"},
    vmap="leading",
)


def column_sums(partial: Any, shared: Any) -> Any:
    """Sums `partial` [rows, columns] over its rows, to the shape and the type of `shared`
    [columns].
    """
    return _column_sums(partial, shared)


def _teams_of(rows: Any) -> Any:
    most = 64 if has_cpu_schedules() else 512
    return max(min(rows, most), 1) if isinstance(rows, int) else most


def _num_teams(x: Operand, *_: Operand) -> Any:
    """How many teams share the rows of `x`, each with a sum of its own, where these are summed
    up.
    """
    return _teams_of(all_rows(x))


def _group_rows(x: Operand, *_: Operand) -> Any:
    return x.shape[-2]


def _num_group_teams(x: Operand, *_: Operand) -> Any:
    return _teams_of(x.shape[-2])


def gradient_kernel(source: str, name: str, sums: Sequence[str]) -> TeamKernel:
    """Makes the kernel of the gradient of a norm of rows.

    Parameters
    ----------
    source, name : str
        See `TeamKernel`. The kernel takes x, weight, dy, dx, the sums, then epsilon, rows, columns
        and teams; it has teams for each of a number of groups of rows.
    sums : sequence of str
        The outputs that are sums of a team over its rows.

    Returns
    -------
    TeamKernel
        Called with x and dy [..., columns], weight [columns] and epsilon; gives dx, and the sums
        [teams, columns]. ``jax.vmap`` makes one launch of it, with a group for each element.
    """

    def kernel(rows: Any, teams: Any, shapes: dict[str, str], vmap: str) -> TeamKernel:
        def groups(x: Operand) -> tuple[Any, ...]:
            return () if rows is all_rows else x.shape[:-2]

        partial = like("x", dtype=wide, shape=lambda x, *_: (*groups(x), teams(x), columns(x)))
        return TeamKernel(
            source,
            name,
            rows=lambda x, *_: math.prod(groups(x)) * teams(x),
            inputs=["x", "weight", "dy"],
            outputs={"dx": like("x"), **dict.fromkeys(sums, partial)},
            attributes={"epsilon": float, "rows": rows, "columns": columns, "teams": teams},
            dtypes=FLOATING,
            shapes=shapes,
            vmap=vmap,
        )

    one = kernel(
        all_rows,
        _num_teams,
        {"x": "*rows columns", "weight": "columns", "dy": "*rows columns"},
        "sequential",
    )
    several = kernel(
        _group_rows,
        _num_group_teams,
        {"x": "*groups rows columns", "weight": "*groups columns", "dy": "*groups rows columns"},
        "leading",
    )

    @one.defvmap
    def batch(
        axis_size: int, in_batched: Sequence[bool], *operands: Any, epsilon: float
    ) -> tuple[list[Any], list[bool]]:
        import jax.numpy as jnp

        x, weight, dy = (
            operand if batched else jnp.broadcast_to(operand, (axis_size, *operand.shape))
            for operand, batched in zip(operands, in_batched, strict=True)
        )
        rows = (axis_size, math.prod(x.shape[1:-1]), x.shape[-1])
        dx, *found = several(x.reshape(rows), weight, dy.reshape(rows), epsilon=epsilon)
        return [dx.reshape(x.shape), *found], [True] * (1 + len(found))

    return one
