"""Calls of kernels, worked out: what kernels and frameworks share of shapes, sizes and scalars."""
