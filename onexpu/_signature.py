"""Reads the parameters of a kernel out of its source."""

from __future__ import annotations

import dataclasses
import re

from onexpu._types import numpy_name_of_cpp

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_KERNEL = re.compile(
    r"(?:template\s*<(?P<template>[^>{}]*)>\s*)?"
    r"ONEXPU_KERNEL(?:_ND\s*\(\s*[123]\s*\))?\s+void\s+"
    r"(?P<name>\w+)\s*\((?P<parameters>[^{};]*)\)\s*\{"
)
_TEMPLATE_PARAMETER = re.compile(r"\s*(?:typename|class)\s+(\w+)\s*")
_PARAMETER = re.compile(r"\s*(?P<type>.*?)(?P<name>\w+)\s*", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel.

    Attributes
    ----------
    name : str
    element : str
        Its type as it is written, without const and pointer.
    is_pointer, is_const : bool
    """

    name: str
    element: str
    is_pointer: bool
    is_const: bool

    @property
    def dtype(self) -> str | None:
        """numpy's name of the element type; None for a template parameter or a type of the "
        "source's own."""
        return numpy_name_of_cpp(self.element)


@dataclasses.dataclass(frozen=True)
class Signature:
    """A kernel as the source declares it.

    Attributes
    ----------
    name : str
    template_parameters : tuple of str
    parameters : tuple of Parameter
    """

    name: str
    template_parameters: tuple[str, ...]
    parameters: tuple[Parameter, ...]

    @property
    def pointers(self) -> tuple[Parameter, ...]:
        """The parameters that are buffers."""
        return tuple(p for p in self.parameters if p.is_pointer)

    @property
    def scalars(self) -> tuple[Parameter, ...]:
        """The parameters that are passed by value."""
        return tuple(p for p in self.parameters if not p.is_pointer)


def _split(text: str) -> list[str]:
    """Splits at commas that are not inside of angle brackets."""
    parts, depth, start = [], 0, 0
    for i, character in enumerate(text):
        depth += {"<": 1, ">": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [part for part in parts if part.strip()]


def _parameter(text: str) -> Parameter | None:
    match = _PARAMETER.fullmatch(text)
    if match is None:
        return None
    written = match["type"]
    words = re.sub(r"\*|\b(const|volatile|__restrict__|__restrict)\b", " ", written)
    return Parameter(
        name=match["name"],
        element=" ".join(words.split()),
        is_pointer="*" in written,
        is_const="const" in written.split("*")[0].split(),
    )


def find_kernels(source: str) -> list[Signature]:
    """Returns the kernels of a source in the order of their definitions.

    Those whose parameters are beyond this reader (macros, function pointers) are left out.
    """
    text = _COMMENT.sub(" ", source)
    kernels = []
    for match in _KERNEL.finditer(text):
        parameters = [_parameter(part) for part in _split(match["parameters"])]
        template = [_TEMPLATE_PARAMETER.fullmatch(part) for part in _split(match["template"] or "")]
        if None in parameters or None in template:
            continue
        kernels.append(
            Signature(
                name=match["name"],
                template_parameters=tuple(found[1] for found in template if found),
                parameters=tuple(p for p in parameters if p),
            )
        )
    return kernels
