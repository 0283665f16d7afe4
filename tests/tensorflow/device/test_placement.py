"""The placement report: ops by the route that they really took."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import process
import pytest
import tensorflow as tf

import onexpu

X = np.random.RandomState(2).rand(4, 4).astype(np.float32)


@pytest.fixture(autouse=True)
def _from_zero() -> None:
    onexpu.reset_statistics()


def test_on_demand_ops_are_counted() -> None:
    with tf.device("/XPU:0"):
        x = tf.constant(X)
        for _ in range(3):
            x = tf.matmul(x, x)
        tf.tanh(x)
    assert onexpu.placement_report().counts["on_demand"] == {"MatMul": 3, "Tanh": 1}


def test_sycl_kernels_are_counted() -> None:
    with tf.device("/XPU:0"):
        tf.where(tf.constant(X) > 0.5)
    assert onexpu.placement_report().counts["sycl_kernel"] == {"Where": 1}


def test_host_ops_of_a_graph_are_counted_by_run() -> None:
    @tf.function
    def function(x: tf.Tensor) -> tf.Tensor:
        return tf.cast(tf.raw_ops.NthElement(input=tf.matmul(x, x), n=0), tf.float32)

    with tf.device("/XPU:0"):
        for _ in range(4):
            function(tf.constant(X))
    report = onexpu.placement_report()
    assert report.counts["host"] == {"NthElement": 4}
    assert report.counts["on_demand"] == {"MatMul": 4}


def test_int32_counters_are_the_hosts() -> None:
    x, y = tf.constant([1, 2]), tf.constant([3, 4])
    with tf.device("/XPU:0"):
        report = onexpu.placement_report(tf.multiply, x, y)
    assert report.counts["host"] == {"Mul": 1}


def test_ops_inside_of_compiled_functions_are_the_clusters() -> None:
    compiled = tf.function(lambda x: tf.tanh(tf.matmul(x, x) + 1.0), jit_compile=True)

    @tf.function
    def function(x: tf.Tensor) -> tf.Tensor:
        return compiled(x) * 2.0

    with tf.device("/XPU:0"):
        for _ in range(2):
            function(tf.constant(X))
    report = onexpu.placement_report()
    assert report.counts["cluster"] == {"MatMul": 2, "AddV2": 2, "Tanh": 2}
    assert report.counts["on_demand"] == {"Mul": 2}


def test_a_compiled_function_alone_is_a_cluster() -> None:
    compiled = tf.function(lambda x: tf.tanh(tf.matmul(x, x)), jit_compile=True)
    with tf.device("/XPU:0"):
        for _ in range(3):
            compiled(tf.constant(X))
    report = onexpu.placement_report()
    assert report.counts["cluster"] == {"MatMul": 3, "Tanh": 3}
    assert not report.counts["on_demand"] and not report.counts["host"]


def test_automatic_clusters(autoclustering) -> None:
    @tf.function
    def function(x: tf.Tensor) -> tf.Tensor:
        for _ in range(4):
            x = tf.tanh(tf.matmul(x, x) + 1.0)
        return x

    with tf.device("/XPU:0"):
        for _ in range(4):
            function(tf.constant(X))
    report = onexpu.placement_report()
    # The first runs may come before the cluster is compiled; then its ops run one by one.
    assert report.total("cluster") > 0
    assert report.counts["cluster"].keys() == {"MatMul", "AddV2", "Tanh"}


def test_the_report_prints() -> None:
    with tf.device("/XPU:0"):
        tf.tanh(tf.constant(X))
    assert "Tanh │ on-demand program" in " ".join(str(onexpu.placement_report()).split())


def test_why_ops_are_on_the_host() -> None:
    @tf.function
    def function(x: tf.Tensor) -> tf.Tensor:
        with tf.device("/CPU:0"):
            y = tf.tanh(x)
        n = tf.strings.length(tf.strings.as_string(y[0]))
        return tf.raw_ops.NthElement(input=x + y, n=tf.reduce_min(n) % 2)

    with tf.device("/XPU:0"):
        reasons = onexpu.placement_report(function, tf.constant(X)).reasons
    assert reasons["Tanh"] == {"tf.device asks for the CPU": 1}
    assert reasons["StringLength"] == {"strings are on the host": 1}
    assert reasons["NthElement"] == {"no kernel for XPU": 1}
    assert reasons["FloorMod"] == {"shapes, indices and counters are computed on the host": 1}


@pytest.mark.parametrize("mode", [tf.function, lambda function: function])
def test_an_op_is_on_the_host_for_several_reasons(mode: Callable) -> None:
    whole, half = tf.constant(4), tf.constant(4.0, tf.float16)

    def function(whole: tf.Tensor, half: tf.Tensor) -> list[tf.Tensor]:
        counted = [tf.range(half), tf.range(whole), tf.range(half, half * 2)]
        with tf.device("/CPU:0"):
            return [*counted, tf.range(tf.cast(whole, tf.float32))]

    with tf.device("/XPU:0"):
        report = onexpu.placement_report(mode(function), whole, half)
    reasons = {
        "no kernel for XPU with Tidx=half": 2,
        "shapes, indices and counters are computed on the host": 1,
    }
    if (
        mode is tf.function
    ):  # Eager code's ops for which tf.device asks for the CPU are not counted.
        reasons["tf.device asks for the CPU"] = 1
    assert report.reasons["Range"] == reasons
    assert report.counts["host"]["Range"] == sum(reasons.values())
    lines = [line for line in str(report).splitlines() if "Range" in line]
    assert len(lines) == len(reasons) and "2" in lines[0] and "Tidx=half" in lines[0]


def test_the_report_of_a_call() -> None:
    x = tf.constant(X)

    def function(x: tf.Tensor) -> tf.Tensor:
        return tf.raw_ops.NthElement(input=tf.matmul(x, x), n=0)

    with tf.device("/XPU:0"):
        report = onexpu.placement_report(function, x)
    # Ops of eager code on the host are in it, too, and what they copied.
    assert report.counts["on_demand"] == {"MatMul": 1}
    assert report.counts["host"] == {"NthElement": 1}
    assert report.transfers is not None and report.transfers.bytes("device_to_host") == X.nbytes
    assert "no kernel for XPU" in str(report) and f"{X.nbytes} to the host" in " ".join(
        str(report).split()
    )


@pytest.mark.parametrize("call", [tf.raw_ops.PartitionedCall, tf.raw_ops.StatefulPartitionedCall])
def test_what_eager_code_calls_as_an_op_is_a_graph(call: Callable) -> None:
    function = tf.function(lambda x, n: (tf.tanh(x), n * (n - 2)))
    function = function.get_concrete_function(tf.TensorSpec(X.shape), tf.TensorSpec([], tf.int32))
    arguments = [tf.constant(X), tf.constant(3)]
    with tf.device("/XPU:0"):
        report = onexpu.placement_report(
            lambda: call(args=arguments, Tout=[tf.float32, tf.int32], f=function)
        )
    assert report.counts["host"] == {"Mul": 1, "Sub": 1} and report.counts["on_demand"] == {
        "Tanh": 1
    }


def test_eager_ops_that_the_user_puts_on_the_host_are_not_reported() -> None:
    def function() -> tf.Tensor:
        with tf.device("/CPU:0"):
            return tf.raw_ops.NthElement(input=tf.constant(X), n=0)

    assert not onexpu.placement_report(function).counts["host"]


STRICT = """
import numpy as np, tensorflow as tf
x = tf.constant(np.random.rand(4, 4).astype(np.float32))
def nth(x):
    return tf.raw_ops.NthElement(input=x, n=0)
def allowed(x):
    with tf.device("/CPU:0"):
        y = nth(x)
    s = tf.strings.as_string(y)
    length = tf.cast(tf.strings.length(s), tf.float32)
    return tf.tanh(y) + length + tf.cast(tf.size(x) * 2, tf.float32)
for function in (nth, tf.function(nth)):
    try:
        function(x)
        print("no error")
    except tf.errors.FailedPreconditionError as error:
        print(error.message)
for function in (allowed, tf.function(allowed)):
    print(function(x).device)
"""


def test_strict_placement() -> None:
    lines = process.output_of(STRICT, ONEXPU_PLACEMENT="strict").splitlines()
    for line in lines[:2]:
        assert (
            "NthElement" in line
            and "would run on the host: no kernel for XPU" in line
            and "tf.device('/CPU:0')" in line
        )
    assert all("XPU" in line for line in lines[2:]) and len(lines) == 4


def test_placement_is_free_otherwise() -> None:
    assert process.output_of(STRICT, ONEXPU_PLACEMENT=None).splitlines()[:2] == ["no error"] * 2
