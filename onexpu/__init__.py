"""onexpu: one PJRT core for Intel GPUs, serving JAX and TensorFlow.

JAX and TensorFlow find the device by themselves; nothing has to be imported for that. This package
is for what neither of them offers: kernels of one's own, buffers that go from one framework to the
other, and reports.
"""

from __future__ import annotations

import pkgutil

# A Python that starts in the root of the source tree finds these sources there; what is built is
# installed elsewhere.
__path__ = pkgutil.extend_path(__path__, __name__)

from onexpu import kernels
from onexpu._diagnostics.doctor import doctor
from onexpu._diagnostics.placement import placement_report
from onexpu._diagnostics.statistics import (
    memory_info,
    reset_memory_peaks,
    reset_statistics,
    transfer_statistics,
)
from onexpu._errors import SyclCompileError
from onexpu._interop.dlpack import DLPackArray, from_dlpack, to_dlpack
from onexpu._interop.dpctl import dpctl_queue, to_dpctl, to_dpnp
from onexpu._interop.handover import buffer_address, to_jax, to_tensor
from onexpu._kernel.kernel import SyclKernel, SyclModule, sycl_kernel, sycl_module
from onexpu._kernel.library import KernelLibrary, load_library
from onexpu._kernel.lowered import LoweredKernel, lowered
from onexpu._kernel.spirv_kernel import spirv_kernel
from onexpu._launch.shapes import Operand, array, like
from onexpu._library import cmake_directory, include_directory, library_directory
from onexpu._source.embed import embed_kernels

__all__ = [
    "DLPackArray",
    "KernelLibrary",
    "LoweredKernel",
    "Operand",
    "SyclCompileError",
    "SyclKernel",
    "SyclModule",
    "array",
    "buffer_address",
    "cmake_directory",
    "doctor",
    "dpctl_queue",
    "embed_kernels",
    "from_dlpack",
    "include_directory",
    "kernels",
    "library_directory",
    "like",
    "load_library",
    "lowered",
    "memory_info",
    "placement_report",
    "reset_memory_peaks",
    "reset_statistics",
    "spirv_kernel",
    "sycl_kernel",
    "sycl_module",
    "to_dlpack",
    "to_dpctl",
    "to_dpnp",
    "to_jax",
    "to_tensor",
    "transfer_statistics",
]

__version__ = "0.1.0"
