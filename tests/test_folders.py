"""No folder has more source files than a reader can survey."""

from __future__ import annotations

import collections
import pathlib
import subprocess
from collections.abc import Iterable

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
_MAX_SOURCES = 40
_SUFFIXES = {".py", ".cc", ".cpp", ".h", ".hpp"}


def _tracked_files(root: pathlib.Path) -> list[pathlib.PurePath]:
    """Returns the files of a git repository that git tracks, relative to `root`."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached"], cwd=root, capture_output=True, text=True, check=True
    ).stdout
    return [pathlib.PurePath(path) for path in listed.split("\0") if path]


def _large_folders(files: Iterable[pathlib.PurePath], limit: int) -> dict[str, int]:
    """Returns the folders with more than `limit` sources of their own, and how many they have."""
    counts = collections.Counter(str(file.parent) for file in files if file.suffix in _SUFFIXES)
    return {folder: count for folder, count in sorted(counts.items()) if count > limit}


def test_no_folder_has_too_many_sources() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout, so which files belong to the project is unknown")
    large = _large_folders(_tracked_files(ROOT), _MAX_SOURCES)
    assert not large, f"more than {_MAX_SOURCES} sources: group them in sub-folders by subject"


def test_large_folders_are_found(tmp_path: pathlib.Path) -> None:
    for name in ("a.cc", "b.h", "c.py", "notes.md", "inner/a.cpp", "inner/b.hpp"):
        (tmp_path / "room" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "room" / name).touch()
    (tmp_path / "top.py").touch()
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "--all"], cwd=tmp_path, check=True)
    (tmp_path / "room" / "untracked.cc").touch()
    files = _tracked_files(tmp_path)
    assert _large_folders(files, 3) == {}
    assert _large_folders(files, 2) == {"room": 3}
    assert _large_folders(files, 1) == {"room": 3, "room/inner": 2}
    assert _large_folders(files, 0) == {".": 1, "room": 3, "room/inner": 2}
