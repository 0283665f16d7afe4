"""How kernels are called with the arrays of each framework."""
