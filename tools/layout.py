"""What is built, and where it lies below site-packages. The one table for every kind of install."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Collection

LIBRARY_DIR = "onexpu/lib"


@dataclasses.dataclass(frozen=True)
class Artifact:
    """A file that Bazel builds.

    Attributes
    ----------
    part : str
        The part of the product that it belongs to, for `develop.py --only`.
    target : str
        The Bazel target.
    destination : str
        The file's path below site-packages.
    """

    part: str
    target: str
    destination: str

    def output(self, bazel_bin: pathlib.Path) -> pathlib.Path:
        """Returns the built file."""
        package, name = self.target.removeprefix("//").split(":")
        return bazel_bin / package / name


@dataclasses.dataclass(frozen=True)
class SourceDirectory:
    """A directory of files that are installed as they are.

    Attributes
    ----------
    source : str
        The directory in the tree.
    destination : str
        The directory below site-packages.
    patterns : tuple of str
        Which of its files belong to it; those of a Python package by default.
    """

    source: str
    destination: str
    patterns: tuple[str, ...] = ("*.py", "*.pyi", "py.typed")


# The extension module for the Python of the environment. A wheel holds one for each version.
NATIVE_MODULE = Artifact("python", "//onexpu:_native.so", "onexpu/_native.so")

ARTIFACTS = (
    Artifact(
        "core",
        "//pjrt_core/c_api:pjrt_plugin_xpu.so",
        f"{LIBRARY_DIR}/pjrt_plugin_xpu.so",
    ),
    Artifact(
        "core",
        "//pjrt_core/cpu_device/native_build:onexpu-build",
        f"{LIBRARY_DIR}/onexpu-build",
    ),
    Artifact(
        "compiler",
        "//pjrt_core/compiler:libonexpu_compiler.so",
        f"{LIBRARY_DIR}/libonexpu_compiler.so",
    ),
    Artifact(
        "compiler",
        "//pjrt_core/compiler/codegen/llvm/spirv_worker:onexpu-spirv",
        f"{LIBRARY_DIR}/onexpu-spirv",
    ),
    Artifact("compiler", "//pjrt_core/compiler:onexpu-compile", f"{LIBRARY_DIR}/onexpu-compile"),
    Artifact("tf", "//tf_plugin:libonexpu_tf.so", "tensorflow-plugins/libonexpu_tf.so"),
    NATIVE_MODULE,
)

SOURCE_DIRECTORIES = (
    SourceDirectory("onexpu", "onexpu"),
    SourceDirectory("pjrt_core/jax_plugin", "jax_plugins/onexpu"),
    # What packages with kernels in C++ are built with.
    SourceDirectory("custom_kernels/include", "onexpu/include", ("*.h",)),
    SourceDirectory("custom_kernels/cmake", "onexpu/cmake", ("*.cmake",)),
)

PARTS = ("compiler", "core", "tf", "python")


def native_target(version: str) -> str:
    """Returns the target of the extension module for another version of Python, such as "3.12"."""
    return f"//onexpu:_native_{version}.so"


def targets(parts: Collection[str] = PARTS) -> list[str]:
    """Returns the Bazel targets that an install of `parts` needs."""
    return [item.target for item in ARTIFACTS if item.part in parts]


def source_files(root: pathlib.Path, directory: SourceDirectory) -> list[pathlib.Path]:
    """Returns the files of a source directory, relative to it."""
    source = root / directory.source
    return sorted(
        path.relative_to(source) for pattern in directory.patterns for path in source.rglob(pattern)
    )
