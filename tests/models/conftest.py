"""Makes the tree's models and tools importable."""

from __future__ import annotations

import pathlib
import sys

import jax
import pytest

# At the end: the tree's onexpu/ must not hide the installed package.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))


@pytest.fixture(scope="session")
def xpu() -> jax.Device:
    """The device under test."""
    return jax.devices("xpu")[0]


@pytest.fixture(scope="session")
def cpu() -> jax.Device:
    """JAX's own CPU backend, which every result is compared with."""
    return jax.devices("cpu")[0]
