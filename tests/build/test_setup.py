"""Set-up: nothing to do means done in seconds, and what is missing is named."""

from __future__ import annotations

import os
import pathlib
import subprocess
import time

import pytest

from tools import report, stamps, system_packages

ROOT = pathlib.Path(__file__).resolve().parents[2]

# The promise of the README for a set-up that has nothing to do.
_SECONDS = 10


def test_second_setup_is_quick() -> None:
    subprocess.run(["make", "setup"], cwd=ROOT, check=True)
    start = time.monotonic()
    second = subprocess.run(["make", "setup"], cwd=ROOT, check=True, capture_output=True, text=True)
    assert time.monotonic() - start <= _SECONDS, second.stdout
    assert ": 0 files changed" in second.stdout


def test_missing_system_packages_are_named_to_ordinary_users(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(
        report.SetupError, match="sudo apt-get install .* no-such-package-of-debian"
    ):
        system_packages.ensure_packages(("no-such-package-of-debian",))


def test_stamp_matches_the_same_inputs_only(tmp_path: pathlib.Path) -> None:
    pins = tmp_path / "requirements.txt"
    pins.write_text("a==1\n")
    stamp = stamps.Stamp(tmp_path / "stamps" / "requirements")
    assert not stamp.matches(stamps.fingerprint(pins))
    stamp.write(stamps.fingerprint(pins))
    assert stamp.matches(stamps.fingerprint(pins))
    pins.write_text("a==2\n")
    assert not stamp.matches(stamps.fingerprint(pins))
