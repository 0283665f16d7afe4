"""What a definition says of its inputs' shapes: ``"*rows columns"``, in the words of jaxtyping."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from onexpu._launch.shapes import Operand

_WORD = re.compile(r"(?:(?P<factor>[1-9]\d*)\*)?(?P<name>[A-Za-z]\w*)(?P<offset>[+-]\d+)?")
_CONSTANT = -1

# Input, dimension, factor and offset of a size, then of another: both are factor * n + offset for
# the same n. An input of -1 is a constant, its offset. What OnexpuDynamicKernel checks.
Condition = tuple[int, int, int, int, int, int, int, int]


@dataclasses.dataclass(frozen=True)
class _Word:
    """One dimension: ``factor * name + offset``; a constant when the name is empty."""

    name: str
    factor: int = 1
    offset: int = 0


@dataclasses.dataclass(frozen=True)
class _Declared:
    """The shape of one input."""

    text: str
    words: tuple[_Word | None, ...]  # None: any size
    several: int | None  # where, among the words, any number of dimensions come in
    several_name: str  # empty: no other input has them


@dataclasses.dataclass(frozen=True)
class _Size:
    """A dimension of an operand, and what it is of a name."""

    input: int
    dimension: int
    word: _Word


def _parse(text: str) -> _Declared:
    words: list[_Word | None] = []
    several, several_name = None, ""
    for written in text.split():
        if written == "..." or written.startswith("*"):
            if several is not None:
                raise ValueError("two of its words stand for any number of dimensions")
            several, several_name = len(words), written.strip(".").removeprefix("*")
            if written != "..." and not several_name.isidentifier():
                raise ValueError(f"'{written}' does not stand for dimensions")
        elif written == "_":
            words.append(None)
        elif written.isdigit():
            words.append(_Word("", 1, int(written)))
        else:
            match = _WORD.fullmatch(written)
            if match is None:
                raise ValueError(f"'{written}' does not stand for a dimension")
            words.append(_Word(match["name"], int(match["factor"] or 1), int(match["offset"] or 0)))
    return _Declared(" ".join(text.split()), tuple(words), several, several_name)


class ShapeRules:
    """The declared shapes of a kernel's inputs.

    Parameters
    ----------
    kernel : str
        Its name, for errors.
    inputs : sequence of str
    shapes : mapping
        From inputs to words, one for each dimension, with spaces in between: a name (the same size
        wherever it stands), ``2*name``, ``name+1`` or ``name-1``, an integer, ``_`` for any size;
        ``*name`` for any number of dimensions (the same sizes wherever it stands) and ``...`` for
        any number of any sizes. Inputs that are not in it may have any shape.

    Raises
    ------
    ValueError
        A word does not stand for a dimension, or a name is not an input.
    """

    def __init__(self, kernel: str, inputs: Sequence[str], shapes: Mapping[str, str]) -> None:
        self._kernel = kernel
        self._inputs = tuple(inputs)
        unknown = set(shapes) - set(inputs)
        if unknown:
            raise ValueError(
                f"onexpu: shapes of kernel '{kernel}' names {', '.join(sorted(unknown))}, which is "
                "not an input"
            )
        self._declared: dict[int, _Declared] = {}
        for name, text in shapes.items():
            try:
                self._declared[self._inputs.index(name)] = _parse(text)
            except (ValueError, AttributeError) as error:
                raise ValueError(
                    f"onexpu: the shape {text!r} of '{name}' of kernel '{kernel}': {error}"
                ) from None

    @property
    def texts(self) -> tuple[str, ...]:
        """The declared shape of each input; ``...`` for an input without one."""
        return tuple(
            self._declared[i].text if i in self._declared else "..."
            for i in range(len(self._inputs))
        )

    def takes_leading(self, input: int) -> bool:
        """Whether the input may have more dimensions in front."""
        declared = self._declared.get(input)
        return declared is not None and declared.several == 0

    def check(self, operands: Sequence[Operand]) -> tuple[Condition, ...]:
        """Checks shapes as far as they are known.

        Returns
        -------
        tuple of Condition
            What is left to check when the sizes are known.

        Raises
        ------
        ValueError
            Naming the kernel and the operands, with their shapes.
        """
        left: list[Condition] = []
        names: dict[str, _Size] = {}
        several: dict[str, tuple[int, range]] = {}
        for i, declared in self._declared.items():
            rank = operands[i].ndim
            count = len(declared.words)
            if rank < count or (declared.several is None and rank != count):
                raise self._error(operands, i)
            words: list[_Word | None] = list(declared.words)
            if declared.several is not None:
                start, size = declared.several, rank - count
                bound = several.setdefault(declared.several_name, (i, range(size)))
                if declared.several_name and len(bound[1]) != size:
                    raise self._error(operands, i, bound[0])
                words[start:start] = [
                    _Word(f"*{declared.several_name} {k}") if declared.several_name else None
                    for k in range(size)
                ]
            for dimension, word in enumerate(words):
                if word is not None:
                    self._check_size(operands, _Size(i, dimension, word), names, left)
        return tuple(left)

    def _check_size(
        self,
        operands: Sequence[Operand],
        size: _Size,
        names: dict[str, _Size],
        left: list[Condition],
    ) -> None:
        word = size.word
        if word.name:
            other = names.setdefault(word.name, size)
        else:
            other = _Size(_CONSTANT, 0, word)
        value, expected = self._value(operands, size), self._value(operands, other)
        if value is not None and not self._is_whole(value, word):
            raise self._error(operands, size.input)
        if value is not None and expected is not None:
            if (
                value - word.offset
                != (expected - other.word.offset) // other.word.factor * word.factor
            ):
                raise self._error(operands, size.input, other.input)
            return
        if other is not size or word.factor != 1 or word.offset > 0:
            left.append((*_flat(size), *_flat(other)))
        if value is not None:  # of two sizes, the known one serves what follows
            names[word.name] = size

    @staticmethod
    def _value(operands: Sequence[Operand], size: _Size) -> int | None:
        if size.input == _CONSTANT:
            return size.word.offset
        value = operands[size.input].shape[size.dimension]
        return value if isinstance(value, int) else None

    @staticmethod
    def _is_whole(value: int, word: _Word) -> bool:
        if not word.name:
            return True
        return value >= word.offset and (value - word.offset) % word.factor == 0

    def _error(self, operands: Sequence[Operand], input: int, other: int = _CONSTANT) -> ValueError:
        texts = self.texts
        message = (
            f"onexpu: kernel '{self._kernel}': '{self._inputs[input]}' has the shape "
            f"{_shape_text(operands[input])}; it takes [{texts[input]}]"
        )
        if other not in (_CONSTANT, input):
            message += (
                f", and '{self._inputs[other]}', [{texts[other]}], has the shape "
                f"{_shape_text(operands[other])}"
            )
        return ValueError(message)


def _flat(size: _Size) -> tuple[int, int, int, int]:
    return size.input, size.dimension, size.word.factor, size.word.offset


def _shape_text(operand: Operand) -> str:
    sizes: list[Any] = [d if isinstance(d, int) else "?" for d in operand.shape]
    return f"[{', '.join(map(str, sizes))}]"
