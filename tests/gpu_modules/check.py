"""Whether SPIR-V is what a GPU's own compiler takes: spirv-val, then ocloc, then the kernels by
name.

ocloc accepts a module that was cut off, and then has fewer kernels (measured), so both its exit
status and the names in its output count.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import os
import pathlib
import re
import subprocess
import tempfile

_ENTRY_POINT = re.compile(r'OpEntryPoint Kernel %\S+ "([^"]+)"')


def kernel_names(module: pathlib.Path) -> list[str]:
    """Returns the names of a module's kernels, from its disassembly."""
    return _ENTRY_POINT.findall(module.with_suffix(".spvasm").read_text())


def find_missing_kernels(module: pathlib.Path, target: str, kernels: list[str]) -> str | None:
    """Compiles a module with ocloc; returns what went wrong, None when every kernel came out."""
    with tempfile.TemporaryDirectory() as directory:
        # The binary would hold the module, and with it the names.
        command = ["ocloc", "compile", "-spirv_input", "-exclude_ir", "-file", module]
        command += ["-device", target, "-output", "module", "-out_dir", directory]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        binary = b"".join(path.read_bytes() for path in pathlib.Path(directory).iterdir())
    if done.returncode != 0:
        return f"ocloc, exit status {done.returncode}: {done.stdout}{done.stderr}".strip()
    missing = [name for name in kernels if name.encode() + b"\0" not in binary]
    return f"ocloc's result lacks {', '.join(missing)}" if missing else None


def find_fault(module: pathlib.Path, target: str) -> str | None:
    """Checks a module, `NAME.spv` beside its disassembly `NAME.spvasm`, for `target` (dg2, pvc,
    ...).

    Returns what is wrong with it, None when nothing is.
    """
    valid = subprocess.run(["spirv-val", module], capture_output=True, text=True, check=False)
    if valid.returncode != 0:
        return f"spirv-val: {valid.stdout}{valid.stderr}".strip()
    kernels = kernel_names(module)
    return find_missing_kernels(module, target, kernels) if kernels else "no kernels"


def find_faults(directory: pathlib.Path, target: str) -> tuple[int, dict[str, str]]:
    """Checks the modules of a directory, equal ones once: how many, and the faults by name."""
    modules = {
        hashlib.sha256(path.read_bytes()).digest(): path for path in sorted(directory.glob("*.spv"))
    }
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = pool.map(lambda path: find_fault(path, target), modules.values())
        found = dict(zip((path.name for path in modules.values()), faults, strict=True))
    return len(modules), {name: fault for name, fault in found.items() if fault is not None}
