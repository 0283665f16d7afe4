"""Builds a random program statement by statement, whatever the framework.

A framework's builder says how the types of results are found. The families of ops draw from it.
"""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tests.fuzz.values.inputs import COMPLEX, DTYPES, FLOATS, INTEGERS, short_name
from tests.fuzz.values.program import Function, Input, Statement, names_in

# One, sizes beside powers of two and vector widths, primes, and others.
SIZES = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    12,
    13,
    15,
    16,
    17,
    20,
    23,
    31,
    32,
    33,
    40,
    47,
    48,
    49,
    63,
    64,
)
LARGE_SIZES = (65, 96, 100, 127, 128, 129, 200, 255, 256, 257, 300, 500, 513, 1000, 1025)
_SIZE_WEIGHTS = (1,) + (6, 7, 8, 6, 8, 5, 7, 6, 4, 3, 4, 5, 5, 5, 2, 2, 4, 3, 5, 1, 3, 1, 4, 1, 2)
_DTYPE_WEIGHTS = {
    "f32": 40,
    "s32": 14,
    "bf16": 8,
    "f16": 8,
    "f64": 8,
    "bool": 4,
    "u8": 4,
    "s8": 4,
    "u32": 4,
    "s64": 4,
    "s16": 2,
    "u16": 2,
    "u64": 2,
    "c64": 3,
    "c128": 1,
    "f8e4m3fn": 0.3,
    "f8e5m2": 0.3,
}
_KIND_WEIGHTS = {
    "normal": 46,
    "small": 22,
    "positive": 8,
    "ties": 10,
    "special": 8,
    "huge": 2,
    "extreme": 4,
}
_MAGNITUDE = {"normal": 3.5, "small": 4, "positive": 4, "ties": 2, "special": 3.5, "extreme": 3.5}
# Types whose largest number programs reach.
_LARGEST = {"f16": 65504.0, "f8e4m3fn": 448.0, "f8e5m2": 57344.0}
REAL_FLOATS = ("f16", "bf16", "f32", "f64")
# The largest dividends of remainders: the errors of larger ones come near the divisor, and the
# remainder of such a dividend is any number (`remainders-of-rounded` in docs/conformance.md).
LARGEST_DIVIDEND = {"f16": 2.0**6, "bf16": 2.0**3, "f32": 2.0**14, "f64": 2.0**43}


class Rejected(Exception):  # an everyday answer
    """An op cannot be formed from the values at hand."""


