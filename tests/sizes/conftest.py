from __future__ import annotations

import jax
import pytest


@pytest.fixture(autouse=True)
def both_widths():
    """Both widths are swept."""
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)
