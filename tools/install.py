"""Lays the built product into an environment's site-packages, for development.

Built files are copied, because their search paths start at $ORIGIN. Sources are symbolic links,
one per file, so that an edit shows at once. Every file is replaced atomically: a process that
starts meanwhile sees the old file or the new one.
"""

from __future__ import annotations

import filecmp
import os
import pathlib
import shutil
import tempfile
from collections.abc import Collection, Iterable

from tools import layout, report, shared_libraries, version
from tools.environment import ROOT


def _replace(
    destination: pathlib.Path,
    *,
    copy_of: pathlib.Path | None = None,
    link_to: pathlib.Path | None = None,
    text: str | None = None,
) -> bool:
    """Makes `destination` a copy, a link or a text, by a rename; tells whether it changed."""
    if copy_of and destination.is_file() and not destination.is_symlink():
        if filecmp.cmp(copy_of, destination, shallow=False):
            return False
    if link_to and destination.is_symlink() and destination.readlink() == link_to:
        return False
    if text is not None and destination.is_file() and destination.read_text() == text:
        return False
    destination.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".onexpu-", dir=destination.parent) as directory:
        temporary = pathlib.Path(directory) / destination.name
        if copy_of:
            shutil.copyfile(copy_of, temporary)
            temporary.chmod(0o755 if os.access(copy_of, os.X_OK) else 0o644)
        elif link_to:
            temporary.symlink_to(link_to)
        else:
            temporary.write_text(text or "")
        temporary.replace(destination)
    return True


class DevelopmentInstall:
    """An install of this tree into one environment.

    Parameters
    ----------
    site_packages
        The environment's directory of packages.
    bazel_bin
        Where the built files lie.
    strict
        Whether a file that is not built is an error; otherwise it is named and skipped.
    """

    def __init__(
        self, site_packages: pathlib.Path, bazel_bin: pathlib.Path, *, strict: bool
    ) -> None:
        self._site_packages = site_packages
        self._bazel_bin = bazel_bin
        self._strict = strict

    def lay(self, parts: Collection[str]) -> None:
        """Lays `parts` (see layout.PARTS), and describes the install for pip."""
        changed = self._lay_artifacts(parts)
        if "python" in parts:
            changed += self._link_sources()
        changed += self._lay_system_libraries()
        if (self._site_packages / "jax_plugins" / "onexpu" / "__init__.py").exists():
            # Not earlier: JAX warns of an advertised plugin that it cannot import.
            self._write_metadata()
        report.step(f"installed into {self._site_packages}: {changed} files changed")

    def _lay_artifacts(self, parts: Collection[str]) -> int:
        changed = 0
        for artifact in layout.ARTIFACTS:
            if artifact.part not in parts:
                continue
            output = artifact.output(self._bazel_bin)
            if not output.exists():
                self._missing(artifact.target)
                continue
            changed += _replace(self._site_packages / artifact.destination, copy_of=output)
        return changed

    def _missing(self, target: str) -> None:
        message = f"{target} is not built (looked below {self._bazel_bin})"
        if self._strict:
            raise report.SetupError(message)
        report.step(f"skipped: {message}")

    def _link_sources(self) -> int:
        changed = 0
        for directory in layout.SOURCE_DIRECTORIES:
            source = ROOT / directory.source
            destination = self._site_packages / directory.destination
            for file in layout.source_files(ROOT, directory):
                changed += _replace(destination / file, link_to=source / file)
            changed += _remove_dead_links(destination)
        return changed

    def _lay_system_libraries(self) -> int:
        library_dir = self._site_packages / layout.LIBRARY_DIR
        binaries = [
            self._site_packages / artifact.destination
            for artifact in layout.ARTIFACTS
            if (self._site_packages / artifact.destination).exists()
        ]
        provided = shared_libraries.wheel_directories(self._site_packages)
        changed = 0
        for library in shared_libraries.system_closure(binaries, provided):
            changed += _replace(library_dir / library.name, copy_of=library)
        return changed

    def _write_metadata(self) -> None:
        """Writes the .dist-info that lets pip list and remove the install, and JAX discover it."""
        project = version.project()
        info = self._site_packages / f"{project['name']}-{project['version']}.dist-info"
        for other in self._site_packages.glob(f"{project['name']}-*.dist-info"):
            if other != info:
                shutil.rmtree(other)
        _replace(
            info / "METADATA",
            text=f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
            f"Summary: {project['description']}\n",
        )
        _replace(info / "INSTALLER", text="onexpu-develop\n")
        _replace(info / "entry_points.txt", text=_entry_points(project["entry-points"]))
        # Files and links, never what lies behind a link: removal must not reach the sources.
        record = sorted(
            str(path.relative_to(self._site_packages))
            for path in self._installed_files(info)
            if path.name != "RECORD"
        )
        record.append(f"{info.name}/RECORD")
        _replace(info / "RECORD", text="".join(f"{path},,\n" for path in dict.fromkeys(record)))

    def _installed_files(self, info: pathlib.Path) -> Iterable[pathlib.Path]:
        for artifact in layout.ARTIFACTS:
            if (self._site_packages / artifact.destination).exists():
                yield self._site_packages / artifact.destination
        roots = [
            self._site_packages / directory.destination for directory in layout.SOURCE_DIRECTORIES
        ]
        for root in (*roots, info):
            for path in root.rglob("*"):
                if path.is_symlink() or path.is_file():
                    if "__pycache__" not in path.parts and not path.name.startswith(".onexpu-"):
                        yield path


def _entry_points(groups: dict[str, dict[str, str]]) -> str:
    lines = []
    for group, entries in groups.items():
        lines.append(f"[{group}]")
        lines += [f"{name} = {value}" for name, value in entries.items()]
    return "\n".join(lines) + "\n"


def _remove_dead_links(directory: pathlib.Path) -> int:
    """Removes links to sources that are gone; returns how many."""
    dead = [path for path in directory.rglob("*") if path.is_symlink() and not path.exists()]
    for path in dead:
        path.unlink()
    return len(dead)
