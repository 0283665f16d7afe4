"""Translates kernels for an Intel GPU to PTX, NVIDIA's assembly.

The input is the LLVM IR that the compiler hands to its SPIR-V back end. PTX calls the OpenCL
functions of the IR by their names; `opencl_builtins.cu` defines them.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import tempfile

_LLVM = "22"
# LLVM's data layout of nvptx64. It aligns vectors of three elements differently from SPIR-V's; no
# kernel stores one.
_DATA_LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
_MODULE = re.compile(r"(?m)^(?=; ModuleID = )")
_KERNEL = re.compile(r"(?m)^(define spir_kernel void @(\w+)\(.*) !reqd_work_group_size")
# Shared memory of PTX has no initial value.
_LOCAL_ARRAY = re.compile(r"(?m)^(@\w+ = internal .*addrspace\(3\) global .*) poison,")


class TranslationError(Exception):
    """LLVM rejects a kernel."""


def translate(ir: str, work_items: dict[str, int]) -> str:
    """Returns the PTX of a program's kernels.

    Parameters
    ----------
    ir : str
        LLVM IR of one or several modules, one after the other, as `xla_dump_to` writes it.
    work_items : dict of str to int
        The work-group size of each kernel. PTX states it, so that the assembler limits the
        registers of a work-item.

    Raises
    ------
    TranslationError
    """
    with tempfile.TemporaryDirectory() as directory:
        files = []
        for i, module in enumerate(one for one in _MODULE.split(ir) if "define" in one):
            files.append(pathlib.Path(directory, f"{i}.ll"))
            files[-1].write_text(_for_nvptx(module, work_items))
        linked = pathlib.Path(directory, "linked.bc")
        _run([f"llvm-link-{_LLVM}", *files, "-o", linked])
        return _run([f"llc-{_LLVM}", "-O2", "-mcpu=sm_80", "-mattr=+ptx80", linked, "-o", "-"])


def _for_nvptx(module: str, work_items: dict[str, int]) -> str:
    module = re.sub(
        r"(?m)^target datalayout = .*$", f'target datalayout = "{_DATA_LAYOUT}"', module
    )
    module = re.sub(r"(?m)^target triple = .*$", 'target triple = "nvptx64-nvidia-cuda"', module)
    module = _LOCAL_ARRAY.sub(r"\1 undef,", module)
    module = _KERNEL.sub(
        lambda match: f'{match[1]} "nvvm.maxntid"="{work_items[match[2]]}" !reqd_work_group_size',
        module,
    )
    module = module.replace("spir_kernel", "ptx_kernel").replace("spir_func ", "")
    return module.replace('syncscope("workgroup")', 'syncscope("block")')


def _run(command: list[str | pathlib.Path]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TranslationError(f"{command[0]}: {done.stderr.strip()[:1000]}")
    return done.stdout
