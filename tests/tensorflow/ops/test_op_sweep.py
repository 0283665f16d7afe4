"""Every op of the table on XPU against TensorFlow's CPU: alone, in a graph, and in a compiled
program.
"""

from __future__ import annotations

import compare
import pytest
import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops

from tests.exhaustive import every
from tests.tensorflow.ops import op_table


@pytest.mark.parametrize("name", sorted(op_table.OPS))
def test_eager(name: str) -> None:
    compare.check(op_table.OPS[name], "eager", op_table.ULPS.get(name, compare.ULPS))


# Graphs run the kernels of eager ops, and clusters are programs.
@pytest.mark.parametrize("name", every(3, sorted(set(op_table.OPS) - op_table.EAGER_ONLY)))
def test_graph(name: str) -> None:
    compare.check(op_table.OPS[name], "graph", op_table.ULPS.get(name, compare.ULPS))


@pytest.mark.parametrize("name", sorted(set(op_table.OPS) - op_table.NOT_IN_PROGRAMS))
def test_compiled(name: str) -> None:
    compare.check(op_table.OPS[name], "jit", op_table.ULPS.get(name, compare.ULPS))


@pytest.mark.parametrize("name", every(3, sorted(set(op_table.OPS) - op_table.EAGER_ONLY)))
def test_clustered(name: str, autoclustering) -> None:
    compare.check(op_table.OPS[name], "graph", op_table.ULPS.get(name, compare.ULPS))


def test_what_is_missing_is_a_clear_error() -> None:
    @tf.function(jit_compile=True)
    def call(x: tf.Tensor) -> tf.Tensor:
        return gen_xla_ops.xla_custom_call_v2(
            [x],
            call_target_name="no_such_target",
            backend_config="",
            has_side_effect=False,
            result_dtypes=[tf.float32],
            result_shapes=[tf.TensorShape([4])],
        )

    words = (
        r'custom call of target "no_such_target".*only typed FFI.*f32\[4\] '
        r"custom-call.*XlaCustomCallV2"
    )
    with tf.device("/XPU:0"), pytest.raises(tf.errors.UnimplementedError, match=words):
        call(tf.ones([4]))
