"""What a model gives to tests and benchmarks: a function with its arguments, and the two sizes."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from typing import Any

import jax


class Size(enum.Enum):
    """How wide a model is. Its structure is the same at every size."""

    # Compiles in seconds; the numbers are what is looked at.
    SMALL = "small"
    # Wide enough that operations, not launches, take most of the time of two processor cores.
    MEDIUM = "medium"


@dataclasses.dataclass(frozen=True)
class Program:
    """One function of a model, as it is compiled, compared and timed.

    Attributes
    ----------
    name : str
        Unique among all models.
    function : callable
        Pure, for `jax.jit`.
    arguments : callable
        Returns the positional arguments, trees of numpy arrays, the same at every call.
    precision : str
        The type that the model computes in: "float32" or "bfloat16".
    donated : tuple of int
        The arguments that a training loop donates: what the step replaces.
    """

    name: str
    function: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]
    precision: str = "float32"
    donated: tuple[int, ...] = ()

    def lower(self, device: jax.Device) -> jax.stages.Lowered:
        """Lowers the function for a device, with its arguments donated."""
        arguments = jax.device_put(self.arguments(), device)
        return jax.jit(self.function, donate_argnums=self.donated).lower(*arguments)
