"""`pip wheel .`: it carries everything, finds its libraries by itself, and works with the newest
and the oldest pair of Python and JAX that docs/support.md lists."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile

import pytest

from onexpu._diagnostics import doctor
from tests.package_index import pip_install
from tools import environment, layout, pythons

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What depends on JAX's version, and a C++ handler that is compiled against its headers.
_VERSION_TESTS = ("tests/jax/test_versions.py", "tests/jax/test_ffi.py")

_OUR_PACKAGES = re.compile(r"^(onexpu|jax_plugins|tensorflow-plugins)(-|$)")


@pytest.fixture(scope="module", name="wheel")
def _wheel(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    directory = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", directory, "."], cwd=ROOT, check=True)
    (wheel,) = directory.glob("*.whl")
    return wheel


@pytest.fixture(scope="module", name="installed")
def _installed(wheel: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return _link_environment(tmp_path_factory.mktemp("environment"), wheel, _OUR_PACKAGES)


def _link_environment(
    prefix: pathlib.Path, wheel: pathlib.Path, left_out: re.Pattern[str]
) -> pathlib.Path:
    """Makes an environment with the wheel, and links to all of this one that is not left out."""
    venv.create(prefix, symlinks=True, with_pip=False)
    ours = environment.site_packages(pathlib.Path(sys.executable))
    theirs = environment.site_packages(prefix / "bin" / "python")
    for entry in ours.iterdir():
        if not left_out.match(entry.name):
            (theirs / entry.name).symlink_to(entry)
    for folder in ("lib", "include"):
        (prefix / folder).mkdir(exist_ok=True)
        for entry in (ours.parents[2] / folder).iterdir():
            if not (prefix / folder / entry.name).exists():
                (prefix / folder / entry.name).symlink_to(entry)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(theirs)
        for member in archive.infolist():  # zipfile drops the permissions, pip does not
            (theirs / member.filename).chmod((member.external_attr >> 16) & 0o777 or 0o644)
    return prefix


def _run(prefix: pathlib.Path, program: str) -> str:
    answer = subprocess.run(
        [prefix / "bin" / "python", "-c", program],
        cwd=prefix,  # not the tree, whose onexpu/ would be found first
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_a_module_and_a_tag_for_each_python(wheel: pathlib.Path) -> None:
    found = pythons.find()
    tags = ".".join("cp" + python.version.replace(".", "") for python in found)
    if [python.version for python in found] == pythons.supported():
        tags = "py3"
    assert re.fullmatch(
        rf"onexpu-[\d.]+-{re.escape(tags)}-none-manylinux_2_\d+_x86_64\.whl", wheel.name
    )
    modules = {
        name
        for name in zipfile.ZipFile(wheel).namelist()
        if re.match(r"onexpu/_native.*\.so", name)
    }
    assert modules == {f"onexpu/_native{python.suffix}" for python in found}


def test_the_platform_tag_names_the_newest_glibc_symbol(installed: pathlib.Path) -> None:
    # As Debian's objdump reads it, not tools/shared_libraries.
    site_packages = environment.site_packages(installed / "bin" / "python")
    libraries = [
        *(site_packages / "onexpu").rglob("*.so*"),
        *(site_packages / "tensorflow-plugins").glob("*.so"),
    ]
    needed = {
        int(minor)
        for library in libraries
        for minor in re.findall(
            r"GLIBC_2\.(\d+)",
            subprocess.run(["objdump", "-T", library], capture_output=True, text=True).stdout,
        )
    }
    (metadata,) = site_packages.glob("onexpu-*.dist-info")
    assert f"manylinux_2_{max(needed)}_x86_64" in (metadata / "WHEEL").read_text()


def test_carries_everything(wheel: pathlib.Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    artifacts = [a for a in layout.ARTIFACTS if a != layout.NATIVE_MODULE]
    assert {artifact.destination for artifact in artifacts} <= names
    for directory in layout.SOURCE_DIRECTORIES:
        for file in layout.source_files(ROOT, directory):
            assert f"{directory.destination}/{file}" in names
    assert any(name.startswith(f"{layout.LIBRARY_DIR}/libabsl_") for name in names)
    assert not [name for name in names if name.startswith(("tests/", "tools/"))]


def test_metadata(wheel: pathlib.Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    text = archive.read(metadata).decode()
    required = set(re.findall(r"^Requires-Dist: ([^;\n]+)", text, re.MULTILINE))
    pins = {line for line in environment.REQUIREMENTS.read_text().splitlines() if "==" in line}
    assert {r for r in required if "==" in r and not r.startswith("tensorflow")} <= pins
    assert "rich" in required  # the doctor and the placement report print with it
    # Either of two packages brings it, and pip cannot express "either": an extra for each.
    assert set(re.findall(r"^Requires-Dist: (tensorflow.*)", text, re.MULTILINE)) == {
        'tensorflow==2.21.*; extra == "tensorflow"',
        'tensorflow-cpu==2.21.*; extra == "tensorflow-cpu"',
    }
    entry_points = metadata.replace("METADATA", "entry_points.txt")
    assert "onexpu = jax_plugins.onexpu" in archive.read(entry_points).decode()


def _library(installed: pathlib.Path, artifact: layout.Artifact) -> pathlib.Path:
    site_packages = environment.site_packages(installed / "bin" / "python")
    if artifact == layout.NATIVE_MODULE:
        return site_packages / f"onexpu/_native{sysconfig.get_config_var('EXT_SUFFIX')}"
    return site_packages / artifact.destination


@pytest.mark.parametrize("artifact", layout.ARTIFACTS, ids=lambda artifact: artifact.target)
def test_search_paths_are_relative(installed: pathlib.Path, artifact: layout.Artifact) -> None:
    library = _library(installed, artifact)
    dynamic = subprocess.run(
        ["llvm-readelf-22", "--dynamic", library], capture_output=True, text=True, check=True
    ).stdout
    # DT_RUNPATH would not reach the libraries of the libraries.
    assert "RUNPATH" not in dynamic
    (paths,) = re.findall(r"\(RPATH\).*\[(.*)\]", dynamic)
    assert all(path.startswith("$ORIGIN") for path in paths.split(":")), paths


@pytest.mark.parametrize("artifact", layout.ARTIFACTS, ids=lambda artifact: artifact.target)
def test_every_library_is_found(installed: pathlib.Path, artifact: layout.Artifact) -> None:
    library = _library(installed, artifact)
    found = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    assert "not found" not in found


def test_jax_finds_the_device(installed: pathlib.Path) -> None:
    devices = _run(installed, "import jax; print(jax.local_devices())")
    assert "xpu(id=0)" in devices
    total = _run(installed, "import jax.numpy as jnp; print(float(jnp.arange(5.0).sum()))")
    assert total.strip() == "10.0"


def test_tensorflow_finds_the_device(installed: pathlib.Path) -> None:
    devices = _run(
        installed, "import tensorflow as tf; print(tf.config.list_physical_devices('XPU'))"
    )
    assert "/physical_device:XPU:0" in devices


def _test_versions(prefix: pathlib.Path) -> None:
    """Runs the tests of what depends on JAX's version, with the installed package."""
    # A copy, because the tree's onexpu/ would be found before the installed one.
    shutil.copytree(ROOT / "tests", prefix / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", prefix)
    answer = subprocess.run(
        [prefix / "bin" / "python", "-m", "pytest", "-q", *_VERSION_TESTS],
        cwd=prefix,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert re.search(r"^\d{2,} passed", answer.stdout, re.MULTILINE), answer.stdout


def test_newest_python_and_jax(wheel: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """In an empty environment, with nothing but what pip installs for the wheel and its extra."""
    prefix = tmp_path / "environment"
    subprocess.run([pythons.find()[-1].executable, "-m", "venv", prefix], check=True)
    newest = doctor.TESTED["jax"][-1]
    python = prefix / "bin" / "python"
    # Byte code of all of TensorFlow takes longer than what is imported of it.
    pip_install("--no-compile", f"{wheel}[tensorflow-cpu]", f"jax<={newest}", python=python)
    subprocess.run([python, "-m", "pip", "check"], check=True)
    pip_install("pytest", python=python)
    print_devices = "import tensorflow as tf; print(tf.config.list_physical_devices('XPU'))"
    assert "/physical_device:XPU:0" in _run(prefix, print_devices)
    _test_versions(prefix)
    shutil.rmtree(prefix)  # gigabytes


def test_oldest_python_and_jax(wheel: pathlib.Path, tmp_path: pathlib.Path) -> None:
    oldest = doctor.TESTED["jax"][0]
    left_out = re.compile(_OUR_PACKAGES.pattern + r"|^jax(lib)?(-|$)")
    prefix = _link_environment(tmp_path / "environment", wheel, left_out)
    packages = ["--no-deps", f"jax=={oldest}", f"jaxlib=={oldest}"]
    pip_install(*packages, python=prefix / "bin" / "python")
    _test_versions(prefix)
