"""Without the GPU's OpenCL driver, whose compiler oneMKL uses for FFTs."""

from __future__ import annotations

import pytest

from tests.exhaustive import every
from tests.level_zero.lab import Lab

_FFT = """
import jax, jax.numpy as jnp
jax.jit(jnp.fft.fft)(jnp.ones((4, 64))).block_until_ready()
print("launched")
"""


@pytest.mark.parametrize("device", every(2, ("dg2", "bmg")))
def test_fft(lab: Lab, device: str) -> None:
    assert "launched" in lab.run(device, _FFT).check().stdout
    run = lab.run(device, _FFT, env={"OCL_ICD_VENDORS": "/nowhere"})
    assert run.returncode == 1
    assert "FAILED_PRECONDITION: onexpu: oneMKL found no OpenCL driver" in run.stderr
    assert "Install intel-opencl-icd" in run.stderr
