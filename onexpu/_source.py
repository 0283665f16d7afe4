"""SYCL source and what is compiled from it."""

from __future__ import annotations

import dataclasses
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from onexpu._errors import SyclCompileError
from onexpu._signature import Signature, find_kernels
from onexpu._types import CPP_NAMES, dtype_name


def compile_source(
    name: str, text: str, options: Sequence[str], instances: Sequence[str], preamble: str = ""
) -> tuple[bytes, list[str]]:
    """Compiles SYCL source.

    Parameters
    ----------
    name : str
        The kernel's or the file's, for the compiler's diagnostics.
    text : str
    options : sequence of str
        For the compiler.
    instances : sequence of str
        The kernels, templates spelled out.
    preamble : str
        What comes before the source, and before what every source gets.

    Returns
    -------
    spirv : bytes
    entry_points : list of str
        Of `instances`.

    Raises
    ------
    SyclCompileError
        With the compiler's log.
    """
    from onexpu import _native

    try:
        spirv, entry_points = _native.compile_sycl(
            preamble + _native.kernel_preamble(name) + text, list(options), list(instances)
        )
    except ValueError as error:
        raise SyclCompileError(name.removesuffix(".cpp"), str(error)) from None
    if os.environ.get("ONEXPU_VERIFY_SPIRV") == "1":
        _native.validate_spirv(spirv)
    return spirv, entry_points


@dataclasses.dataclass(frozen=True)
class _Wanted:
    templates: tuple[str, ...]
    allowed: Mapping[str, Sequence[str]]

    def allows(self, types: tuple[str, ...]) -> bool:
        pairs = zip(self.templates, types, strict=True)
        return all(template not in self.allowed or dtype in self.allowed[template] for template, dtype in pairs)


class Source:
    """A SYCL source with its kernels. Thread-safe.

    Kernels of it that are asked for are compiled together, once for the types of their template
    parameters.

    Parameters
    ----------
    text : str
    options : sequence of str
        For the compiler.

    Raises
    ------
    ValueError
        It has no kernels.
    """

    def __init__(self, text: str, options: Sequence[str]) -> None:
        self.text = text
        self._options = list(options)
        self.kernels = tuple(find_kernels(text))
        if not self.kernels:
            raise ValueError(
                "onexpu: the source defines no kernel: `ONEXPU_KERNEL void name(parameters) "
                "{ ... }`"
            )
        self._wanted: dict[str, _Wanted] = {}
        self._modules: dict[tuple[tuple[str, ...], str], tuple[bytes, str]] = {}
        self._lock = threading.Lock()

    def find(self, name: str | None) -> tuple[str, Signature]:
        """Returns the name and the signature of a kernel, by its name, namespaces and all; of the
        only one without a name."""
        found = ", ".join(kernel.name for kernel in self.kernels)
        if name is None and len(self.kernels) > 1:
            raise ValueError(
                f"onexpu: the source defines several kernels; name= chooses one of {found}"
            )
        for kernel in self.kernels:
            if name is None or kernel.name == name.rpartition("::")[2]:
                return name or kernel.name, kernel
        raise ValueError(f"onexpu: the source defines no kernel '{name}'; it defines {found}")

    def want(self, name: str, allowed: Mapping[str, Sequence[str]]) -> None:
        """Has a kernel compiled along with others, for the types allowed for its templates."""
        with self._lock:
            self._wanted[name] = _Wanted(self.find(name)[1].template_parameters, allowed)

    def module(self, name: str, types: tuple[str, ...]) -> tuple[bytes, str]:
        """Returns the SPIR-V with a kernel, and its entry point.

        Raises
        ------
        SyclCompileError
            With the compiler's log.
        """
        with self._lock:
            if (types, name) not in self._modules:
                self._compile(name, types)
            return self._modules[types, name]

    def _compile(self, name: str, types: tuple[str, ...]) -> None:
        templates = self.find(name)[1].template_parameters
        together = [
            other
            for other, wanted in self._wanted.items()
            if wanted.templates == templates
            and wanted.allows(types)
            and (types, other) not in self._modules
        ]
        arguments = f"<{', '.join(CPP_NAMES[t] for t in types)}>" if types else ""
        is_complex = any(t.startswith("complex") for t in types)
        spirv, entry_points = compile_source(
            f"{name}.cpp",
            self.text,
            self._options,
            [other + arguments for other in together],
            "#include <complex>\n" if is_complex else "",
        )
        for other, entry_point in zip(together, entry_points, strict=True):
            self._modules[types, other] = (spirv, entry_point)


class SourceKernel:
    """One kernel of a source: the `Code` of a definition."""

    def __init__(self, source: Source, name: str, allowed: Mapping[str, Sequence[Any]]) -> None:
        self.source = source
        self._name = name
        source.want(name, {key: tuple(map(dtype_name, types)) for key, types in allowed.items()})

    def module(self, types: tuple[str, ...]) -> tuple[bytes, str]:
        """See `Code.module`."""
        return self.source.module(self._name, types)
