"""A kernel from source with an attribute, for tests that run it beside other work."""

from __future__ import annotations

import onexpu

scaled = onexpu.sycl_kernel(
    source="""
    ONEXPU_KERNEL void scaled(const float* x, float* y, float rate) {
      const size_t i = onexpu::global_id();
      y[i] = rate * x[i];
    }""",
    inputs=["x"],
    outputs={"y": onexpu.like("x")},
    attributes={"rate": float},
    range=lambda x: x.size,
)
