"""A random program as data: inputs, one-line statements over earlier names, and outputs.

The representation knows no framework and no op. A statement is one line of Python source, so a
program renders to text that runs, serialises to JSON, and can be cut down by `reduce.py` without
knowing what its statements mean.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_NAME = re.compile(r"[A-Za-z_]\w*")
# Kinds of noise by what the rounding error is relative to beside the result: its operands, terms.
_OF_OPERANDS = ("operands", "transform", "gradient", "logarithm", "largest")
_TERMS = {"terms": 4.0, "logarithm": 0.7, "largest": "largest"}
# Narrow types compute what "terms" is for in f32: 8 ulps of 4 in f32, in ulps of the type.
_NARROW_TERMS = {"f16": 2.0**-8, "bf16": 2.0**-11}


@dataclasses.dataclass(frozen=True)
class Input:
    """An argument of a program.

    Attributes
    ----------
    name : str
        Its name in the source.
    dtype : str
        A short name of a dtype (`inputs.DTYPES`), e.g. "bf16".
    shape : tuple of int
        Its shape.
    kind : str
        Which values it has (`inputs.KINDS`), or "recorded".
    seed : int
        What the values are drawn with.
    data : str
        The values of kind "recorded": base64 of compressed bytes (`inputs.encode`).
    donated : bool
        The caller gives the buffer away. No statement may depend on more than one run of it.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    kind: str
    seed: int
    data: str = ""
    donated: bool = False


@dataclasses.dataclass(frozen=True)
class Function:
    """A local function of a statement, such as the body of a loop.

    It may use its parameters, its own statements and every name that is visible where its
    statement is.

    Attributes
    ----------
    name : str
        Its name in the source.
    parameters : tuple of str
        Names of its parameters.
    statements : tuple of Statement
        Its body.
    result : str
        The source of the returned expression.
    """

    name: str
    parameters: tuple[str, ...]
    statements: tuple[Statement, ...]
    result: str


@dataclasses.dataclass(frozen=True)
class Statement:
    """One line `name = source` that yields one array.

    Attributes
    ----------
    name : str
        The name of the result.
    source : str
        A Python expression over earlier names and the framework's namespace.
    dtype : str
        The dtype of the result.
    shape : tuple of int
        The shape of the result.
    op : str
        What the statement is, for statistics.
    noise : str
        Where rounding may differ between correct implementations, see `compare.py`:
        "none" (data movement, integers), "round" (a correctly rounded result, so a result with few
        significant bits is exact), "approximate" (any result may be off by ulps), "terms" (the
        same, and by ulps of 4, of f32 in narrower types: larger terms of its formula cancel),
        "operands" (the rounding error is relative to the operands, and there is none on small
        integers: sums and products of matrices), "transform" (the same, but inexact on any operand:
        factorisations, normalisations), "gradient" (the same, but a result with few significant
        bits is exact), "logarithm" (as "transform", and by ulps of 0.7: the logarithm of two is a
        term, or the argument of a logarithm is rounded), "largest" (as "transform", and relative to
        the largest element of the result: Fourier transforms).
    functions : tuple of Function
        Local functions that the source uses, defined just before it.
    """

    name: str
    source: str
    dtype: str
    shape: tuple[int, ...]
    op: str = ""
    noise: str = "none"
    functions: tuple[Function, ...] = ()


@dataclasses.dataclass(frozen=True)
class Program:
    """A program.

    Attributes
    ----------
    framework : str
        Which framework's namespace the source uses ("jax", "tensorflow").
    inputs : tuple of Input
        The arguments.
    statements : tuple of Statement
        The body, in order.
    outputs : tuple of str
        Names of inputs or statements that are returned.
    mode : str
        How the framework runs it (e.g. "jit", "aot", "export"); the framework defines the words.
    seed : int
        What it was generated from; -1 for a program that was changed afterwards.
    """

    framework: str
    inputs: tuple[Input, ...]
    statements: tuple[Statement, ...]
    outputs: tuple[str, ...]
    mode: str = "jit"
    seed: int = -1

    def to_json(self) -> str:
        """Returns the program as one line of JSON."""
        return json.dumps(dataclasses.asdict(self))

    @staticmethod
    def from_json(text: str) -> Program:
        """Returns the program that `to_json` made the text of."""
        fields: dict[str, Any] = json.loads(text)
        fields["inputs"] = tuple(
            Input(**{**one, "shape": tuple(one["shape"])}) for one in fields["inputs"]
        )
        fields["statements"] = tuple(map(_statement, fields["statements"]))
        fields["outputs"] = tuple(fields["outputs"])
        return Program(**fields)

    def ops(self) -> list[str]:
        """Returns the ops of all statements, those of local functions included."""
        return [one.op for one in walk(self.statements)]


