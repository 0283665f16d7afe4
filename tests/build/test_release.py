"""The release workflow and the Dockerfile name versions that the package supports."""

from __future__ import annotations

import pathlib
import re

from onexpu._diagnostics import doctor
from tools import pythons

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_workflow_tests_supported_pairs() -> None:
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    pairs = re.findall(r'\{python: "([\d.]+)", jax: "([\d.]+)"\}', workflow)
    assert {python for python, _ in pairs} == set(pythons.supported())
    versions = [jax for _, jax in pairs]
    assert set(versions) <= set(doctor.TESTED["jax"])
    assert {doctor.TESTED["jax"][0], doctor.TESTED["jax"][-1]} <= set(versions)
    # It never starts by itself.
    assert re.findall(r"^on:\n  (\w+):", workflow, re.MULTILINE) == ["workflow_dispatch"]


def test_the_image_has_a_supported_python() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    [version] = re.findall(r"^FROM python:([\d.]+)-slim", dockerfile, re.MULTILINE)
    assert version in pythons.supported()
