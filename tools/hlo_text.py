"""Reads the text of an optimised HLO module as far as counting needs it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.\-]+)(?: \(.*)? \{$")
_INSTRUCTION = re.compile(r"^\s+(ROOT )?%?([\w.\-]+) = (.*)$")
_OPCODE = re.compile(r"^([\w\-]+)\(")
_NAME = re.compile(r"%([\w.\-]+)")
_CALLED = re.compile(
    r"\b(calls|to_apply|body|condition|true_computation|false_computation)=%([\w.\-]+)"
)
_BRANCHES = re.compile(r"\bbranch_computations=\{([^}]*)\}")
_TARGET = re.compile(r'\bcustom_call_target="([^"]+)"')

# What takes no time of its own.
FREE = frozenset(
    "parameter constant tuple get-tuple-element bitcast after-all add-dependency partition-id "
    "replica-id opt-barrier domain".split()
)


@dataclasses.dataclass(frozen=True)
class Instruction:
    """One line of a computation.

    Attributes
    ----------
    name, shape, opcode : str
    operands : tuple of str
        Their names.
    called : dict
        Role (calls, body, condition, ...; branch0, ...) -> name of a computation.
    target : str
        Of a custom call, else empty.
    text : str
    """

    name: str
    shape: str
    opcode: str
    operands: tuple[str, ...]
    called: dict[str, str]
    target: str
    text: str


@dataclasses.dataclass(frozen=True)
class Module:
    """Computations by name, each with its instructions by name, in order."""

    computations: dict[str, dict[str, Instruction]]
    entry: str

    def executed(self, name: str | None = None) -> Iterator[Instruction]:
        """Every instruction that a run may execute, the inside of fusions and reductions aside."""
        for instruction in self.computations[name or self.entry].values():
            yield instruction
            if instruction.opcode in ("while", "conditional", "call"):
                for called in instruction.called.values():
                    yield from self.executed(called)

    def fused(self, instruction: Instruction) -> Iterator[Instruction]:
        """What a fusion computes."""
        return iter(self.computations[instruction.called["calls"]].values())


def _balanced(text: str) -> int:
    """Where the parenthesis that opens `text` closes."""
    depth = 0
    for index, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return index
    raise ValueError(f"no closing parenthesis in {text[:80]!r}")


def _instruction(name: str, rest: str, text: str) -> Instruction:
    end = _balanced(rest) + 1 if rest.startswith("(") else rest.index(" ")
    shape, rest = rest[:end], rest[end:].lstrip()
    opcode = _OPCODE.match(rest)[1]
    arguments = rest[len(opcode) :]
    end = _balanced(arguments)
    operands, attributes = arguments[:end], arguments[end + 1 :]
    called = dict(_CALLED.findall(attributes))
    if branches := _BRANCHES.search(attributes):
        called.update((f"branch{i}", b) for i, b in enumerate(_NAME.findall(branches[1])))
    target = _TARGET.search(attributes)
    names = tuple(_NAME.findall(operands))
    return Instruction(name, shape, opcode, names, called, target[1] if target else "", text)


def parse(text: str) -> Module:
    """Parses what `compiled.as_text()` returns."""
    computations: dict[str, dict[str, Instruction]] = {}
    entry, current = "", None
    for line in text.splitlines():
        if header := _COMPUTATION.match(line):
            current = computations.setdefault(header[2], {})
            entry = header[2] if header[1] else entry
        elif current is not None and (found := _INSTRUCTION.match(line)):
            current[found[2]] = _instruction(found[2], found[3], line.strip())
    return Module(computations, entry)
