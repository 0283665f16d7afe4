"""SYCL source of kernels: its declarations, its checks, and what is compiled from it."""
