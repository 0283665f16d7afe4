"""SPIR-V modules: read, checked and rewritten. Knows nothing of kernels' sources or frameworks."""
