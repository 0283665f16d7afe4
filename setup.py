"""Builds the wheel: the Python packages, and the libraries that Bazel builds.

The build takes SYCL, oneDNN, oneMKL and TensorFlow from a Python environment that holds the wheels
of requirements.txt: the one that ONEXPU_VENV names, else .venv (see `make setup`), else the one
that runs pip.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import sys

from setuptools import Distribution, find_packages, setup
from setuptools.command.build_py import build_py

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from tools import bazel, environment, layout, report, shared_libraries

ROOT = pathlib.Path(__file__).resolve().parent


def _wheels_environment() -> pathlib.Path:
    """Returns the first environment that holds the wheels to build against."""
    candidates = [os.environ.get("ONEXPU_VENV"), str(environment.VENV), sys.prefix]
    for candidate in candidates:
        if candidate is None:
            continue
        prefix = pathlib.Path(candidate)
        wanted = ("bin/python", "include/sycl/sycl.hpp", "include/oneapi/dnnl/dnnl.hpp")
        if all((prefix / name).exists() for name in wanted):
            return prefix
    raise report.SetupError(
        "no Python environment with the wheels of requirements.txt was found; looked in "
        f"{', '.join(str(candidate) for candidate in candidates if candidate)}. "
        "Run `make setup`, or install requirements.txt into the environment that runs pip."
    )


class BuildWithBazel(build_py):
    """Collects the Python packages, then builds and adds the libraries."""

    def run(self) -> None:
        """Runs the command."""
        super().run()
        if self.editable_mode:
            raise report.SetupError("an editable install is `make develop`")
        venv = _wheels_environment()
        bazel.build(layout.targets(), venv)
        self._add_libraries(pathlib.Path(self.build_lib), venv)
        self._add_headers(pathlib.Path(self.build_lib))

    def _add_libraries(self, destination: pathlib.Path, venv: pathlib.Path) -> None:
        bazel_bin = bazel.bin_directory()
        built = {
            destination / artifact.destination: artifact.output(bazel_bin)
            for artifact in layout.ARTIFACTS
        }
        for group in layout.ARTIFACT_GROUPS:
            for output in layout.group_outputs(bazel_bin, group):
                built[destination / group.directory / output.name] = output
        site_packages = environment.site_packages(venv / "bin" / "python")
        for library in shared_libraries.system_closure(
            [artifact.output(bazel_bin) for artifact in layout.ARTIFACTS],
            shared_libraries.wheel_directories(site_packages),
        ):
            built[destination / layout.LIBRARY_DIR / library.name] = library
        for target, source in built.items():
            _copy(source, target, mode=0o755)

    def _add_headers(self, destination: pathlib.Path) -> None:
        """Copies what is no part of a Python package."""
        for directory in layout.SOURCE_DIRECTORIES:
            if (ROOT / directory.source / "__init__.py").exists():
                continue
            for file in layout.source_files(ROOT, directory):
                source = ROOT / directory.source / file
                _copy(source, destination / directory.destination / file, mode=0o644)


def _copy(source: pathlib.Path, target: pathlib.Path, *, mode: int) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)  # Bazel's outputs are read-only, and so are their copies.
    shutil.copyfile(source, target)
    target.chmod(mode)


class BinaryDistribution(Distribution):
    """A wheel that is bound to its platform, although setuptools compiles nothing of it."""

    def has_ext_modules(self) -> bool:
        """Returns True: see the class."""
        return True


setup(
    packages=[
        *find_packages(include=["onexpu", "onexpu.*"]),
        "jax_plugins.onexpu",
        *(
            f"jax_plugins.onexpu.{name}"
            for name in find_packages(where=str(ROOT / "pjrt_core" / "jax_plugin"))
        ),
    ],
    package_dir={"jax_plugins.onexpu": "pjrt_core/jax_plugin"},
    package_data={"onexpu": ["py.typed", "*.pyi"], "jax_plugins.onexpu": ["py.typed"]},
    distclass=BinaryDistribution,
    cmdclass={"build_py": BuildWithBazel},
)
