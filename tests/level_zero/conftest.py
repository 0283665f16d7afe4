"""Gives tests the lab, or says why there is none."""

from __future__ import annotations

import pytest

from tests.level_zero.lab import Lab
from tests.level_zero.lab_setup import Unavailable


@pytest.fixture(scope="session")
def lab() -> Lab:
    """The lab."""
    try:
        return Lab()
    except Unavailable as error:
        pytest.skip(str(error))
