from __future__ import annotations

import jax
import pytest


@pytest.fixture(autouse=True)
def both_widths():
    """Both widths are tested; what is 32 bits wide says so. Other rooms' tests keep JAX's
    default.
    """
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)
