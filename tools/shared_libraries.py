"""Finds the system libraries that an install has to carry along.

What the wheels we depend on bring (oneAPI, TensorFlow) and what every Linux has (glibc, libstdc++)
is left out. The rest, Debian's Abseil first of all, is laid beside our own libraries, where their
$ORIGIN finds it.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
from collections.abc import Iterable

# Part of any system that runs a manylinux wheel.
_BASE = re.compile(r"^(ld-linux-x86-64|lib(c|m|dl|rt|pthread|util|gcc_s|stdc\+\+))\.so(\.\d+)*$")
_SYSTEM_DIRECTORIES = (
    pathlib.Path("/usr/lib/x86_64-linux-gnu"),
    pathlib.Path("/lib/x86_64-linux-gnu"),
    pathlib.Path("/usr/lib"),
)


def needed(library: pathlib.Path) -> list[str]:
    """Returns the DT_NEEDED entries of an ELF file."""
    listing = subprocess.run(
        ["llvm-readelf-22", "--needed-libs", str(library)],
        capture_output=True,
        text=True,
        check=True,
    )
    return re.findall(r"^\s+(\S+\.so\S*)$", listing.stdout, re.MULTILINE)


def glibc_version(library: pathlib.Path) -> tuple[int, int]:
    """Returns the oldest glibc that has all the symbols that an ELF file needs, such as (2, 36)."""
    listing = subprocess.run(
        ["llvm-readelf-22", "--version-info", str(library)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.findall(r"\bGLIBC_(\d+)\.(\d+)", listing.stdout)
    return max(((int(major), int(minor)) for major, minor in found), default=(2, 0))


def system_closure(
    binaries: Iterable[pathlib.Path], provided: Iterable[pathlib.Path]
) -> list[pathlib.Path]:
    """Returns the system libraries that `binaries` need, directly or through one another.

    Parameters
    ----------
    binaries
        The ELF files of an install.
    provided
        Directories whose libraries need not be carried: those of the wheels.

    Raises
    ------
    FileNotFoundError
        A library is in none of the places where the loader would look.
    """
    binaries = list(binaries)
    own = {binary.name for binary in binaries}
    provided = list(provided)
    found: dict[str, pathlib.Path] = {}
    pending = list(binaries)
    while pending:
        binary = pending.pop()
        for name in needed(binary):
            if name in own or name in found or _BASE.match(name):
                continue
            if any((directory / name).exists() for directory in provided):
                continue
            for directory in _SYSTEM_DIRECTORIES:
                if (directory / name).exists():
                    found[name] = directory / name
                    pending.append(directory / name)
                    break
            else:
                raise FileNotFoundError(f"{binary.name} needs {name}, which is nowhere to be found")
    return [found[name] for name in sorted(found)]


def wheel_directories(site_packages: pathlib.Path) -> list[pathlib.Path]:
    """Returns the directories in which the wheels that we depend on lay their libraries."""
    return [
        site_packages.parent.parent,  # <prefix>/lib: oneAPI
        site_packages / "tensorflow",
    ]
