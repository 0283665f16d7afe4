"""Checks of a definition against what the kernel is: its declaration, and its SPIR-V."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from onexpu._source.signature import Parameter, Signature, line_text
from onexpu._spirv.use import SpirvUse


@dataclasses.dataclass(frozen=True)
class SignatureChecks:
    """The names that a definition gives, to be compared with a kernel. Methods raise ValueError.

    Attributes
    ----------
    name : str
        The kernel's.
    signature : Signature
    operands : sequence of str
        All, in the order of the parameters.
    inputs, outputs, scratch : collection of str
    """

    name: str
    signature: Signature
    operands: Sequence[str]
    inputs: Collection[str]
    outputs: Collection[str]
    scratch: Collection[str]

    def check_parameters(self, dtypes: Mapping[str, Any]) -> None:
        """Checks the parameters' names, order and const; `dtypes` names template parameters."""
        names = self.operands
        pointers = self.signature.pointers
        if len(pointers) != len(names) or self.signature.parameters[: len(names)] != pointers:
            raise ValueError(
                f"onexpu: kernel '{self.name}'{self.signature.where} takes pointers for inputs and "
                f"outputs ({', '.join(names)}), then scalars; its parameters are "
                f"{', '.join(p.name for p in self.signature.parameters)}"
            )
        for position, (name, pointer) in enumerate(zip(names, pointers, strict=True), 1):
            if pointer.name != name:
                raise ValueError(
                    f"onexpu: parameter {position} of kernel '{self.name}' is '{pointer.name}'"
                    f"{line_text(pointer.line)}, but its operand {position} is '{name}'. "
                    f"Parameters have "
                    f"the names and the order of inputs, outputs and scratch: {', '.join(names)}"
                )
            self._check_const(pointer)
        unknown = set(dtypes) - set(self.signature.template_parameters)
        if unknown:
            raise ValueError(
                f"onexpu: dtypes of kernel '{self.name}' names {', '.join(sorted(unknown))}, "
                "which are no template parameters of it that are types"
            )

    def _check_const(self, pointer: Parameter) -> None:
        """Raises ValueError for memory that the kernel is to write, and cannot."""
        if pointer.name not in (*self.outputs, *self.scratch) or not pointer.is_const:
            return
        if pointer.name in self.inputs:
            raise ValueError(
                f"onexpu: kernel '{self.name}' changes '{pointer.name}' in place, as an input "
                f"and an output of one name say; its pointer must not be "
                f"const{line_text(pointer.line)}"
            )
        raise ValueError(
            f"onexpu: kernel '{self.name}' cannot write '{pointer.name}'{line_text(pointer.line)}: "
            f"its pointer is const, and it is "
            f"{'an output' if pointer.name in self.outputs else 'scratch memory'}"
        )

    def check_default_range(self) -> None:
        """Raises ValueError for a kernel of two or three dimensions, which needs a range."""
        if self.signature.dimensions in (2, 3):
            raise ValueError(
                f"onexpu: kernel '{self.name}'{self.signature.where} has "
                f"{self.signature.dimensions} "
                "dimensions, so it needs range=; only kernels of one dimension have a default"
            )

    def check_range(self, global_size: Sequence[Any]) -> None:
        """Raises ValueError for a range of other dimensions than the source declares."""
        dimensions = self.signature.dimensions
        if not global_size or dimensions in (None, len(global_size)):
            return
        several = f"_ND({len(global_size)})" if len(global_size) > 1 else ""
        sizes = ", ".join(str(v) if isinstance(v, int) else "?" for v in global_size)
        raise ValueError(
            f"onexpu: kernel '{self.name}'{self.signature.where} has {dimensions} "
            f"dimension{'s' if dimensions != 1 else ''}, but its range [{sizes}] has "
            f"{len(global_size)}. "
            f"Declare it ONEXPU_KERNEL{several}, or give a range of {dimensions}"
        )

    def check_use(self, use: SpirvUse) -> None:
        """Raises ValueError for a kernel that writes where it must not."""
        if use.kept:
            raise ValueError(
                f"onexpu: kernel '{self.name}'{self.signature.where} writes the variable "
                f"{', '.join(use.kept)}, which all its work-items and launches share, in no order. "
                f"Declare local memory (work_group_static), or scratch="
            )
        for position, name in enumerate(self.operands):
            if position in use.written and name in self.inputs and name not in self.outputs:
                raise ValueError(
                    f"onexpu: kernel '{self.name}' writes to its input "
                    f"'{name}'{line_text(self.signature.pointers[position].line)}, which other "
                    f"code may hold. Give an output its name to change it in place"
                )

    def check_ids(self, use: SpirvUse, global_size: Sequence[Any]) -> None:
        """Raises ValueError for a range of dimensions that the kernel does not tell apart."""
        if not use.id_components:
            return  # none, or not known
        sizes = ", ".join(str(v) if isinstance(v, int) else "?" for v in global_size)
        text = f"kernel '{self.name}'{self.signature.where}"
        if max(use.id_components) >= len(global_size):
            raise ValueError(
                f"onexpu: {text} reads work-item ids of {max(use.id_components) + 1} dimensions, "
                f"but its range [{sizes}] has {len(global_size)}"
            )
        for dimension, size in enumerate(global_size):
            is_read = len(global_size) - 1 - dimension in use.id_components
            if is_read or (isinstance(size, int) and size <= 1):
                continue
            raise ValueError(
                f"onexpu: {text} reads no work-item id of dimension {dimension} of its range "
                f"[{sizes}], so all "
                "work-items of that dimension do the same. Give a range without it, or read the id "
                f"(onexpu::item<{len(global_size)}>())"
            )
