"""What `onexpu.doctor` says about versions: tested, untested, or not that of a library."""

from __future__ import annotations

import importlib.metadata

import pytest

import onexpu


def _findings(monkeypatch, wheel: str, version: str) -> list:
    installed = importlib.metadata.version
    monkeypatch.setattr(
        importlib.metadata, "version", lambda name: version if name == wheel else installed(name)
    )
    return [f for f in onexpu.doctor().findings if f.section == "Versions" and f.name == wheel]


@pytest.mark.parametrize("version", ["0.8.3", "0.10.2", "0.12.0.1"])
def test_tested_versions_of_jax(monkeypatch, version: str) -> None:
    (finding,) = _findings(monkeypatch, "jax", version)
    assert (finding.value, finding.advice) == (version, "")


@pytest.mark.parametrize("wheel", ["jax", "jaxlib"])
def test_other_versions_of_jax_are_untested(monkeypatch, wheel: str) -> None:
    (finding,) = _findings(monkeypatch, wheel, "0.13.0")
    assert finding.value.startswith("0.13.0 (untested; tested: 0.8.3, ")
    assert not finding.advice  # it may work


def test_other_versions_of_python_are_untested(monkeypatch) -> None:
    monkeypatch.setattr("platform.python_version", lambda: "3.14.0")
    (finding,) = [f for f in onexpu.doctor().findings if f.name == "Python"]
    assert finding.value == "3.14.0 (untested; tested: 3.11, 3.12, 3.13)"
    assert not finding.advice


def test_oneapi_wheels_are_bound_to_each_other(monkeypatch) -> None:
    (finding,) = _findings(monkeypatch, "onednn", "2026.1.0")
    assert finding.advice == "onexpu is built for 2026.0.2: pip install onednn==2026.0.2"