@dataclasses.dataclass(frozen=True)
class Value:
    """An array of the program.

    Attributes
    ----------
    name, dtype, shape
        As in `Input` and `Statement`.
    magnitude : float
        A guess of the largest absolute value of a float, which keeps values from overflowing.
    special : bool
        There may be NaN or infinities. Such values are used less, because a NaN hides faults.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    magnitude: float = 4.0
    special: bool = False

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    @property
    def is_integer(self) -> bool:
        return self.dtype in INTEGERS

    @property
    def is_complex(self) -> bool:
        return self.dtype in COMPLEX


@dataclasses.dataclass
class _Scope:
    statements: list[Statement] = dataclasses.field(default_factory=list)
    values: list[Value] = dataclasses.field(default_factory=list)


class Builder(abc.ABC):
    """The state of a program that is being generated.

    Parameters
    ----------
    rng : random.Random
        Decides everything.
    names : dict
        The namespace of the framework, for inferring the types of results.
    max_elements : int
        The limit of an array's size.
    """

    def __init__(self, rng: random.Random, names: dict[str, Any], max_elements: int) -> None:
        self.rng = rng
        self.max_elements = max_elements
        self.inputs: list[Input] = []
        self.count = 0
        self._names = names
        self._next = 0
        self._scopes = [_Scope()]
        # Types of every visible name; a parameter may be a tuple.
        self._types: dict[str, Any] = {}
        self._input_values: list[Value] = []

    # What the program holds.

    @property
    def statements(self) -> list[Statement]:
        """Statements of the innermost scope."""
        return self._scopes[-1].statements

    @property
    def depth(self) -> int:
        """How many local functions surround the current scope."""
        return len(self._scopes) - 1

    def visible(self) -> list[Value]:
        """Returns every value that a statement may use here, oldest first."""
        return self._input_values + [one for scope in self._scopes for one in scope.values]

    # Random choices.

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def choice(self, options: Sequence[Any]) -> Any:
        return self.rng.choice(options)

    def weighted(self, weights: dict[Any, float]) -> Any:
        return self.rng.choices(list(weights), list(weights.values()))[0]

    def size(self, limit: int | None = None, *, minimum: int = 0) -> int:
        """Returns the size of a dimension."""
        limit = self.max_elements if limit is None else limit
        for _ in range(20):
            if limit > 64 and self.chance(0.1):
                size = self.choice(LARGE_SIZES)
            else:
                size = self.rng.choices(SIZES, _SIZE_WEIGHTS)[0]
            if minimum <= size <= limit:
                return size
        return max(minimum, 1)

    def shape(self, rank: int | None = None, *, minimum: int = 0) -> tuple[int, ...]:
        """Returns a shape of at most `max_elements` elements."""
        if rank is None:
            rank = self.weighted({0: 4, 1: 20, 2: 40, 3: 22, 4: 10, 5: 4})
        sizes: list[int] = []
        for _ in range(rank):
            limit = self.max_elements // max(1, math.prod(sizes) or 1)
            sizes.append(self.size(limit, minimum=minimum))
        self.rng.shuffle(sizes)
        return tuple(sizes)

    def dtype(self, among: Sequence[str] | None = None) -> str:
        """Returns a dtype by its weight."""
        names = among or list(_DTYPE_WEIGHTS)
        return self.weighted({name: _DTYPE_WEIGHTS[name] for name in names})

    def axis(self, value: Value) -> int:
        """Returns one of a value's axes; rejects scalars."""
        if not value.rank:
            raise Rejected
        return self.rng.randrange(value.rank)

    def axes(self, value: Value, minimum: int = 1) -> tuple[int, ...]:
        """Returns distinct axes in order."""
        if value.rank < minimum:
            raise Rejected
        count = self.rng.randint(minimum, value.rank)
        return tuple(sorted(self.rng.sample(range(value.rank), count)))

    # Values.

    def new_input(
        self,
        dtype: str | None = None,
        shape: tuple[int, ...] | None = None,
        kind: str | None = None,
    ) -> Value:
        """Adds an argument to the program."""
        dtype = dtype or self.dtype()
        shape = self.shape() if shape is None else shape
        kind = kind or self.weighted(_KIND_WEIGHTS)
        name = self.fresh("x")
        self.inputs.append(Input(name, dtype, shape, kind, self.rng.randrange(1 << 30)))
        magnitude = _MAGNITUDE.get(kind, 2.0**12 if dtype == "f16" else 2.0**26)
        special = kind == "special" and (dtype in FLOATS or dtype in COMPLEX)
        value = Value(name, dtype, shape, magnitude, special)
        self._input_values.append(value)
        self._types[name] = self._type_of(value)
        return value

    def fresh(self, prefix: str) -> str:
        """Returns a new name."""
        self._next += 1
        return f"{prefix}{self._next}"

    def pick(
        self,
        dtypes: Sequence[str] | None = None,
        *,
        where: Callable[[Value], bool] | None = None,
        rank: int | None = None,
    ) -> Value:
        """Returns a visible value, recent ones more often; an input is added if none fits.

        Parameters
        ----------
        dtypes : sequence of str
            What is accepted; all if omitted.
        where : callable
            What else has to hold. If no visible value fits, the op is rejected.
        rank : int
            The rank of an input that is added.
        """
        fitting = [
            one
            for one in self.visible()
            if (dtypes is None or one.dtype in dtypes) and (where is None or where(one))
        ]
        if fitting:
            weights = [
                (1.0 + 3.0 * i / len(fitting)) * (0.25 if one.special else 1.0)
                for i, one in enumerate(fitting)
            ]
            if not self.chance(0.05) or where is not None:
                return self.rng.choices(fitting, weights)[0]
        if where is not None:
            raise Rejected
        return self.new_input(self.dtype(dtypes), None if rank is None else self.shape(rank))

    def floats(self, *, where: Callable[[Value], bool] | None = None) -> Value:
        """Returns a value of f16, bf16, f32 or f64."""
        return self.pick(REAL_FLOATS, where=where)

    def of(self, dtype: str, shape: tuple[int, ...], kind: str | None = None) -> Value:
        """Returns a value of a dtype and a shape: a visible one, or an input that is added."""
        fitting = [
            one
            for one in self.visible()
            if one.dtype == dtype and one.shape == shape and (kind is None)
        ]
        if fitting and self.chance(0.75):
            return self.choice(fitting)
        return self.new_input(dtype, shape, kind)

    def like(self, value: Value) -> Value:
        """Returns another value of the same dtype and shape."""
        return self.of(value.dtype, value.shape)

    # Statements.

    def emit(
        self,
        source: str,
        *operands: Value,
        op: str,
        noise: str | None = None,
        magnitude: float | None = None,
        special: bool | None = None,
        functions: Sequence[Function] = (),
    ) -> Value:
        """Adds a statement.

        Parameters
        ----------
        source : str
            The expression, with `{0}`, `{1}` for the operands' names.
        operands : Value
            The operands.
        op : str
            For statistics.
        noise : str
            See `Statement`; default: "round" for floats, which does no harm to integers.
        magnitude : float
            The guess of the result's; default: the operands' largest.
        special : bool
            Whether there may be NaN or infinities; default: as in the operands.
        functions : sequence of Function
            Local functions that the source uses.

        Returns
        -------
        Value
            The result, scaled to a moderate magnitude by a further statement if it needs that.
        """
        name = self.fresh("y")
        text = source.format(*(one.name for one in operands)) if operands else source
        statement = Statement(name, text, "", (), op, noise or "round", tuple(functions))
        result = self._infer(statement)
        dtype = short_name(result.dtype)
        if math.prod(result.shape) > self.max_elements:
            raise Rejected
        if noise is None and (dtype not in FLOATS and dtype not in COMPLEX):
            statement = dataclasses.replace(statement, noise="none")
        statement = dataclasses.replace(statement, dtype=dtype, shape=tuple(result.shape))
        magnitude, special = self._estimate(result, operands, magnitude, special)
        if magnitude > _LARGEST.get(dtype, math.inf):
            # Infinite, unless a compiler keeps it in a wider type (`excess-precision` in
            # docs/conformance.md).
            raise Rejected
        value = Value(name, dtype, statement.shape, magnitude, special)
        self._scopes[-1].statements.append(statement)
        self._scopes[-1].values.append(value)
        self._types[name] = result
        self.count += 1
        limit = {"f16": 256.0, "bf16": 1024.0, "f8e4m3fn": 64.0, "f8e5m2": 64.0}.get(dtype, 2.0**14)
        if (value.is_float or value.is_complex) and limit < magnitude < 1e300:
            factor = 2.0 ** -math.ceil(math.log2(magnitude / 4.0))
            if factor > 1e-30:
                one = value
                return self.emit(
                    f"{{0}} * {factor!r}", one, op="scale", magnitude=4.0, noise="none"
                )
        return value

    @abc.abstractmethod
    def _infer(self, statement: Statement) -> Any:
        """Returns the type of a statement's result, with `dtype` and `shape`; raises Rejected."""

    def _estimate(
        self,
        result: Any,  # for builders that know values
        operands: Sequence[Value],
        magnitude: float | None,
        special: bool | None,
    ) -> tuple[float, bool]:
        """Returns the magnitude of a result, and whether there may be NaN or infinities."""
        if magnitude is None:
            magnitude = max((one.magnitude for one in operands), default=4.0)
        if special is None:
            special = any(one.special for one in operands)
        return magnitude, special

    @abc.abstractmethod
    def _type_of(self, like: Any) -> Any:
        """Returns the type of a Value, or of a tuple of such."""

    @contextlib.contextmanager
    def function(self, types: Sequence[Any], prefix: str = "fn") -> Iterator[FunctionBuilder]:
        """Opens the scope of a local function.

        Parameters
        ----------
        types : sequence
            Of each parameter: a Value that it is like, or a tuple of such.
        """
        scope = _Scope()
        self._scopes.append(scope)
        count = self.count
        try:
            function = FunctionBuilder(self, self.fresh(prefix))
            for one in types:
                function.add_parameter(one)
            yield function
        except Rejected:
            self.count = count
            raise
        finally:
            self._scopes.pop()
        function.built = Function(
            function.name, tuple(function.parameters), tuple(scope.statements), function.result
        )

    def declare(self, name: str, like: Any) -> None:
        """Makes a parameter's type known."""
        self._types[name] = self._type_of(like)

    def add_value(self, value: Value) -> None:
        """Makes a parameter visible."""
        self._scopes[-1].values.append(value)

    def local(self) -> list[Value]:
        """Returns the values of the innermost scope."""
        return self._scopes[-1].values


