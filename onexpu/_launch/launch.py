"""A call of a kernel, worked out: what definitions give to the frameworks. Knows neither of
them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from onexpu._launch.shape_rules import Condition

Result = tuple[tuple[Any, ...], str]  # shape and dtype


@dataclasses.dataclass(frozen=True)
class CompiledKernel:
    """A kernel for certain element types, known to the core.

    Attributes
    ----------
    key : str
        Under which the core knows it.
    spirv : bytes
    entry_point : str
    scalar_sizes : tuple of int
        Bytes of each scalar argument.
    """

    key: str
    spirv: bytes
    entry_point: str
    scalar_sizes: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True)
class UncheckedShapes:
    """What is left of the declared shapes to check when a graph runs.

    Attributes
    ----------
    operands : tuple of str
        The inputs' names.
    declared : tuple of str
        Their shapes, in words.
    conditions : tuple of Condition
    """

    operands: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()


@dataclasses.dataclass(frozen=True)
class Launch:
    """One call of an FFI target.

    Attributes
    ----------
    name : str
        The kernel's, for errors and profiles.
    target : str
        As the core has it registered.
    results : tuple of (shape, dtype)
        The outputs', then those of scratch memory. In a TensorFlow graph scalar tensors stand for
        sizes that are not known.
    num_outputs : int
    in_place : tuple of int
        Of each result the input whose memory the kernel changes into it, or -1; empty for none.
    handler_attributes : dict
        From names to strings, booleans, numpy's scalars, and vectors of these.
    unchecked : UncheckedShapes
    rows : tuple of int
        Of each output the result that counts its rows, or -1 where all are there; empty where that
        holds for all outputs.
    """

    name: str
    target: str
    results: tuple[Result, ...]
    num_outputs: int
    in_place: tuple[int, ...] = ()
    handler_attributes: dict[str, Any] = dataclasses.field(default_factory=dict)
    unchecked: UncheckedShapes = UncheckedShapes()
    rows: tuple[int, ...] = ()

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of the FFI call."""
        return self.handler_attributes

    def counted_outputs(self, outputs: Sequence[Any], count: Callable[[int], int]) -> list[Any]:
        """Cuts outputs to the rows that the kernel has counted.

        Parameters
        ----------
        outputs : sequence of arrays
        count : callable
            Reads the number of rows from a result, given its index.

        Raises
        ------
        ValueError
            An output has fewer rows.
        """
        cut = list(outputs)
        for i, result in enumerate(self.rows):
            if result < 0:
                continue
            rows = count(result)
            if not 0 <= rows <= cut[i].shape[0]:
                raise ValueError(
                    f"onexpu: kernel '{self.name}' counted {rows} rows of an output of shape "
                    f"{cut[i].shape}"
                )
            cut[i] = cut[i][:rows]
        return cut

    @property
    def sizes(self) -> list[Any]:
        """All that a graph may not know before it runs."""
        return [dimension for shape, _ in self.results for dimension in shape]

    @property
    def is_known(self) -> bool:
        """Whether nothing has to wait until a graph runs."""
        numbers = (int, float, complex, np.generic)
        return not self.unchecked.conditions and all(isinstance(s, numbers) for s in self.sizes)


@dataclasses.dataclass(frozen=True)
class KernelLaunch(Launch):
    """A launch of a SPIR-V kernel.

    Attributes
    ----------
    kernel : CompiledKernel
    global_size, local_size : tuple
        Work-items, slowest dimension first; an empty local size leaves it to the device.
    scalars : bytes
        Packed scalar arguments.
    runtime_scalars : tuple of (offset, width, value)
        Where in `scalars` integers of so many bytes go that are not known yet: tensors.
    scalar_offsets : mapping
        From attributes to their offsets in `scalars`.
    zeroed : tuple of int
        Results that are zeros before the kernel runs.
    """

    kernel: CompiledKernel = CompiledKernel("", b"", "")
    global_size: tuple[Any, ...] = ()
    local_size: tuple[int, ...] = ()
    scalars: bytes = b""
    runtime_scalars: tuple[tuple[int, int, Any], ...] = ()
    scalar_offsets: Mapping[str, int] = dataclasses.field(default_factory=dict)
    zeroed: tuple[int, ...] = ()

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of the FFI call."""
        attributes: dict[str, Any] = {
            "kernel": self.kernel.key,
            "global_size": np.array(self.global_size, np.int64),
        }
        if self.local_size:
            attributes["local_size"] = np.array(self.local_size, np.int64)
        if self.in_place:
            attributes["in_place"] = np.array(self.in_place, np.int64)
        if self.zeroed:
            attributes["zeroed"] = np.array(self.zeroed, np.int64)
        if self.scalars:
            attributes["scalars"] = np.frombuffer(self.scalars, np.uint8)
        return attributes

    @property
    def sizes(self) -> list[Any]:
        """All that a graph may not know before it runs."""
        deferred = [value for _, _, value in self.runtime_scalars]
        return [*super().sizes, *self.global_size, *deferred]
