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
class ArtifactGroup:
    """A Bazel target with several output files, all laid into one directory.

    Attributes
    ----------
    part, target : str
        As in `Artifact`.
    directory : str
        The directory below site-packages.
    suffixes : tuple of str
        Which of the package's output files belong to the group.
    """

    part: str
    target: str
    directory: str
    suffixes: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class PythonPackage:
    """A directory of Python sources.

    Attributes
    ----------
    source : str
        The directory in the tree.
    destination : str
        The directory below site-packages.
    """

    source: str
    destination: str


ARTIFACTS = (
    Artifact(
        "core",
        "//pjrt_core/c_api:pjrt_plugin_xpu.so",
        f"{LIBRARY_DIR}/pjrt_plugin_xpu.so",
    ),
    Artifact(
        "core",
        "//pjrt_core/runtime/native_build:onexpu-build",
        f"{LIBRARY_DIR}/onexpu-build",
    ),
    Artifact(
        "compiler",
        "//pjrt_core/compiler:libonexpu_compiler.so",
        f"{LIBRARY_DIR}/libonexpu_compiler.so",
    ),
    Artifact(
        "compiler",
        "//pjrt_core/compiler/codegen/spirv_worker:onexpu-spirv",
        f"{LIBRARY_DIR}/onexpu-spirv",
    ),
    Artifact("compiler", "//pjrt_core/compiler:onexpu-compile", f"{LIBRARY_DIR}/onexpu-compile"),
    Artifact("tf", "//tf_plugin:libonexpu_tf.so", "tensorflow-plugins/libonexpu_tf.so"),
    Artifact("python", "//onexpu:_native.so", "onexpu/_native.so"),
)

# None today: the built-in kernels are embedded in the plugin.
ARTIFACT_GROUPS: tuple[ArtifactGroup, ...] = ()

PYTHON_PACKAGES = (
    PythonPackage("onexpu", "onexpu"),
    PythonPackage("pjrt_core/jax_plugin", "jax_plugins/onexpu"),
)

PARTS = ("compiler", "core", "tf", "python")


def targets(parts: Collection[str] = PARTS) -> list[str]:
    """Returns the Bazel targets that an install of `parts` needs."""
    return [item.target for item in (*ARTIFACTS, *ARTIFACT_GROUPS) if item.part in parts]


def python_files(root: pathlib.Path, package: PythonPackage) -> list[pathlib.Path]:
    """Returns the package's sources, relative to its directory."""
    source = root / package.source
    return sorted(
        path.relative_to(source)
        for pattern in ("*.py", "*.pyi", "py.typed")
        for path in source.rglob(pattern)
    )


def group_outputs(bazel_bin: pathlib.Path, group: ArtifactGroup) -> list[pathlib.Path]:
    """Returns the built files of a group."""
    package = bazel_bin / group.target.removeprefix("//").split(":")[0]
    return sorted(
        path for path in package.glob("*") if path.suffix in group.suffixes and path.is_file()
    )
