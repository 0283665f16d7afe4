"""The system's part of a report: kernel, distribution, packages of the driver; and redaction."""

from __future__ import annotations

import getpass
import os
import pathlib
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator

# Names of packages that hold Level Zero, Intel's compute runtime (NEO), IGC, and what those use.
_PACKAGE = re.compile(
    r"^(libze|level-zero|intel-level-zero|intel-opencl|intel-igc|intel-graphics-compiler|libigc|"
    r"libigdfcl|libigdgmm|intel-gmmlib|intel-compute-runtime|intel-ocloc|libocloc|ocl-icd|"
    r"libopencl)"
)
# The driver's libraries. File names hold versions, also where no package manager knows them.
_LIBRARIES = ("libze_loader.so.1", "libze_intel_gpu.so.1", "libigc.so.*", "libigdgmm.so.*")
_LIBRARY_DIRECTORIES = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")
# What ends a component of a path.
_END = r"(?=[/\s:;,\"')\]]|$)"
_LISTS = (
    ("dpkg-query", ["--show", "--showformat", "${Package} ${Version} ${db:Status-Abbrev}\n"]),
    ("rpm", ["--query", "--all", "--queryformat", "%{NAME} %{VERSION}-%{RELEASE} ii\n"]),
    ("pacman", ["--query"]),
)


def describe() -> Iterator[str]:
    """Yields lines about the kernel, the distribution and the installed packages of the driver."""
    yield f"kernel: {platform.system()} {platform.release()} {platform.machine()}"
    try:
        distribution = platform.freedesktop_os_release().get("PRETTY_NAME", "unknown")
    except OSError:
        distribution = "unknown"
    yield f"distribution: {distribution}"
    yield f"C library: {' '.join(platform.libc_ver())}"
    for name, path in (("i915", "/sys/module/i915"), ("xe", "/sys/module/xe")):
        if pathlib.Path(path).exists():
            yield f"kernel driver: {name}"
    if pathlib.Path("/dev/dxg").exists():
        yield "WSL2: /dev/dxg exists"
    if pathlib.Path("/.dockerenv").exists() or pathlib.Path("/run/.containerenv").exists():
        yield "container: yes"
    packages = list(_packages())
    yield from (f"package: {package}" for package in packages)
    if not packages:
        yield "packages of the GPU driver: none found"
    yield from (f"library: {path}" for path in _libraries())


def _libraries() -> list[str]:
    found = {
        str(path.resolve())
        for directory in _LIBRARY_DIRECTORIES
        for pattern in _LIBRARIES
        for path in pathlib.Path(directory).glob(pattern)
    }
    return sorted(found)


def _packages() -> Iterator[str]:
    for tool, arguments in _LISTS:
        if shutil.which(tool) is None:
            continue
        try:
            done = subprocess.run([tool, *arguments], capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired):
            continue
        for line in sorted(done.stdout.splitlines()):
            name, version, *state = line.split()
            if _PACKAGE.match(name) and (not state or state[0].startswith("ii")):
                yield f"{name} {version}"


def redact(text: str) -> str:
    """Returns the text with the home directory as ``~`` and the user's name as ``USER`` in paths.

    Parameters
    ----------
    text : str
        Any text.
    """
    homes = {os.environ.get("HOME", ""), os.path.expanduser("~")}
    homes |= {os.path.realpath(home) for home in homes if home}
    for home in sorted(homes, key=len, reverse=True):
        if len(home.rstrip("/")) > 1:
            text = re.sub(re.escape(home.rstrip("/")) + _END, "~", text, flags=re.MULTILINE)
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in containers
        return text
    return re.sub(rf"(?<=/){re.escape(user)}{_END}", "USER", text, flags=re.MULTILINE)
