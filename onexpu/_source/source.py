"""SYCL source and what is compiled from it."""

from __future__ import annotations

import dataclasses
import os
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from onexpu._errors import SyclCompileError
from onexpu._source.constants import Argument, literal
from onexpu._source.signature import RejectedKernel, Signature, find_kernels
from onexpu._source.source_checks import check_source
from onexpu._source.type_checks import AssumedType, type_checks
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
        raise SyclCompileError(name.removesuffix(".cpp"), _with_advice(str(error))) from None
    if os.environ.get("ONEXPU_VERIFY_SPIRV") == "1":
        _native.validate_spirv(spirv)
    return spirv, entry_points


# The run-time compiler brings SYCL's headers, which include those of the C++ standard library. As
# clang does, it looks for them beside GCC's crtbegin.o. Debian's package depends on the one with
# that file, and on the headers of the C library; Fedora's libstdc++-devel does not.
_MISSING_LIBRARY = re.compile(
    r"^/sycl-jit-toolchain/.*: fatal error: '.*' file not found", re.MULTILINE
)


def _with_advice(log: str) -> str:
    if _MISSING_LIBRARY.search(log) is None:
        return log
    return (
        f"{log}\nonexpu: the headers of the C++ standard library are not installed. "
        "Install libstdc++-12-dev (Debian 12), libstdc++-14-dev (Debian 13), g++ (Ubuntu) or "
        "gcc-c++ (Fedora)."
    )


def instance(name: str, arguments: Sequence[Argument]) -> str:
    """Returns a kernel with its template arguments, as C++ writes it: ``scale<float, 16>``."""
    if not arguments:
        return name
    texts = (CPP_NAMES[a] if isinstance(a, str) else literal(a) for a in arguments)
    return f"{name}<{', '.join(texts)}>"


@dataclasses.dataclass(frozen=True)
class _Wanted:
    """A kernel to compile along with others: its template parameters and what they stand for."""

    templates: tuple[str, ...]
    allowed: Mapping[str, Sequence[str]]
    constants: Mapping[str, int]

    def allows(self, arguments: tuple[Argument, ...]) -> bool:
        given = dict(zip(self.templates, arguments, strict=False))
        types = {name for name, argument in given.items() if isinstance(argument, str)}
        return self.constants == {name: given[name] for name in given.keys() - types} and all(
            name not in self.allowed or given[name] in self.allowed[name] for name in types
        )


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
        kernels, self._rejected = find_kernels(text)
        self.kernels = tuple(kernels)
        if not self.kernels and not self._rejected:
            raise ValueError(
                "onexpu: the source defines no kernel: `ONEXPU_KERNEL void name(parameters) "
                "{ ... }`"
            )
        check_source(text, [*kernels, *self._rejected])
        self._wanted: dict[str, _Wanted] = {}
        self._modules: dict[tuple[Any, ...], tuple[bytes, str]] = {}
        self._lock = threading.Lock()

    def find(self, name: str | None) -> tuple[str, Signature]:
        """Returns the name and the signature of a kernel, by its name, namespaces and all; of the
        only one without a name.
        """
        kernels: list[Signature | RejectedKernel] = [*self.kernels, *self._rejected]
        found = ", ".join(kernel.name for kernel in kernels)
        if name is None and len(kernels) > 1:
            raise ValueError(
                f"onexpu: the source defines several kernels; name= chooses one of {found}"
            )
        for kernel in kernels:
            if name is not None and kernel.name != name.rpartition("::")[2]:
                continue
            if isinstance(kernel, RejectedKernel):
                raise ValueError(
                    f"onexpu: kernel '{kernel.name}' of the source is not supported (line "
                    f"{kernel.line}): {kernel.reason}"
                )
            return name or kernel.name, kernel
        raise ValueError(f"onexpu: the source defines no kernel '{name}'; it defines {found}")

    def want(
        self, name: str, allowed: Mapping[str, Sequence[str]], constants: Mapping[str, int]
    ) -> None:
        """Has a kernel compiled along with others, for the types allowed for its templates and for
        its constants.
        """
        signature = self.find(name)[1]
        with self._lock:
            self._wanted[name] = _Wanted(signature.template_order, allowed, constants)

    def module(
        self, name: str, arguments: tuple[Argument, ...], assumed: tuple[AssumedType, ...] = ()
    ) -> tuple[bytes, str]:
        """Returns the SPIR-V with a kernel, and its entry point.

        Raises
        ------
        SyclCompileError
            With the compiler's log; with an `AssumedType.mark` for a parameter of another type.
        """
        with self._lock:
            if (arguments, name, assumed) not in self._modules:
                self._compile(name, arguments, assumed)
            return self._modules[arguments, name, assumed]

    def _compile(
        self, name: str, arguments: tuple[Argument, ...], assumed: tuple[AssumedType, ...]
    ) -> None:
        templates = self.find(name)[1].template_order
        together = [
            other
            for other, wanted in self._wanted.items()
            if not assumed
            and wanted.templates == templates
            and wanted.allows(arguments)
            and (arguments, other, assumed) not in self._modules
        ]
        if name not in together:
            together = [name]
        is_complex = any(isinstance(a, str) and a.startswith("complex") for a in arguments)
        spirv, entry_points = compile_source(
            f"{name}.cpp",
            self.text + type_checks(instance(name, arguments), assumed),
            self._options,
            [instance(other, arguments) for other in together],
            "#include <complex>\n" if is_complex else "",
        )
        for other, entry_point in zip(together, entry_points, strict=True):
            self._modules[arguments, other, assumed] = (spirv, entry_point)


class SourceKernel:
    """One kernel of a source: the `Code` of a definition."""

    def __init__(
        self,
        source: Source,
        name: str,
        allowed: Mapping[str, Sequence[Any]],
        constants: Mapping[str, int],
    ) -> None:
        self.source = source
        self._name = name
        types = {key: tuple(map(dtype_name, types)) for key, types in allowed.items()}
        source.want(name, types, constants)

    def module(
        self, arguments: tuple[Argument, ...], assumed: tuple[AssumedType, ...] = ()
    ) -> tuple[bytes, str]:
        """See `Code.module`."""
        return self.source.module(self._name, arguments, assumed)
