"""Sizes around the constants that decide between schedules, compared with numpy."""

from __future__ import annotations

import os

import pytest

from tests.exhaustive import every
from tests.sizes.packing import check
from tests.sizes.thresholds import THRESHOLDS


@pytest.mark.parametrize("name", every(10, THRESHOLDS))
def test_thresholds(xpu, name) -> None:
    check(THRESHOLDS[name](os.cpu_count()), xpu)
