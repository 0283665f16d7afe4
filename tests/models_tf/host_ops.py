"""Why an op of these models may be on the host: what `onexpu.placement_report` gives as reasons.

Any other is a failure.
"""

from __future__ import annotations

REASONS = {
    "shapes, indices and counters are computed on the host": (
        "TensorFlow has integers of 32 bits in host memory on every accelerator, with the arithmetic on them and the "
        "conditions of loops: on the device each iteration would wait for its counter."
    ),
    "what it works on is on the host": (
        "The op has a kernel on XPU; eager TensorFlow runs it where its small integers are."
    ),
}
