"""onexpu: one PJRT core for Intel GPUs, serving JAX and TensorFlow.

JAX and TensorFlow find the device by themselves; nothing has to be imported for that. This package
is for what neither of them offers: kernels of one's own, buffers that go from one framework to the other, and reports.
"""

from __future__ import annotations

import pkgutil

# A Python that starts in the root of the source tree finds these sources there; what is built is installed elsewhere.
__path__ = pkgutil.extend_path(__path__, __name__)

from onexpu import kernels
from onexpu._doctor import doctor
from onexpu._errors import SyclCompileError
from onexpu._interop import buffer_address, to_jax, to_tensor
from onexpu._kernel import SyclKernel, sycl_kernel
from onexpu._library import library_directory
from onexpu._placement import placement_report
from onexpu._shapes import Operand, array, like
from onexpu._statistics import memory_info, reset_statistics, transfer_statistics

__all__ = [
    "Operand",
    "SyclCompileError",
    "SyclKernel",
    "array",
    "buffer_address",
    "doctor",
    "kernels",
    "library_directory",
    "like",
    "memory_info",
    "placement_report",
    "reset_statistics",
    "sycl_kernel",
    "to_jax",
    "to_tensor",
    "transfer_statistics",
]

__version__ = "0.1.0"
