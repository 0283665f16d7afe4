"""What the fuzzer needs to know about a framework.

`jax_framework.py` implements it for JAX,
`tensorflow_framework.py` for TensorFlow.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np

from tests.fuzz.values.program import Program

# Runs a program that is compiled; called with its inputs.
Runner = Callable[[list[np.ndarray]], list[np.ndarray]]


class Unsupported(Exception):  # an answer, not a fault
    """The device answers UNIMPLEMENTED."""


class Framework(Protocol):
    """A framework whose programs are generated, run and printed."""

    name: str
    # Compiles the reference as users have it: options that make it compile faster may crash it.
    careful: bool

    def generate(self, seed: int) -> Program:
        """Returns the program of a seed."""

    def ways(self, program: Program) -> Iterable[tuple[str, Runner]]:
        """Returns the ways in which the device under test runs a program, with their names.

        A runner raises Unsupported if the device answers UNIMPLEMENTED. It compiles when it is
        called first. Where small work runs is decided by what its first runs take, so each way
        occurs twice.
        """

    def reference(self, program: Program) -> Runner:
        """Compiles for the framework's CPU back end."""

    def wide(self, program: Program) -> Runner:
        """Compiles for the CPU back end with every float as float64, every complex as complex128.

        Raises if the program cannot be widened, for example because it reads the bits of a float.
        """

    def noisy(self, program: Program) -> Callable[[list[np.ndarray], int], list[np.ndarray]]:
        """Compiles for the CPU back end with rounding noise; called with inputs and a seed."""

    def plain_modes(self, program: Program) -> tuple[str, ...]:
        """Returns the modes that show more plainly how a program fails than its own mode."""

    def forget(self) -> None:
        """Frees what compiled programs occupy."""

    def zeros(self, dtype: str, shape: tuple[int, ...]) -> str:
        """Returns the source of an array of zeros."""

    def script(self, program: Program) -> tuple[str, str]:
        """Returns a standalone script's imports, and its code that sets `got` and `want`.

        The script defines `program` (see `program.render`) and `inputs`, a list of NumPy arrays,
        between the two. `got` and `want` are lists of NumPy arrays of the device under test and of
        the CPU back end.
        """


def load(name: str) -> Framework:
    """Returns the framework of a name ("jax", "tensorflow")."""
    return importlib.import_module(f"tests.fuzz.values.{name}_framework").FRAMEWORK
