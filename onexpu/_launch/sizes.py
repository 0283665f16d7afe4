"""Ranges and work-groups of launches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onexpu._launch.shapes import Operand

# Level Zero counts work-groups with 32 bits; where the device chooses, they are this wide at most.
_MOST_GROUPS, _CHOSEN = 2**32 - 1, 1024
_MOST_ITEMS = 2**63 - 1

Range = int | Sequence[int] | Callable[..., Any]


def sizes_of(
    kernel: str, what: str, value: Range | None, operands: Sequence[Operand]
) -> tuple[Any, ...]:
    """Returns a range or a local size for these operands; () for none.

    Raises
    ------
    ValueError
        No 1 to 3 sizes, or one that is not an integer.
    """
    given: Any = value(*operands) if callable(value) else value
    if given is None:
        return ()
    sizes: Sequence[Any] = given if isinstance(given, list | tuple) else (given,)
    if not 1 <= len(sizes) <= 3:
        raise ValueError(
            f"onexpu: the {what} of kernel '{kernel}' has 1 to 3 dimensions, not {len(sizes)}"
        )
    for size in sizes:
        if isinstance(size, float | np.floating) and size != int(size):
            raise ValueError(
                f"onexpu: the {what} of kernel '{kernel}' is [{', '.join(map(str, sizes))}]; sizes "
                "are integers (// divides them)"
            )
    return tuple(int(v) if isinstance(v, int | float | np.number) else v for v in sizes)


def check_sizes(
    kernel: str,
    global_size: tuple[Any, ...],
    local_size: tuple[Any, ...],
    output_sizes: Sequence[Any],
) -> None:
    """Raises ValueError for a range that no device has, or that leaves outputs undefined.

    `output_sizes` are the elements of the outputs that the kernel defines.
    """
    if not all(isinstance(v, int) for v in (*global_size, *local_size)):
        return  # known when the graph runs; the core checks then
    text = f"kernel '{kernel}', range {list(global_size)}, local size {list(local_size)}"
    if any(v < 0 for v in global_size) or any(v < 1 for v in local_size):
        raise ValueError(f"onexpu: {text}: sizes must be positive")
    if local_size and len(local_size) != len(global_size):
        raise ValueError(f"onexpu: {text}: both need the same number of dimensions")
    if any(g % v for g, v in zip(global_size, local_size, strict=False)):
        raise ValueError(f"onexpu: {text}: the range must be a multiple of the local size")
    groups = [g // v for g, v in zip(global_size, local_size or [_CHOSEN] * 3, strict=False)]
    if max(groups) > _MOST_GROUPS or math.prod(global_size) > _MOST_ITEMS:
        raise ValueError(
            f"onexpu: {text}: a device has at most {_MOST_GROUPS} work-groups in a dimension, "
            f"and {_MOST_ITEMS} work-items"
        )
    if 0 in global_size and any(output_sizes):
        raise ValueError(f"onexpu: {text}: a range of zero leaves the outputs undefined")