class FunctionBuilder:
    """A local function while its scope is open; `built` afterwards."""

    built: Function
    result: str

    def __init__(self, builder: Builder, name: str) -> None:
        self.name = name
        self.parameters: list[str] = []
        self.values: list[Any] = []
        self._builder = builder

    def add_parameter(self, like: Any) -> None:
        """Adds a parameter like a Value, or like a tuple of Values, which is unpacked."""
        name = self._builder.fresh("p")
        self.parameters.append(name)
        self._builder.declare(name, like)
        if isinstance(like, Value):
            value = dataclasses.replace(like, name=name)
            self._builder.add_value(value)
            self.values.append(value)
            return
        self.values.append(
            [
                self._builder.emit(
                    f"{name}[{i}]",
                    op="unpack",
                    noise="none",
                    magnitude=one.magnitude,
                    special=one.special,
                )
                for i, one in enumerate(like)
            ]
        )


def noise_of(source: str) -> str:
    """Returns the noise of an elementary function, see `program.Statement`.

    The terms of Lanczos's formula cancel, and back ends contract its sums differently. The
    logarithm of a sum near one amplifies the rounding of the sum, which may be left out. So does
    gelu's sum of one and a hyperbolic tangent near minus one.
    """
    if ("log" in source and "+ 0.5)" in source) or "gelu" in source:
        return "logarithm"
    return "terms" if "lgamma" in source or "digamma" in source else "approximate"


def width(dtype: str) -> int:
    """Returns the number of bytes of an element."""
    return np.dtype(DTYPES[dtype]).itemsize


def mentioned(value: Value, source: str) -> bool:
    """Returns whether a source uses a value."""
    return value.name in names_in(source)
