"""`pip wheel .`: it carries everything, finds its libraries by itself, and works."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import venv
import zipfile

import pytest

from tools import environment, layout

ROOT = pathlib.Path(__file__).resolve().parents[2]

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
    """An environment with the wheel, and links to all that this environment has besides us."""
    prefix = tmp_path_factory.mktemp("environment")
    venv.create(prefix, symlinks=True, with_pip=False)
    ours = environment.site_packages(pathlib.Path(sys.executable))
    theirs = environment.site_packages(prefix / "bin" / "python")
    for entry in ours.iterdir():
        if not _OUR_PACKAGES.match(entry.name):
            (theirs / entry.name).symlink_to(entry)
    for entry in ours.parent.parent.iterdir():
        if not (prefix / "lib" / entry.name).exists():
            (prefix / "lib" / entry.name).symlink_to(entry)
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


def test_name_says_platform_and_python(wheel: pathlib.Path) -> None:
    assert re.fullmatch(r"onexpu-[\d.]+-cp311-cp311-linux_x86_64\.whl", wheel.name)


def test_carries_everything(wheel: pathlib.Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {artifact.destination for artifact in layout.ARTIFACTS} <= names
    for group in layout.ARTIFACT_GROUPS:
        assert any(name.startswith(f"{group.directory}/") for name in names)
    for directory in layout.SOURCE_DIRECTORIES:
        for file in layout.source_files(ROOT, directory):
            assert f"{directory.destination}/{file}" in names
    assert any(name.startswith(f"{layout.LIBRARY_DIR}/libabsl_") for name in names)
    assert not [name for name in names if name.startswith(("tests/", "tools/"))]


def test_metadata(wheel: pathlib.Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    text = archive.read(metadata).decode()
    required = re.findall(r"^Requires-Dist: (\S+)", text, re.MULTILINE)
    pins = {line for line in environment.REQUIREMENTS.read_text().splitlines() if "==" in line}
    assert {requirement for requirement in required if "==" in requirement} <= pins
    # Either of two packages brings it, and pip cannot say "either".
    assert not [requirement for requirement in required if requirement.startswith("tensorflow")]
    entry_points = metadata.replace("METADATA", "entry_points.txt")
    assert "onexpu = jax_plugins.onexpu" in archive.read(entry_points).decode()


@pytest.mark.parametrize("artifact", layout.ARTIFACTS, ids=lambda artifact: artifact.target)
def test_search_paths_are_relative(installed: pathlib.Path, artifact: layout.Artifact) -> None:
    library = environment.site_packages(installed / "bin" / "python") / artifact.destination
    dynamic = subprocess.run(
        ["llvm-readelf-22", "--dynamic", library], capture_output=True, text=True, check=True
    ).stdout
    # DT_RUNPATH would not reach the libraries of the libraries.
    assert "RUNPATH" not in dynamic
    (paths,) = re.findall(r"\(RPATH\).*\[(.*)\]", dynamic)
    assert all(path.startswith("$ORIGIN") for path in paths.split(":")), paths


@pytest.mark.parametrize("artifact", layout.ARTIFACTS, ids=lambda artifact: artifact.target)
def test_every_library_is_found(installed: pathlib.Path, artifact: layout.Artifact) -> None:
    library = environment.site_packages(installed / "bin" / "python") / artifact.destination
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
