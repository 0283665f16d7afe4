"""The cache of native binaries that Intel's GPU driver keeps.

Modules for GPUs are built by the driver (NEO, compute-runtime), which stores their binaries itself,
by module, options, device and driver. The core stores none for them: `disk_cache`, next to this
module, is about the CPU device's.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping


def directory(environment: Mapping[str, str] = os.environ) -> pathlib.Path | None:
    """Returns where the driver stores binaries, or None if it does not.

    Parameters
    ----------
    environment : mapping of str to str
        The process's variables.
    """
    if environment.get("NEO_CACHE_PERSISTENT", "1") == "0":
        return None
    if chosen := environment.get("NEO_CACHE_DIR"):
        return pathlib.Path(chosen)
    if caches := environment.get("XDG_CACHE_HOME"):
        return pathlib.Path(caches, "neo_compiler_cache")
    if home := environment.get("HOME"):
        return pathlib.Path(home, ".cache", "neo_compiler_cache")
    return None


def describe(environment: Mapping[str, str] = os.environ) -> tuple[str, str]:
    """Says where the cache is, and what to do if the driver cannot write there.

    Parameters
    ----------
    environment : mapping of str to str
        The process's variables.

    Returns
    -------
    tuple of str
        The value, and the advice, which is empty if all is well.
    """
    advice = (
        "every process builds its kernels again: set NEO_CACHE_DIR to a directory that exists and "
        "can be written"
    )
    if environment.get("NEO_CACHE_PERSISTENT", "1") == "0":
        return "off (NEO_CACHE_PERSISTENT=0)", ""
    path = directory(environment)
    if path is None:
        return "none: neither NEO_CACHE_DIR, XDG_CACHE_HOME nor HOME is set", advice
    # The driver makes `neo_compiler_cache` and `.cache`, no other directory.
    existing = path
    if not environment.get("NEO_CACHE_DIR"):
        made = 1 if environment.get("XDG_CACHE_HOME") else 2
        for _ in range(made):
            existing = existing if existing.exists() else existing.parent
    if not existing.is_dir():
        return f"{path}: {existing} does not exist", advice
    if not os.access(existing, os.W_OK | os.X_OK):
        return f"{path} cannot be written", advice
    return str(path), ""