def _statement(fields: dict[str, Any]) -> Statement:
    functions = tuple(
        Function(
            name=one["name"],
            parameters=tuple(one["parameters"]),
            statements=tuple(map(_statement, one["statements"])),
            result=one["result"],
        )
        for one in fields["functions"]
    )
    return Statement(**{**fields, "shape": tuple(fields["shape"]), "functions": functions})


def walk(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Iterates over statements and those of their local functions."""
    for one in statements:
        for function in one.functions:
            yield from walk(function.statements)
        yield one


def names_in(source: str) -> set[str]:
    """Returns all identifiers in an expression."""
    return set(_NAME.findall(source))


def uses(statement: Statement) -> set[str]:
    """Returns every identifier that a statement and its local functions mention."""
    found = names_in(statement.source)
    for function in statement.functions:
        found |= names_in(function.result)
        for inner in function.statements:
            found |= uses(inner)
    return found


def substitute(source: str, names: Mapping[str, str]) -> str:
    """Replaces identifiers in an expression."""
    return _NAME.sub(lambda match: names.get(match.group(), match.group()), source)


def substitute_in_statement(statement: Statement, names: Mapping[str, str]) -> Statement:
    """Replaces identifiers in a statement and its local functions."""
    return dataclasses.replace(
        statement,
        source=substitute(statement.source, names),
        functions=tuple(substitute_in_function(one, names) for one in statement.functions),
    )


def substitute_in_function(function: Function, names: Mapping[str, str]) -> Function:
    """Replaces identifiers in a local function."""
    return dataclasses.replace(
        function,
        result=substitute(function.result, names),
        statements=tuple(substitute_in_statement(one, names) for one in function.statements),
    )


def without_dead_code(program: Program) -> Program:
    """Drops statements and inputs that no output depends on."""
    statements, used = _live(program.statements, set(program.outputs))
    return dataclasses.replace(
        program,
        statements=statements,
        inputs=tuple(one for one in program.inputs if one.name in used),
    )


def _live(
    statements: tuple[Statement, ...], used: set[str]
) -> tuple[tuple[Statement, ...], set[str]]:
    kept: list[Statement] = []
    for one in reversed(statements):
        if one.name not in used:
            continue
        mentioned = names_in(one.source)
        functions: list[Function] = []
        for function in reversed(one.functions):  # a later one may call an earlier one
            if function.name not in mentioned:
                continue
            body, inner_used = _live(function.statements, names_in(function.result))
            functions.insert(0, dataclasses.replace(function, statements=body))
            mentioned |= inner_used
        used |= mentioned
        kept.append(dataclasses.replace(one, functions=tuple(functions)))
    return tuple(reversed(kept)), used


def render(program: Program, *, noise: bool = False) -> str:
    """Returns the source of `def program(x0, x1, ...)`, which returns a tuple.

    Parameters
    ----------
    program : Program
        What is rendered.
    noise : bool
        Wraps what may round differently in `perturb(value, site, always, terms=0)`, which the
        namespace has to provide: `site` is an int that differs from call to call, `always` is False
        where values with few significant bits are exact, and `terms` is a number that the error is
        relative to as well as to the value, or "largest" for the largest element.
    """
    lines = [f"def program({', '.join(one.name for one in program.inputs)}):"]
    sites = iter(range(1 << 30)) if noise else None
    render_body(program.statements, lines, "    ", sites)
    outputs = ", ".join(program.outputs)
    lines.append(f"    return ({outputs},)")
    return "\n".join(lines) + "\n"


def render_body(
    statements: tuple[Statement, ...],
    lines: list[str],
    indent: str = "    ",
    sites: Iterator[int] | None = None,
) -> None:
    """Appends the source of statements to `lines`; `sites` numbers the noise, None is none."""
    for one in statements:
        for function in one.functions:
            lines.append(f"{indent}def {function.name}({', '.join(function.parameters)}):")
            render_body(function.statements, lines, indent + "    ", sites)
            lines.append(f"{indent}    return {function.result}")
        source = one.source
        if sites is not None and one.noise != "none":
            if one.noise in _OF_OPERANDS:
                always = one.noise != "operands"
                called = {function.name for function in one.functions}
                names = sorted(
                    name for name in names_in(source) - called if re.fullmatch(r"[xyp]\d+", name)
                )
                source = substitute(
                    source, {name: f"perturb({name}, {next(sites)}, {always})" for name in names}
                )
            always = one.noise in ("approximate", "transform", *_TERMS)
            terms = _TERMS.get(one.noise, 0.0)
            if one.noise == "terms":
                terms = _NARROW_TERMS.get(one.dtype, terms)
            arguments = f"{next(sites)}, {always}" + (f", {terms!r}" if terms else "")
            source = f"perturb({source}, {arguments})"
        lines.append(f"{indent}{one.name} = {source}")
