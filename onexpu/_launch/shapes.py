"""Shapes of a kernel's operands and results, as its definition speaks of them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

from onexpu._types import dtype_name


@dataclasses.dataclass(frozen=True)
class Operand:
    """An operand, as ``range`` and shape functions receive it.

    Attributes
    ----------
    name : str
    shape : tuple
        Integers, or scalar int64 tensors in a TensorFlow graph that does not know its shapes.
    dtype : str
        numpy's name of the type.
    """

    name: str
    shape: tuple[Any, ...]
    dtype: str

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> Any:
        """The number of elements."""
        return math.prod(self.shape)


def is_function(value: Any) -> bool:
    """Whether it is to be called with operands: dtypes are no functions, though types are
    callable.
    """
    return callable(value) and not isinstance(value, type)


Shape = Sequence[Any] | Callable[..., Sequence[Any]]


@dataclasses.dataclass(frozen=True)
class Like:
    """A result with the shape or the type of an input. Made by `like`."""

    input: str
    dtype: str | Callable[[str], Any] | None = None
    shape: Shape | None = None
    zeroed: bool = False
    rows: str | None = None


@dataclasses.dataclass(frozen=True)
class Array:
    """A result whose shape does not come from an input. Made by `array`."""

    shape: Shape
    dtype: str
    zeroed: bool = False
    rows: str | None = None


def like(
    input: str,
    *,
    dtype: Any = None,
    shape: Shape | None = None,
    zeroed: bool = False,
    rows: str | None = None,
) -> Like:
    """Describes a result of a kernel by one of its inputs.

    Parameters
    ----------
    input : str
        The input's name.
    dtype : dtype or callable, optional
        An element type instead of the input's. A callable receives the name of the input's type.
    shape : sequence of int, or callable, optional
        A shape instead of the input's. A callable receives the inputs as `Operand` and returns it.
    zeroed, rows
        See `array`.

    Returns
    -------
    Like

    Examples
    --------
    >>> import onexpu
    >>> onexpu.like("x", dtype="float32").dtype
    'float32'
    """
    known = dtype is None or is_function(dtype)
    return Like(input, dtype if known else dtype_name(dtype), shape, zeroed, rows)


def array(shape: Shape, dtype: Any, *, zeroed: bool = False, rows: str | None = None) -> Array:
    """Describes a result of a kernel by its shape and element type.

    Parameters
    ----------
    shape : sequence of int, or callable
        A callable receives the inputs as `Operand` and returns the shape.
    dtype : dtype
        The element type.
    zeroed : bool, optional
        Whether the memory is cleared before the kernel runs, for atomic sums. Otherwise its
        contents are undefined.
    rows : str, optional
        For an output whose size the kernel computes: the name of another output, or of scratch
        memory, with one integer that starts at zero. The kernel counts the leading rows that it
        writes there. The caller receives those rows; `shape` is the maximum.

    Returns
    -------
    Array

    Examples
    --------
    >>> import onexpu
    >>> onexpu.array((2, 3), "int32").shape
    (2, 3)
    """
    shape = shape if callable(shape) else tuple(shape)
    return Array(shape, dtype_name(dtype), zeroed, rows)


def resolve(
    specification: Like | Array, operands: Sequence[Operand]
) -> tuple[tuple[Any, ...], str]:
    """Returns the shape and the element type of a result."""
    if isinstance(specification, Array):
        shape, dtype = specification.shape, specification.dtype
    else:
        operand = next(o for o in operands if o.name == specification.input)
        shape = operand.shape if specification.shape is None else specification.shape
        if specification.dtype is None:
            dtype = operand.dtype
        elif isinstance(specification.dtype, str):
            dtype = specification.dtype
        else:
            dtype = dtype_name(specification.dtype(operand.dtype))
    if callable(shape):
        shape = shape(*operands)
    return tuple(shape), dtype
