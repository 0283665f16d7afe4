"""The programs that run on the GPU, and the checks of their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from tests.fuzz.values import check, compare
from tests.fuzz.values.inputs import values_of
from tests.fuzz.values.jax_framework import FRAMEWORK, define
from tests.gpu_execution.large import PROGRAMS as LARGE
from tests.sizes import packing
from tests.sizes.cases import Case
from tests.sizes.families import FAMILIES, boundary_cases


@dataclass(frozen=True)
class Program:
    """A program.

    Attributes
    ----------
    name : str
        Its name.
    function : callable
        The function that JAX compiles.
    arguments : list of numpy.ndarray
        Its arguments.
    is_large : bool
        Whether `large.py` generates the arguments and checks the results, on the machine with the
        GPU.
    fault : callable
        Describes a fault of the results; the string is empty if they are right.
    """

    name: str
    function: Callable[..., Any]
    arguments: list[np.ndarray]
    fault: Callable[[list[np.ndarray]], str]
    is_large: bool = False


def large_programs() -> Iterator[Program]:
    """Yields the programs of `large.py`."""
    for name, one in LARGE.items():
        arguments = one.arguments(name)

        def fault(results: list[np.ndarray]) -> str:
            raise AssertionError("execute.py checks large programs")

        yield Program(name, one.function, arguments, fault, is_large=True)


def size_programs() -> Iterator[Program]:
    """Yields each family of the size sweeps, with its boundary extents packed into one program."""
    for name, family in FAMILIES.items():
        cases = boundary_cases(family)
        for i in range(0, len(cases), packing.TOGETHER):
            together = cases[i : i + packing.TOGETHER]
            yield _packed(f"sizes: {name}" + (f", part {i}" if i else ""), together)


def random_programs(first: int, count: int) -> Iterator[Program]:
    """Yields programs of the value fuzzer, by their seeds."""
    for seed in range(first, first + count):
        program = FRAMEWORK.generate(seed)
        inputs = [values_of(one) for one in program.inputs]

        def fault(results: list[np.ndarray], program: Any = program, inputs: Any = inputs) -> str:
            answers = check.Answers(FRAMEWORK, program, inputs, None)
            verdict = compare.judge(results, answers.outputs(), answers.noisy, answers.wide)
            return "; ".join(map(str, verdict.differences))

        yield Program(f"random program {seed}", define(program), inputs, fault)


def _packed(name: str, cases: list[Case]) -> Program:
    counts = [len(case.arguments) for case in cases]

    def function(*arguments: Any) -> list[Any]:
        remaining = iter(arguments)
        return [
            case.function(*(next(remaining) for _ in range(count)))
            for case, count in zip(cases, counts, strict=True)
        ]

    arguments = [np.asarray(x) for case in cases for x in case.arguments]

    def fault(results: list[np.ndarray]) -> str:
        shapes = jax.eval_shape(function, *arguments)
        each = jax.tree.unflatten(jax.tree.structure(shapes), results)
        found = [
            text
            for case, result in zip(cases, each, strict=True)
            for text in packing.faults(case, result)
        ]
        return "; ".join(found[:5])

    return Program(name, function, arguments, fault)
