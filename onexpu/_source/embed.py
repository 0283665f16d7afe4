"""Device code for kernels in C++: SYCL compiled to SPIR-V, as a header to include."""

from __future__ import annotations

import pathlib
import re
import textwrap
from collections.abc import Mapping, Sequence

from onexpu._source.signature import Signature, find_kernels
from onexpu._source.source import compile_source
from onexpu._source.source_checks import check_source

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def _header(source: str, kernels: Sequence[tuple[str, str, str]], spirv: bytes) -> str:
    """Returns the header for a name, an entry point and more arguments of each kernel."""
    numbers = textwrap.fill(
        ", ".join(map(str, spirv)), width=100, initial_indent="    ", subsequent_indent="    "
    )
    lines = [
        f"// The kernels of {source} as SPIR-V. Written by onexpu.embed_kernels; do not edit.",
        "#pragma once",
        "",
        "#include <onexpu/spirv_kernel.h>",
        "",
        "namespace {",
        "",
        f"alignas(4) constexpr unsigned char {kernels[0][0]}_module[] = {{",
        numbers + "};",
        "",
    ]
    for name, entry_point, declared in kernels:
        lines.append(
            f"onexpu::SpirvKernel {name}({kernels[0][0]}_module, sizeof({kernels[0][0]}_module),\n"
            f'    "{entry_point}"{declared});'
        )
    return "\n".join([*lines, "", "}  // namespace", ""])


def _declared(source: pathlib.Path, text: str, kernels: Mapping[str, str]) -> list[str]:
    """Returns the dimensions and the number of parameters of each kernel, as arguments of an
    ``onexpu::SpirvKernel``; nothing for one that the file itself does not define.

    Raises
    ------
    ValueError
        A form that is not supported.
    """
    found, rejected = find_kernels(text)
    check_source(text, [*found, *rejected], str(source))
    arguments = []
    for kernel in kernels.values():
        name = kernel.partition("<")[0].rpartition("::")[2].strip()
        for wrong in rejected:
            if wrong.name == name:
                raise ValueError(
                    f"onexpu: kernel '{name}' is not supported ({source}:{wrong.line}): "
                    f"{wrong.reason}"
                )
        signature: Signature | None = next((each for each in found if each.name == name), None)
        arguments.append(
            "" if signature is None else f", {signature.dimensions}, {len(signature.parameters)}"
        )
    return arguments


def embed_kernels(
    source: str | pathlib.Path,
    kernels: Mapping[str, str],
    output: str | pathlib.Path,
    *,
    options: Sequence[str] = (),
) -> None:
    """Compiles SYCL device code to SPIR-V and writes it as a C++ header. It needs no compiler.

    Parameters
    ----------
    source : path
        A file of free-function kernels, as for `sycl_kernel`.
    kernels : mapping
        Maps a name in C++, an identifier, to a kernel of the source with its template arguments:
        ``{"twice_f32": "twice<float>"}``.
    output : path
        The header. It defines an ``onexpu::SpirvKernel`` for each name (onexpu/spirv_kernel.h), and
        one source includes it. It is not written if nothing changes, so that nothing is rebuilt.
    options : sequence of str, optional
        Compiler options: ``-D``, ``-I``, ``-O``, …

    Raises
    ------
    SyclCompileError
        If the source does not compile. Lines and columns are those of the file.
    ValueError
        If `kernels` is empty, a name is not an identifier, or a form of kernel is not supported.

    Examples
    --------
    >>> import pathlib, tempfile, onexpu
    >>> directory = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (directory / "twice.cpp").write_text('''
    ...     template <typename T>
    ...     ONEXPU_KERNEL void twice(const T* x, T* y) {
    ...       y[onexpu::global_id()] = x[onexpu::global_id()] * T(2);
    ...     }''')
    >>> onexpu.embed_kernels(directory / "twice.cpp", {"twice_f32": "twice<float>"},
    ...                      directory / "twice.h")
    >>> "onexpu::SpirvKernel twice_f32(" in (directory / "twice.h").read_text()
    True
    """
    source, output = pathlib.Path(source), pathlib.Path(output)
    wrong = [name for name in kernels if not _IDENTIFIER.fullmatch(name)]
    if wrong or not kernels:
        raise ValueError(
            f"onexpu: {source} embeds no kernels"
            if not kernels
            else f"onexpu: {', '.join(wrong)}: names of embedded kernels are identifiers of C++"
        )
    text = source.read_text()
    declared = _declared(source, text, kernels)
    spirv, entry_points = compile_source(
        str(source),
        text,
        [f"-I{source.parent.absolute()}", *options],
        list(kernels.values()),
    )
    header = _header(source.name, list(zip(kernels, entry_points, declared, strict=True)), spirv)
    if output.exists() and output.read_text() == header:
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(header)
