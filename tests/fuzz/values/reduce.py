"""Cuts a failing program down to a small one that fails in the same way.

A statement is replaced by an argument that has its values, by another value of its type, or
(inside local functions, where an argument would change the meaning of a loop) by zeros. What no
output needs any more is dropped. Nothing here knows what a statement does.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable

from tests.fuzz.values.program import (
    Function,
    Input,
    Program,
    Statement,
    names_in,
    substitute_in_statement,
    uses,
    without_dead_code,
)

# dtype, shape and encoded values by name (`check.record`).
Values = dict[str, tuple[str, tuple[int, ...], str]]
Zeros = Callable[[str, tuple[int, ...]], str]
_SIMPLE_KINDS = ("zeros", "ones", "small", "normal")


def reduce(
    program: Program,
    fails: Callable[[Program], bool],
    record: Callable[[Program], Values],
    zeros: Zeros,
    seconds: float,
    modes: tuple[str, ...] = ("jit",),
) -> Program:
    """Returns a smaller program that still fails.

    Parameters
    ----------
    program : Program
        What fails.
    fails : callable
        Whether a program fails in the same way.
    record : callable
        Returns the values of a program's statements; an empty dict if it cannot.
    zeros : callable
        Returns the source of an array of zeros (`Framework.zeros`).
    seconds : float
        When to stop looking.
    modes : tuple of str
        Modes that show more plainly how it fails, the plainest first (`Framework.plain_modes`).
    """
    search = _Search(program, fails, time.monotonic() + seconds)
    search.try_each(_single_outputs)
    search.try_each(lambda one: _plain_modes(one, modes))
    search.try_each(_earlier_outputs)
    recorded = record(search.best)
    search.cut(recorded)
    for _ in range(3):
        before = search.best
        search.try_each(_aliases)
        search.try_each(lambda one: _inner(one, zeros))
        search.cut(recorded)
        search.try_each(_earlier_outputs)
        if search.best == before:
            break
    search.try_each(_simple_inputs)
    return search.best


class _Search:
    def __init__(self, program: Program, fails: Callable[[Program], bool], deadline: float) -> None:
        self.best = program
        self._fails = fails
        self._deadline = deadline
        self._seen: set[str] = set()

    def accept(self, candidate: Program) -> bool:
        """Makes a candidate the best program if it fails."""
        candidate = dataclasses.replace(without_dead_code(candidate), seed=-1)
        text = candidate.to_json()
        if text in self._seen or time.monotonic() > self._deadline:
            return False
        self._seen.add(text)
        if not self._fails(candidate):
            return False
        self.best = candidate
        return True

    def try_each(self, candidates: Callable[[Program], Iterable[Program]]) -> None:
        """Goes on from the first candidate that fails, until none does."""
        while any(self.accept(one) for one in candidates(self.best)):
            pass

    def cut(self, recorded: Values) -> None:
        """Turns statements into arguments: halves first, single ones last."""
        share = 2
        while True:
            count = len(self.best.statements)
            step = max(1, count // share)
            start = 0
            while start < len(self.best.statements):
                names = [one.name for one in self.best.statements[start : start + step]]
                if not self.accept(_with_arguments(self.best, names, recorded)):
                    start += step
            if step == 1:
                return
            share *= 2


def _with_arguments(program: Program, names: list[str], recorded: Values) -> Program:
    """Returns the program with statements replaced by arguments of the same values."""
    cut = set(names) - set(program.outputs)
    kept = tuple(one for one in program.statements if one.name not in cut)
    used = set().union(*(uses(one) for one in kept)) if kept else set()
    added = []
    for one in program.statements:
        if one.name in cut and one.name in used:
            dtype, shape, data = recorded.get(one.name, (one.dtype, one.shape, ""))
            kind = "recorded" if data else "normal"
            added.append(Input(one.name, dtype, tuple(shape), kind, 0, data))
    return dataclasses.replace(program, inputs=program.inputs + tuple(added), statements=kept)


def _single_outputs(program: Program) -> Iterable[Program]:
    if len(program.outputs) > 1:
        for name in program.outputs:
            yield dataclasses.replace(program, outputs=(name,))
        for name in program.outputs:
            rest = tuple(one for one in program.outputs if one != name)
            yield dataclasses.replace(program, outputs=rest)


def _earlier_outputs(program: Program) -> Iterable[Program]:
    """Returns an intermediate value instead of the output."""
    for one in program.statements:
        if one.name not in program.outputs:
            yield dataclasses.replace(program, outputs=(one.name,))


def _plain_modes(program: Program, modes: tuple[str, ...]) -> Iterable[Program]:
    inputs = tuple(dataclasses.replace(one, donated=False) for one in program.inputs)
    for mode in modes:
        if program.mode == mode and inputs == program.inputs:
            return
        yield dataclasses.replace(program, mode=mode, inputs=inputs)


def _aliases(program: Program) -> Iterable[Program]:
    """Replaces a statement's uses by an earlier value of the same type."""
    known = [(one.name, one.dtype, one.shape) for one in program.inputs]
    for i, one in enumerate(program.statements):
        for name, dtype, shape in known:
            if (dtype, shape) == (one.dtype, one.shape) and one.name not in program.outputs:
                rest = tuple(
                    substitute_in_statement(later, {one.name: name})
                    for later in program.statements[i + 1 :]
                )
                statements = program.statements[:i] + rest
                yield dataclasses.replace(program, statements=statements)
        known.append((one.name, one.dtype, one.shape))


def _inner(program: Program, zeros: Zeros) -> Iterable[Program]:
    """Simplifies statements inside local functions."""
    for i, one in enumerate(program.statements):
        for changed in _inside(one, zeros):
            statements = program.statements[:i] + (changed,) + program.statements[i + 1 :]
            yield dataclasses.replace(program, statements=statements)


def _inside(statement: Statement, zeros: Zeros) -> Iterable[Statement]:
    for i, function in enumerate(statement.functions):
        for changed in _in_function(function, zeros):
            functions = statement.functions[:i] + (changed,) + statement.functions[i + 1 :]
            yield dataclasses.replace(statement, functions=functions)


def _in_function(function: Function, zeros: Zeros) -> Iterable[Function]:
    body = function.statements
    for i, one in enumerate(body):
        for earlier in body[:i]:
            if (earlier.dtype, earlier.shape) == (one.dtype, one.shape):
                rest = tuple(
                    substitute_in_statement(later, {one.name: earlier.name})
                    for later in body[i + 1 :]
                )
                changed = dataclasses.replace(function, statements=body[:i] + rest)
                if one.name not in names_in(function.result):
                    yield changed
        if one.op != "zeros":
            source = zeros(one.dtype, one.shape)
            plain = Statement(one.name, source, one.dtype, one.shape, "zeros")
            yield dataclasses.replace(function, statements=body[:i] + (plain,) + body[i + 1 :])
        for changed in _inside(one, zeros):
            yield dataclasses.replace(function, statements=body[:i] + (changed,) + body[i + 1 :])


def _simple_inputs(program: Program) -> Iterable[Program]:
    for i, one in enumerate(program.inputs):
        current = _SIMPLE_KINDS.index(one.kind) if one.kind in _SIMPLE_KINDS else len(_SIMPLE_KINDS)
        for kind in _SIMPLE_KINDS[:current]:
            changed = dataclasses.replace(one, kind=kind, data="", seed=0)
            inputs = program.inputs[:i] + (changed,) + program.inputs[i + 1 :]
            yield dataclasses.replace(program, inputs=inputs)
