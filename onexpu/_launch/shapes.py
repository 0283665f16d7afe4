"""Shapes of a kernel's operands and results, as its definition speaks of them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

from onexpu._types import dtype_name


@dataclasses.dataclass(frozen=True)
class Operand:
    """An operand as ``range`` and shape functions see it.

    Attributes
    ----------
    name : str
    shape : tuple
        Integers. In a TensorFlow graph whose shapes are not known, scalar int64 tensors stand in
        for them.
    dtype : str
        numpy's name.
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
    """A result with the shape, the type or both of an input. Made by `like`."""

    input: str
    dtype: str | Callable[[str], Any] | None = None
    shape: Shape | None = None
    zeroed: bool = False
    rows: str | None = None


@dataclasses.dataclass(frozen=True)
class Array:
    """A result of a shape of its own. Made by `array`."""

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
        Another element type than the input's; a callable gets the name of the input's type.
    shape : sequence of int, or callable, optional
        Another shape; a callable gets the inputs as `Operand` and returns it.
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
        A callable gets the inputs as `Operand` and returns it.
    dtype : dtype
        The element type.
    zeroed : bool, optional
        Whether the memory is zeros before the kernel runs, as atomic sums want it. Without, it
        holds anything.
    rows : str, optional
        Of an output whose size the kernel finds out: the name of another output, or of scratch
        memory, of one integer that is zeros at first, and in which the kernel counts how many
        leading rows it has written. The caller gets those alone; `shape` is how many there may be.

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
