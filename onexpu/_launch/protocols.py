"""What the kernels and the frameworks that call them know of each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from onexpu._launch.launch import Launch
from onexpu._launch.scalars import NO_SCALAR_OPERANDS, ScalarOperands, ScalarPacker
from onexpu._launch.shapes import Operand

# (axis size, in batched, *operands, **attributes) -> (outputs, out batched)
VmapRule = Callable[..., tuple[Any, Any]]
# A call whose types of inputs and attributes were checked.
KnownCall = Callable[[Sequence[Any], Mapping[str, Any]], Sequence[Any]]


class KernelDefinition(Protocol):
    """What can be called in both frameworks: kernels from source and from SPIR-V, and handlers in
    C++.
    """

    @property
    def name(self) -> str:
        """The kernel's name."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The operands' names."""

    @property
    def outputs(self) -> Mapping[str, Any]:
        """The results' names."""

    @property
    def counts_rows(self) -> bool:
        """Whether the kernel finds out the size of an output."""

    def takes_leading(self, input: int) -> bool:
        """Whether `vmap` may put its dimension in front of the input, for one launch of all."""

    def check_arity(self, count: int) -> None:
        """Raises TypeError when a call has the wrong number of operands."""

    @property
    def scalar_attributes(self) -> Mapping[str, str]:
        """The attributes that a launch can read from operands, with their types."""

    def packer(self, names: Sequence[str]) -> ScalarPacker:
        """Returns what packs these attributes into an operand."""

    def check_values(self, attributes: Mapping[str, Any]) -> None:
        """Raises TypeError or ValueError for attributes that the kernel does not take."""

    def launch(
        self,
        operands: Sequence[Operand],
        attributes: Mapping[str, Any],
        scalar_operands: ScalarOperands = NO_SCALAR_OPERANDS,
    ) -> Launch:
        """Works out a call. Raises TypeError and ValueError for what does not fit.

        `attributes` are those that `scalar_operands` does not name.
        """

    def with_numbers(self, launch: Launch, numbers: Mapping[str, Any]) -> Launch:
        """Returns a launch of this kernel on the same shapes with other numbers."""


class KernelRules(Protocol):
    """The rules that a user adds to a kernel: its gradient, and what ``jax.vmap`` makes of it."""

    @property
    def has_gradient(self) -> bool:
        """Whether the kernel has a gradient."""

    def gradient(
        self,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        cotangents: Sequence[Any],
        attributes: Mapping[str, Any],
    ) -> list[Any]:
        """Returns one cotangent for each input, None for one that has no derivative."""

    @property
    def vmap_rule(self) -> VmapRule | None:
        """The rule, None for a kernel without one."""


class FrameworkCalls(Protocol):
    """Calls of one kernel with the arrays of one framework."""

    def __call__(self, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Sequence[Any]:
        """Calls the kernel; returns its outputs."""

    def known_call(self, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> KnownCall:
        """Returns the function for calls with inputs and numbers of these types."""
