"""An everyday program: a small function as users write it, with its arguments, to be compared and
timed against the framework's CPU back end.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

# What `jax.random.PRNGKey(42)` returns.
KEY = np.array([0, 42], np.uint32)


class Mode(enum.Enum):
    """The framework of a program, and how it runs it."""

    JAX_JIT = "JAX, jit"
    JAX_EAGER = "JAX, eager"
    TF_EAGER = "TensorFlow, eager"
    TF_GRAPH = "TensorFlow, graph"
    TF_JIT = "TensorFlow, jit_compile"

    @property
    def is_jax(self) -> bool:
        """Whether the framework is JAX."""
        return self in (Mode.JAX_JIT, Mode.JAX_EAGER)

    @property
    def competitor(self) -> str:
        """The back end that the program is compared with."""
        return "XLA:CPU" if self.is_jax else "TF CPU"


@dataclasses.dataclass(frozen=True)
class Program:
    """One program.

    Attributes
    ----------
    name : str
        Unique among all cases of `run.py`.
    title : str
        What it does and at which size, for people.
    kind : str
        The group of programs of one kind that it belongs to.
    mode : Mode
        The framework, and how it runs the function.
    function : callable
        Called with the state, if there is one, and the arguments.
    arguments : callable
        Returns the arguments, trees of numpy arrays, the same at every call.
    state : callable, optional
        Makes what the function keeps between calls (variables, a model, a position in the data).
        It is called once for each device, on that device.
    tolerance : float
        The maximum difference of a floating-point result from the competitor's, relative to the
        maximum magnitude in that result. Other results are equal.
    cause, tried : str
        If the program falls short: why, and what was tried. Empty if that is not known.
    """

    name: str
    title: str
    kind: str
    mode: Mode
    function: Callable[..., Any]
    arguments: Callable[[], Sequence[Any]]
    state: Callable[[], Any] | None = None
    tolerance: float = 3e-5
    cause: str = ""
    tried: str = ""


class Kind:
    """Programs of one kind, in the order in which they are written."""

    def __init__(self, name: str, *modes: Mode):
        self.name = name
        self._modes = modes
        self.programs: list[Program] = []

    def program(
        self,
        arguments: Callable[[], Sequence[Any]] = list,
        *,
        modes: Sequence[Mode] = (),
        **options: Any,
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Registers the decorated function as a program for each of `modes` (default: the kind's).

        Its name is the function's, its title the first line of the docstring. `options` are further
        attributes of `Program`.
        """

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            chosen = modes or self._modes
            for mode in chosen:
                suffix = f"_{mode.name.partition('_')[2].lower()}" if len(chosen) > 1 else ""
                self.programs.append(
                    Program(
                        name=f"{'jax' if mode.is_jax else 'tf'}_{function.__name__}{suffix}",
                        title=function.__doc__.splitlines()[0].rstrip("."),
                        kind=self.name,
                        mode=mode,
                        function=function,
                        arguments=arguments,
                        **options,
                    )
                )
            return function

        return register


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Returns normally distributed float32 values, the same for the same shape and seed."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def uniform(*shape: int, seed: int = 0) -> np.ndarray:
    """Returns float32 values in [0, 1), the same for the same shape and seed."""
    return np.random.default_rng(seed).random(shape, np.float32)


def integers(high: int, *shape: int, seed: int = 0) -> np.ndarray:
    """Returns int32 values in [0, high), the same for the same shape and seed."""
    return np.random.default_rng(seed).integers(0, high, shape, np.int32)


def positive_definite(*shape: int, seed: int = 0) -> np.ndarray:
    """Returns well-conditioned symmetric positive definite float32 matrices."""
    a = normal(*shape, seed=seed)
    return a @ np.swapaxes(a, -1, -2) / shape[-1] + np.eye(shape[-1], dtype=np.float32)
