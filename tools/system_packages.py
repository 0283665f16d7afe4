"""The Debian packages that the build and the tests need."""

from __future__ import annotations

import os
import shutil
import subprocess

from tools import report

PACKAGES = (
    # Compiler, linker, the code generator's LLVM.
    "clang-22",
    "lld-22",
    "llvm-22",
    "llvm-22-dev",
    "libstdc++-12-dev",
    "libzstd-dev",
    "zlib1g-dev",
    "libxml2-dev",
    # Build system and libraries.
    "bazel-bootstrap",
    "libabsl-dev",
    "libflatbuffers-dev",
    "flatbuffers-compiler",
    # Tests: GoogleTest, spirv-val, and ocloc to check kernels for GPUs that are not there.
    "libgtest-dev",
    "libgmock-dev",
    "spirv-tools",
    "intel-opencl-icd",
    "clang-format-22",
)


def missing_packages(packages: tuple[str, ...]) -> list[str]:
    """Returns those of `packages` that dpkg does not hold installed."""
    if shutil.which("dpkg-query") is None:
        return list(packages)
    answer = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *packages],
        capture_output=True,
        text=True,
        check=False,
    )
    installed = {
        line.split()[0] for line in answer.stdout.splitlines() if line.endswith(" installed")
    }
    return [package for package in packages if package not in installed]


def ensure_packages(packages: tuple[str, ...]) -> None:
    """Installs what is missing when root; otherwise prints the line to run, and stops."""
    missing = missing_packages(packages)
    if not missing:
        return
    install = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise report.SetupError(
            "these system packages are missing; install them and start again:\n"
            f"  sudo apt-get update && sudo {' '.join(install)}"
        )
    report.step(f"installing {len(missing)} system packages: {' '.join(missing)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update"], install):
        if subprocess.run(command, env=environment, check=False).returncode:
            raise report.SetupError(f"this failed: {' '.join(command)}")
