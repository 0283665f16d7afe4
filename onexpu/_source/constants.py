"""Template parameters of a kernel that are values: tuning constants, known when it is compiled."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from onexpu._launch.shapes import Operand, is_function
from onexpu._source.signature import Constant, Signature, line_text
from onexpu._types import numpy_dtype

# An element type by numpy's name, or a constant: what a template parameter stands for.
Argument = str | int
# A constant, or how it follows from the inputs.
Given = int | Callable[..., Any]


def literal(value: int) -> str:
    """Returns a constant as C++ writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value}ull" if value > np.iinfo(np.int64).max else str(value)


@dataclasses.dataclass(frozen=True)
class Constants:
    """The constants of a definition, checked against the kernel's template parameters.

    Attributes
    ----------
    kernel : str
        Its name, for errors.
    declared : tuple of Constant
    given : mapping
        From names to numbers, or to functions of the inputs.

    Raises
    ------
    ValueError
        A constant that the kernel lacks, one without a value, or a value that does not fit.
    TypeError
        A value that is not an integer.
    """

    kernel: str
    signature: Signature
    given: Mapping[str, Given]

    def __post_init__(self) -> None:
        names = {constant.name for constant in self.declared}
        for name in self.given:
            if name in self.signature.template_parameters:
                raise ValueError(
                    f"onexpu: constants of kernel '{self.kernel}' names {name}, which is a type; "
                    "the element types of the operands decide it"
                )
            if name not in names:
                raise ValueError(
                    f"onexpu: constants of kernel '{self.kernel}' names {name}, which is not a "
                    f"template parameter of it{self.signature.where}"
                )
        omitted = None
        for name in self.signature.template_order:
            constant = next((c for c in self.declared if c.name == name), None)
            missing = False
            if constant is not None and name not in self.given and constant.default is None:
                missing = True
                if not constant.has_default:
                    raise ValueError(
                        f"onexpu: template parameter '{name}'{line_text(constant.line)} of kernel "
                        f"'{self.kernel}' has no value: constants={{'{name}': ...}} gives one"
                    )
            if omitted is not None and not missing:
                raise ValueError(
                    f"onexpu: template parameter '{omitted}' of kernel '{self.kernel}' needs a "
                    f"value in constants=, because '{name}' follows it"
                )
            omitted = name if missing else omitted
        for name, value in self.given.items():
            if not is_function(value):
                self._checked(name, value)

    @property
    def declared(self) -> tuple[Constant, ...]:
        """The kernel's constants, in the order of the source."""
        return self.signature.constants

    @property
    def fixed(self) -> dict[str, int]:
        """The values that do not follow from the inputs."""
        values: dict[str, Any] = {c.name: c.default for c in self.declared if c.default is not None}
        values |= {name: value for name, value in self.given.items() if not is_function(value)}
        names = [constant.name for constant in self.declared if constant.name in values]
        return {name: self._checked(name, values[name]) for name in names}

    @property
    def late(self) -> tuple[str, ...]:
        """The names of those that follow from the inputs."""
        return tuple(c.name for c in self.declared if is_function(self.given.get(c.name)))

    def of_inputs(self, operands: Sequence[Operand]) -> dict[str, int]:
        """Returns the values for these inputs; without those that the source's default decides."""
        values: dict[str, Any] = dict(self.fixed)
        for name in self.late:
            follows: Any = self.given[name]
            values[name] = self._checked(name, follows(*operands))
        return values

    def with_late(self, values: Mapping[str, Any]) -> dict[str, int]:
        """Returns all values, of which `values` has those that follow from the inputs.

        Raises
        ------
        TypeError
            One too few, or one too many.
        """
        if set(values) != set(self.late):
            raise TypeError(
                f"onexpu: kernel '{self.kernel}' has constants that follow from the inputs "
                f"({', '.join(self.late) or 'none'}); got ({', '.join(values)})"
            )
        return self.fixed | {name: self._checked(name, value) for name, value in values.items()}

    def arguments(self, types: Sequence[str], values: Mapping[str, int]) -> tuple[Argument, ...]:
        """Returns the template arguments in the order of the source."""
        templates = self.signature.template_parameters
        named: dict[str, Argument] = {**dict(zip(templates, types, strict=True)), **values}
        order = self.signature.template_order or templates
        return tuple(named[name] for name in order if name in named)

    def _checked(self, name: str, value: Any) -> int:
        dtype = next(c.dtype for c in self.declared if c.name == name)
        if isinstance(value, float | np.floating) and value == int(value):
            value = int(value)
        if not isinstance(value, int | np.integer | np.bool_):
            raise TypeError(
                f"onexpu: constant '{name}' of kernel '{self.kernel}' is an integer that is known "
                f"when the kernel is compiled, not {value!r}"
            )
        if dtype == "bool":
            return bool(value)
        limits = np.iinfo(numpy_dtype(dtype))
        if not limits.min <= value <= limits.max:
            raise ValueError(
                f"onexpu: constant {name}={value} of kernel '{self.kernel}' does not fit into "
                f"{dtype}"
            )
        return int(value)
