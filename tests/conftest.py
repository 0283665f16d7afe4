"""What holds for every test: quiet frameworks, caches of the session's own, validated SPIR-V, and JAX's devices."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import jax

# Before any import of JAX or TensorFlow, and inherited by every child process of the tests.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# Every module that the tests make goes through spirv-val.
os.environ["ONEXPU_VERIFY_SPIRV"] = "1"
# A cache of our own: a test that needs a warm one warms it, and nothing from the user's cache hides a compile error.
os.environ.setdefault("ONEXPU_CACHE_DIR", tempfile.mkdtemp(prefix="onexpu-test-cache-"))


@pytest.fixture(scope="session")
def xpu() -> jax.Device:
    """The device under test."""
    import jax  # not before a test asks: some rooms' tests have no JAX in the process

    return jax.devices("xpu")[0]


@pytest.fixture(scope="session")
def cpu() -> jax.Device:
    """JAX's own CPU backend, which every result is compared with."""
    import jax

    return jax.devices("cpu")[0]
