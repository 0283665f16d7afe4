"""Kernels that are called from Python: from SYCL source, from SPIR-V and from libraries."""
