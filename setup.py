"""Builds the wheel: the Python packages, and the libraries that Bazel builds.

One wheel serves all supported versions of Python: it holds an extension module for each version
whose interpreter and headers are on this machine (tools/pythons.py).

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

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from tools import bazel, environment, layout, pythons, report, shared_libraries

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
        own = pythons.describe(str(venv / "bin" / "python"))
        if own is None:
            raise report.SetupError(f"{venv}/bin/python does not run, or its Python.h is missing")
        others = [python for python in pythons.find() if python.version != own.version]
        modules = {
            layout.NATIVE_MODULE.target: own,
            **{layout.native_target(python.version): python for python in others},
        }
        bazel.build(
            [*layout.targets(), *modules],
            venv,
            environment={"ONEXPU_PYTHONS": os.pathsep.join(p.executable for p in others)},
        )
        self._add_libraries(pathlib.Path(self.build_lib), venv)
        self._add_native_modules(pathlib.Path(self.build_lib), modules)
        self._add_headers(pathlib.Path(self.build_lib))

    def _add_native_modules(
        self, destination: pathlib.Path, modules: dict[str, pythons.Python]
    ) -> None:
        """Replaces the module of the development install, which any Python would import."""
        package = destination / "onexpu"
        for old in package.glob("_native*.so"):
            old.unlink()
        for target, python in modules.items():
            built = layout.Artifact("python", target, "").output(bazel.bin_directory())
            _copy(built, package / f"_native{python.suffix}", mode=0o755)

    def _add_libraries(self, destination: pathlib.Path, venv: pathlib.Path) -> None:
        bazel_bin = bazel.bin_directory()
        built = {
            destination / artifact.destination: artifact.output(bazel_bin)
            for artifact in layout.ARTIFACTS
        }
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


class WheelForEveryPython(bdist_wheel):
    """Names the versions of Python and of glibc that the wheel's binaries need."""

    def get_tag(self) -> tuple[str, str, str]:
        """Returns the tags of the file name, such as py3, none, manylinux_2_36_x86_64."""
        binaries = [
            path
            for path in pathlib.Path(self.bdist_dir).rglob("*")
            if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"
        ]
        suffixes = {path.name.removeprefix("_native") for path in binaries}
        found = [python.version for python in pythons.find() if python.suffix in suffixes]
        missing = [version for version in pythons.supported() if version not in found]
        tag = "py3"
        if missing:
            tag = ".".join("cp" + version.replace(".", "") for version in found)
            report.step(
                f"the wheel does not support Python {', '.join(missing)}: no interpreter with "
                "headers was found. ONEXPU_PYTHONS=/path/to/python3.N names one"
            )
        glibc = max(shared_libraries.glibc_version(binary) for binary in binaries)
        return tag, "none", f"manylinux_{glibc[0]}_{glibc[1]}_x86_64"


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
    cmdclass={"build_py": BuildWithBazel, "bdist_wheel": WheelForEveryPython},
)
