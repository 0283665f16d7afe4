"""Makes the tree importable, and sees to it that there is a device to compare with the CPU."""

from __future__ import annotations

import pathlib
import sys

import pytest

# At the end: the tree's onexpu/ must not hide the installed package.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))


@pytest.fixture(scope="session", autouse=True)
def _device() -> None:
    """Nothing here means anything without the device: fail, rather than compare the CPU with
    itself.
    """
    import tensorflow as tf

    assert tf.config.list_physical_devices("XPU"), "TensorFlow lists no XPU device"
