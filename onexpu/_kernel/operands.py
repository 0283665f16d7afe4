"""Operands, results and their shapes: what every definition of a kernel has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onexpu._launch.launch import Result, UncheckedShapes
from onexpu._launch.scalars import is_number
from onexpu._launch.shape_rules import ShapeRules
from onexpu._launch.shapes import Array, Like, Operand, resolve
from onexpu._types import numpy_dtype


class OperandsDefinition:
    """Inputs, outputs and scratch memory of a kernel, checked.

    Parameters
    ----------
    name : str
        The kernel's.
    inputs : sequence of str
    outputs, scratch : mapping
        From names to `Like` or `Array`. An output with the name of an input is that input, changed
        in place.
    shapes : mapping
        See `ShapeRules`.
    vmap : {"sequential", "leading"}
        See `onexpu.sycl_kernel`.

    Raises
    ------
    ValueError, TypeError
        They do not fit one another.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[str],
        outputs: Mapping[str, Like | Array],
        scratch: Mapping[str, Like | Array],
        shapes: Mapping[str, str],
        vmap: str,
    ) -> None:
        self.name = name
        self.inputs = tuple(inputs)
        self.outputs = dict(outputs)
        self.scratch = dict(scratch)
        self._results = self.outputs | self.scratch
        self._in_place: tuple[int, ...] = ()
        if not self.outputs.keys().isdisjoint(self.inputs):
            self._in_place = tuple(
                self.inputs.index(name) if name in self.inputs else -1 for name in self._results
            )
        self._check_operands()
        names = list(self._results)
        self._rows: tuple[int, ...] = ()
        if any(output.rows is not None for output in self.outputs.values()):
            self._rows = tuple(
                -1 if output.rows is None else names.index(output.rows)
                for output in self.outputs.values()
            )
        self._zeroed = tuple(
            i for i, result in enumerate(self._results.values()) if result.zeroed or i in self._rows
        )
        self._shape_rules = ShapeRules(name, self.inputs, shapes)
        self._vmap = vmap
        self._check_vmap()

    @property
    def operands(self) -> tuple[str, ...]:
        """The names of all operands in their order: inputs, outputs that are none, scratch
        memory.
        """
        return (*self.inputs, *(name for name in self._results if name not in self.inputs))

    def _check_operands(self) -> None:
        if not self.outputs:
            raise ValueError(f"onexpu: kernel '{self.name}' has no outputs")
        shared = set(self.scratch) & {*self.inputs, *self.outputs}
        if shared or len(set(self.inputs)) != len(self.inputs):
            raise ValueError(
                f"onexpu: kernel '{self.name}' has two operands of one name: "
                f"{', '.join([*self.operands, *sorted(shared)])}"
            )
        for output, specification in self._results.items():
            if not isinstance(specification, Like | Array):
                raise TypeError(
                    f"onexpu: output '{output}' of kernel '{self.name}' is described by "
                    f"onexpu.like or onexpu.array, not by {specification!r}"
                )
            if isinstance(specification, Like) and specification.input not in self.inputs:
                raise ValueError(
                    f"onexpu: output '{output}' of kernel '{self.name}' is like "
                    f"'{specification.input}', which is not an input"
                )
            if specification.zeroed and output in self.inputs:
                raise ValueError(
                    f"onexpu: '{output}' of kernel '{self.name}' is an input that is changed in "
                    "place, so it cannot be zeroed"
                )
            count = specification.rows
            if count is not None and (
                output not in self.outputs
                or count == output
                or count not in self._results
                or count in self.inputs
            ):
                raise ValueError(
                    f"onexpu: the rows of '{output}' of kernel '{self.name}' are counted by "
                    f"another output or by scratch memory; '{count}' is neither"
                )

    def _check_vmap(self) -> None:
        if self._vmap not in ("sequential", "leading"):
            raise ValueError(
                f"onexpu: vmap of kernel '{self.name}' is 'sequential' or 'leading', not "
                f"{self._vmap!r}; a rule of one's own is given to defvmap"
            )
        leading = map(self._shape_rules.takes_leading, range(len(self.inputs)))
        if self._vmap == "leading" and not any(leading):
            raise ValueError(
                f"onexpu: kernel '{self.name}' says vmap='leading', but the declared shape of none "
                "of its inputs begins with '...' or '*name'"
            )

    @property
    def counts_rows(self) -> bool:
        """Whether the kernel finds out the size of an output."""
        return bool(self._rows)

    def takes_leading(self, input: int) -> bool:
        """Whether `vmap` may put its dimension in front of the input, for one launch of all."""
        return self._vmap == "leading" and self._shape_rules.takes_leading(input)

    def check_arity(self, count: int) -> None:
        """Raises TypeError when a call has the wrong number of operands."""
        if count != len(self.inputs):
            raise TypeError(
                f"onexpu: kernel '{self.name}' takes {len(self.inputs)} operands "
                f"({', '.join(self.inputs)}), got {count}"
            )

    def check_values(self, attributes: Mapping[str, Any]) -> None:
        """Raises TypeError for an attribute that is not a number known at the call."""
        for name, value in attributes.items():
            if not is_number(value):
                raise TypeError(
                    f"onexpu: '{name}' of kernel '{self.name}' is a number that is known when the "
                    f"kernel is called, not {type(value).__name__}; pass values of the computation "
                    "as operands"
                )

    def check_names(self, expected: Sequence[str], given: Mapping[str, Any]) -> None:
        """Raises TypeError unless a call gives the expected attributes."""
        missing, unknown = set(expected) - set(given), set(given) - set(expected)
        if missing or unknown:
            word, names = ("lacks", missing) if missing else ("got", unknown)
            raise TypeError(
                f"onexpu: kernel '{self.name}' has the attributes ({', '.join(expected)}); the "
                f"call {word} {', '.join(sorted(names))}"
            )

    def number(self, name: str, dtype: str, value: Any) -> np.generic:
        """Returns the value of an attribute as a number of that type.

        Raises
        ------
        TypeError
            A fraction, infinity or NaN for a type of integers; a complex number for a real type.
        ValueError
            A number that is too large for the type.
        """
        type_ = numpy_dtype(dtype)
        if isinstance(value, np.ndarray):
            value = value[()]
        if isinstance(value, np.generic) and value.dtype.kind == "V":  # of ml_dtypes
            value = float(value)
        if isinstance(value, complex | np.complexfloating) and type_.kind != "c":
            raise TypeError(f"onexpu: '{name}' of kernel '{self.name}' is a {dtype}, not {value}")
        is_float = isinstance(value, float | np.floating)
        if type_.kind in "iub" and is_float and not (np.isfinite(value) and value == int(value)):
            raise TypeError(f"onexpu: '{name}' of kernel '{self.name}' is a {dtype}, not {value}")
        does_not_fit = False
        if type_.kind in "iu":
            does_not_fit = not np.iinfo(type_).min <= value <= np.iinfo(type_).max
        number: Any = None
        if not does_not_fit:
            with np.errstate(over="ignore"):
                try:
                    number = np.asarray(value).astype(type_)[()]
                except OverflowError:  # an integer that is too large for a float
                    does_not_fit = True
        if number is not None and type_.kind not in "iub":
            does_not_fit = bool(np.isinf(number)) and not np.isinf(value)
        if does_not_fit:
            raise ValueError(
                f"onexpu: {name}={value} of kernel '{self.name}' does not fit into {dtype}"
            )
        result: np.generic = number
        return result

    def check_shapes(self, operands: Sequence[Operand]) -> UncheckedShapes:
        """Checks the declared shapes; returns what has to be checked when they are known."""
        conditions = self._shape_rules.check(operands)
        if not conditions:
            return UncheckedShapes()
        return UncheckedShapes(self.inputs, self._shape_rules.texts, conditions)

    def results(self, operands: Sequence[Operand]) -> tuple[Result, ...]:
        """Returns shapes and types of the outputs and of scratch memory."""
        results = tuple(self._result(name, operands) for name in self._results)
        for output, count in enumerate(self._rows):
            if count >= 0:
                self._check_count(results, output, count)
        return results

    def _check_count(self, results: Sequence[Result], output: int, count: int) -> None:
        names = list(self._results)
        (rows, _), (shape, dtype) = results[output], results[count]
        if (
            not rows
            or dtype not in ("int32", "int64", "uint32", "uint64")
            or shape not in ((), (1,))
        ):
            raise ValueError(
                f"onexpu: '{names[count]}' of kernel '{self.name}', {dtype}{list(shape)}, counts "
                f"the rows of '{names[output]}', of shape {list(rows)}: it must be one integer of "
                "32 or 64 bits, and there must be rows"
            )

    def _result(self, name: str, operands: Sequence[Operand]) -> Result:
        shape, dtype = resolve(self._results[name], operands)
        for dimension in shape:
            if isinstance(dimension, int | np.integer) and dimension < 0:
                raise ValueError(
                    f"onexpu: output '{name}' of kernel '{self.name}' has the shape {shape}"
                )
        for operand in operands:
            if operand.name == name and (operand.shape, operand.dtype) != (shape, dtype):
                raise ValueError(
                    f"onexpu: kernel '{self.name}' changes '{name}' in place, but the input is "
                    f"{operand.dtype}{list(operand.shape)} and the output {dtype}{list(shape)}"
                )
        return shape, dtype
