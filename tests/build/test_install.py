"""The development install, with small stand-ins for what Bazel builds."""

from __future__ import annotations

import pathlib
import subprocess

import pytest

from tools import install, layout, report, shared_libraries

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(name="bazel_bin")
def _bazel_bin(tmp_path: pathlib.Path) -> pathlib.Path:
    """A directory like bazel-bin, whose every library uses Debian's Abseil."""
    source = tmp_path / "library.cc"
    source.write_text(
        '#include "absl/strings/numbers.h"\n'
        'extern "C" bool parse(const char* text, int* value) {'
        " return absl::SimpleAtoi(text, value); }\n"
    )
    library = tmp_path / "library.so"
    subprocess.run(
        ["clang++-22", "-shared", "-fPIC", source, "-o", library, "-labsl_strings"], check=True
    )
    bazel_bin = tmp_path / "bazel-bin"
    outputs = [artifact.output(bazel_bin) for artifact in layout.ARTIFACTS]
    for output in outputs:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_bytes(library.read_bytes())
        output.chmod(0o555)  # as Bazel leaves its outputs
    return bazel_bin


@pytest.fixture(name="site_packages")
def _site_packages(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "lib" / "python3.11" / "site-packages"
    path.mkdir(parents=True)
    return path


def _lay(site_packages: pathlib.Path, bazel_bin: pathlib.Path, strict: bool = True) -> None:
    install.DevelopmentInstall(site_packages, bazel_bin, strict=strict).lay(layout.PARTS)


def test_lays_every_artifact_as_a_copy(
    site_packages: pathlib.Path, bazel_bin: pathlib.Path
) -> None:
    _lay(site_packages, bazel_bin)
    for artifact in layout.ARTIFACTS:
        destination = site_packages / artifact.destination
        assert destination.is_file() and not destination.is_symlink()
        assert destination.read_bytes() == artifact.output(bazel_bin).read_bytes()


def test_carries_the_system_libraries_that_wheels_do_not_bring(
    site_packages: pathlib.Path, bazel_bin: pathlib.Path
) -> None:
    _lay(site_packages, bazel_bin)
    carried = {path.name for path in (site_packages / layout.LIBRARY_DIR).glob("libabsl_*")}
    assert "libabsl_strings.so.20220623" in carried
    # Needed by libabsl_strings, and not by our library.
    assert "libabsl_raw_logging_internal.so.20220623" in carried
    assert not list((site_packages / layout.LIBRARY_DIR).glob("libstdc++*"))


def test_second_install_changes_nothing(
    site_packages: pathlib.Path, bazel_bin: pathlib.Path
) -> None:
    def state() -> dict[str, tuple[int, int]]:
        return {
            str(path): (path.lstat().st_ino, path.lstat().st_mtime_ns)
            for path in site_packages.rglob("*")
            if not path.is_dir()
        }

    _lay(site_packages, bazel_bin)
    before = state()
    _lay(site_packages, bazel_bin)
    assert state() == before


def test_python_sources_are_links_and_dead_ones_go(
    site_packages: pathlib.Path, bazel_bin: pathlib.Path
) -> None:
    dead = site_packages / "onexpu" / "gone.py"
    dead.parent.mkdir()
    dead.symlink_to(ROOT / "onexpu" / "gone.py")
    _lay(site_packages, bazel_bin)
    assert not dead.is_symlink()
    for directory in layout.SOURCE_DIRECTORIES:
        for file in layout.source_files(ROOT, directory):
            link = site_packages / directory.destination / file
            assert link.readlink() == ROOT / directory.source / file


def test_pip_could_remove_it_without_touching_the_sources(
    site_packages: pathlib.Path, bazel_bin: pathlib.Path
) -> None:
    plugin = site_packages / "jax_plugins" / "onexpu" / "__init__.py"
    plugin.parent.mkdir(parents=True)
    plugin.touch()
    _lay(site_packages, bazel_bin)
    (info,) = site_packages.glob("onexpu-*.dist-info")
    for line in (info / "RECORD").read_text().splitlines():
        recorded = site_packages / line.split(",")[0]
        assert recorded.is_symlink() or recorded.is_file()
        # Every directory on the way is a real one, so removing the entry removes no source.
        assert recorded.parent.resolve() == recorded.parent
    assert "onexpu = jax_plugins.onexpu" in (info / "entry_points.txt").read_text()


def test_missing_artifact_is_an_error_only_when_strict(
    site_packages: pathlib.Path, bazel_bin: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout.ARTIFACTS[0].output(bazel_bin).unlink()
    with pytest.raises(report.SetupError, match="is not built"):
        _lay(site_packages, bazel_bin)
    _lay(site_packages, bazel_bin, strict=False)
    assert f"skipped: {layout.ARTIFACTS[0].target}" in capsys.readouterr().out


def test_library_that_is_nowhere_is_named(tmp_path: pathlib.Path) -> None:
    other = tmp_path / "libother.so"
    subprocess.run(
        ["clang-22", "-shared", "-x", "c", "/dev/null", "-o", other, "-Wl,-soname,libother.so"],
        check=True,
    )
    user = tmp_path / "libuser.so"
    subprocess.run(
        [
            "clang-22",
            "-shared",
            "-x",
            "c",
            "/dev/null",
            "-x",
            "none",
            "-Wl,--no-as-needed",
            other,
            "-o",
            user,
        ],
        check=True,
    )
    with pytest.raises(FileNotFoundError, match="libuser.so needs libother.so"):
        shared_libraries.system_closure([user], [])
