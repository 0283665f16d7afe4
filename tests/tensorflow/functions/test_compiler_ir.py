"""`tf.function`'s `experimental_get_compiler_ir` on XPU: every stage, of functions of all kinds."""

from __future__ import annotations

import re

import numpy as np
import pytest
import tensorflow as tf

X = np.arange(12, dtype=np.float32).reshape(3, 4)

# What a stage has to show of `tf.matmul(x, y) + 1.0`.
STAGES = {
    "hlo": b"ENTRY",
    "hlo_no_metadata": b"ENTRY",
    "hlo_serialized": b"dot",
    "stablehlo": b"stablehlo.dot",
    "stablehlo_serialized": b"ML\xefR",  # MLIR's bytecode begins so
    "optimized_hlo": b"ENTRY",
    "optimized_hlo_serialized": b"dot",
    "optimized_hlo_proto_serialized": b"dot",
    "optimized_hlo_dot": b"digraph",
}


@pytest.fixture(autouse=True)
def _on_the_device():
    with tf.device("/XPU:0"):
        yield


@tf.function(jit_compile=True, autograph=False)
def product(x, y):
    return tf.matmul(x, y) + 1.0


def as_bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def entry_of(module: str) -> str:
    return module[module.index("{", module.index("\nENTRY")) :]


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_of_tensors_and_of_specs(stage) -> None:
    of_tensors = product.experimental_get_compiler_ir(tf.constant(X), tf.constant(X.T))
    of_specs = product.experimental_get_compiler_ir(tf.TensorSpec([3, 4]), tf.TensorSpec([4, 3]))
    for generate in (of_tensors, of_specs):
        text = generate(stage=stage)
        assert isinstance(text, bytes) == stage.endswith("serialized")
        assert STAGES[stage] in as_bytes(text)


def test_optimized_hlo_is_that_of_xpu() -> None:
    """The product and the sum are one kernel."""
    generate = product.experimental_get_compiler_ir(tf.constant(X), tf.constant(X.T))
    assert {" dot(", " add("} <= set(re.findall(r" \w+\(", entry_of(generate(stage="hlo"))))
    assert set(re.findall(r" \w+\(", entry_of(generate(stage="optimized_hlo")))) == {
        " parameter(",
        " fusion(",
    }


def test_metadata_can_be_left_out() -> None:
    generate = product.experimental_get_compiler_ir(tf.constant(X), tf.constant(X.T))
    assert "metadata=" in generate(stage="hlo")
    assert "metadata=" not in generate(stage="hlo_no_metadata")


def test_captured_variables_and_constants() -> None:
    v, c = tf.Variable(X), tf.constant(X.T)
    function = tf.function(
        lambda x: tf.matmul(v, c) * x + v[0, 0], autograph=False, jit_compile=True
    )
    for argument in (tf.constant(2.0), tf.TensorSpec([])):
        text = function.experimental_get_compiler_ir(argument)(stage="hlo")
        assert "f32[3,4]" in text and "f32[4,3]" in text and "f32[3,3]" in text


def test_variables_that_are_written() -> None:
    v = tf.Variable(X)
    function = tf.function(lambda x: v.assign_add(x), autograph=False, jit_compile=True)
    for stage in ("hlo", "optimized_hlo"):
        assert "f32[3,4]" in function.experimental_get_compiler_ir(tf.constant(X))(stage=stage)
    np.testing.assert_array_equal(v, X)  # nothing ran


def test_operands_that_programs_are_made_for() -> None:
    function = tf.function(lambda x, shape: tf.reshape(x, shape), autograph=False, jit_compile=True)
    text = function.experimental_get_compiler_ir(tf.constant(X), tf.constant([6, 2]))(stage="hlo")
    assert "f32[6,2]" in text


def test_functions_without_operands_and_inside_of_graphs() -> None:
    function = tf.function(lambda: tf.ones([5, 7]) * 3.0, autograph=False, jit_compile=True)
    assert "f32[5,7]" in function.experimental_get_compiler_ir()(stage="hlo")
    with tf.Graph().as_default():
        generate = product.experimental_get_compiler_ir(
            tf.TensorSpec([3, 4]), tf.TensorSpec([4, 3])
        )
        assert "f32[3,3]" in generate(stage="hlo", platform_name="XPU")


def test_other_devices_are_asked_as_before() -> None:
    generate = product.experimental_get_compiler_ir(tf.TensorSpec([3, 4]), tf.TensorSpec([4, 3]))
    assert "f32[3,3]" in generate(stage="hlo", platform_name="CPU")
    assert "f32[3,3]" in generate(stage="optimized_hlo", device_name="/device:CPU:0")


def test_errors_are_those_of_tensorflow() -> None:
    generate = product.experimental_get_compiler_ir(tf.constant(X), tf.constant(X.T))
    with pytest.raises(ValueError, match="Invalid stage selected: 'llvm'"):
        generate(stage="llvm")
    no_translation = tf.function(
        lambda x: tf.strings.as_string(x), autograph=False, jit_compile=True
    )
    with pytest.raises(ValueError, match="Failed getting HLO text.*AsString"):
        no_translation.experimental_get_compiler_ir(tf.constant(X))(stage="hlo")
