"""Forms of SYCL that compile in a free-function kernel and do not work there."""

from __future__ import annotations

import re
from collections.abc import Sequence

from onexpu._source.cpp_text import code_of, line_of
from onexpu._source.signature import RejectedKernel, Signature

_LOCAL_MEMORY = (
    "Declare local memory in the kernel instead: "
    "`sycl::ext::oneapi::experimental::work_group_static<float[256]> tile;` "
    '(docs/kernel_recipes.md, "Local memory")'
)
# From names to what is wrong with them.
_UNSUPPORTED = {
    r"local_accessor": (
        "sycl::local_accessor gets its memory from a sycl::handler, which a free-function kernel "
        "does not have"
    ),
    r"group_local_memory(?:_for_overwrite)?": (
        "the compiler at run time does not support this function"
    ),
    r"get_work_group_scratch_memory": (
        "its size is a property of the launch, which onexpu does not set"
    ),
}
_ITEM = re.compile(
    r"\bonexpu\s*::\s*(?:(?P<id>global_id|global_size)\s*\(|item\s*(?:<\s*(?P<item>\w*)\s*>\s*)?\()"
    r"|\bget_nd_item\s*<\s*(?P<nd_item>\w+)\s*>\s*\("
)


def _kernel_at(kernels: Sequence[Signature | RejectedKernel], line: int) -> str:
    """Returns the name of the kernel whose definition a line is part of, if it is one's."""
    before = [kernel for kernel in kernels if kernel.line <= line]
    return max(before, key=lambda kernel: kernel.line).name if before else ""


def check_source(
    source: str, kernels: Sequence[Signature | RejectedKernel], file: str = ""
) -> None:
    """Raises ValueError for what compiles and does not work.

    Parameters
    ----------
    source : str
    kernels : sequence
        Those of the source.
    file : str, optional
        Its name.
    """
    code = code_of(source)
    for name, reason in _UNSUPPORTED.items():
        match = re.search(rf"\b{name}\b", code)
        if match is not None:
            line = line_of(code, match.start())
            caller = _kernel_at(kernels, line)
            where = f"{file}:{line}" if file else f"line {line}"
            raise ValueError(
                f"onexpu: {f'kernel {caller!r}' if caller else 'the source'} uses {match[0]} "
                f"({where}): {reason}. {_LOCAL_MEMORY}"
            )
    for kernel in kernels:
        if isinstance(kernel, Signature):
            _check_items(code, kernel, file)


def _check_items(code: str, kernel: Signature, file: str) -> None:
    """Raises ValueError if a kernel asks for its work-item in other dimensions than it has: the
    others are lost without a word.
    """
    assert kernel.dimensions is not None
    for match in _ITEM.finditer(code, *kernel.body):
        written = match["item"] or match["nd_item"] or "1"
        if not written.isdigit() or int(written) == kernel.dimensions:
            continue
        line = line_of(code, match.start())
        asked = " ".join(match[0].rstrip("(").split())
        raise ValueError(
            f"onexpu: kernel '{kernel.name}' has {kernel.dimensions} dimensions"
            f" ({f'{file}:' if file else 'line '}{kernel.line}), but {asked}() on line {line} is "
            f"of {written}. Write onexpu::item<{kernel.dimensions}>(), or change ONEXPU_KERNEL"
        )
