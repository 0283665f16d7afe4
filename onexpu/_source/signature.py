"""Reads the declarations of kernels out of their source."""

from __future__ import annotations

import dataclasses
import re

from onexpu._source.cpp_text import (
    after_attributes,
    closing,
    code_of,
    line_of,
    opening_angle,
    split,
    without_attributes,
)
from onexpu._types import numpy_name_of_cpp

_KERNEL = re.compile(r"\bONEXPU_KERNEL(?P<nd>_ND)?\b")
_DECLARATION = re.compile(r"\s*(?P<type>[\w:\s]*?)\s*\b(?P<name>\w+)\s*(?=\()")
_TYPE_PARAMETER = re.compile(
    r"\s*(?:typename|class)\s+(?P<name>\w+)\s*(?P<default>=.*)?", re.DOTALL
)
_VALUE_PARAMETER = re.compile(
    r"\s*(?P<type>[\w:]+(?:\s+[\w:]+)*?)\s+(?P<name>\w+)\s*(?:=(?P<default>.*))?", re.DOTALL
)
_PARAMETER = re.compile(r"\s*(?P<type>.*?)(?P<name>\w+)\s*", re.DOTALL)
_ARRAY = re.compile(r"\s*(?P<type>.*?)(?P<name>\w+)\s*\[.*\]\s*", re.DOTALL)
_NOEXCEPT = re.compile(r"\s*noexcept\b\s*(?:\([^()]*\))?")
_LITERAL = re.compile(r"\s*(-?\s*(?:0[xX][\da-fA-F']+|[\d']+))[uUlL]*\s*")
_WORDS_OF_TYPES = frozenset(
    "const volatile unsigned signed int long short char float double bool auto void".split()
)


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel.

    Attributes
    ----------
    name : str
    element : str
        Its type as it is written, without const and pointer.
    is_pointer, is_const : bool
    line : int
        In the source, from 1; 0 without one.
    """

    name: str
    element: str
    is_pointer: bool
    is_const: bool
    line: int = 0

    @property
    def dtype(self) -> str | None:
        """The element type's name in numpy; None for template parameters and the source's types."""
        return numpy_name_of_cpp(self.element)


@dataclasses.dataclass(frozen=True)
class Constant:
    """A template parameter that is a value, ``template <int N>``.

    Attributes
    ----------
    name : str
    dtype : str
        numpy's name of its type.
    line : int
    has_default : bool
    default : int, optional
        None also for a default that is not a literal.
    """

    name: str
    dtype: str
    line: int
    has_default: bool = False
    default: int | None = None


@dataclasses.dataclass(frozen=True)
class Signature:
    """A kernel as the source declares it.

    Attributes
    ----------
    name : str
    template_parameters : tuple of str
        Those that are types.
    parameters : tuple of Parameter
    constants : tuple of Constant
        Template parameters that are values.
    template_order : tuple of str
        The names of all template parameters, as the source orders them.
    dimensions : int, optional
        Of the launch: 1 for ``ONEXPU_KERNEL``; None if it is not known.
    line : int
        In the source, from 1; 0 without one.
    body : tuple of int
        Offsets in the source of what is between the braces.
    """

    name: str
    template_parameters: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    constants: tuple[Constant, ...] = ()
    template_order: tuple[str, ...] = ()
    dimensions: int | None = None
    line: int = 0
    body: tuple[int, int] = (0, 0)

    @property
    def pointers(self) -> tuple[Parameter, ...]:
        """The parameters that are buffers."""
        return tuple(p for p in self.parameters if p.is_pointer)

    @property
    def scalars(self) -> tuple[Parameter, ...]:
        """The parameters that are passed by value."""
        return tuple(p for p in self.parameters if not p.is_pointer)

    @property
    def where(self) -> str:
        """The text " (line 3)" for messages; empty without a source."""
        return line_text(self.line)


@dataclasses.dataclass(frozen=True)
class RejectedKernel:
    """A kernel of a form that is not supported.

    Attributes
    ----------
    name : str
    line : int
    reason : str
        A clause that says what is wrong, and what to write instead.
    """

    name: str
    line: int
    reason: str


def line_text(line: int) -> str:
    """Returns " (line 3)"; nothing for 0."""
    return f" (line {line})" if line else ""


class _NotSupported(Exception):
    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line, self.reason = line, reason


def _integer(text: str | None) -> int | None:
    """Returns the value of a literal; None for another expression."""
    words = (text or "").strip()
    if words in ("true", "false"):
        return int(words == "true")
    match = _LITERAL.fullmatch(words)
    if match is None:
        return None
    digits = match[1].replace("'", "").replace(" ", "")
    octal = re.fullmatch(r"-?0[0-7]+", digits)
    return int(digits, 8 if octal else 0)


def _parameter(text: str, position: int, line: int) -> Parameter:
    """Reads a parameter; `position` counts from 1."""

    def refuse(reason: str) -> _NotSupported:
        return _NotSupported(line, reason)

    text = without_attributes(text).strip()
    if "..." in text:
        raise refuse(f"its parameter `{text}` is a pack; a kernel has a fixed list of parameters")
    if "=" in text:
        name = text.partition("=")[0].split()[-1]
        raise refuse(f"its parameter '{name}' has a default value; every call gives every value")
    if re.search(r"\(\s*[*&]", text):
        raise refuse(
            f"its parameter `{text}` is a pointer to a function or an array, which is not supported"
        )
    array = _ARRAY.fullmatch(text)
    if array is not None:
        element = " ".join(array["type"].split())
        raise refuse(
            f"its parameter '{array['name']}' is an array; operands are pointers: "
            f"`{element}* {array['name']}`"
        )
    match = _PARAMETER.fullmatch(text)
    if match is None or not match["type"].strip() or match["name"] in _WORDS_OF_TYPES:
        raise refuse(f"its parameter {position}, `{text}`, has no name")
    written, name = match["type"], match["name"]
    if "&" in written:
        raise refuse(
            f"its parameter '{name}' is a reference; operands are pointers and scalars are values: "
            f"`{' '.join(written.replace('&', '*').split())} {name}`"
        )
    if written.count("*") > 1:
        raise refuse(
            f"its parameter '{name}' is a pointer to a pointer; operands are pointers to elements"
        )
    words = re.sub(r"\*|\b(const|volatile|__restrict__|__restrict)\b", " ", written)
    element = " ".join(words.split())
    if element == "auto":
        raise refuse(f"the type of its parameter '{name}' is auto; write the element type")
    if "*" in written and element == "void":
        raise refuse(f"its parameter '{name}' points to void; write the element type")
    return Parameter(
        name=name,
        element=element,
        is_pointer="*" in written,
        is_const="const" in written.split("*")[0].split(),
        line=line,
    )


def _template_parameter(text: str, line: int) -> str | Constant:
    """Reads a template parameter: the name of a type, or a constant."""
    type_ = _TYPE_PARAMETER.fullmatch(text)
    if type_ is not None:
        return type_["name"]
    written = " ".join(text.split())
    value = _VALUE_PARAMETER.fullmatch(text)
    is_named = value is not None and value["name"] not in _WORDS_OF_TYPES
    if value is None or not is_named or "..." in text or re.match(r"\s*template\b", text):
        raise _NotSupported(
            line,
            f"its template parameter `{written}` is not supported; template parameters are named "
            "element types (typename T) and integers (int N)",
        )
    dtype = "int64" if value["type"] == "auto" else numpy_name_of_cpp(value["type"])
    if dtype is None or not (dtype == "bool" or "int" in dtype):
        raise _NotSupported(
            line,
            f"its template parameter '{value['name']}' is of type {value['type']}; constants are "
            "integers or bool. Pass another type as an attribute, or cast an integer",
        )
    has_default = value["default"] is not None
    return Constant(value["name"], dtype, line, has_default, _integer(value["default"]))


def _template_before(code: str, start: int) -> tuple[int, str]:
    """Returns the offset and the text between the angle brackets of the template that `start` is
    the declaration of; no text without one.
    """
    # Attributes may stand between both.
    head = without_attributes(code[max(0, code.rfind(";", 0, start)) : start])
    end = start - len(head) + len(head.rstrip()) - 1
    if end < 0 or code[end] != ">":
        return start, ""
    opening = opening_angle(code, end)
    if opening is None or not re.search(r"\btemplate\s*$", code[:opening]):
        return start, ""
    return opening + 1, code[opening + 1 : end]


def _dimensions(code: str, match: re.Match[str]) -> tuple[int, int]:
    """Returns the dimensions of a kernel, and the offset behind them."""
    if not match["nd"]:
        return 1, match.end()
    line = line_of(code, match.start())
    opening = code.find("(", match.end())
    end = None if opening < 0 else closing(code, opening)
    if end is None or code[match.end() : opening].strip():
        raise _NotSupported(line, "ONEXPU_KERNEL_ND takes the dimensions: ONEXPU_KERNEL_ND(2)")
    written = code[opening + 1 : end].strip()
    if written not in ("1", "2", "3"):
        raise _NotSupported(
            line,
            f"ONEXPU_KERNEL_ND({written}) is not understood: write 1, 2 or 3 between the brackets",
        )
    return int(written), end + 1


class _Declaration:
    """What stands between ONEXPU_KERNEL and the body."""

    def __init__(self, code: str, match: re.Match[str]) -> None:
        self.code = code
        self.line = line_of(code, match.start())
        self.name = ""
        self._match = match
        # Of the name: what goes wrong before is told with it.
        dimensions = re.match(r"\s*\([^()]*\)", code[match.end() :]) if match["nd"] else None
        start = after_attributes(code, match.end() + (dimensions.end() if dimensions else 0))
        self._found = _DECLARATION.match(code, start)
        if self._found is not None:
            self.name = self._found["name"]

    def read(self) -> Signature | None:
        """Returns the kernel; None for a declaration without a body."""
        code, found = self.code, self._found
        dimensions, _ = _dimensions(code, self._match)
        if found is None:
            raise _NotSupported(
                self.line, "ONEXPU_KERNEL stands before a function: ONEXPU_KERNEL void name(...)"
            )
        specifiers = ("inline", "static", "extern")
        returned = " ".join(word for word in found["type"].split() if word not in specifiers)
        if returned != "void":
            raise _NotSupported(
                self.line, f"it returns {returned or 'no type'}; a kernel returns void"
            )
        end = closing(code, found.end())
        if end is None:
            raise _NotSupported(self.line, "its list of parameters has no end")
        behind = after_attributes(code, end + 1)
        noexcept = _NOEXCEPT.match(code, behind)  # harmless: device code has no exceptions
        behind = after_attributes(code, noexcept.end() if noexcept else behind)
        opening = re.compile(r"[{;]").search(code, behind)
        between = code[behind : opening.start()].strip() if opening else ""
        if opening is None or between:
            raise _NotSupported(
                self.line,
                f"`{between.splitlines()[0] if between else ''}` stands between its parameters and "
                f"its body",
            )
        if opening[0] == ";":
            return None
        body_end = closing(code, opening.start())
        types, constants, order = self._template()
        return Signature(
            name=self.name,
            template_parameters=types,
            parameters=self._parameters(found.end() + 1, end),
            constants=constants,
            template_order=order,
            dimensions=dimensions,
            line=self.line,
            body=(opening.end(), len(code) if body_end is None else body_end),
        )

    def _parameters(self, start: int, end: int) -> tuple[Parameter, ...]:
        text = self.code[start:end]
        if text.strip() == "void":
            return ()
        return tuple(
            _parameter(part, i, self._line(start + offset, part))
            for i, (offset, part) in enumerate(split(text), 1)
        )

    def _line(self, offset: int, part: str) -> int:
        """Returns the line on which a part begins."""
        return line_of(self.code, offset + len(part) - len(part.lstrip()))

    def _template(self) -> tuple[tuple[str, ...], tuple[Constant, ...], tuple[str, ...]]:
        start, text = _template_before(self.code, self._match.start())
        found = [
            _template_parameter(part, self._line(start + offset, part))
            for offset, part in split(text)
        ]
        types = tuple(p for p in found if isinstance(p, str))
        constants = tuple(p for p in found if isinstance(p, Constant))
        return types, constants, tuple(p if isinstance(p, str) else p.name for p in found)


def find_kernels(source: str) -> tuple[list[Signature], list[RejectedKernel]]:
    """Returns the kernels of a source in the order of their definitions, and those of forms that
    are not supported.
    """
    code = code_of(source)
    kernels: list[Signature] = []
    rejected: list[RejectedKernel] = []
    declared: list[RejectedKernel] = []
    for match in _KERNEL.finditer(code):
        declaration = _Declaration(code, match)
        try:
            kernel = declaration.read()
        except _NotSupported as error:
            rejected.append(RejectedKernel(declaration.name, error.line, error.reason))
            continue
        if kernel is None:
            reason = "it is declared without a body; the definition has ONEXPU_KERNEL, too"
            declared.append(RejectedKernel(declaration.name, declaration.line, reason))
        else:
            kernels.append(kernel)
    known = {kernel.name for kernel in kernels} | {kernel.name for kernel in rejected}
    return kernels, rejected + [kernel for kernel in declared if kernel.name not in known]
