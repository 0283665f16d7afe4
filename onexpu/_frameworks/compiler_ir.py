"""The compiler's texts of a `tf.function` on XPU, for its `experimental_get_compiler_ir`.

The plugin calls this in the place of `tensorflow.python.eager.context.Context.get_compiler_ir`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context as eager

from onexpu._interop.tensorflow_ops import ops

_STAGES = frozenset(
    {
        "stablehlo",
        "stablehlo_serialized",
        "hlo",
        "hlo_no_metadata",
        "hlo_serialized",
        "optimized_hlo",
        "optimized_hlo_serialized",
        "optimized_hlo_proto_serialized",
        "optimized_hlo_dot",
    }
)


def get_compiler_ir(
    original: Callable[..., bytes],
    context: Any,
    device_name: str,
    platform_name: str | None,
    function_name: str,
    flat_args: Sequence[tf.Tensor | tf.TensorSpec],
    captured_inputs: Sequence[tf.Tensor],
    stage: str = "hlo",
) -> bytes:
    """Returns the text or the bytes of `stage`; asks `original` where the device is not XPU.

    Raises
    ------
    ValueError
        The function cannot be compiled, as TensorFlow's own raises it.
    """
    device = device_name if platform_name is None else f"/device:{platform_name}:0"
    if stage not in _STAGES or tf.DeviceSpec.from_string(device).device_type != "XPU":
        return original(
            context,
            device_name=device_name,
            platform_name=platform_name,
            function_name=function_name,
            flat_args=flat_args,
            captured_inputs=captured_inputs,
            stage=stage,
        )
    specs = [a for a in flat_args if isinstance(a, tf.TensorSpec)]
    tensors = [a for a in flat_args if not isinstance(a, tf.TensorSpec)]
    try:
        with eager.eager_mode(), tf.device(device):
            text = ops().onexpu_compiler_ir(
                inputs=[*tensors, *captured_inputs],
                function=function_name,
                stage=stage,
                argument_types=[spec.dtype for spec in specs],
                argument_shapes=[spec.shape for spec in specs],
            )
    except tf.errors.OpError as error:
        raise ValueError(f"Failed getting HLO text: '{error.message}'") from error
    result: bytes = text.numpy()
    return result
