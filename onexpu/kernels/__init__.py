"""Fused SYCL kernels for transformers, with gradients, for JAX and TensorFlow.

They use `onexpu.sycl_kernel`, as custom kernels do. `onexpu.kernels.reference` has the same
formulas in plain jnp.
"""

from __future__ import annotations

from onexpu.kernels._adamw import adamw, adamw_tree
from onexpu.kernels._attention import attention
from onexpu.kernels._layer_norm import layer_norm
from onexpu.kernels._paged_kv_update import paged_kv_update
from onexpu.kernels._quantization import quantize_int4, quantize_int8
from onexpu.kernels._quantized_matmul import int4_matmul, int8_matmul
from onexpu.kernels._rms_norm import rms_norm
from onexpu.kernels._rotary_embedding import rotary_embedding
from onexpu.kernels._swiglu import swiglu
from onexpu.kernels._top_p import top_p_sample

__all__ = [
    "adamw",
    "adamw_tree",
    "attention",
    "int4_matmul",
    "int8_matmul",
    "layer_norm",
    "paged_kv_update",
    "quantize_int4",
    "quantize_int8",
    "rms_norm",
    "rotary_embedding",
    "swiglu",
    "top_p_sample",
]
