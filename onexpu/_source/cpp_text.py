"""C++ source as text: literals and directives blanked, brackets matched, lines counted."""

from __future__ import annotations

import re

_OPAQUE = re.compile(
    r"//(?:\\\n|[^\n])*"
    r"|/\*.*?\*/"
    r'|R"(?P<delimiter>[^()\s\\]{0,16})\(.*?\)(?P=delimiter)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![\w'])'(?:\\.|[^'\\\n])*'",  # not the separators of 1'000'000
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_DEPTHS = dict.fromkeys("<([{", 1) | dict.fromkeys(">)]}", -1)
_BRACKETS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_ATTRIBUTES = re.compile(r"\s*(?:\[\[.*?\]\]|__attribute__\s*\(\(.*?\)\))", re.DOTALL)


def _spaces(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def code_of(source: str) -> str:
    """Returns the source with spaces for comments, literals and preprocessor directives.

    Offsets and lines are those of the source.
    """
    return _DIRECTIVE.sub(_spaces, _OPAQUE.sub(_spaces, source))


def line_of(text: str, offset: int) -> int:
    """Returns the line of an offset, from 1."""
    return text.count("\n", 0, offset) + 1


def closing(text: str, start: int) -> int | None:
    """Returns the offset of the bracket that closes the one at `start`; None without any.

    Angle brackets count only if the one at `start` is one.
    """
    kinds = _BRACKETS if text[start] == "<" else {k: v for k, v in _BRACKETS.items() if k != "<"}
    expected: list[str] = []
    for i in range(start, len(text)):
        character = text[i]
        if character in kinds:
            expected.append(kinds[character])
        elif expected and character == expected[-1]:
            expected.pop()
            if not expected:
                return i
        elif character in ")]}":
            return None
    return None


def opening_angle(text: str, end: int) -> int | None:
    """Returns the offset of the angle bracket that the one at `end` closes; None without any."""
    depth = 0
    for i in range(end, -1, -1):
        depth += {">": 1, "<": -1}.get(text[i], 0)
        if depth == 0:
            return i
        if text[i] in ";{}":
            return None
    return None


def after_attributes(text: str, start: int) -> int:
    """Returns the offset behind attributes (``[[...]]``, ``__attribute__((...))``) at `start`."""
    while match := _ATTRIBUTES.match(text, start):
        start = match.end()
    return start


def without_attributes(text: str) -> str:
    """Returns the text with spaces for attributes."""
    return _ATTRIBUTES.sub(_spaces, text)


def split(text: str) -> list[tuple[int, str]]:
    """Splits at commas outside of brackets of any kind; returns (offset, part) of each part."""
    parts, depth, start = [], 0, 0
    for i, character in enumerate(text):
        depth += _DEPTHS.get(character, 0)
        if character == "," and depth == 0:
            parts.append((start, text[start:i]))
            start = i + 1
    parts.append((start, text[start:]))
    return [(offset, part) for offset, part in parts if part.strip()]
