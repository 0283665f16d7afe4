"""Kernels that people write by hand: in SYCL, with gradients, for JAX and TensorFlow.

They are examples of `onexpu.sycl_kernel`, and faster than what a compiler makes of the same formulas.
`onexpu.kernels.reference` has these formulas in plain jnp.
"""

from __future__ import annotations

from onexpu.kernels._layer_norm import layer_norm
from onexpu.kernels._rms_norm import rms_norm
from onexpu.kernels._rotary_embedding import rotary_embedding
from onexpu.kernels._swiglu import swiglu

__all__ = ["layer_norm", "rms_norm", "rotary_embedding", "swiglu"]
