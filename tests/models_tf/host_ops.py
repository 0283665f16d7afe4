"""Why an op of these models may be on the host: what `onexpu.placement_report` gives as reasons.

Any other is a failure.
"""

from __future__ import annotations

REASONS = {
    "shapes, indices and counters are computed on the host": (
        "TensorFlow has integers of 32 bits in host memory on every accelerator, with the "
        "arithmetic on them and the conditions of loops: on the device each iteration would wait "
        "for its counter."
    ),
}

# Of inferences that are not compiled: TensorFlow's CUDA build has no GPU kernel for them, either.
ON_NO_ACCELERATOR = {"RaggedGather", "RaggedRange", "RaggedTensorToTensor"}
