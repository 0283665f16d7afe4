"""What the tests of examples share."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(scope="session")
def matrix() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((31, 17)).astype(np.float32)
