from __future__ import annotations

import pathlib
import sys

import pytest
import tensorflow as tf

sys.path.append(str(pathlib.Path(__file__).parent))


@pytest.fixture(scope="session", autouse=True)
def _device() -> None:
    """Nothing here means anything without the device: fail, rather than compare the CPU with
    itself.
    """
    assert tf.config.list_physical_devices("XPU"), "TensorFlow lists no XPU device"


@pytest.fixture
def autoclustering():
    """XLA clusters graphs by itself during the test."""
    tf.config.optimizer.set_jit("autoclustering")
    yield
    tf.config.optimizer.set_jit(False)
